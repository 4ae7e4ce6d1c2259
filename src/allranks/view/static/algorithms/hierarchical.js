// @ts-check
// One algorithm inside the nodes, another between them: the twin of allranks/algorithms/hierarchical.py.

import { range, span } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */
/** @typedef {import("./base.js").Parameters} Parameters */
/** An algorithm with its usual numbers. @typedef {{steps: (n: number) => Step[], chunks: (n: number) => number, able: (n: number) => boolean, switches: (n: number) => number}} Plain */
/** Finds an algorithm of a collective, or null. @typedef {(collective: string, name: string) => Plain | null} Table */
/** @typedef {Omit<Parameters, "chunks" | "root">} Given */
/** The first rank and switch of a node, and how many of each. @typedef {{first: number, ranks: number, switch: number, switches: number}} Node */

const NODE_SIZE = 8;
/** What runs inside a node alone. */
const ONE_DOMAIN = "nvls";

/** @param {number} n @param {Given} given @param {Table} table @returns {Step[]} */
export function hierarchicalAllReduce(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const whole = range(allReduceChunks(n, given, table));
  const inner = given.inner ?? "ring";
  const across = table("all_reduce", given.outer ?? "ring");
  if (!across) return [];
  const pieces = across.chunks(sizes.length);
  const nodes = nodesOf(sizes, table("reduce_scatter", inner));
  const each = across.switches(sizes.length);
  const between = shares(sizes, whole.length).map((share, index) => {
    const start = afterNodes(nodes) + index * each;
    return embed(across.steps(sizes.length), [...share.ranks, ...span(start, start + each)], cut(share.chunks, pieces));
  });
  return [
    ...inside(table("reduce_scatter", inner), nodes, whole),
    ...together(between),
    ...inside(table("all_gather", backwards(inner)), nodes, whole),
  ];
}

/** @param {number} n @param {Given} given @param {Table} table @returns {number} those inside all nodes, and a set for every share */
export function allReduceSwitches(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const each = table("all_reduce", given.outer ?? "ring")?.switches(sizes.length) ?? 0;
  const between = each && each * (borders(sizes, sizes.reduce(leastCommonMultiple, 1)).length - 1);
  return afterNodes(nodesOf(sizes, table("reduce_scatter", given.inner ?? "ring"))) + between - n;
}

/** @param {string} inner @returns {string} the all_gather that plays a reduce_scatter backwards */
function backwards(inner) {
  return inner === "recursive_halving" ? "recursive_doubling" : inner;
}

/** @param {number} n @param {Given} given @param {Table} table @returns {number} */
export function allReduceChunks(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const slots = sizes.reduce(leastCommonMultiple, 1) * (table("all_reduce", given.outer ?? "ring")?.chunks(sizes.length) ?? 1);
  const inner = given.inner ?? "ring";
  return [table("reduce_scatter", inner), table("all_gather", backwards(inner))]
    .flatMap((entry) => sizes.map((g) => entry?.chunks(g) ?? 1))
    .reduce(leastCommonMultiple, slots);
}

/** @param {number} n @param {Given} given @param {Table} table @returns {boolean} */
export function ableToAllReduce(n, given, table) {
  const sizes = nodeSizes(n, given.nodeSize);
  const inner = given.inner ?? "ring";
  return (
    fit(n, sizes) &&
    runs(table("reduce_scatter", inner), sizes) &&
    runs(table("all_gather", backwards(inner)), sizes) &&
    given.outer !== ONE_DOMAIN &&
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
  return entry !== null && sizes.every((g) => entry.able(g));
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

/** @param {number[]} sizes @param {Plain | null} inner @returns {Node[]} switches are numbered from n on, node after node */
function nodesOf(sizes, inner) {
  const first = firsts([...sizes, 0]);
  const switches = sizes.map((g) => inner?.switches(g) ?? 0);
  const above = firsts([first.at(-1) ?? 0, ...switches]).slice(1);
  return sizes.map((ranks, node) => ({ first: first[node] ?? 0, ranks, switch: above[node] ?? 0, switches: switches[node] ?? 0 }));
}

/** @param {Node[]} nodes @returns {number} the endpoint after all ranks and the switches inside nodes */
function afterNodes(nodes) {
  const last = nodes.at(-1);
  return last ? last.switch + last.switches : 0;
}

/** @param {Plain | null} entry @param {Node[]} nodes @param {number[]} whole @returns {Step[]} */
function inside(entry, nodes, whole) {
  if (!entry) return [];
  return together(
    nodes.map((node) => {
      const ends = [...span(node.first, node.first + node.ranks), ...span(node.switch, node.switch + node.switches)];
      return embed(entry.steps(node.ranks), ends, cut(whole, entry.chunks(node.ranks)));
    }),
  );
}

/** @param {Step[]} steps @param {number[]} ranks and then switches @param {number[][]} chunks @returns {Step[]} */
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
  const cuts = borders(sizes, chunks);
  const first = firsts(sizes);
  return cuts.slice(1).map((stop, index) => {
    const start = cuts[index] ?? 0;
    return { ranks: sizes.map((g, node) => (first[node] ?? 0) + Math.floor((start * g) / chunks)), chunks: span(start, stop) };
  });
}

/** @param {number[]} sizes @param {number} chunks @returns {number[]} before which chunks the holder changes in some node, and the number of chunks */
function borders(sizes, chunks) {
  return [...new Set(sizes.flatMap((g) => range(g + 1).map((local) => (chunks / g) * local)))].sort((a, b) => a - b);
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
