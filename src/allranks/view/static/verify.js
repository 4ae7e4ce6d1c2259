// @ts-check
// The verifier of a page: the twin of allranks.verify. It plays a schedule with symbols in place of
// numbers, holds the end to the contract, and names the first wrong event in the same sentence.

import { endpoints, holds, play, startState } from "./engine.js";
import { findFaults, firstFault, wrongEvent } from "./verify/blame.js";
import { nameOf, where } from "./verify/parts.js";

/** @typedef {import("./engine.js").Schedule} Schedule */
/** @typedef {import("./engine.js").State} State */
/** @typedef {import("./engine.js").Transfer} Transfer */
/** @typedef {import("./verify/blame.js").WrongEvent} WrongEvent */

/**
 * Proves that a schedule keeps its promise. The number of ranks and chunks must suit its collective.
 * @param {Schedule} schedule @returns {WrongEvent | null} null: it does
 */
export function verify(schedule) {
  let state = startState(schedule);
  for (const [number, step] of schedule.steps.entries()) {
    const wrong = unplayable(schedule, number, state);
    if (wrong) return wrong;
    state = play(state, step);
  }
  const faults = findFaults(schedule, state);
  return faults.length ? firstFault(schedule, faults) : null;
}

/**
 * The first transfer of a step that cannot be played.
 * @param {Schedule} schedule @param {number} number of the step @param {State} state before it
 * @returns {WrongEvent | null}
 */
export function unplayable(schedule, number, state) {
  /** @type {Map<string, Transfer>} */
  const written = new Map();
  for (const transfer of schedule.steps[number] ?? []) {
    const [src, dst, chunk, op] = transfer;
    const lost = outOfPlace(schedule, number, transfer);
    if (lost) return lost;
    if (!holds(state[src]?.[chunk])) return notHeld(schedule, number, transfer);
    const cell = `${dst},${chunk}`;
    const first = written.get(cell);
    if (first && (op === "copy" || first[3] === "copy")) return conflict(schedule, number, first, transfer);
    if (!first) written.set(cell, transfer);
  }
  return null;
}

/** @param {Schedule} schedule @param {number} step @param {Transfer} transfer @returns {WrongEvent | null} */
function outOfPlace(schedule, step, transfer) {
  const [src, dst, chunk] = transfer;
  const all = endpoints(schedule);
  /** @param {number} endpoint */
  const known = (endpoint) => endpoint >= 0 && endpoint < all;
  let kind;
  let what;
  if (known(src) && known(dst) && src !== dst) {
    if (chunk >= 0 && chunk < schedule.num_chunks) return null;
    kind = "unknown_chunk";
    what = `there is no chunk ${chunk}; ${span("chunk", schedule.num_chunks)}`;
  } else if (src === dst && known(src)) {
    kind = "self_send";
    what = `${nameOf(schedule, src)} sends to itself; it has the chunk already, leave this out`;
  } else {
    kind = "unknown_endpoint";
    const switches = schedule.num_switches ? `, switches are the endpoints from ${schedule.world_size} to ${all - 1}` : "";
    what = `${nameOf(schedule, known(src) ? dst : src)} does not exist; ${span("rank", schedule.world_size)}${switches}`;
  }
  return wrongEvent({ kind, message: `${where(schedule, step, transfer)}: ${what}`, step, src, dst, chunk });
}

/** @param {string} what @param {number} count @returns {string} */
function span(what, count) {
  return count === 1 ? `the only ${what} is 0` : `${what}s are 0 to ${count - 1}`;
}

/** @param {Schedule} schedule @param {number} step @param {Transfer} transfer @returns {WrongEvent} */
function notHeld(schedule, step, transfer) {
  const [src, dst, chunk] = transfer;
  const later = schedule.steps.findIndex((some, number) => number >= step && some.some((other) => other[1] === src && other[2] === chunk));
  const advice =
    later < 0
      ? `bring chunk ${chunk} there first, or let somebody send it who has it`
      : later === step
        ? "it only arrives in this step, and every send reads the state before the step"
        : `it only arrives in step ${later}, so send it on in a step after that`;
  const root = schedule.root === null ? "" : ` (the root is rank ${schedule.root})`;
  const message = `${where(schedule, step, transfer)}: ${nameOf(schedule, src)} sends data it does not hold${root}; ${advice}`;
  return wrongEvent({ kind: "not_held", message, rank: src, step, src, dst, chunk });
}

/** @param {Schedule} schedule @param {number} step @param {Transfer} first @param {Transfer} second @returns {WrongEvent} */
function conflict(schedule, step, first, second) {
  const [src, dst, chunk, op] = second;
  const same = first.every((value, index) => value === second[index]);
  const what = same
    ? "the same transfer stands in this step already; leave one of them out"
    : `${nameOf(schedule, first[0])} writes chunk ${chunk} of ${nameOf(schedule, dst)} in the same step (${first[3].toUpperCase()}, here ${op.toUpperCase()}), so the result depends on who comes last; move one of them to another step, or REDUCE both`;
  const message = `${where(schedule, step, second)}: ${what}`;
  return wrongEvent({ kind: "write_conflict", message, rank: dst, step, src, dst, peer: first[0], chunk });
}
