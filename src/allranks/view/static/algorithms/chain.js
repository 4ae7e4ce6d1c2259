// @ts-check
// Chains: the twin of allranks/algorithms/chain.py.

import { range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Op} Op */

/** @param {number} n @param {number} shift 0: from the root on, 1: towards the root
 *  @param {number} chunks @param {number} root @param {Op} op @returns {Step[]} */
function chain(n, shift, chunks, root, op) {
  const hops = n - 1;
  return range(hops ? hops - 1 + chunks : 0).map((step) =>
    range(hops)
      .filter((hop) => step - hop >= 0 && step - hop < chunks)
      .map((hop) => [(root + hop + shift) % n, (root + hop + shift + 1) % n, step - hop, op]),
  );
}

/** @param {number} n @param {number} root @param {number} chunks @returns {Step[]} */
export function chainBroadcast(n, root, chunks) {
  return chain(n, 0, chunks, root, "copy");
}

/** @param {number} n @param {number} root @param {number} chunks @returns {Step[]} */
export function chainReduce(n, root, chunks) {
  return chain(n, 1, chunks, root, "reduce");
}
