// @ts-check
// The time of a pipelined chain against its number of chunks: pure functions of the data.

import { range } from "./algorithms/base.js";
import { time as seconds } from "./format.js";
import { bestChunks, chainSeconds } from "./price.js";

/**
 * @typedef {object} Curve
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {string} collective
 * @property {number} n
 * @property {number} nbytes
 * @property {string} machine
 * @property {import("./price.js").Machine} costs
 * @property {Record<string, unknown>} controls
 */

/** @param {Curve} curve @returns {{k: number, seconds: number}[]} also between whole numbers of chunks: the line */
export function points(curve) {
  const last = lastChunks(curve);
  return range(201).map((index) => {
    const k = last ** (index / 200);
    return { k, seconds: chainSeconds(curve.collective, curve.n, curve.nbytes, k, curve.costs) };
  });
}

/** @param {Curve} curve @returns {number} the right edge of the axis: fixed, so that the minimum is seen to move */
export function lastChunks(curve) {
  return curve.nbytes > 4096 ? 4096 : Math.max(2, Math.floor(curve.nbytes));
}

/** @param {Curve} curve @returns {string} */
export function describe(curve) {
  const best = bestChunks(curve.n, curve.nbytes, curve.costs);
  const least = chainSeconds(curve.collective, curve.n, curve.nbytes, best, curve.costs);
  const one = chainSeconds(curve.collective, curve.n, curve.nbytes, 1, curve.costs);
  return `With α = ${seconds(curve.costs.alpha)}, the best number of chunks is ${best}: ${seconds(least)}, against ${seconds(one)} in one piece. Fewer chunks leave ranks idle; more pay α more often.`;
}
