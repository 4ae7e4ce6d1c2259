// @ts-check
// Numbers and names as people read them.

/** @param {number} value @param {number} digits significant @returns {string} */
export function significant(value, digits = 5) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 1e15 || Math.abs(rounded) < 1e-6
    ? rounded.toExponential()
    : rounded.toLocaleString("en-US", { maximumFractionDigits: 12, useGrouping: rounded >= 1e4 });
}

/**
 * The unit for a time of this size: a scale shared by all the numbers of one axis.
 * @param {number} seconds
 * @returns {{factor: number, unit: string}}
 */
export function timeUnit(seconds) {
  const size = Math.abs(seconds);
  if (size === 0 || (size >= 1e-6 && size < 1e-2)) return { factor: 1e6, unit: "µs" };
  if (size < 1e-6) return { factor: 1e9, unit: "ns" };
  if (size < 1) return { factor: 1e3, unit: "ms" };
  return { factor: 1, unit: "s" };
}

/** @param {number} seconds @returns {string} as the prose beside it writes it: "2286.5 µs" */
export function time(seconds) {
  const { factor, unit } = timeUnit(seconds);
  return `${significant(seconds * factor)} ${unit}`;
}

/** @param {number} nbytes @returns {string} decimal units: 1 MB is 1,000,000 bytes */
export function bytes(nbytes) {
  if (!Number.isFinite(nbytes)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let power = 0;
  let value = nbytes;
  while (Math.abs(Number(value.toPrecision(5))) >= 1000 && power < units.length - 1) {
    value /= 1000;
    power += 1;
  }
  return `${significant(value)} ${units[power]}`;
}

/** @param {number | null} perSecond null is without limit @returns {string} */
export function rate(perSecond) {
  return perSecond === null ? "no limit" : `${bytes(perSecond)}/s`;
}

/** @param {number} ratio of a time to the lower bound @returns {string} 1.19 -> "19 % above the lower bound" */
export function aboveBound(ratio) {
  const more = ratio - 1;
  if (more < 0.0005) return "equal to the lower bound";
  if (more < 1) return `${significant(more * 100, more < 0.0995 ? 2 : 3)} % above the lower bound`;
  return `${significant(ratio, 3)} times the lower bound`;
}

/**
 * A word that a reader sees, marked for the catalogue of what there is to translate.
 * @param {string} word @returns {string}
 */
export function say(word) {
  return word;
}

/** @type {Record<string, string>} */
const WORDS = {
  scatter_all_gather: "scatter + all-gather",
  all_to_all: "all-to-all",
  all_gather: "all-gather",
  all_reduce: "all-reduce",
  reduce_scatter: "reduce-scatter",
  bruck: "Bruck",
  nvls: "NVLS",
  pat: "PAT",
  rabenseifner: "Rabenseifner",
  sharp: "SHARP",
};

/** @param {string} name for example "scatter_all_gather" @returns {string} as prose writes it */
export function words(name) {
  return (Object.hasOwn(WORDS, name) ? WORDS[name] : undefined) ?? name.replaceAll("_", " ");
}

/** @param {number} part a rank @returns {string} a..z, then a1, b1, ... without end */
export function letter(part) {
  const round = Math.floor(part / 26);
  return String.fromCharCode(97 + (part % 26)) + (round ? String.fromCharCode(0x2080 + (round % 10)) : "");
}

/** @param {string[]} items @returns {string} "a, b and c" */
export function list(items) {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
}

/** @param {number} count @param {string} one @param {string} [many] @returns {string} */
export function plural(count, one, many = `${one}s`) {
  return `${significant(count, 15)} ${count === 1 ? one : many}`;
}

/**
 * Round numbers that divide an axis, at most `most` of them.
 * @param {number} total @param {number} most @returns {number[]}
 */
export function ticks(total, most) {
  if (!(total > 0) || most < 1) return [0];
  const raw = total / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const count = Math.floor(total / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/**
 * A text that is the same in every language, such as code: it stays out of the catalogue.
 * @param {string} text @returns {string}
 */
export function verbatim(text) {
  return text;
}
