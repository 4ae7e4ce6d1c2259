// @ts-check
// Where the parts of a figure stand: pure functions of a scene and the room there is.

import { rows, slots } from "./scene.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Message} Message */

export const CELL = 38;
export const PITCH = 66;
export const TOP = 50;
const WIDE = { head: 62, gap: 26, badge: 22, letter: 48 };
const MIDDLE = { ...WIDE, gap: 20 };
export const SLIM = { head: 48, gap: 14, badge: 16, letter: 38 };
const LANE_LEAST = 230;

/**
 * @typedef {object} Layout
 * @property {number} width of the whole drawing
 * @property {number} height
 * @property {number} slot width of one part in a cell
 * @property {{head: number, gap: number, badge: number, letter: number}} margins
 * @property {boolean} letters
 * @property {boolean} indices whether tiles show their elements
 * @property {number[][]} slots by chunk
 * @property {number[]} x left edge of each column
 * @property {number[]} w width of each column
 * @property {number} laneX
 * @property {number} laneY of the first lane's center
 * @property {number} laneW
 * @property {boolean} stacked lanes below the matrix
 */

/**
 * Where everything stands, from the room there is.
 * @param {Scene} scene @param {number} room in CSS pixels @returns {Layout}
 */
export function layout(scene, room) {
  const columns = slots(scene.schedule);
  const count = rows(scene.schedule);
  const most = Math.max(...columns.map((column) => column.length), 1);
  const longest = Math.max(...scene.elements.map((span) => span.length), 0);
  const margins = room < 560 ? SLIM : room < 860 ? MIDDLE : WIDE;
  const lastElement = Math.max(...scene.elements.map((span) => span.start + span.length), 0) - 1;
  /** @param {number} slot */
  const matrix = (slot) => columns.reduce((sum, column) => sum + Math.max(slot * column.length + 4, 34) + margins.gap, margins.head);
  const wanted = room - LANE_LEAST - 30;
  const wide = longest > 2 ? 46 : 29;
  const choices = most > 8 ? [9, 6] : [wide, 29, 24, 20, 14];
  const fits = choices.find((slot) => matrix(slot) <= wanted);
  const stacked = fits === undefined;
  const slot = fits ?? choices.find((one) => matrix(one) <= room) ?? choices.at(-1) ?? 20;
  const w = columns.map((column) => Math.max(slot * column.length + 4, 34));
  /** @type {number[]} */
  const x = [];
  w.reduce((left, width) => (x.push(left), left + width + margins.gap), margins.head);
  const matrixW = matrix(slot);
  const matrixH = TOP + count * PITCH;
  const laneX = stacked ? margins.head : matrixW + 22;
  const laneW = Math.max(stacked ? room - margins.head - 16 : room - laneX - 16, 180);
  return {
    width: stacked ? Math.max(matrixW, laneX + laneW + 16) : laneX + laneW + 16,
    height: stacked ? matrixH + 36 + count * 46 + 30 : matrixH,
    slot,
    margins,
    letters: slot >= 14,
    indices: slot >= (lastElement < 10 ? 20 : 29),
    slots: columns,
    x,
    w,
    laneX,
    laneY: stacked ? matrixH + 36 + 22 : TOP + CELL / 2,
    laneW,
    stacked,
  };
}

/** @param {number} index @param {Layout} place @returns {number} */
export function laneCenter(index, place) {
  return place.laneY + index * (place.stacked ? 46 : PITCH);
}

/**
 * Messages that overlap on one side of a lane lie side by side: a switch serves many at once.
 * @param {Message[]} all @param {"src" | "dst"} end
 * @returns {Map<Message, {track: number, tracks: number}>}
 */
export function tracks(all, end) {
  /** @type {Map<number, Message[]>} */
  const lanes = new Map();
  for (const message of all) lanes.set(message[end], [...(lanes.get(message[end]) ?? []), message]);
  const places = new Map();
  for (const lane of lanes.values()) {
    lane.sort((a, b) => a.start - b.start || a.end - b.end);
    /** @type {number[]} */
    const free = [];
    const used = lane.map((message) => {
      const slack = 1e-9 * Math.abs(message.start);
      const found = free.findIndex((time) => time <= message.start + slack);
      const track = found < 0 ? free.length : found;
      free[track] = message.end;
      return track;
    });
    lane.forEach((message, index) => places.set(message, { track: used[index] ?? 0, tracks: free.length }));
  }
  return places;
}
