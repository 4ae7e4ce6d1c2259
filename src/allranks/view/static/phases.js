// @ts-check
// The halves of an all-reduce that adds first and copies then: where one ends, and what each is.

import { range } from "./algorithms/base.js";
import { ends, play, standing, startState } from "./engine.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./scene.js").Scene} Scene */
/** Steps `from` to `to`, without `to`. @typedef {{name: string, from: number, to: number}} Phase */

/**
 * Two phases, or none where adding and copying are mixed or a switch adds. If one rank then has the
 * whole sum, they are a reduce and a broadcast, else a reduce-scatter and an all-gather.
 * @param {Schedule} schedule @returns {Phase[]}
 */
export function phasesOf(schedule) {
  const { steps } = schedule;
  const middle = steps.findIndex((step) => step.some(([, , , op]) => op === "copy"));
  const clean = steps.slice(middle).every((step) => step.every(([, , , op]) => op === "copy"));
  if (schedule.collective !== "all_reduce" || schedule.num_switches || middle < 1 || !clean) return [];
  const state = steps.slice(0, middle).reduce(play, startState(schedule));
  /** @param {number} rank */
  const whole = (rank) => range(schedule.num_chunks).every((chunk) => ends(schedule, rank, chunk) && standing(schedule, state[rank]?.[chunk] ?? [], rank, chunk) === "kept");
  const rooted = range(schedule.world_size).some(whole);
  return [
    { name: rooted ? "reduce" : "reduce-scatter", from: 0, to: middle },
    { name: rooted ? "broadcast" : "all-gather", from: middle, to: steps.length },
  ];
}

/**
 * In which phase a time is: a sentence of its own, "" where the scene has no phases.
 * @param {Scene} scene @param {number} time @returns {string}
 */
export function phaseSentence({ phases, stops, total }, time) {
  const [first, second] = phases;
  if (!first || !second) return "";
  const border = stops[first.to] ?? total;
  const slack = total * 1e-9;
  if (Math.abs(time - border) <= slack) return `The ${first.name} is done, the ${second.name} comes next.`;
  return time < border ? `Phase 1 of 2, ${first.name}: receivers add.` : `Phase 2 of 2, ${second.name}: receivers copy.`;
}

/** @param {Scene} scene @param {number} time @returns {number} the phase that goes on or comes next */
export function phaseAt({ phases, stops, total }, time) {
  const border = stops[phases[0]?.to ?? 0] ?? total;
  return time >= border - total * 1e-9 ? 1 : 0;
}
