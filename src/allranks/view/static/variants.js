// @ts-check
// Variants of a schedule: the twin of allranks/algorithms/variants.py. tests/view compares every
// transfer.

import { range } from "./algorithms/base.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./algorithms.js").Step} Step */
/** @typedef {import("./algorithms.js").Transfer} Transfer */

export const BUGS = ["twice", "dropped", "swapped"];

/** @type {Record<string, string>} */
const MIRROR = {
  all_gather: "reduce_scatter",
  reduce_scatter: "all_gather",
  broadcast: "reduce",
  reduce: "broadcast",
  gather: "scatter",
  scatter: "gather",
  all_reduce: "all_reduce",
};
const ONLY_COPIES = new Set(["gather", "scatter"]);

/** @param {Schedule} schedule @returns {Schedule | null} the steps backwards, every transfer turned round */
function backwards(schedule) {
  const collective = MIRROR[schedule.collective];
  if (!collective) return null;
  const keeps = ONLY_COPIES.has(schedule.collective);
  /** @type {Step[]} */
  const steps = [...schedule.steps].reverse().map((step) =>
    step.map(([src, dst, chunk, op]) => [dst, src, chunk, op === "copy" && !keeps ? "reduce" : "copy"]),
  );
  return { ...schedule, collective, steps };
}

/** @param {Schedule} schedule @returns {number} 0 where chunks are no whole blocks */
function chunksOfABlock({ num_chunks, world_size }) {
  return num_chunks % world_size ? 0 : num_chunks / world_size;
}

/** @param {Schedule} schedule @param {(chunk: number) => number} name @returns {Schedule} */
function renamed(schedule, name) {
  /** @type {Step[]} */
  const steps = schedule.steps.map((step) => step.map(([src, dst, chunk, op]) => [src, dst, name(chunk), op]));
  return { ...schedule, steps };
}

/** @param {Schedule} schedule @returns {Schedule | null} every chunk one block higher */
function shifted(schedule) {
  const blocks = chunksOfABlock(schedule);
  return blocks ? renamed(schedule, (chunk) => (chunk + blocks) % schedule.num_chunks) : null;
}

/** @param {Schedule} schedule @returns {Schedule | null} blocks 0 and 1 exchanged */
function swapped(schedule) {
  const blocks = chunksOfABlock(schedule);
  if (!blocks || schedule.world_size === 1) return null;
  return renamed(schedule, (chunk) => {
    const block = Math.floor(chunk / blocks);
    return block > 1 ? chunk : chunk + blocks - 2 * block * blocks;
  });
}

/**
 * Changes the step in the middle of those that add, given its first REDUCE.
 * @param {Schedule} schedule @param {(step: Step, one: Transfer) => Step} change @returns {Schedule | null}
 */
function withStep(schedule, change) {
  const adding = range(schedule.steps.length).filter((number) => schedule.steps[number]?.some(([, , , op]) => op === "reduce"));
  const middle = adding[Math.floor(adding.length / 2)];
  if (middle === undefined) return null;
  const steps = schedule.steps.map((step, number) => {
    const one = number === middle ? step.find(([, , , op]) => op === "reduce") : undefined;
    return one ? change(step, one) : step;
  });
  return { ...schedule, steps };
}

/** @type {Record<string, (schedule: Schedule) => Schedule | null>} */
export const VARIANTS = {
  reversed: backwards,
  shifted,
  twice: (schedule) => withStep(schedule, (step, one) => [...step, one]),
  dropped: (schedule) => withStep(schedule, (step, one) => step.filter((transfer) => transfer !== one)),
  swapped,
};

/**
 * The schedule with some variants applied, in this order; null if it has none of that kind.
 * @param {Schedule} schedule @param {string[]} names @returns {Schedule | null}
 */
export function vary(schedule, names) {
  /** @type {Schedule | null} */
  let varied = schedule;
  for (const name of names) {
    const make = Object.hasOwn(VARIANTS, name) ? VARIANTS[name] : undefined;
    if (!varied || !make) return null;
    varied = make(varied);
  }
  return varied;
}

/** What a title says of a variant, behind the name of the schedule. @type {Record<string, string>} */
const TITLES = {
  shifted: "rank r starts with chunk r",
  twice: "one transfer twice",
  dropped: "one transfer left out",
  swapped: "two blocks exchanged",
};

/** @param {string[]} names @param {string} collective that the schedule has become @returns {string} */
export function variantWords(names, collective) {
  return names.map((name) => (name === "reversed" ? `, backwards: a ${collective}` : `, ${TITLES[name] ?? name}`)).join("");
}

/**
 * Where the verifier's answer for a varied schedule stands in the data of a figure.
 * @param {Schedule} plain @param {string[]} names @returns {string}
 */
export function verdictKey({ algorithm, world_size }, names) {
  return `${algorithm} ${world_size} ${names.join(",")}`;
}
