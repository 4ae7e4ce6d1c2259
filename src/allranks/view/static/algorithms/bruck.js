// @ts-check
// Bruck's algorithms: the twin of allranks/algorithms/bruck.py.

import { modulo, range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */

/** @param {number} n @returns {Step[]} */
export function bruckAllGather(n) {
  /** @type {Step[]} */
  const steps = [];
  for (let distance = 1; distance < n; distance *= 2) {
    steps.push(range(n).flatMap((rank) =>
      range(Math.min(distance, n - distance)).map((block) => /** @type {Transfer} */ ([rank, modulo(rank - distance, n), (rank + block) % n, "copy"])),
    ));
  }
  return steps;
}

/** @param {number} n @returns {Step[]} */
export function bruckAllToAll(n) {
  /** @type {Step[]} */
  const steps = [];
  for (let distance = 1; distance < n; distance *= 2) {
    steps.push(range(n).flatMap((src) =>
      range(n)
        .filter((away) => away & distance)
        .map((away) => {
          const at = src + (away % distance);
          return /** @type {Transfer} */ ([at % n, (at + distance) % n, src * n + ((src + away) % n), "copy"]);
        }),
    ));
  }
  return steps;
}
