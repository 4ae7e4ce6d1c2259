// @ts-check
// In-network reduction in a tree of switches: the twin of allranks/algorithms/sharp.py.

import { range, span } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */

/** @param {number} n @param {number} chunks @param {number | null} radix @returns {Step[]} */
export function sharpAllReduce(n, chunks, radix) {
  const levels = links(n, radix);
  const height = levels.length;
  return range(height ? chunks + 2 * height - 1 : 0).map((step) =>
    levels.flatMap((all, level) => {
      const climbing = step - level;
      const falling = step - (2 * height - 1 - level);
      /** @type {Transfer[]} */
      const up = climbing >= 0 && climbing < chunks ? all.map(([low, high]) => [low, high, climbing, "reduce"]) : [];
      /** @type {Transfer[]} */
      const down = falling >= 0 && falling < chunks ? all.map(([low, high]) => [high, low, falling, "copy"]) : [];
      return [...up, ...down];
    }),
  );
}

/** @param {number} n @param {number | null} radix @returns {[low: number, high: number][][]} by level */
function links(n, radix) {
  const levels = levelsOf(n, radix);
  return levels.slice(1).map((above, level) =>
    (levels[level] ?? []).map((low, index) => [low, above[radix ? Math.floor(index / radix) : 0] ?? 0]),
  );
}

/** @param {number} n @param {number | null} radix @returns {number[][]} the ranks, the leaf switches, ..., the root */
function levelsOf(n, radix) {
  const levels = [range(n)];
  for (let below = range(n); below.length > 1; below = levels.at(-1) ?? []) {
    const first = (below.at(-1) ?? 0) + 1;
    levels.push(span(first, first + (radix ? Math.ceil(below.length / radix) : 1)));
  }
  return levels;
}

/** @param {number} n @param {number | null} radix @returns {number} */
export function sharpSwitches(n, radix) {
  return (levelsOf(n, radix).at(-1)?.at(-1) ?? n - 1) + 1 - n;
}
