// @ts-check
// Who must end with which chunk, and whether it does: pure functions of a scene and a time.

import { range } from "./algorithms/base.js";
import { ends } from "./engine.js";
import { list } from "./format.js";
import { arrived, stateAt } from "./scene.js";

/** @typedef {import("./scene.js").Scene} Scene */
/**
 * How a column stands with its owner: nothing complete yet, complete there, complete elsewhere and
 * on its way, or complete elsewhere with no transfer left that could bring it home.
 * @typedef {"waiting" | "kept" | "away" | "astray"} Kind
 */
/** @typedef {{chunk: number, owner: number, at: number[], kind: Kind}} Ownership `at` are the other ranks where it is complete */

/** @param {Scene} scene @param {number} rank @param {number} chunk @param {number} owner @param {number} time */
function isComplete(scene, rank, chunk, owner, time) {
  const wanted = new Set(ends(scene.schedule, owner, chunk) ?? []);
  const parts = stateAt(scene, time)[rank]?.[chunk] ?? [];
  return wanted.size > 0 && parts.every((count, part) => count === (wanted.has(part) ? 1 : 0));
}

/**
 * One entry for every chunk that has a single owner; none where a chunk is promised to several ranks,
 * or where a single part is all of it (then nothing is ever completed).
 * @param {Scene} scene @param {number} time @returns {Ownership[]}
 */
export function ownership(scene, time) {
  const { schedule } = scene;
  const ranks = range(schedule.world_size);
  return scene.columns.flatMap((column) => {
    const [chunk] = column.chunks;
    const owner = column.home;
    if (chunk === undefined || owner === null || column.chunks.length > 1) return [];
    if ((ends(schedule, owner, chunk) ?? []).length < 2) return [];
    const at = ranks.filter((rank) => rank !== owner && isComplete(scene, rank, chunk, owner, time));
    if (isComplete(scene, owner, chunk, owner, time)) return [{ chunk, owner, at, kind: /** @type {Kind} */ ("kept") }];
    if (!at.length) return [{ chunk, owner, at, kind: /** @type {Kind} */ ("waiting") }];
    const comes = scene.moves.some((move) => move.chunk === chunk && move.dst === owner && !arrived(scene, move, time));
    return [{ chunk, owner, at, kind: /** @type {Kind} */ (comes ? "away" : "astray") }];
  });
}

/**
 * What went wrong with owners so far, in a sentence; "" while nothing has.
 * @param {Scene} scene @param {number} time @returns {string}
 */
export function strayWords(scene, time) {
  const strays = ownership(scene, time).filter(({ kind }) => kind === "astray");
  const [first] = strays;
  if (!first) return "";
  const told = `Chunk ${first.chunk} is complete on ${ranksText(first.at)}, but rank ${first.owner} must own it`;
  if (strays.length === 1) return `${told}.`;
  return `${told}; ${strays.length === 2 ? `chunk ${strays[1]?.chunk} lies on a wrong rank too` : `${strays.length - 1} more chunks lie on wrong ranks too`}.`;
}

/** @param {number[]} ranks @returns {string} "rank 3", "ranks 1 and 3" */
function ranksText(ranks) {
  return `${ranks.length === 1 ? "rank" : "ranks"} ${list(ranks.map(String))}`;
}

/** @param {Scene} scene @returns {boolean} whether the figure says under its matrix who owns which chunk */
export function hasOwners(scene) {
  return Boolean(scene.flow.owners) && ownership(scene, 0).length > 0;
}
