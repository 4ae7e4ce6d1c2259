// @ts-check
// One message on one link: what it takes, and how much of the bandwidth it reaches. Pure functions.

import { range } from "./algorithms/base.js";
import { bytes, rate, significant, time as seconds } from "./format.js";

/**
 * @typedef {object} Message
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {string} machine
 * @property {number} alpha seconds before the first byte arrives
 * @property {number} bandwidth bytes per second
 * @property {number} nbytes
 * @property {Record<string, unknown>} controls
 */

/** @param {Message} message @param {number} [nbytes] @returns {number} alpha + bytes / bandwidth */
export function messageSeconds(message, nbytes = message.nbytes) {
  return message.alpha + nbytes / message.bandwidth;
}

/** @param {Message} message @returns {number} the bytes with which alpha takes half of the time */
export function halfSize(message) {
  return message.alpha * message.bandwidth;
}

/** @param {Message} message @param {number} [nbytes] @returns {number} reached bandwidth, 0 to 1 */
export function share(message, nbytes = message.nbytes) {
  return nbytes / message.bandwidth / messageSeconds(message, nbytes);
}

/**
 * Where some equal packets of the message are: out of the sender from `leaves` to `left`, in at the
 * receiver alpha later.
 * @param {Message} message @param {number} [most]
 * @returns {{leaves: number, left: number}[]}
 */
export function packets(message, most = 8) {
  const count = Math.max(1, Math.min(most, Math.floor(message.nbytes)));
  const each = message.nbytes / message.bandwidth / count;
  return range(count).map((index) => ({ leaves: index * each, left: (index + 1) * each }));
}

/** @param {Message} message @returns {string} */
export function describe(message) {
  const total = messageSeconds(message);
  const part = percent(share(message));
  const half = halfSize(message);
  const below = `The size is below n½ = ${bytes(half)}, where both are equal.`;
  const above = `The size is above n½ = ${bytes(half)}, where both are equal.`;
  const at = `The size is at n½ = ${bytes(half)}, where both are equal.`;
  const where = message.nbytes < half / 1.05 ? below : message.nbytes > half * 1.05 ? above : at;
  return `${bytes(message.nbytes)} take ${seconds(total)}: ${seconds(message.alpha)} of α and ${seconds(total - message.alpha)} for the bytes. That is ${part} of ${rate(message.bandwidth)}. ${where}`;
}

/** @param {number} ratio @returns {string} "0.99 %" */
export function percent(ratio) {
  return `${significant(ratio * 100, 3)} %`;
}
