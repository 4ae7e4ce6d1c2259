// @ts-check
// Whether one more transfer makes a chunk right, tried out by playing the chunk with it.

import { endpoints, ends, holds } from "../engine.js";
import { startParts } from "./film.js";
import { exactly, join, lacking } from "./parts.js";

/** @typedef {import("../engine.js").Schedule} Schedule */
/** @typedef {import("../engine.js").Parts} Parts */
/** @typedef {import("../engine.js").Transfer} Transfer */
/** @typedef {import("./film.js").Moves} Moves */
/** A transfer that was left out, and the step in which it makes its chunk right.
 *  @typedef {{step: number, transfer: Transfer}} Repair */

const MOST_WORK = 2 ** 20;

/** @param {Schedule} schedule @returns {boolean} whether a collective adds */
export function reduces(schedule) {
  return ["reduce", "reduce_scatter", "all_reduce"].includes(schedule.collective);
}

/**
 * What every endpoint ends with of one chunk.
 * @param {readonly Parts[]} held @param {readonly (readonly Transfer[])[]} steps @returns {Parts[]}
 */
function lastOf(held, steps) {
  const now = [...held];
  for (const transfers of steps) {
    /** @type {Map<number, Parts>} */
    const written = new Map();
    for (const [src, dst, , op] of transfers) {
      const carried = /** @type {Parts} */ (now[src]);
      written.set(dst, op === "copy" ? carried : join(written.get(dst) ?? /** @type {Parts} */ (now[dst]), carried));
    }
    for (const [dst, parts] of written) now[dst] = parts;
  }
  return now;
}

/** One chunk of a schedule, to be played again with one more transfer, or with another op. */
export class Bench {
  /** @param {Schedule} schedule @param {number} chunk @param {Moves} moves */
  constructor(schedule, chunk, moves) {
    this.chunk = chunk;
    this.moves = [...moves].sort((a, b) => a[0] - b[0]);
    this.numSteps = schedule.steps.length;
    this.start = Array.from({ length: endpoints(schedule) }, (_, endpoint) => startParts(schedule, endpoint, chunk));
    /** @type {{rank: number, parts: number[]}[]} */
    this.promised = [];
    for (let rank = 0; rank < schedule.world_size; rank += 1) {
      const parts = ends(schedule, rank, chunk);
      if (parts) this.promised.push({ rank, parts });
    }
    /** @type {("reduce" | "copy")[]} */
    this.ops = reduces(schedule) ? ["reduce", "copy"] : ["copy"];
  }

  /** @param {Repair} repair @returns {boolean} whether the chunk is right with this transfer added */
  helps(repair) {
    const held = this.played(repair);
    return held !== null && this.isRight(held);
  }

  /** @param {Repair} repair @returns {Parts[] | null} what the chunk ends as with it; null if it cannot be played */
  played({ step, transfer }) {
    const [src, dst, , op] = transfer;
    const here = this.moves.find(([number]) => number === step)?.[1] ?? [];
    const into = here.filter((other) => other[1] === dst);
    if (into.length && (op === "copy" || into.some((other) => other[3] === "copy"))) return null;
    const held = lastOf(this.start, this.moves.filter(([number]) => number < step).map(([, some]) => some));
    if (!holds(held[src])) return null;
    const after = this.moves.filter(([number]) => number > step).map(([, some]) => some);
    return lastOf(held, [[...here, transfer], ...after]);
  }

  /** @param {number} step @param {Transfer} copied @returns {boolean} whether the chunk is right if this one adds */
  isRightAsASum(step, copied) {
    /** @type {Transfer} */
    const changed = [copied[0], copied[1], copied[2], "reduce"];
    const moves = this.moves.map(([number, some]) => some.map((move) => (number === step && move.every((value, index) => value === copied[index]) ? changed : move)));
    return this.isRight(lastOf(this.start, moves));
  }

  /** @param {number[]} missing @returns {Repair | null} the first transfer of missing parts that makes the chunk right */
  find(missing) {
    let now = this.start;
    for (let step = 0; step < this.numSteps; step += 1) {
      for (let src = 0; src < now.length; src += 1) {
        if (lacking(missing, now[src] ?? []).length === missing.length) continue;
        const repair = this.findFrom(step, src);
        if (repair) return repair;
      }
      const here = this.moves.find(([number]) => number === step)?.[1];
      if (here) now = lastOf(now, [here]);
    }
    return null;
  }

  /** @param {number} step @param {number} src @returns {Repair | null} the first transfer of one endpoint in one step that helps */
  findFrom(step, src) {
    for (let dst = 0; dst < this.start.length; dst += 1) {
      if (dst === src) continue;
      for (const op of this.ops) {
        /** @type {Repair} */
        const repair = { step, transfer: [src, dst, this.chunk, op] };
        if (this.helps(repair)) return repair;
      }
    }
    return null;
  }

  /** @param {number} step @param {number} src @param {number | null} rank @returns {boolean} whether one transfer leaves the rank with more than it ends with */
  brings(step, src, rank) {
    if (rank === null) return false;
    const wanted = this.promised.find((one) => one.rank === rank)?.parts ?? [];
    const lacked = lacking(wanted, lastOf(this.start, this.moves.map(([, some]) => some))[rank] ?? []);
    return this.ops.some((op) => {
      const held = this.played({ step, transfer: [src, rank, this.chunk, op] });
      return held !== null && lacking(lacked, held[rank] ?? []).length < lacked.length;
    });
  }

  /** @returns {boolean} whether all transfers from all endpoints can be tried in all steps */
  isSmall() {
    const transfers = this.moves.reduce((sum, [, some]) => sum + some.length, 0);
    return this.numSteps * this.start.length ** 2 * this.ops.length * (transfers + 1) <= MOST_WORK;
  }

  /** @param {readonly Parts[]} held @returns {boolean} */
  isRight(held) {
    return this.promised.every(({ rank, parts }) => exactly(held[rank] ?? [], parts));
  }
}
