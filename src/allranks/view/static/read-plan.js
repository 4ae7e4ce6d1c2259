// @ts-check
// A reader's own all-reduce, pasted as the JSON that `allranks schedule` writes: read, then proved.

import { range } from "./algorithms/base.js";
import { ends, states } from "./engine.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./algorithms.js").Transfer} Transfer */
/** Either a schedule that keeps its promise, or one sentence on what to mend.
 *  @typedef {{schedule: Schedule, problem: null} | {schedule: null, problem: string}} Reading */

export const MOST_OWN_RANKS = 64;
const MOST_OWN_TRANSFERS = 20_000;
const MOST_OWN_CHUNKS = 1024;

/** @param {string} problem @returns {Reading} */
function refused(problem) {
  return { schedule: null, problem };
}

/** @param {unknown} value @param {number} low @param {number} high @returns {value is number} */
function whole(value, low, high) {
  return Number.isInteger(value) && Number(value) >= low && Number(value) <= high;
}

/**
 * Reads a schedule and plays it: what comes back keeps the promise of an all-reduce.
 * @param {string} text @returns {Reading}
 */
export function readPlan(text) {
  if (!text.trim()) return refused("Nothing is pasted yet; paste the JSON of a schedule.");
  /** @type {any} */
  let data;
  try {
    data = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return refused("This is no JSON; paste all that allranks schedule --format json prints.");
  }
  if (data === null || typeof data !== "object" || data.format !== "allranks.schedule/1") {
    return refused('This is no schedule: its "format" must be "allranks.schedule/1".');
  }
  if (data.collective !== "all_reduce") {
    return refused(`This plane is for all_reduce, and the schedule says ${JSON.stringify(data.collective ?? null)}.`);
  }
  const { world_size: n, num_chunks: chunks, steps } = data;
  if (!whole(n, 2, MOST_OWN_RANKS)) return refused(`Here "world_size" must be a whole number from 2 to ${MOST_OWN_RANKS}.`);
  if (!whole(chunks, 1, MOST_OWN_CHUNKS)) return refused(`Here "num_chunks" must be a whole number from 1 to ${MOST_OWN_CHUNKS}.`);
  if (data.num_switches) return refused("This plane is for ranks alone; the schedule has switches.");
  if (!Array.isArray(steps) || !steps.every(Array.isArray)) return refused('"steps" must be a list of steps, each a list of transfers.');
  const all = steps.flat();
  if (all.length > MOST_OWN_TRANSFERS) return refused(`The schedule has more than ${MOST_OWN_TRANSFERS} transfers, too many for this page.`);
  for (const [number, step] of steps.entries()) {
    const wrong = faultOf(step, number, n, chunks);
    if (wrong) return refused(wrong);
  }
  /** @type {Schedule} */
  const schedule = { collective: "all_reduce", algorithm: typeof data.algorithm === "string" ? data.algorithm : "yours", world_size: n, num_chunks: chunks, root: null, num_switches: 0, steps };
  const unkept = brokenPromise(schedule);
  return unkept ? refused(unkept) : { schedule, problem: null };
}

/**
 * @param {unknown[]} step @param {number} number @param {number} n @param {number} chunks
 * @returns {string} what cannot be played in a step; "" if all can
 */
function faultOf(step, number, n, chunks) {
  /** @type {Map<string, string>} */
  const written = new Map();
  for (const transfer of step) {
    if (!Array.isArray(transfer) || transfer.length !== 4) return `step ${number}: a transfer is a list of src, dst, chunk and op.`;
    const [src, dst, chunk, op] = transfer;
    if (!whole(src, 0, n - 1) || !whole(dst, 0, n - 1)) return `step ${number}: src and dst must be ranks from 0 to ${n - 1}.`;
    if (!whole(chunk, 0, chunks - 1)) return `step ${number}: rank ${src} sends chunk ${JSON.stringify(chunk)}; chunks are 0 to ${chunks - 1}.`;
    if (op !== "copy" && op !== "reduce") return `step ${number}: the op of rank ${src} must be "copy" or "reduce".`;
    if (src === dst) return `step ${number}: rank ${src} sends chunk ${chunk} to itself; leave that transfer out.`;
    const place = `${dst} ${chunk}`;
    const before = written.get(place);
    if (before !== undefined && (before === "copy" || op === "copy")) return `step ${number}: two transfers write chunk ${chunk} of rank ${dst}, and one of them is a copy; use two steps.`;
    written.set(place, op);
  }
  return "";
}

/** @param {Schedule} schedule @returns {string} the first promise that is not kept; "" if all are */
function brokenPromise(schedule) {
  const last = states(schedule).at(-1) ?? [];
  for (const rank of range(schedule.world_size)) {
    for (const chunk of range(schedule.num_chunks)) {
      const parts = last[rank]?.[chunk] ?? [];
      for (const part of ends(schedule, rank, chunk) ?? []) {
        const count = parts[part] ?? 0;
        if (count === 0) return `After the last step rank ${rank} lacks the part of rank ${part} in chunk ${chunk}.`;
        if (count > 1) return `After the last step rank ${rank} has the part of rank ${part} in chunk ${chunk} ${count} times.`;
      }
    }
  }
  return "";
}
