// @ts-check
// Doubling and halving, with the fold: the twin of allranks/algorithms/doubling.py.

import { bitLength, range, span } from "./base.js";

/** @typedef {import("./base.js").Step} Step */
/** @typedef {import("./base.js").Op} Op */
/** @typedef {import("./base.js").Transfer} Transfer */

/** @param {number} n @returns {number} the highest power of two that is not above n */
export function powerOfTwo(n) {
  return 2 ** (bitLength(n) - 1);
}

/** @param {number} places @returns {number[]} 1, 2, 4, ... below a power of two */
function distances(places) {
  return range(bitLength(places) - 1).map((bit) => 2 ** bit);
}

/** @param {number} n @returns {number} how many ranks are folded away */
function extraOf(n) {
  return n - powerOfTwo(n);
}

/** @param {number} n @returns {number[]} the ranks that are left after the fold */
function placesOf(n) {
  const extra = extraOf(n);
  return [...range(extra).map((pair) => 2 * pair + 1), ...span(2 * extra, n)];
}

/** @param {number} n @param {number[]} chunks @returns {Step[]} */
function fold(n, chunks) {
  const pairs = range(extraOf(n));
  return pairs.length ? [pairs.flatMap((pair) => chunks.map((chunk) => /** @type {Transfer} */ ([2 * pair, 2 * pair + 1, chunk, "reduce"])))] : [];
}

/** @param {number} n @param {number[]} chunks @returns {Step[]} */
function unfold(n, chunks) {
  return fold(n, chunks).map((step) => step.map(([even, odd, chunk]) => [odd, even, chunk, "copy"]));
}

/**
 * One exchange of every place with its partner.
 * @param {number[]} ranks by place @param {number} distance
 * @param {(place: number, partner: number) => number[]} chunks @param {Op} op @returns {Step}
 */
function exchange(ranks, distance, chunks, op) {
  return ranks.flatMap((rank, place) => {
    const partner = place ^ distance;
    return chunks(place, partner).map((chunk) => /** @type {Transfer} */ ([rank, ranks[partner] ?? 0, chunk, op]));
  });
}

/** @param {number} place @param {number} width @returns {number[]} the places of its group */
function group(place, width) {
  const first = place - (place % width);
  return span(first, first + width);
}

/** @param {number[]} places @param {number} n @returns {number[]} the blocks of the ranks behind a group */
function blocks(places, n) {
  const extra = extraOf(n);
  const first = places[0] ?? 0;
  const end = first + places.length;
  return span(first + Math.min(first, extra), end + Math.min(end, extra));
}

/** @param {number} place @param {number} distance @param {number} places @returns {number[]} */
function kept(place, distance, places) {
  let first = 0;
  let width = places;
  for (const nearer of distances(2 * distance)) {
    width /= 2;
    first += place & nearer ? width : 0;
  }
  return span(first, first + width);
}

/** @param {number} n a power of two @returns {Step[]} */
export function recursiveDoublingAllGather(n) {
  return distances(n).map((distance) => exchange(range(n), distance, (rank) => group(rank, distance), "copy"));
}

/** @param {number} n @returns {Step[]} */
export function recursiveHalvingReduceScatter(n) {
  const ranks = placesOf(n);
  const halving = distances(ranks.length)
    .reverse()
    .map((distance) => exchange(ranks, distance, (_place, partner) => blocks(group(partner, distance), n), "reduce"));
  /** @type {Step} */
  const last = range(extraOf(n)).map((pair) => [2 * pair + 1, 2 * pair, 2 * pair, "copy"]);
  return [...fold(n, range(n)), ...halving, ...(last.length ? [last] : [])];
}

/** @param {number} n @returns {Step[]} */
export function recursiveDoublingAllReduce(n) {
  const ranks = placesOf(n);
  const doubling = distances(ranks.length).map((distance) => exchange(ranks, distance, () => [0], "reduce"));
  return [...fold(n, [0]), ...doubling, ...unfold(n, [0])];
}

/** @param {number} n @returns {Step[]} */
export function rabenseifnerAllReduce(n) {
  const ranks = placesOf(n);
  const places = ranks.length;
  const halving = distances(places).map((distance) => exchange(ranks, distance, (_place, partner) => kept(partner, distance, places), "reduce"));
  const doubling = distances(places)
    .reverse()
    .map((distance) => exchange(ranks, distance, (place) => kept(place, distance, places), "copy"));
  return [...fold(n, range(places)), ...halving, ...doubling, ...unfold(n, range(places))];
}
