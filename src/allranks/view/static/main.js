// @ts-check
// The entry of a page: it defines the elements once, however often the script is loaded.

import { ChunkCompose } from "./chunk-compose.js";
import { ChunkCurve } from "./chunk-curve.js";
import { ChunkFit } from "./chunk-fit.js";
import { ChunkFlow } from "./chunk-flow.js";
import { ChunkMessage } from "./chunk-message.js";
import { ChunkPlane } from "./chunk-plane.js";
import { ChunkPorts } from "./chunk-ports.js";
import { ChunkQuiz } from "./chunk-quiz.js";
import { ChunkRace } from "./chunk-race.js";
import { ChunkTrees } from "./chunk-trees.js";
import { onShow, showAsked } from "./show.js";

/** @type {[string, CustomElementConstructor][]} */
const ELEMENTS = [
  ["chunk-quiz", ChunkQuiz],
  ["chunk-flow", ChunkFlow],
  ["chunk-race", ChunkRace],
  ["chunk-curve", ChunkCurve],
  ["chunk-message", ChunkMessage],
  ["chunk-plane", ChunkPlane],
  ["chunk-trees", ChunkTrees],
  ["chunk-compose", ChunkCompose],
  ["chunk-ports", ChunkPorts],
  ["chunk-fit", ChunkFit],
];

/** Define what this page does not know yet, and listen to its links. */
export function start() {
  if (customElements.get("chunk-flow")) return;
  for (const [name, element] of ELEMENTS) customElements.define(name, element);
  document.addEventListener("click", onShow);
  showAsked();
}

start();
