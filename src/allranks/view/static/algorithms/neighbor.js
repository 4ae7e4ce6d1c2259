// @ts-check
// Neighbor exchange: the twin of allranks/algorithms/neighbor.py.

import { modulo, range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */

/** @param {number} n even, or 1 @returns {Step[]} */
export function neighborExchangeAllGather(n) {
  return range(Math.floor(n / 2)).map((step) =>
    range(n).flatMap((rank) =>
      blocks(rank, step, n).map((chunk) => /** @type {Transfer} */ ([rank, modulo(rank + side(rank) * sign(step), n), chunk, "copy"])),
    ),
  );
}

/** @param {number} rank @returns {number} where the other rank of the pair is */
function side(rank) {
  return 1 - 2 * (rank % 2);
}

/** @param {number} step @returns {number} */
function sign(step) {
  return step % 2 ? -1 : 1;
}

/** @param {number} rank @param {number} step @param {number} n @returns {number[]} */
function blocks(rank, step, n) {
  if (step === 0) return [rank];
  const away = Math.floor(step / 2) * sign(step - 1);
  const first = modulo(2 * (Math.floor(rank / 2) + side(rank) * away), n);
  return [first, first + 1];
}
