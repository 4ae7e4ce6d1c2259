// @ts-check
// The life of one chunk: every value that any endpoint ever held of it, and where it came from.

import { endpoints, holds, starts } from "../engine.js";
import { join } from "./parts.js";

/** @typedef {import("../engine.js").Schedule} Schedule */
/** @typedef {import("../engine.js").Parts} Parts */
/** @typedef {import("../engine.js").Transfer} Transfer */
/** The transfers of one chunk by their step. @typedef {Map<number, Transfer[]>} Moves */
/**
 * What one endpoint held of a chunk from the end of `step` on (-1: from the start). `own` is what it
 * held before and added to; `lost` is what it held before and a COPY replaced.
 * @typedef {object} Value
 * @property {number} endpoint
 * @property {number} step
 * @property {Parts} parts
 * @property {Value | null} own
 * @property {Value | null} lost
 * @property {{transfer: Transfer, source: Value}[]} arrivals
 */
/**
 * `replaced` says in which step a value was gone.
 * @typedef {{chunk: number, held: (Value | null)[], values: Value[], replaced: Map<Value, number>}} Film
 */

/** @param {Schedule} schedule @param {number} rank @param {number} chunk @returns {Parts} */
export function startParts(schedule, rank, chunk) {
  const own = starts(schedule, rank, chunk);
  return Array.from({ length: schedule.world_size }, (_, part) => (own.includes(part) ? 1 : 0));
}

/** @param {Schedule} schedule @param {number} chunk @param {Moves} moves @returns {Film} */
export function filmOf(schedule, chunk, moves) {
  /** @type {Film} */
  const film = { chunk, held: Array.from({ length: endpoints(schedule) }, () => null), values: [], replaced: new Map() };
  /** @param {Value} value */
  const keep = (value) => {
    const old = film.held[value.endpoint];
    if (old) film.replaced.set(old, value.step);
    film.held[value.endpoint] = value;
    film.values.push(value);
  };
  for (let rank = 0; rank < schedule.world_size; rank += 1) {
    const parts = startParts(schedule, rank, chunk);
    if (holds(parts)) keep({ endpoint: rank, step: -1, parts, own: null, lost: null, arrivals: [] });
  }
  for (const [step, transfers] of moves) {
    /** @type {Map<number, {transfer: Transfer, source: Value}[]>} */
    const arriving = new Map();
    for (const transfer of transfers) {
      const source = film.held[transfer[0]];
      if (source) arriving.set(transfer[1], [...(arriving.get(transfer[1]) ?? []), { transfer, source }]);
    }
    const written = [...arriving].map(([dst, arrivals]) => writtenBy(film.held[dst] ?? null, step, dst, arrivals, schedule.world_size));
    written.forEach(keep);
  }
  return film;
}

/**
 * @param {Value | null} before @param {number} step @param {number} endpoint
 * @param {{transfer: Transfer, source: Value}[]} arrivals @param {number} ranks @returns {Value}
 */
function writtenBy(before, step, endpoint, arrivals, ranks) {
  const copied = arrivals[0]?.transfer[3] === "copy";
  const sorted = [...arrivals].sort((a, b) => a.transfer[0] - b.transfer[0]);
  const nothing = /** @type {Parts} */ (Array.from({ length: ranks }, () => 0));
  const parts = sorted.reduce((sum, { source }) => join(sum, source.parts), before && !copied ? before.parts : nothing);
  return { endpoint, step, parts, own: copied ? null : before, lost: copied ? before : null, arrivals: sorted };
}

/** @param {Value} value @returns {Parts | null} what the endpoint held until then */
export function before(value) {
  return (value.own ?? value.lost)?.parts ?? null;
}

/** @param {Value | null | undefined} value @returns {Value[]} it and all that it was made of, each once, earliest first */
export function past(value) {
  /** @type {Set<Value>} */
  const seen = new Set();
  const todo = [value];
  while (todo.length) {
    const one = todo.pop();
    if (!one || seen.has(one)) continue;
    seen.add(one);
    todo.push(one.own, ...one.arrivals.map((arrival) => arrival.source));
  }
  return [...seen].sort((a, b) => a.step - b.step);
}
