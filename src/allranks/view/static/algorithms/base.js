// @ts-check
// What the generators share. Each file beside this one is the twin of the Python file of its name;
// tests/view compares them, transfer for transfer.

/** @typedef {"copy" | "reduce"} Op */
/** @typedef {[src: number, dst: number, chunk: number, op: Op]} Transfer */
/** @typedef {Transfer[]} Step */
/**
 * What a reader can decide beside the number of ranks. `chunks` is never open here: the table has
 * put the usual number in.
 * @typedef {object} Parameters
 * @property {number} root
 * @property {number} chunks
 * @property {number | number[] | null} nodeSize
 * @property {string | null} inner
 * @property {string | null} outer
 * @property {number | null} radix
 */

/** @param {number} count @returns {number[]} 0 .. count - 1 */
export function range(count) {
  return Array.from({ length: Math.max(0, count) }, (_, index) => index);
}

/** @param {number} first @param {number} end @returns {number[]} first .. end - 1 */
export function span(first, end) {
  return range(end - first).map((index) => first + index);
}

/** @param {number} value @param {number} n @returns {number} value mod n, never negative */
export function modulo(value, n) {
  return ((value % n) + n) % n;
}

/** @param {number} value @returns {number} as int.bit_length: 0 -> 0, 1 -> 1, 4 -> 3 */
export function bitLength(value) {
  return value > 0 ? 32 - Math.clz32(value) : 0;
}
