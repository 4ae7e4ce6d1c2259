// @ts-check
// What stands side by side in the matrix: a chunk a column, or several chunks where there are many.

import { range } from "./algorithms/base.js";
import { ends, starts } from "./engine.js";
import { say } from "./format.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./engine.js").Parts} Parts */
/** One tile of a cell: a part, in one chunk or in several.
 *  @typedef {{part: number, chunks: number[]}} Slot */
/**
 * @typedef {object} Column
 * @property {string} title "chunk 3", "for rank 3", "chunks 3 to 5"
 * @property {string} brief "3", where there is no room for the title
 * @property {number[]} chunks
 * @property {Slot[]} slots what can ever be in the column
 * @property {number | null} home the one rank where all of it must end
 */

const MOST = 64;

/** @param {Schedule} schedule @returns {Column[]} */
export function columns(schedule) {
  const n = schedule.world_size;
  if (schedule.collective === "all_to_all" && n > 1) return range(n).map((dst) => block(schedule, dst));
  const size = Math.ceil(schedule.num_chunks / MOST);
  return range(Math.ceil(schedule.num_chunks / size)).map((index) => {
    const first = index * size;
    const chunks = range(Math.min(size, schedule.num_chunks - first)).map((offset) => first + offset);
    const last = chunks.at(-1) ?? first;
    const slots = range(n)
      .map((part) => ({ part, chunks: chunks.filter((chunk) => begins(schedule, part, chunk)) }))
      .filter((slot) => slot.chunks.length);
    const title = first === last ? say(`chunk ${first}`) : `chunks ${first} to ${last}`;
    return { title, brief: String(first), chunks, slots, home: home(schedule, chunks) };
  });
}

/** @param {Column[]} all @param {number} chunks @returns {number[]} the column of every chunk */
export function columnOf(all, chunks) {
  const found = range(chunks).map(() => 0);
  all.forEach((column, index) => column.chunks.forEach((chunk) => (found[chunk] = index)));
  return found;
}

/**
 * How much of a slot a cell holds, and whether a part is there more than once.
 * @param {Slot} slot @param {(chunk: number) => Parts | undefined} cell
 * @returns {{share: number, most: number}} share 0 to 1
 */
export function heldIn(slot, cell) {
  let held = 0;
  let most = 0;
  for (const chunk of slot.chunks) {
    const count = cell(chunk)?.[slot.part] ?? 0;
    held += count > 0 ? 1 : 0;
    if (count > most) most = count;
  }
  return { share: held / slot.chunks.length, most };
}

/**
 * All that goes to one rank in an all-to-all: its chunks, told apart by who sends them.
 * @param {Schedule} schedule @param {number} dst @returns {Column}
 */
function block(schedule, dst) {
  const n = schedule.world_size;
  const pieces = schedule.num_chunks / (n * n);
  const slots = range(n).map((src) => ({ part: src, chunks: range(pieces).map((piece) => (src * n + dst) * pieces + piece) }));
  const chunks = slots.flatMap((slot) => slot.chunks);
  return { title: `for rank ${dst}`, brief: String(dst), chunks, slots, home: dst };
}

/** @param {Schedule} schedule @param {number} rank @param {number} chunk @returns {boolean} */
function begins(schedule, rank, chunk) {
  return starts(schedule, rank, chunk).length > 0;
}

/** @param {Schedule} schedule @param {number[]} chunks @returns {number | null} */
function home(schedule, chunks) {
  if (schedule.world_size === 1) return null;
  const promised = range(schedule.world_size).filter((rank) => chunks.some((chunk) => ends(schedule, rank, chunk) !== null));
  return promised.length === 1 ? (promised[0] ?? null) : null;
}
