// @ts-check
// Parts as the verifier counts them: how often each rank's part is in a value.

import { letter } from "../format.js";

/** @typedef {import("../engine.js").Schedule} Schedule */
/** @typedef {import("../engine.js").Parts} Parts */
/** @typedef {import("../engine.js").Transfer} Transfer */

/** @param {Parts} parts @returns {number[]} the parts that are held at all */
export function once(parts) {
  return parts.flatMap((count, part) => (count > 0 ? [part] : []));
}

/** @param {Parts} parts @returns {number[]} the parts that are held more than once */
export function twice(parts) {
  return parts.flatMap((count, part) => (count > 1 ? [part] : []));
}

/** @param {readonly number[]} wanted @param {Parts} parts @returns {number[]} what of it is not held */
export function lacking(wanted, parts) {
  return wanted.filter((part) => !parts[part]);
}

/** @param {Parts} parts @param {readonly number[]} wanted @returns {boolean} each of these once, and nothing else */
export function exactly(parts, wanted) {
  return parts.every((count, part) => count === (wanted.includes(part) ? 1 : 0));
}

/** @param {Parts} one @param {Parts} other @returns {Parts} the counts of both added */
export function join(one, other) {
  return one.map((count, part) => count + (other[part] ?? 0));
}

/** @param {Transfer} a @param {Transfer} b @returns {boolean} */
export function sameTransfer(a, b) {
  return a.every((value, index) => value === b[index]);
}

/** @param {Schedule} schedule @param {number} endpoint @returns {string} "rank 3" or "switch 0", also for one that does not exist */
export function nameOf(schedule, endpoint) {
  const all = schedule.world_size + schedule.num_switches;
  if (endpoint >= 0 && endpoint < all) {
    return endpoint < schedule.world_size ? `rank ${endpoint}` : `switch ${endpoint - schedule.world_size}`;
  }
  return schedule.num_switches ? `endpoint ${endpoint}` : `rank ${endpoint}`;
}

/** @param {Schedule} schedule @param {number} step @param {Transfer} transfer @returns {string} */
export function where(schedule, step, [src, dst, chunk]) {
  return `step ${step}: ${nameOf(schedule, src)} -> ${nameOf(schedule, dst)}, chunk ${chunk}`;
}

/** @param {readonly number[]} parts @returns {string} "the part of rank 0", "the parts of ranks 1, 2 and 3" */
export function partsWords(parts) {
  const most = 4;
  if (parts.length === 1) return `the part of rank ${parts[0]}`;
  if (parts.length > most) return `the parts of ${parts.length} ranks (${parts.slice(0, most).join(", ")}, ...)`;
  return `the parts of ranks ${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;
}

/** @param {readonly number[]} parts @returns {string} the pronoun */
export function it(parts) {
  return parts.length === 1 ? "it" : "them";
}

/** @param {Parts} parts @returns {string} "a + 2·b" as a cell reads, "nothing" where it is empty */
export function sumText(parts) {
  const said = parts.flatMap((count, part) => (count > 0 ? [count > 1 ? `${count}·${letter(part)}` : letter(part)] : []));
  return said.join(" + ") || "nothing";
}
