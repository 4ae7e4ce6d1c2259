// @ts-check
// PAT, parallel aggregated trees: the twin of allranks/algorithms/pat.py.

import { bitLength, modulo, range } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Transfer} Transfer */
/** Every rank sends `distance` places on, one block for each place. @typedef {{distance: number, places: number[]}} Hop */

/** @type {Record<number, number[]>} */
const GATHERED = { 1: [], 2: [1], 4: [2, 3, 1] };
/** @type {Record<number, number[]>} */
const REDUCED = { 1: [], 2: [1], 4: [3, 2, 1] };

/** @param {number} n @returns {Step[]} */
export function patAllGather(n) {
  const together = group(n);
  const orders = [
    ...bits(n).reverse().filter((bit) => bit >= together).map((bit) => every(bit, n, 2 * bit)),
    ...(GATHERED[together] ?? []).map((first) => every(first, n, together)),
  ];
  return hops(orders).map(({ distance, places }) =>
    range(n).flatMap((rank) => places.map((far) => /** @type {Transfer} */ ([rank, modulo(rank - distance, n), modulo(rank - distance + far, n), "copy"]))),
  );
}

/** @param {number} n @returns {Step[]} */
export function patReduceScatter(n) {
  const together = group(n);
  const whole = 2 ** bitLength(n - 1);
  const orders = [
    ...(REDUCED[together] ?? []).map((first) => every(first, whole, together)),
    ...bits(n).filter((bit) => bit >= together).map((bit) => every(bit, whole, 2 * bit)),
  ];
  const turned = orders.map((order) => mirrored(order.length).map((index) => order[index] ?? 0).filter((far) => far < n));
  return hops(turned).map(({ distance, places }) =>
    range(n).flatMap((rank) => places.map((far) => /** @type {Transfer} */ ([rank, (rank + distance) % n, (rank + far) % n, "reduce"]))),
  );
}

/** @param {number} n @returns {number} 1, 2 or 4: how many distances share the last steps */
function group(n) {
  return 2 ** (bitLength(n - 1) - bitLength(Math.max(Math.floor(n / 2) - 1, 0)));
}

/** @param {number} n @returns {number[]} 1, 2, 4, ... below n */
function bits(n) {
  return range(bitLength(n - 1)).map((dim) => 2 ** dim);
}

/** @param {number} first @param {number} end @param {number} by @returns {number[]} */
function every(first, end, by) {
  return range(Math.ceil((end - first) / by)).map((index) => first + index * by);
}

/** @param {number} count a power of two @returns {number[]} in the order of inverted, reversed bits */
function mirrored(count) {
  let order = [0];
  while (order.length < count) order = [...order.map((i) => 2 * i + 1), ...order.map((i) => 2 * i)];
  return order;
}

/** @param {number[][]} orders @returns {Hop[]} */
function hops(orders) {
  return orders.filter((order) => order.length).map((places) => ({ distance: (places[0] ?? 0) & -(places[0] ?? 0), places }));
}
