// @ts-check
// The latency-bandwidth plane: where the all-reduces lie, in closed forms. Pure functions of n, S and
// a machine; tests/view compares them with allranks.price.

import { bitLength, range } from "./algorithms/base.js";
import { powerOfTwo } from "./algorithms/doubling.js";
import { bytes as sizeText, plural, say, significant, time as seconds } from "./format.js";

/** @typedef {import("./price.js").Machine} Machine */
/**
 * One all-reduce on the plane. `alphas` are paid one after another. `bytes` are those that pass the
 * busiest port of every step, added up, in units of S; `sent` is what the busiest rank sends, in S.
 * The time is alphas * alpha + bytes * S * beta.
 * @typedef {object} Point
 * @property {string} key
 * @property {string} title
 * @property {number} alphas
 * @property {number} bytes
 * @property {number} sent
 * @property {number} seconds
 * @property {number | null} chunks what the double tree is cut into here; null elsewhere
 * @property {boolean} ideal a formula, and not a schedule
 */
/**
 * @typedef {object} Plane
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {number} n
 * @property {number} nbytes
 * @property {string} machine
 * @property {Record<string, Machine>} machines
 * @property {Point[]} points
 * @property {Record<string, unknown>} controls
 */
/** A mark of the drawing: points that lie on each other share one. @typedef {{alphas: number, bytes: number, points: Point[]}} Mark */

export const MOST_RANKS = 131072;
const MOST_CHUNKS = 2 ** 20;

/** @type {[key: string, title: string][]} */
export const NAMES = [
  ["ring", "ring"],
  ["recursive_doubling", "recursive doubling"],
  ["rabenseifner", "Rabenseifner"],
  ["binomial", "binomial tree"],
  ["flat", "star"],
  ["unchunked_ring", "unchunked ring"],
  ["direct", "two-shot all-pairs"],
  ["one_shot", "one-shot all-pairs"],
  ["double_binary_tree", "double tree"],
  ["ideal", "double tree, ideal"],
];

/** @param {number} n @returns {number} L, the smallest whole number with 2^L >= n */
export function ceilLg(n) {
  return bitLength(n - 1);
}

/** @param {Machine} machine @param {number} n @returns {number} */
function inFlight(machine, n) {
  return machine.in_flight ?? Math.max(n - 1, 1);
}

/** @param {number} n @param {Machine} machine @returns {{alphas: number, bytes: number}} what no plan of sends and receives gets below; bytes in S */
export function bounds(n, machine) {
  let alphas = 0;
  for (let reach = 1; reach < n; reach *= 1 + machine.ports * inFlight(machine, n)) alphas += 1;
  return { alphas, bytes: (2 * (n - 1)) / n };
}

/** @param {number} n @param {number} chunks even @returns {number} steps of the double tree, up and down */
export function treeSteps(n, chunks) {
  if (n <= 2) return chunks * (n - 1);
  return 2 * (2 * ceilLg(n) + chunks - 4 + (n % 4 === 0 ? 1 : 0));
}

/**
 * The even number of chunks with which the schedule of the double tree is fastest: steps are
 * A + 2k and a step lasts alpha + S beta / k, so k is near sqrt(A S beta / (2 alpha)).
 * @param {number} n @param {number} nbytes @param {Machine} machine @returns {number}
 */
export function bestTreeChunks(n, nbytes, machine) {
  const most = Math.max(2, 2 * Math.floor(Math.min(nbytes, MOST_CHUNKS) / 2));
  const rest = treeSteps(n, 2) - 4;
  const wire = machine.bandwidth === null ? 0 : nbytes / machine.bandwidth;
  if (n <= 2 || rest <= 0 || wire === 0) return 2;
  if (machine.alpha === 0) return most;
  const low = Math.min(Math.max(2, 2 * Math.floor(Math.sqrt((rest * wire) / (2 * machine.alpha)) / 2)), most);
  /** @param {number} k */
  const lasts = (k) => treeSteps(n, k) * (machine.alpha + wire / k);
  return low + 2 <= most && lasts(low + 2) < lasts(low) ? low + 2 : low;
}

/** @param {number} n @returns {number} bytes that the busiest rank of two trees sends, in S */
export function treeBytes(n) {
  return n > 3 ? 2 : n / 2;
}

/**
 * Where every all-reduce lies on n ranks.
 * @param {number} n @param {number} nbytes S @param {Machine} machine one port per rank, no gamma
 * @returns {Point[]}
 */
export function points(n, nbytes, machine) {
  const p = powerOfTwo(n);
  const lg = bitLength(p) - 1;
  const fold = n === p ? 0 : 1;
  const L = ceilLg(n);
  const others = n - 1;
  const burst = Math.ceil(others / inFlight(machine, n));
  const least = (2 * others) / n;
  const halves = (2 * (p - 1)) / p;
  const k = bestTreeChunks(n, nbytes, machine);
  /** @type {Record<string, [alphas: number, bytes: number, sent: number]>} */
  const at = {
    ring: [2 * others, least, least],
    recursive_doubling: [lg + 2 * fold, lg + 2 * fold, lg + fold],
    rabenseifner: [2 * lg + 2 * fold, halves + 2 * fold, halves + fold],
    binomial: [2 * L, 2 * L, L],
    flat: [2 * others, 2 * others, others],
    unchunked_ring: [others, others, others],
    direct: [2 * burst, least, least],
    one_shot: [burst, others, others],
    double_binary_tree: [treeSteps(n, k), treeSteps(n, k) / k, treeBytes(n)],
    ideal: [2 * L, treeBytes(n), treeBytes(n)],
  };
  return NAMES.map(([key, title]) => {
    const [alphas = 0, bytes = 0, sent = 0] = at[key] ?? [];
    return { key, title, alphas, bytes, sent, seconds: lasts(alphas, bytes, nbytes, machine), chunks: key === "double_binary_tree" ? k : null, ideal: key === "ideal" };
  });
}

/** @param {number} alphas @param {number} bytes in S @param {number} nbytes @param {Machine} machine @returns {number} seconds */
export function lasts(alphas, bytes, nbytes, machine) {
  return alphas * machine.alpha + (machine.bandwidth === null ? 0 : (bytes * nbytes) / machine.bandwidth);
}

/** The double tree with 2, 4, 8, ... chunks: more chunks, more alphas and fewer bytes in turn.
 *  @param {number} n @returns {{alphas: number, bytes: number}[]} */
export function treeTrail(n) {
  if (n < 3) return [];
  return range(20).map((power) => {
    const k = 2 ** (power + 1);
    return { alphas: treeSteps(n, k), bytes: treeSteps(n, k) / k };
  });
}

/**
 * The line of equal time, from its high end on the left to its low end on the right.
 * @param {number} total seconds @param {number} nbytes @param {Machine} machine
 * @param {{x: [number, number], y: [number, number]}} frame the values that are drawn, all above 0
 * @returns {{alphas: number, bytes: number}[]} only what lies in the frame
 */
export function isoTime(total, nbytes, machine, frame) {
  const perByte = machine.bandwidth === null ? 0 : nbytes / machine.bandwidth;
  const [left, right] = frame.x;
  const [low, high] = frame.y;
  const end = machine.alpha > 0 ? total / machine.alpha : Infinity;
  const top = perByte > 0 ? total / perByte : Infinity;
  /** @type {{alphas: number, bytes: number}[]} */
  const line = [];
  // by x along the flat part, by y down the steep one: both ends of a knee are drawn finely
  for (const step of range(121)) {
    const alphas = left * (Math.min(end, right) / left) ** (step / 120);
    line.push({ alphas, bytes: top === Infinity ? Infinity : top * (1 - alphas / end) });
  }
  for (const step of range(121)) {
    const bytes = high * (low / high) ** (step / 120);
    if (end !== Infinity && bytes <= top) line.push({ alphas: end * (1 - bytes / top), bytes });
  }
  const slack = 1 + 1e-9;
  return line
    .filter(({ alphas, bytes }) => alphas >= left / slack && alphas <= right * slack && bytes >= low / slack && bytes <= high * slack)
    .sort((a, b) => a.alphas - b.alphas || b.bytes - a.bytes);
}

/** @param {Point[]} all @returns {Mark[]} points that lie on each other become one, the fastest first */
export function marks(all) {
  /** @type {Mark[]} */
  const found = [];
  for (const point of [...all].sort((a, b) => a.seconds - b.seconds || a.alphas - b.alphas)) {
    const same = found.find((mark) => near(mark.alphas, point.alphas) && near(mark.bytes, point.bytes));
    if (same) same.points.push(point);
    else found.push({ alphas: point.alphas, bytes: point.bytes, points: [point] });
  }
  return found;
}

/** @param {number} a @param {number} b */
function near(a, b) {
  return Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}

/** @param {Point[]} all @returns {Point[]} the fastest schedules; a formula cannot win */
export function winners(all) {
  const schedules = all.filter((point) => !point.ideal);
  const best = Math.min(...schedules.map((point) => point.seconds));
  return schedules.filter((point) => point.seconds <= best * (1 + 1e-9));
}

/** @param {Point} point @returns {string} its name, with the chunks where they were chosen */
export function nameOf(point) {
  return point.chunks === null ? point.title : `${point.title}, ${plural(point.chunks, "chunk")}`;
}

/** @param {Point} point @returns {string} */
export function tell(point) {
  const where = `${significant(point.alphas)} α and ${significant(point.bytes, 4)} S one after another`;
  const out = `out of the busiest rank ${significant(point.sent, 4)} S`;
  const name = nameOf(point);
  const told = `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${where}, ${out}; ${seconds(point.seconds)}.`;
  return point.ideal ? `${told} A formula for chunks that come down while others go up, not a schedule of this page.` : told;
}

/** @param {Plane} plane @param {Point[]} all @returns {string} who is first, and what comes next */
export function result(plane, all) {
  const first = winners(all);
  const [best] = first;
  if (!best) return "";
  const where = `${plural(plane.n, "rank")}, S = ${sizeText(plane.nbytes)}, ${plane.machine}`;
  const names = first.map(nameOf).join(" and ");
  const behind = all.filter((point) => !point.ideal && !first.includes(point)).sort((a, b) => a.seconds - b.seconds)[0];
  const lead = behind ? say(` Next: ${nameOf(behind)}, ${seconds(behind.seconds)}.`) : "";
  const ideal = all.find((point) => point.ideal && point.seconds < best.seconds * (1 - 1e-9));
  const beyond = ideal ? ` The formula of the ideal double tree says ${seconds(ideal.seconds)}.` : "";
  return `First (${where}): ${names} with ${significant(best.alphas)} α and ${significant(best.bytes, 4)} S, ${seconds(best.seconds)}.${lead}${beyond}`;
}
