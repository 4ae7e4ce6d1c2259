// @ts-check
// Where the parts of a figure stand: pure functions of a scene and the room there is.

import { range } from "./algorithms/base.js";
import { endpoints } from "./engine.js";
import { hasOwners } from "./owners.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Message} Message */

export const TOP = 50;
const WIDE = { head: 62, gap: 26, badge: 22, letter: 48 };
const MIDDLE = { ...WIDE, gap: 20 };
const SLIM = { head: 48, gap: 14, badge: 16, letter: 38 };
const LANE_LEAST = 230;
const LANE_LEAST_SLIM = 190;
/** All rows together stand about this high, so that a figure and its buttons fit a small window. */
const TALL = 310;
const TALLEST = 560;

/**
 * The sizes of a row, from how many there are.
 * @typedef {object} Row
 * @property {number} pitch
 * @property {number} cell height of a cell
 * @property {number} badge radius
 * @property {number} every how many rows there is a badge
 */
/** @typedef {{pitch: number, out: {dy: number, height: number}, into: {dy: number, height: number}}} Lane */
/**
 * @typedef {object} Layout
 * @property {number} width of the whole drawing
 * @property {number} height
 * @property {number} slot width of one part in a cell; 0 where a cell only shows how full it is
 * @property {{head: number, gap: number, badge: number, letter: number}} margins
 * @property {Row} row
 * @property {boolean} letters
 * @property {boolean} indices whether tiles show their elements
 * @property {number[]} x left edge of each column
 * @property {number[]} w width of each column
 * @property {Lane} lane
 * @property {number} laneX
 * @property {number} laneY of the first lane's center
 * @property {number} laneW
 * @property {boolean} stacked lanes below the matrix
 * @property {number} footY middle of the row under the matrix that says who owns which chunk; 0 where there is none
 */
/** A way to draw the columns: a slot of 0 is a cell without tiles, as wide as `least`.
 *  @typedef {{slot: number, gap: number, least: number}} Choice */

/** @param {number} count @returns {Row} */
export function rowOf(count) {
  const pitch = count <= 4 ? 66 : count <= 16 ? Math.max(Math.min(66, Math.floor(TALL / count)), 30) : Math.max(Math.floor(TALLEST / count), 9);
  const gap = pitch >= 60 ? 28 : pitch >= 44 ? 16 : pitch >= 30 ? 10 : pitch >= 18 ? 5 : 2;
  const badge = Math.min(15, Math.floor(pitch / 2) - 1);
  const every = pitch >= 12 ? 1 : 2 ** Math.ceil(Math.log2(14 / pitch));
  return { pitch, cell: pitch - gap, badge, every };
}

/** @param {number} pitch @returns {Lane} */
function laneOf(pitch) {
  const band = Math.min(35, Math.round(pitch * 0.74));
  const gap = band >= 24 ? 3 : band >= 12 ? 1 : 0;
  const out = Math.round((band - gap) * 0.56);
  const top = -band / 2;
  return { pitch, out: { dy: top, height: out }, into: { dy: top + out + gap, height: band - gap - out } };
}

/**
 * Where everything stands, from the room there is.
 * @param {Scene} scene @param {number} room in CSS pixels @returns {Layout}
 */
export function layout(scene, room) {
  const counts = scene.columns.map((column) => column.slots.length);
  const rows = endpoints(scene.schedule);
  const row = rowOf(rows);
  const margins = room < 560 ? SLIM : room < 860 ? MIDDLE : WIDE;
  const { choice, stacked } = choose(scene, counts, room, margins, row);
  const w = counts.map((count) => widthOf(choice, count));
  /** @type {number[]} */
  const x = [];
  const matrixW = w.reduce((left, width) => (x.push(left), left + width + choice.gap), margins.head);
  const under = TOP + rows * row.pitch;
  const footY = hasOwners(scene) ? under - (row.pitch - row.cell) + 22 : 0;
  const matrixH = footY ? Math.max(under, footY + 14) : under;
  const lane = laneOf(stacked ? Math.max(Math.min(46, Math.round(row.pitch * 0.72)), Math.min(row.pitch, 24)) : row.pitch);
  const laneX = stacked ? margins.head : matrixW + 22;
  const laneW = Math.max(stacked ? room - margins.head - 16 : room - laneX - 16, 180);
  const lastElement = Math.max(...scene.elements.map((span) => span.start + span.length), 0) - 1;
  return {
    width: stacked ? Math.max(matrixW, laneX + laneW + 16) : laneX + laneW + 16,
    height: stacked ? matrixH + 36 + rows * lane.pitch + 10 : matrixH,
    slot: choice.slot,
    margins: { ...margins, gap: choice.gap },
    row,
    letters: choice.slot >= 14 && row.cell >= 16,
    indices: choice.slot >= (lastElement < 10 ? 20 : 29) && row.cell >= 16,
    x,
    w,
    lane,
    laneX,
    laneY: stacked ? matrixH + 36 + lane.pitch / 2 : TOP + row.cell / 2,
    laneW,
    stacked,
    footY,
  };
}

/** @param {Choice} choice @param {number} count of slots @returns {number} */
function widthOf({ slot, least }, count) {
  return slot ? Math.max(slot * count + 4, least) : least;
}

/**
 * The richest way to draw the matrix that fits: beside the lanes, or else above them.
 * @param {Scene} scene @param {number[]} counts @param {number} room
 * @param {{head: number, gap: number}} margins @param {Row} row
 * @returns {{choice: Choice, stacked: boolean}}
 */
function choose(scene, counts, room, margins, row) {
  const longest = Math.max(...scene.elements.map((span) => span.length), 0);
  const most = Math.max(...counts, 1);
  const few = most <= 8 && row.cell >= 16;
  /** @type {Choice[]} */
  const rich = few ? [longest > 2 ? 46 : 29, 29, 24, 20, 14].map((slot) => ({ slot, gap: margins.gap, least: 34 })) : [];
  const tiles = [9, 6].map((slot) => ({ slot, gap: Math.min(margins.gap, 14), least: 24 }));
  const small = [4, 3].map((slot) => ({ slot, gap: 6, least: 10 }));
  const shares = [60, 40, 24, 16, 12, 9, 6, 4, 3].map((least) => ({ slot: 0, gap: least >= 12 ? 4 : least >= 6 ? 2 : 1, least }));
  /** @param {Choice} choice */
  const width = (choice) => counts.reduce((sum, count) => sum + widthOf(choice, count) + choice.gap, margins.head);
  const beside = room - (room < 560 ? LANE_LEAST_SLIM : LANE_LEAST) - 30;
  /** @param {Choice[]} choices @param {number} least */
  const first = (choices, least) => choices.find((choice) => width(choice) <= least);
  const side = first([...rich, ...(row.cell >= 16 ? tiles : [])], beside);
  if (side) return { choice: side, stacked: false };
  const below = row.pitch >= 24 ? first([...rich, ...tiles, ...small], room) : undefined;
  if (below) return { choice: below, stacked: true };
  const full = first(shares, beside);
  if (full) return { choice: full, stacked: false };
  return { choice: first(shares, room) ?? { slot: 0, gap: 1, least: 3 }, stacked: true };
}

/** @param {number} index @param {Layout} place @returns {number} */
export function laneCenter(index, place) {
  return place.laneY + index * place.lane.pitch;
}

/**
 * Messages that overlap on one side of a lane lie side by side: a switch serves many at once.
 * @param {Message[]} all @param {"src" | "dst"} end
 * @returns {Map<Message, {track: number, tracks: number}>}
 */
export function tracks(all, end) {
  /** @type {Map<number, Message[]>} */
  const lanes = new Map();
  for (const message of all) {
    const lane = lanes.get(message[end]);
    if (lane) lane.push(message);
    else lanes.set(message[end], [message]);
  }
  const places = new Map();
  for (const lane of lanes.values()) {
    lane.sort((a, b) => a.left - b.left || a.right - b.right);
    /** @type {number[]} */
    const free = [];
    const used = lane.map((message) => {
      const slack = 1e-9 * Math.abs(message.left);
      const found = free.findIndex((at) => at <= message.left + slack);
      const track = found < 0 ? free.length : found;
      free[track] = message.right;
      return track;
    });
    lane.forEach((message, index) => places.set(message, { track: used[index] ?? 0, tracks: free.length }));
  }
  return places;
}

/** @param {number} count @param {number} every @returns {number[]} the numbers below count that get a label */
export function labelled(count, every) {
  return range(count).filter((index) => index % every === 0);
}
