// @ts-check
// The two trees of a double binary tree and the bytes of every rank: pure functions of n.

import { range } from "./algorithms/base.js";
import { doubleTree } from "./algorithms/double_tree.js";
import { ceilLg } from "./plane.js";
import { list, plural, say, significant } from "./format.js";

/** A rank in one tree. @typedef {{parent: number, children: number[], depth: number}} Place */
/** @typedef {{rank: number, trees: [Place, Place], bytes: number}} Member bytes are sent, in S */
/**
 * @typedef {object} Trees
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {number} n
 * @property {number[][]} parents
 * @property {number[]} bytes in S
 * @property {Record<string, unknown>} controls
 */

const NOBODY = -1;

/** @param {number} n 2 or more @returns {Member[]} */
export function members(n) {
  const parents = doubleTree(n);
  const both = parents.map((up) => {
    /** @param {number} rank @returns {number} */
    const depth = (rank) => ((up[rank] ?? NOBODY) === NOBODY ? 0 : 1 + depth(up[rank] ?? 0));
    return range(n).map((rank) => ({ parent: up[rank] ?? NOBODY, children: range(n).filter((child) => up[child] === rank), depth: depth(rank) }));
  });
  return range(n).map((rank) => {
    const trees = /** @type {[Place, Place]} */ ([both[0]?.[rank], both[1]?.[rank]]);
    const links = trees.reduce((sum, place) => sum + (place.parent === NOBODY ? 0 : 1) + place.children.length, 0);
    return { rank, trees, bytes: links / 2 };
  });
}

/** @param {Member} member @returns {[boolean, boolean]} in which tree it has children */
export function inner(member) {
  return [member.trees[0].children.length > 0, member.trees[1].children.length > 0];
}

/** @param {Member[]} all @returns {number[]} the ranks that have children in both trees */
export function innerTwice(all) {
  return all.filter((member) => inner(member).every(Boolean)).map((member) => member.rank);
}

/** @param {Place} place @param {number} tree @returns {string} */
function role(place, tree) {
  const below = list(place.children.map(String));
  if (place.parent === NOBODY) return below ? `In tree ${tree} it is the root, with ${below} below it.` : `In tree ${tree} it is alone.`;
  return below ? `In tree ${tree} its parent is ${place.parent}, with ${below} below it.` : `In tree ${tree} it is a leaf, and its parent is ${place.parent}.`;
}

/** @param {Member} member @returns {string} */
export function tellMember(member) {
  const [up, down] = member.trees;
  return `Rank ${member.rank} sends ${significant(member.bytes)} S. ${role(up, 0)} ${role(down, 1)}`;
}

/** @param {Member[]} all @returns {string} */
export function tellTrees(all) {
  const n = all.length;
  const most = Math.max(...all.map((member) => member.bytes));
  const total = all.reduce((sum, member) => sum + member.bytes, 0);
  const twice = innerTwice(all);
  const head = `${plural(n, "rank")}: the busiest sends ${significant(most)} S, all together ${significant(total)} S, as in a ring. No path to a root has more than ${plural(ceilLg(n), "link")}.`;
  if (twice.length) return `${head} Rank ${list(twice.map(String))} is inner in both trees.`;
  return n > 2 ? `${head} Every rank is inner in exactly one of the trees.` : head;
}

/** @param {Member[]} all @param {number} tree @returns {string} "tree 0, parents of ranks 0 to 5: none, 2, 4, 2, 0, 4" */
export function parentsText(all, tree) {
  const up = all.map((member) => member.trees[tree === 0 ? 0 : 1].parent);
  return `Tree ${tree}, parents of ranks 0 to ${all.length - 1}: ${up.map((parent) => (parent === NOBODY ? say("none") : String(parent))).join(", ")}.`;
}
