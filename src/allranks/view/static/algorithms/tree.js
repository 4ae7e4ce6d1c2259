// @ts-check
// Binomial trees: the twin of allranks/algorithms/tree.py.

import { range } from "./base.js";
import { ringAllGather } from "./ring.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Op} Op */

/** @param {number} n @returns {number[]} 1, 2, 4, ... below n */
function distances(n) {
  const found = [];
  for (let distance = 1; distance < n; distance *= 2) found.push(distance);
  return found;
}

/** @param {Step[]} steps @param {Op} op @returns {Step[]} played backwards, with the arrows turned round */
function mirrored(steps, op) {
  return [...steps].reverse().map((step) => step.map(([src, dst, chunk]) => [dst, src, chunk, op]));
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function binomialBroadcast(n, root) {
  return distances(n).map((distance) =>
    range(Math.min(distance, n - distance)).map((v) => [(root + v) % n, (root + v + distance) % n, 0, "copy"]),
  );
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function binomialReduce(n, root) {
  return mirrored(binomialBroadcast(n, root), "reduce");
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function binomialScatter(n, root) {
  return distances(n)
    .reverse()
    .map((distance) => {
      /** @type {Step} */
      const step = [];
      for (let v = 0; v < n - distance; v += 2 * distance) {
        for (let block = v + distance; block < Math.min(v + 2 * distance, n); block += 1) {
          step.push([(root + v) % n, (root + v + distance) % n, (root + block) % n, "copy"]);
        }
      }
      return step;
    });
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function binomialGather(n, root) {
  return mirrored(binomialScatter(n, root), "copy");
}

/** @param {number} n @returns {Step[]} */
export function binomialAllReduce(n) {
  return [...binomialReduce(n, 0), ...binomialBroadcast(n, 0)];
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function scatterAllGatherBroadcast(n, root) {
  return [...binomialScatter(n, root), ...ringAllGather(n)];
}
