// @ts-check
// All-to-all without detours: the twin of allranks/algorithms/all_to_all.py.

import { range } from "./base.js";
import { allAtOnce } from "./direct.js";

/** @typedef {import("./base.js").Step} Step */

/** @param {number} n @returns {Step[]} */
export function directAllToAll(n) {
  return allAtOnce(n, (src, dst) => src * n + dst, "copy");
}

/** @param {number} n @returns {Step[]} */
export function pairwiseAllToAll(n) {
  return range(n - 1).map((near) =>
    range(n).map((rank) => [rank, (rank + near + 1) % n, rank * n + ((rank + near + 1) % n), "copy"]),
  );
}
