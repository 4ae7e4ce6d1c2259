// @ts-check
// The double binary tree: the twin of allranks/algorithms/double_tree.py.

import { bitLength, range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** A link of one of the two trees, and the step of the way down in which chunk 0 takes it.
 *  @typedef {{tree: number, parent: number, child: number, start: number}} Edge */

const NOBODY = -1;

/** @param {number} n @param {number} chunks @returns {Step[]} */
export function doubleBinaryTreeAllReduce(n, chunks) {
  const perTree = Math.floor(chunks / 2);
  const pace = Math.min(n - 1, 2);
  /** @type {Map<number, Edge[]>} */
  const started = new Map();
  for (const edge of edges(n)) started.set(edge.start, [...(started.get(edge.start) ?? []), edge]);
  const down = range(stepsDown(n, chunks)).map((step) =>
    range(perTree).flatMap((chunk) => (started.get(step - pace * chunk) ?? []).map((edge) => ({ edge, chunk }))),
  );
  return [
    ...[...down].reverse().map((step) => step.map(({ edge, chunk }) => /** @type {import("./base.js").Transfer} */ ([edge.child, edge.parent, (edge.tree + 1) * perTree - 1 - chunk, "reduce"]))),
    ...down.map((step) => step.map(({ edge, chunk }) => /** @type {import("./base.js").Transfer} */ ([edge.parent, edge.child, edge.tree * perTree + chunk, "copy"]))),
  ];
}

/** @param {number} n @param {number} chunks @returns {number} steps of one way */
function stepsDown(n, chunks) {
  if (n <= 2) return Math.floor(chunks / 2) * (n - 1);
  return 2 * bitLength(n - 1) + chunks - 4 + (n % 4 === 0 ? 1 : 0);
}

/** @param {number} n @returns {number[][]} the parents of every rank in tree 0 and tree 1 */
export function doubleTree(n) {
  const first = binaryTree(n);
  if (n % 2) {
    const moved = range(n).map((rank) => first.at(rank - 1) ?? NOBODY);
    return [first, moved.map((up) => (up === NOBODY ? up : (up + 1) % n))];
  }
  return [first, [...first].reverse().map((up) => (up === NOBODY ? up : n - 1 - up))];
}

/** @param {number} n @returns {number[]} the parent of every rank */
function binaryTree(n) {
  return range(n).map((rank) => {
    if (rank === 0) return NOBODY;
    const bit = rank & -rank;
    const up = (rank ^ bit) | (bit << 1);
    return up < n ? up : rank ^ bit;
  });
}

/** @param {number} n @returns {Edge[]} */
function edges(n) {
  return doubleTree(n).flatMap((parents, tree) => {
    /** @type {Edge[]} */
    const found = [];
    let level = [{ rank: parents.indexOf(NOBODY), start: NOBODY }];
    while (level.length) {
      const links = level.flatMap(({ rank: parent, start }) =>
        range(n)
          .filter((child) => parents[child] === parent)
          .map((child) => ({ tree, parent, child, start: start + 2 - (turn(n, tree, child) !== Math.abs(start % 2) ? 1 : 0) })),
      );
      found.push(...links);
      level = links.map(({ child, start }) => ({ rank: child, start }));
    }
    return found;
  });
}

/** @param {number} n @param {number} tree @param {number} rank @returns {number} 0 or 1: even or odd steps */
function turn(n, tree, rank) {
  if (n % 2 === 0) {
    const place = tree ? n - 1 - rank : rank;
    return place % 2 ? 1 - evenTurn(n, n - 1 - place) : evenTurn(n, place);
  }
  const place = tree ? (rank - 1 + n) % n : rank;
  if (tree) return place % 2 ? 1 - (hopsUp(place + 1, n) % 2) : hopsDown(place, n) % 2;
  return place % 2 ? 1 - (hopsDown(place - 1, n) % 2) : hopsUp(place, n) % 2;
}

/** @param {number} n @param {number} place even @returns {number} */
function evenTurn(n, place) {
  if (n % 4 === 0 || place === 0) return (bitCount(place) + 1) % 2;
  return hopsUp(place, n) % 2;
}

/** @param {number} value @returns {number} */
function bitCount(value) {
  return value ? (value & 1) + bitCount(value >> 1) : 0;
}

/** @param {number} place @param {number} n @returns {number} */
function hopsUp(place, n) {
  let hops = 0;
  for (let at = place; at + (at & -at) < n; at += at & -at) hops += 1;
  return hops;
}

/** @param {number} place @param {number} n @returns {number} */
function hopsDown(place, n) {
  let hops = 0;
  for (let at = place; at && at + (at & -at) < n; at -= at & -at) hops += 1;
  return hops;
}
