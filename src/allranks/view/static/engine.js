// @ts-check
// What a schedule does: the JavaScript twin of allranks.collectives and verify. tests/view compares
// them with the Python ones, state for state.

import { modulo, range } from "./algorithms/base.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./algorithms.js").Transfer} Transfer */
/** How often each part (rank) is in a chunk; a chunk that is not held has only zeros.
 *  @typedef {number[]} Parts */
/** By endpoint and chunk; rows and cells are shared between states and never changed.
 *  @typedef {Parts[][]} State */

/** @param {Schedule} schedule @param {number} chunk @returns {number} the rank whose block it is */
export function block(schedule, chunk) {
  return Math.floor((chunk * schedule.world_size) / schedule.num_chunks);
}

/** @param {Schedule} schedule @returns {number} ranks and switches */
export function endpoints(schedule) {
  return schedule.world_size + schedule.num_switches;
}

/**
 * The parts that a rank holds of a chunk before the first step.
 * @param {Schedule} schedule @param {number} rank @param {number} chunk @returns {number[]}
 */
export function starts(schedule, rank, chunk) {
  if (rank >= schedule.world_size) return [];
  switch (schedule.collective) {
    case "broadcast":
    case "scatter":
      return rank === schedule.root ? [rank] : [];
    case "gather":
    case "all_gather":
    case "all_to_all":
      return block(schedule, chunk) === rank ? [rank] : [];
    default:
      return [rank];
  }
}

/**
 * The parts that a rank must hold of a chunk after the last step; null where nothing is promised.
 * @param {Schedule} schedule @param {number} rank @param {number} chunk @returns {number[] | null}
 */
export function ends(schedule, rank, chunk) {
  const n = schedule.world_size;
  if (rank >= n) return null;
  const owner = block(schedule, chunk);
  const isRoot = rank === schedule.root;
  switch (schedule.collective) {
    case "broadcast":
      return [schedule.root ?? 0];
    case "reduce":
      return isRoot ? range(n) : null;
    case "scatter":
      return owner === rank ? [schedule.root ?? 0] : null;
    case "gather":
      return isRoot ? [owner] : null;
    case "all_gather":
      return [owner];
    case "reduce_scatter":
      return owner === rank ? range(n) : null;
    case "all_reduce":
      return range(n);
    case "all_to_all":
      return modulo(Math.floor((chunk * n * n) / schedule.num_chunks), n) === rank ? [owner] : null;
    default:
      return null;
  }
}

/** @param {Parts | undefined} parts @returns {boolean} */
export function holds(parts) {
  return parts !== undefined && parts.some((count) => count > 0);
}

/** @param {Schedule} schedule @returns {State} the state before the first step */
export function startState(schedule) {
  const nothing = /** @type {Parts} */ (range(schedule.world_size).map(() => 0));
  return range(endpoints(schedule)).map((endpoint) =>
    range(schedule.num_chunks).map((chunk) => {
      const parts = starts(schedule, endpoint, chunk);
      return parts.length ? nothing.map((_, part) => (parts.includes(part) ? 1 : 0)) : nothing;
    }),
  );
}

/**
 * What one transfer leaves in the receiver's cell.
 * @param {Parts} own @param {Parts} carried @param {string} op @returns {Parts}
 */
export function receive(own, carried, op) {
  return op === "copy" ? carried : own.map((count, part) => count + (carried[part] ?? 0));
}

/**
 * Every send of a step reads the state before the step. A transfer that cannot be played (nothing
 * held, unknown place) changes nothing here; the verifier has already said so in Python.
 * @param {State} state @param {readonly Transfer[]} step @returns {State} the state after the step
 */
export function play(state, step) {
  const after = [...state];
  const fresh = new Set();
  for (const [src, dst, chunk, op] of [...step].sort((a, b) => a[0] - b[0])) {
    const carried = state[src]?.[chunk];
    const row = after[dst];
    if (!carried || !row?.[chunk] || !holds(carried)) continue;
    const target = fresh.has(dst) ? row : [...row];
    fresh.add(dst);
    target[chunk] = receive(target[chunk] ?? carried, carried, op);
    after[dst] = target;
  }
  return after;
}

/** @param {Schedule} schedule @returns {State[]} before step 0, then after every step */
export function states(schedule) {
  const all = [startState(schedule)];
  for (const step of schedule.steps) all.push(play(/** @type {State} */ (all.at(-1)), step));
  return all;
}

/** @typedef {"kept" | "missing" | "twice" | "wrong" | "free"} Promise_ */

/**
 * How a cell stands against the contract: promised parts once each, and nothing else.
 * @param {Schedule} schedule @param {Parts} parts @param {number} rank @param {number} chunk
 * @returns {Promise_} "free" where nothing is promised
 */
export function standing(schedule, parts, rank, chunk) {
  const promised = ends(schedule, rank, chunk);
  if (promised === null) return "free";
  if (parts.some((count) => count > 1)) return "twice";
  if (promised.some((part) => parts[part] !== 1)) return "missing";
  // all promised parts are there once: what is held beyond their number does not belong there
  return parts.reduce((sum, count) => sum + count, 0) > promised.length ? "wrong" : "kept";
}

/**
 * How `count` elements fall on chunks: the first `count % chunks` are one longer.
 * @param {number} count @param {number} chunks
 * @returns {{start: number, length: number}[]}
 */
export function split(count, chunks) {
  const short = Math.floor(count / chunks);
  const longer = count % chunks;
  return range(chunks).map((chunk) => ({
    start: chunk * short + Math.min(chunk, longer),
    length: short + (chunk < longer ? 1 : 0),
  }));
}
