// @ts-check
// In-switch collectives with a head for every block: the twin of allranks/algorithms/nvls.py.

import { range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */
/** @typedef {(n: number, slices: number, part: number) => Step} Stage */

/** @param {number} n @param {number} chunks @returns {Step[]} */
export function nvlsAllReduce(n, chunks) {
  return pipeline(n, chunks, [addUp, giveHeads, store, copyToAll]);
}

/** @param {number} n @param {number} chunks @returns {Step[]} */
export function nvlsAllGather(n, chunks) {
  return pipeline(n, chunks, [store, copyToAll]);
}

/** @param {number} n @param {number} chunks @returns {Step[]} */
export function nvlsReduceScatter(n, chunks) {
  return pipeline(n, chunks, [addUp, giveHeads]);
}

/** @param {number} n @param {number} chunks a multiple of n @param {Stage[]} stages @returns {Step[]} */
function pipeline(n, chunks, stages) {
  const slices = Math.floor(chunks / n);
  return range(n > 1 ? slices + stages.length - 1 : 0).map((step) =>
    stages.flatMap((stage, number) => (step - number >= 0 && step - number < slices ? stage(n, slices, step - number) : [])),
  );
}

/** @type {Stage} */
function addUp(n, slices, part) {
  return range(n).flatMap((rank) => range(n).map((head) => /** @type {Transfer} */ ([rank, n, head * slices + part, "reduce"])));
}

/** @type {Stage} */
function giveHeads(n, slices, part) {
  return range(n).map((head) => [n, head, head * slices + part, "copy"]);
}

/** @type {Stage} */
function store(n, slices, part) {
  return range(n).map((head) => [head, n, head * slices + part, "copy"]);
}

/** @type {Stage} */
function copyToAll(n, slices, part) {
  return range(n).flatMap((rank) => range(n).map((head) => /** @type {Transfer} */ ([n, rank, head * slices + part, "copy"])));
}
