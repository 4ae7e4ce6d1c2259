// @ts-check
// Direct algorithms: the twin of allranks/algorithms/direct.py.

import { range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Op} Op */
/** @typedef {import("./base.js").Transfer} Transfer */

/** @param {number} n @param {number} root @param {(rank: number) => Transfer} send @returns {Step[]} one rank after another */
function oneByOne(n, root, send) {
  return range(n - 1).map((far) => [send((root + far + 1) % n)]);
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function flatBroadcast(n, root) {
  return oneByOne(n, root, (rank) => [root, rank, 0, "copy"]);
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function flatReduce(n, root) {
  return oneByOne(n, root, (rank) => [rank, root, 0, "reduce"]);
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function flatScatter(n, root) {
  return oneByOne(n, root, (rank) => [root, rank, rank, "copy"]);
}

/** @param {number} n @param {number} root @returns {Step[]} */
export function flatGather(n, root) {
  return oneByOne(n, root, (rank) => [rank, root, rank, "copy"]);
}

/** @param {number} n @returns {Step[]} */
export function flatAllReduce(n) {
  return [...flatReduce(n, 0), ...flatBroadcast(n, 0)];
}

/**
 * One step in which every rank sends to every other.
 * @param {number} n @param {(src: number, dst: number) => number} chunk @param {Op} op @returns {Step[]}
 */
export function allAtOnce(n, chunk, op) {
  if (n < 2) return [];
  return [range(n).flatMap((src) => range(n).filter((dst) => dst !== src).map((dst) => /** @type {Transfer} */ ([src, dst, chunk(src, dst), op])))];
}

/** @param {number} n @returns {Step[]} */
export function directAllGather(n) {
  return allAtOnce(n, (src) => src, "copy");
}

/** @param {number} n @returns {Step[]} */
export function directReduceScatter(n) {
  return allAtOnce(n, (_src, dst) => dst, "reduce");
}

/** @param {number} n @returns {Step[]} */
export function directAllReduce(n) {
  return [...directReduceScatter(n), ...directAllGather(n)];
}

/** @param {number} n @returns {Step[]} */
export function oneShotAllReduce(n) {
  return allAtOnce(n, () => 0, "reduce");
}
