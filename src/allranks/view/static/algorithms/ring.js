// @ts-check
// Rings: the twin of allranks/algorithms/ring.py.

import { modulo, range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Op} Op */

/** @param {number} n @returns {Step[]} */
export function ringReduceScatter(n) {
  return range(n - 1).map((step) =>
    range(n).map((rank) => [rank, (rank + 1) % n, modulo(rank - 1 - step, n), "reduce"]),
  );
}

/** @param {number} n @returns {Step[]} */
export function ringAllGather(n) {
  return range(n - 1).map((step) =>
    range(n).map((rank) => [rank, (rank + 1) % n, modulo(rank - step, n), "copy"]),
  );
}

/** @param {number} n @returns {Step[]} */
export function ringAllReduce(n) {
  return [...ringReduceScatter(n), ...ringAllGather(n)];
}

/** @param {number} n 1 or 2: more need a second buffer @returns {Step[]} */
export function unchunkedRingAllReduce(n) {
  return range(n - 1).map(() => range(n).map((rank) => [rank, (rank + 1) % n, 0, "reduce"]));
}

/**
 * One chunk to the right from every rank, and one to the left where the ring is not half way round.
 * @param {number} n @param {number} far how many places the step is from its own end
 * @param {(rank: number) => number} right chunk sent to the right @param {(rank: number) => number} left
 * @param {Op} op @returns {Step}
 */
function bothWays(n, far, right, left, op) {
  /** @type {Step} */
  const step = range(n).map((rank) => [rank, (rank + 1) % n, modulo(right(rank), n), op]);
  if (far < Math.floor((n - 1) / 2)) {
    for (const rank of range(n)) step.push([rank, modulo(rank - 1, n), modulo(left(rank), n), op]);
  }
  return step;
}

/** @param {number} n @returns {Step[]} */
export function bidirectionalRingAllGather(n) {
  return range(Math.floor(n / 2)).map((step) => bothWays(n, step, (rank) => rank - step, (rank) => rank + step, "copy"));
}

/** @param {number} n @returns {Step[]} */
export function bidirectionalRingReduceScatter(n) {
  return range(Math.floor(n / 2))
    .reverse()
    .map((ahead) => bothWays(n, ahead, (rank) => rank + 1 + ahead, (rank) => rank - 1 - ahead, "reduce"));
}

/** @param {number} n @returns {Step[]} */
export function bidirectionalRingAllReduce(n) {
  return [...bidirectionalRingReduceScatter(n), ...bidirectionalRingAllGather(n)];
}
