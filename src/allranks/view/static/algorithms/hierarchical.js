// @ts-check
// One algorithm inside the nodes, another between them: the twin of allranks/algorithms/hierarchical.py.

import { range, span } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */
/** @typedef {import("./base.js").Parameters} Parameters */
/** An algorithm with its usual numbers. @typedef {{steps: (n: number) => Step[], chunks: (n: number) => number, able: (n: number) => boolean, switches: number}} Plain */
/** Finds an algorithm of a collective, or null. @typedef {(collective: string, name: string) => Plain | null} Table */
/** @typedef {Omit<Parameters, "chunks" | "root">} Given */

const NODE_SIZE = 8;

/** @param {number} n @param {Given} given @param {Table} table @returns {Step[]} */
export function hierarchicalAllReduce(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const whole = range(allReduceChunks(n, given, table));
  const inner = given.inner ?? "ring";
  const across = table("all_reduce", given.outer ?? "ring");
  if (!across) return [];
  const pieces = across.chunks(sizes.length);
  return [
    ...inside(table("reduce_scatter", inner), sizes, whole),
    ...together(shares(sizes, whole.length).map((share) => embed(across.steps(sizes.length), share.ranks, cut(share.chunks, pieces)))),
    ...inside(table("all_gather", inner), sizes, whole),
  ];
}

/** @param {number} n @param {Given} given @param {Table} table @returns {number} */
export function allReduceChunks(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const slots = sizes.reduce(leastCommonMultiple, 1) * (table("all_reduce", given.outer ?? "ring")?.chunks(sizes.length) ?? 1);
  const inner = given.inner ?? "ring";
  return ["reduce_scatter", "all_gather"]
    .flatMap((collective) => sizes.map((g) => table(collective, inner)?.chunks(g) ?? 1))
    .reduce(leastCommonMultiple, slots);
}

/** @param {number} n @param {Given} given @param {Table} table @returns {boolean} */
export function ableToAllReduce(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const inner = given.inner ?? "ring";
  return (
    fit(n, sizes) &&
    runs(table("reduce_scatter", inner), sizes) &&
    runs(table("all_gather", inner), sizes) &&
    runs(table("all_reduce", given.outer ?? "ring"), [sizes.length]) &&
    allReduceChunks(n, given, table) <= 2 ** 22
  );
}

/** @param {number} n @param {Given} given @param {Table} table @returns {Step[]} */
export function hierarchicalAllToAll(n, given, table) {
  const [g = 1] = nodeSizes(n, given.nodeSize);
  const nodes = range(n / g);
  const inner = table("all_to_all", given.inner ?? "direct");
  const outer = table("all_to_all", given.outer ?? "direct");
  if (!inner || !outer) return [];
  const scatter = nodes.map((node) =>
    embed(inner.steps(g), span(node * g, node * g + g), range(g).flatMap((src) => range(g).map((dst) => nodes.map((other) => (node * g + src) * n + other * g + dst)))),
  );
  const between = range(g).map((local) =>
    embed(outer.steps(nodes.length), nodes.map((node) => node * g + local), nodes.flatMap((here) => nodes.map((there) => range(g).map((src) => (here * g + src) * n + there * g + local)))),
  );
  return [...together(scatter), ...together(between)];
}

/** @param {number} n @param {Given} given @param {Table} table @returns {boolean} */
export function ableToAllToAll(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  return (
    fit(n, sizes) &&
    new Set(sizes).size === 1 &&
    runs(table("all_to_all", given.inner ?? "direct"), sizes) &&
    runs(table("all_to_all", given.outer ?? "direct"), [sizes.length])
  );
}

/** @param {number} n @param {number[]} sizes @returns {boolean} */
function fit(n, sizes) {
  return sizes.every((g) => Number.isInteger(g) && g > 0) && sizes.reduce((sum, g) => sum + g, 0) === n;
}

/** @param {Plain | null} entry @param {number[]} sizes @returns {boolean} */
function runs(entry, sizes) {
  return entry !== null && entry.switches === 0 && sizes.every((g) => entry.able(g));
}

/** @param {number} n @param {number | number[] | null} asked @returns {number[]} the ranks of every node */
function nodeSizes(n, asked) {
  if (Array.isArray(asked)) return asked;
  const size = asked ?? NODE_SIZE;
  if (!(size >= 1)) return [NaN];
  const rest = n % size;
  return [...range(Math.floor(n / size)).map(() => size), ...(rest ? [rest] : [])];
}

/** @param {number[]} sizes @returns {number[]} the first rank of every node */
function firsts(sizes) {
  let sum = 0;
  return sizes.map((g) => (sum += g) - g);
}

/** @param {Plain | null} entry @param {number[]} sizes @param {number[]} whole @returns {Step[]} */
function inside(entry, sizes, whole) {
  if (!entry) return [];
  const first = firsts(sizes);
  return together(sizes.map((g, node) => embed(entry.steps(g), span(first[node] ?? 0, (first[node] ?? 0) + g), cut(whole, entry.chunks(g)))));
}

/** @param {Step[]} steps @param {number[]} ranks @param {number[][]} chunks @returns {Step[]} */
function embed(steps, ranks, chunks) {
  return steps.map((step) =>
    step.flatMap(([src, dst, piece, op]) => (chunks[piece] ?? []).map((chunk) => /** @type {Transfer} */ ([ranks[src] ?? 0, ranks[dst] ?? 0, chunk, op]))),
  );
}

/** @param {Step[][]} schedules @returns {Step[]} played at once; shorter ones wait */
function together(schedules) {
  return range(Math.max(0, ...schedules.map((steps) => steps.length))).map((step) => schedules.flatMap((steps) => steps[step] ?? []));
}

/** @param {number[]} sizes @param {number} chunks @returns {{ranks: number[], chunks: number[]}[]} who works with whom between nodes */
function shares(sizes, chunks) {
  const cuts = [...new Set(sizes.flatMap((g) => range(g + 1).map((local) => (chunks / g) * local)))].sort((a, b) => a - b);
  const first = firsts(sizes);
  return cuts.slice(1).map((stop, index) => {
    const start = cuts[index] ?? 0;
    return { ranks: sizes.map((g, node) => (first[node] ?? 0) + Math.floor((start * g) / chunks)), chunks: span(start, stop) };
  });
}

/** @param {number[]} chunks @param {number} pieces @returns {number[][]} */
function cut(chunks, pieces) {
  const length = Math.floor(chunks.length / pieces);
  return range(pieces).map((index) => chunks.slice(index * length, (index + 1) * length));
}

/** @param {number} a @param {number} b @returns {number} */
function leastCommonMultiple(a, b) {
  /** @param {number} x @param {number} y @returns {number} */
  const divisor = (x, y) => (y ? divisor(y, x % y) : x);
  return (a / divisor(a, b)) * b;
}
