// @ts-check
// One efficiency for all points: how far each of two models is from published measurements. Pure.

import { list, significant } from "./format.js";

/** `gain` is busbw with NVLS over busbw without; null where the library took another algorithm.
 *  @typedef {{n: number, chosen: string, free: number, ring: number, gain: number | null}} Point */
/** @typedef {Point & {gain: number}} UsedPoint */
/** @typedef {{name: string, title: string, says: string, ratio: string}} Model */
/** @typedef {{name: string, machine: string, what: string, source: string, read: string, note: string, points: Point[]}} Machine */
/**
 * @typedef {object} Fit
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {number} efficiency
 * @property {string} machine
 * @property {Machine[]} machines
 * @property {Model[]} models
 * @property {[number, number]} range of n
 */
/** @typedef {{n: number, measured: number, predicted: number, off: number, needed: number}} Residual */

/** @type {Record<string, (n: number) => number>} by what a model says of an ideal machine */
const RATIOS = {
  head: (n) => (2 * (n - 1)) / (n + 1),
  slide: (n) => (2 * (n - 1)) / n,
};

/** @param {Model} model @param {number} n @returns {number} */
export function ratio(model, n) {
  return RATIOS[model.ratio]?.(n) ?? Number.NaN;
}

/** @param {Fit} fit @returns {Machine} */
export function machineOf(fit) {
  const found = fit.machines.find((machine) => machine.name === fit.machine) ?? fit.machines[0];
  if (!found) throw new Error("this figure has no measurements");
  return found;
}

/** @param {Machine} machine @returns {UsedPoint[]} the points at which NVLS ran */
export function used(machine) {
  return machine.points.flatMap((point) => (point.gain === null ? [] : [{ ...point, gain: point.gain }]));
}

/** @param {Model} model @param {Machine} machine @returns {number} the efficiency with the least squares */
export function bestEfficiency(model, machine) {
  let above = 0;
  let below = 0;
  for (const { n, gain } of used(machine)) {
    above += ratio(model, n) * gain;
    below += ratio(model, n) ** 2;
  }
  return above / below;
}

/** @param {Model} model @param {Machine} machine @param {number} efficiency @returns {Residual[]} */
export function residuals(model, machine, efficiency) {
  return used(machine).map(({ n, gain }) => {
    const predicted = efficiency * ratio(model, n);
    return { n, measured: gain, predicted, off: predicted / gain - 1, needed: gain / ratio(model, n) };
  });
}

/** @param {Residual[]} rows @returns {number} the root of the mean square of the shares by which a model is off */
export function rms(rows) {
  return Math.sqrt(rows.reduce((sum, row) => sum + row.off ** 2, 0) / rows.length);
}

/** @param {Residual[]} rows @returns {number} how far apart the efficiencies are that the points ask for, as a share */
export function spread(rows) {
  const needed = rows.map((row) => row.needed);
  const mean = needed.reduce((sum, value) => sum + value, 0) / needed.length;
  return (Math.max(...needed) - Math.min(...needed)) / mean;
}

/** @param {number} share @returns {string} */
export function percent(share) {
  return `${significant(100 * share, 2)} %`;
}

/** @param {number} share @returns {string} with its sign: a residual */
export function signed(share) {
  const text = significant(Math.abs(100 * share), 2);
  return `${share < 0 ? "−" : "+"}${text} %`;
}

/** @param {Fit} fit @returns {string} how both models stand at this efficiency */
export function describe(fit) {
  const machine = machineOf(fit);
  const points = used(machine).map((point) => String(point.n));
  const [first, second] = fit.models.map((model) => {
    const best = bestEfficiency(model, machine);
    return { title: model.title, off: percent(rms(residuals(model, machine, fit.efficiency))), best: best.toFixed(3), least: percent(rms(residuals(model, machine, best))) };
  });
  if (!first || !second) return "";
  return `Efficiency ${fit.efficiency.toFixed(3)}, ${machine.name} with n = ${list(points)}: the model ${first.title} is off by ${first.off}, the model ${second.title} by ${second.off} (root mean square). At its own best, ${first.best}, the first is off by ${first.least}; the second at ${second.best} by ${second.least}.`;
}
