// @ts-check
// All the elements. A page of the book gets a smaller entry, with those it has (bundle.py).

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
import { start } from "./start.js";

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

/** Defines whatever the document does not know yet. */
export function startAll() {
  start(ELEMENTS);
}

startAll();
