// @ts-check
// What a reader composes: pure functions of a schedule that is being written, row by row.

import { range } from "./algorithms/base.js";
import { block, ends, endpoints, split, standing, states } from "./engine.js";
import { letter, list, plural, verbatim, words } from "./format.js";
import { exactly, lacking, once, sumText, twice } from "./verify/parts.js";

/** @typedef {import("./engine.js").Schedule} Schedule */
/** @typedef {import("./engine.js").Parts} Parts */
/** @typedef {import("./engine.js").State} State */
/** @typedef {import("./engine.js").Transfer} Transfer */
/** @typedef {{title: string, schedule: Schedule}} Example */
/**
 * The data of the element. `n` are the fewest and the most ranks, `example` the name of the first.
 * @typedef {object} Compose
 * @property {string} format
 * @property {string} label
 * @property {string} title
 * @property {string} example
 * @property {Record<string, Example>} examples
 * @property {string[]} contracts
 * @property {[number, number]} n
 * @property {number} itemsize bytes of an element
 */
/**
 * How a cell stands at the end. "place": a complete chunk on a rank to which nobody promised it, or
 * a part that does not belong there. "free": nothing is promised, and nothing is wrong.
 * @typedef {{kind: "done" | "missing" | "double" | "place" | "free", text: string}} Mark
 */

export const NAME = "mine";
export const MOST_CHUNKS = 4;

const BLOCKED = new Set(["gather", "scatter", "all_gather", "reduce_scatter"]);
const ROOTED = new Set(["broadcast", "reduce", "gather", "scatter"]);
const ADDS = new Set(["reduce", "reduce_scatter", "all_reduce"]);

/** @param {string} collective @returns {boolean} whether chunk r belongs to rank r */
export function isBlocked(collective) {
  return BLOCKED.has(collective);
}

/** @param {string} collective @returns {boolean} */
export function hasRoot(collective) {
  return ROOTED.has(collective);
}

/** @param {string} collective @returns {"copy" | "reduce"} what the next transfer most likely does */
export function usualOp(collective) {
  return ADDS.has(collective) ? "reduce" : "copy";
}

/**
 * A schedule for other numbers, with those of its transfers that still name a rank and a chunk.
 * @param {Schedule} old @param {{collective: string, n: number, root: number, chunks: number}} wanted @returns {Schedule}
 */
export function remade(old, { collective, n, root, chunks }) {
  const numChunks = isBlocked(collective) ? n : chunks;
  const same = collective === old.collective;
  const steps = (same ? old.steps : []).map((step) => step.filter(([src, dst, chunk]) => src < n && dst < n && chunk < numChunks));
  return {
    collective, algorithm: NAME, world_size: n, num_switches: 0, num_chunks: numChunks,
    root: hasRoot(collective) ? Math.min(root, n - 1) : null,
    steps: steps.filter((step) => step.length),
  };
}

/** @param {Schedule} schedule @param {Transfer[][]} steps @returns {Schedule} the same with these steps; a step without transfers is none */
function withSteps(schedule, steps) {
  return { ...schedule, algorithm: NAME, steps: steps.filter((step) => step.length) };
}

/** @param {Schedule} schedule @param {number} at a step, or the number of steps for a new one @param {Transfer} transfer @returns {Schedule} */
export function added(schedule, at, transfer) {
  const steps = [...schedule.steps, []].map((step, number) => (number === at ? [...step, transfer] : step));
  return withSteps(schedule, steps);
}

/** @param {Schedule} schedule @param {number} step @param {number} index @returns {Schedule} */
export function removed(schedule, step, index) {
  return withSteps(schedule, schedule.steps.map((some, number) => (number === step ? some.filter((_, place) => place !== index) : some)));
}

/** @param {Schedule} schedule @param {number} step @param {number} index @param {Transfer} transfer @returns {Schedule} */
export function changed(schedule, step, index, transfer) {
  return withSteps(schedule, schedule.steps.map((some, number) => (number === step ? some.map((one, place) => (place === index ? transfer : one)) : some)));
}

/** @param {Schedule} schedule @param {number} step @param {number} index @param {number} to @returns {Schedule} the transfer in another step, or in a new one at the end */
export function moved(schedule, step, index, to) {
  const transfer = schedule.steps[step]?.[index];
  if (!transfer || to === step) return schedule;
  const steps = schedule.steps.map((some, number) => (number === step ? some.filter((_, place) => place !== index) : some));
  return withSteps(schedule, [...steps, []].map((some, number) => (number === to ? [...some, transfer] : some)));
}

/** @param {Schedule} schedule @returns {number} how many elements the whole vector has in the picture */
export function elementsOf(schedule) {
  return Math.max(8, 2 * schedule.num_chunks);
}

/**
 * What can be counted before it runs. `inTurn`: one port sends, and receives, one message at a time,
 * so a step lasts as many messages as its busiest port has.
 * @param {Schedule} schedule @param {number} itemsize
 */
export function counts(schedule, itemsize) {
  const spans = split(elementsOf(schedule), schedule.num_chunks);
  const out = range(endpoints(schedule)).map(() => 0);
  const into = [...out];
  let transfers = 0;
  let inTurn = 0;
  for (const step of schedule.steps) {
    /** @type {Map<string, Set<number>>} */
    const peers = new Map();
    for (const [src, dst, chunk] of step) {
      const nbytes = (spans[chunk]?.length ?? 0) * itemsize;
      out[src] = (out[src] ?? 0) + nbytes;
      into[dst] = (into[dst] ?? 0) + nbytes;
      transfers += 1;
      for (const [key, peer] of /** @type {[string, number][]} */ ([[`out ${src}`, dst], [`in ${dst}`, src]])) {
        peers.set(key, (peers.get(key) ?? new Set()).add(peer));
      }
    }
    inTurn += Math.max(0, ...[...peers.values()].map((some) => some.size));
  }
  const busiest = Math.max(0, ...out, ...into);
  const sends = out.indexOf(busiest);
  const who = sends >= 0 ? { rank: sends, sends: true } : { rank: into.indexOf(busiest), sends: false };
  return { steps: schedule.steps.length, transfers, inTurn, out, into, busiest, who, whole: elementsOf(schedule) * itemsize };
}

/**
 * The fewest messages one after another, where a plan that reaches it exists for every n: what one
 * rank has, or must get, at most doubles its holders from one message to the next.
 * @param {Schedule} schedule @returns {number | null}
 */
export function fewest(schedule) {
  return ADDS.has(schedule.collective) && schedule.collective !== "reduce" ? null : Math.ceil(Math.log2(schedule.world_size));
}

/** @param {Schedule} schedule @returns {Mark[][]} by rank and chunk, at the end */
export function marks(schedule) {
  const last = /** @type {State} */ (states(schedule).at(-1));
  return range(schedule.world_size).map((rank) => range(schedule.num_chunks).map((chunk) => markOf(schedule, last, rank, chunk)));
}

/** @param {Schedule} schedule @param {State} last @param {number} rank @param {number} chunk @returns {Mark} */
function markOf(schedule, last, rank, chunk) {
  const parts = last[rank]?.[chunk] ?? [];
  const promised = ends(schedule, rank, chunk);
  if (promised === null) {
    const strayed = once(parts).length > 0 && range(schedule.world_size).some((other) => {
      const wanted = ends(schedule, other, chunk);
      return wanted !== null && exactly(parts, wanted) && !exactly(last[other]?.[chunk] ?? [], wanted);
    });
    // a rank that began with all of it holds it rightly: nobody put it in a wrong place
    const began = exactly(/** @type {State} */ (states({ ...schedule, steps: [] })[0])[rank]?.[chunk] ?? [], once(parts));
    return strayed && !began ? { kind: "place", text: "wrong place" } : { kind: "free", text: "" };
  }
  switch (standing(schedule, parts, rank, chunk)) {
    case "kept":
      return { kind: "done", text: "done" };
    case "twice":
      return { kind: "double", text: `double ${list(twice(parts).map(letter))}` };
    case "missing":
      return { kind: "missing", text: `missing ${lackText(lacking(promised, parts))}` };
    default:
      return { kind: "place", text: "wrong place" };
  }
}

/** @param {readonly number[]} parts @returns {string} the letters; beyond three only how many */
function lackText(parts) {
  return parts.length > 3 ? `${parts.length} parts` : parts.map(letter).join(", ");
}

/** @param {Schedule} schedule @returns {number} (rank, chunk) pairs to which something is promised */
export function promises(schedule) {
  return range(schedule.world_size).flatMap((rank) => range(schedule.num_chunks).filter((chunk) => ends(schedule, rank, chunk) !== null)).length;
}

/**
 * The numbers of every rank at the end, for the fill 100 (rank + 1) + index; null where it holds nothing.
 * @param {Schedule} schedule @returns {(number[] | null)[][]} by rank and chunk
 */
export function arrays(schedule) {
  const last = /** @type {State} */ (states(schedule).at(-1));
  const spans = split(elementsOf(schedule), schedule.num_chunks);
  return range(schedule.world_size).map((rank) => spans.map(({ start, length }, chunk) => {
    const parts = last[rank]?.[chunk] ?? [];
    if (!once(parts).length) return null;
    return range(length).map((place) => parts.reduce((sum, count, part) => sum + count * (100 * (part + 1) + start + place), 0));
  }));
}

/** @type {Record<string, (root: number) => [starts: string, ends: string]>} */
const PROMISES = {
  broadcast: (root) => [`Rank ${root} starts with the vector.`, "Every rank must end with it."],
  reduce: (root) => ["Every rank starts with a vector of its own.", `Rank ${root} must end with the sum of all.`],
  gather: (root) => ["Rank r starts with block r.", `Rank ${root} must end with all blocks.`],
  scatter: (root) => [`Rank ${root} starts with all blocks.`, "Rank r must end with block r."],
  all_gather: () => ["Rank r starts with block r.", "Every rank must end with all blocks."],
  reduce_scatter: () => ["Every rank starts with a vector of its own.", "Rank r must end with block r of the sum."],
  all_reduce: () => ["Every rank starts with a vector of its own.", "Every rank must end with the sum of all."],
};

/** @param {Schedule} schedule @returns {string} the contract in two sentences */
export function promiseText(schedule) {
  return (PROMISES[schedule.collective]?.(schedule.root ?? 0) ?? []).join(" ");
}

/** @param {Schedule} schedule @returns {string} "Broadcast on 4 ranks, root 0, 1 chunk" */
export function heading(schedule) {
  const root = schedule.root === null ? "" : `, root ${schedule.root}`;
  const name = words(schedule.collective);
  return `${name[0]?.toUpperCase()}${name.slice(1)} on ${plural(schedule.world_size, "rank")}${root}, ${plural(schedule.num_chunks, "chunk")}`;
}

/** @param {Schedule} schedule @param {number} chunk @returns {string} "elements 0 to 7" */
export function elementsText(schedule, chunk) {
  const span = split(elementsOf(schedule), schedule.num_chunks)[chunk];
  if (!span) return "";
  const last = span.start + span.length - 1;
  return span.length === 1 ? `element ${last}` : `elements ${span.start} to ${last}`;
}

/** @param {Schedule} schedule @param {number} part @param {number} chunk @param {boolean} roomy @returns {string} "a0…a7", or the letter alone */
export function tileText(schedule, part, chunk, roomy) {
  const span = split(elementsOf(schedule), schedule.num_chunks)[chunk];
  if (!roomy || !span) return letter(part);
  const first = `${letter(part)}${span.start}`;
  const last = `${letter(part)}${span.start + span.length - 1}`;
  return span.length === 1 ? first : span.length === 2 ? `${first} ${last}` : `${first}…${last}`;
}

/** @param {Parts} parts @returns {string} "a + b", "nothing" */
export function cellText(parts) {
  return sumText(parts);
}

/** @param {Schedule} schedule @param {number} chunk @returns {number | null} the rank whose block it is */
export function ownerOf(schedule, chunk) {
  return isBlocked(schedule.collective) ? block(schedule, chunk) : null;
}

/** @param {Schedule} schedule @returns {string} what `allranks verify FILE` and `ar.Schedule.from_json` read */
export function asJson(schedule) {
  const steps = schedule.steps.map((step) => `  [${step.map(([src, dst, chunk, op]) => `[${src}, ${dst}, ${chunk}, "${op}"]`).join(", ")}]`);
  const inside = steps.length ? `\n${steps.join(",\n")}\n ` : "";
  return [
    `{"format": "allranks.schedule/1", "collective": "${schedule.collective}",`,
    ` "algorithm": "${NAME}", "world_size": ${schedule.world_size}, "root": ${schedule.root}, "num_chunks": ${schedule.num_chunks},`,
    ` "steps": [${inside}]}`,
  ].join("\n");
}

/** @param {Schedule} schedule @returns {string} the same as Python, for a cell or an exercise */
export function asPython(schedule) {
  const root = schedule.root === null ? "" : `, root=${schedule.root}`;
  const steps = schedule.steps.map((step) => {
    const rows = step.map(([src, dst, chunk, op]) => `            ar.Transfer(${src}, ${dst}, ${chunk}, ar.Op.${op.toUpperCase()}),`);
    return `        [\n${rows.join("\n")}\n        ],`;
  });
  const inside = steps.length ? `\n${steps.join("\n")}\n    ` : "";
  return verbatim(`import allranks as ar\n\nplan = ar.Schedule(\n    "${schedule.collective}", "${NAME}",\n    world_size=${schedule.world_size}, num_chunks=${schedule.num_chunks}${root},\n    steps=[${inside}],\n)\n`);
}
