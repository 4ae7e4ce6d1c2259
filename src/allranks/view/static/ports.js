// @ts-check
// What passes every port in an all-reduce by a ring, by a switch that adds, and by NVLS: counted step
// by step without writing transfers out, so that 72 ranks are as quick as two. The same numbers as
// allranks.cost gives for the schedules; tests/view compares them.

import { range } from "./algorithms/base.js";
import { bytes, list, plural, significant, time as seconds } from "./format.js";

/** @typedef {import("./price.js").Machine} Machine */
/** @typedef {"ring" | "sharp" | "nvls"} PlanName */
/** Bytes through every rank's port in one step. @typedef {{out: number, into: number}} Load */
/**
 * @typedef {object} Ports
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {number} n
 * @property {number} nbytes
 * @property {number | null} pieces null: the best number for each plan
 * @property {string} machine
 * @property {Machine} costs
 * @property {Record<string, unknown>} controls
 */
/**
 * @typedef {object} Plan
 * @property {PlanName} name
 * @property {string} title
 * @property {number | null} pieces
 * @property {number[]} ends when each step ends, in seconds
 * @property {Load[]} passed bytes through a rank's port when each step ends
 * @property {number} total seconds
 * @property {number} ports of the switch that are in use: 0 where there is none
 */

/** @type {PlanName[]} */
export const PLANS = ["ring", "sharp", "nvls"];

/** @type {Record<PlanName, string>} */
const TITLES = { ring: "ring", sharp: "switch that adds (SHARP)", nvls: "NVLS" };

/**
 * The stages that every piece goes through, one step after another: what they put on a rank's port.
 * @param {PlanName} name @param {number} n @param {number} piece bytes @returns {Load[]}
 */
function stages(name, n, piece) {
  const up = { out: piece, into: 0 };
  const down = { out: 0, into: piece };
  if (name === "sharp") return [up, down];
  return [up, { out: 0, into: piece / n }, { out: piece / n, into: 0 }, down];
}

/**
 * @param {PlanName} name @param {number} n @param {number} nbytes @param {number} pieces
 * @returns {Load[]} by step
 */
export function loads(name, n, nbytes, pieces) {
  if (n < 2) return [];
  if (name === "ring") return range(2 * (n - 1)).map(() => ({ out: nbytes / n, into: nbytes / n }));
  const all = stages(name, n, nbytes / pieces);
  return range(pieces + all.length - 1).map((step) => {
    const load = { out: 0, into: 0 };
    all.forEach((stage, late) => {
      if (step - late < 0 || step - late >= pieces) return;
      load.out += stage.out;
      load.into += stage.into;
    });
    return load;
  });
}

/** @param {Load[]} steps @param {Machine} machine @returns {number[]} seconds of every step: one peer, one alpha */
function lengths(steps, machine) {
  const wire = machine.bandwidth ?? Infinity;
  return steps.map((load) => machine.alpha + Math.max(load.out, load.into) / wire);
}

/**
 * The number of pieces with which a plan is fastest. From three pieces on, the time is
 * (k + a) alpha + S beta (b + c / k): its minimum is the first k with k(k + 1) >= c S beta / alpha.
 * @param {PlanName} name @param {number} n @param {number} nbytes @param {Machine} machine @returns {number}
 */
export function bestPieces(name, n, nbytes, machine) {
  const most = Math.max(1, Math.floor(name === "nvls" ? nbytes / n : nbytes));
  const ratio = machine.alpha > 0 ? ((name === "nvls" ? 3 - 1 / n : 1) * nbytes) / (machine.bandwidth ?? Infinity) / machine.alpha : Infinity;
  let k = Number.isFinite(ratio) ? Math.max(1, Math.floor(Math.sqrt(ratio))) : most;
  while (k > 1 && (k - 1) * k >= ratio) k -= 1;
  while (k < most && k * (k + 1) < ratio) k += 1;
  /** @param {number} pieces */
  const time = (pieces) => lengths(loads(name, n, nbytes, pieces), machine).reduce((sum, length) => sum + length, 0);
  const tried = [...new Set([1, 2, 3, k].map((one) => Math.min(one, most)))];
  return tried.reduce((best, one) => (time(one) < time(best) * (1 - 1e-12) ? one : best));
}

/** @param {Ports} ports @returns {Plan[]} */
export function plans(ports) {
  return PLANS.map((name) => {
    const pieces = name === "ring" ? null : (ports.pieces ?? bestPieces(name, ports.n, ports.nbytes, ports.costs));
    const steps = loads(name, ports.n, ports.nbytes, pieces ?? 1);
    let total = 0;
    const ends = lengths(steps, ports.costs).map((length) => (total += length));
    const sum = { out: 0, into: 0 };
    const passed = steps.map((load) => {
      sum.out += load.out;
      sum.into += load.into;
      return { ...sum };
    });
    const title = pieces === null ? TITLES[name] : `${TITLES[name]}, ${plural(pieces, "piece")}`;
    return { name, title, pieces, ends, passed, total, ports: name === "ring" || ports.n < 2 ? 0 : ports.n };
  });
}

/**
 * The counters of a plan at a time, in bytes: steps that are over, and the share of the one under way.
 * @param {Plan} plan @param {number} time in seconds
 * @returns {{out: number, into: number, switchIn: number, switchOut: number}}
 */
export function counters(plan, time) {
  const over = plan.ends.filter((end) => end <= time * (1 + 1e-9)).length;
  const before = plan.passed[over - 1] ?? { out: 0, into: 0 };
  const after = plan.passed[over] ?? before;
  const start = plan.ends[over - 1] ?? 0;
  const end = plan.ends[over] ?? start;
  const share = end > start ? Math.min(Math.max((time - start) / (end - start), 0), 1) : 0;
  const out = before.out + (after.out - before.out) * share;
  const into = before.into + (after.into - before.into) * share;
  return { out, into, switchIn: out * plan.ports, switchOut: into * plan.ports };
}

/** @param {Plan[]} all @param {Plan} plan @returns {number} how many times faster than the ring */
export function gain(all, plan) {
  const ring = all.find((one) => one.name === "ring");
  return ring && plan.total > 0 ? ring.total / plan.total : 1;
}

/** @param {Plan[]} all @param {Plan} plan @returns {number} by how much less passes the busiest port than in the ring */
export function bytesGain(all, plan) {
  const ring = all.find((one) => one.name === "ring")?.passed.at(-1);
  const last = plan.passed.at(-1);
  return ring && last ? Math.max(ring.out, ring.into) / Math.max(last.out, last.into) : 1;
}

/** @param {number} ratio @returns {string} */
export function times(ratio) {
  return `${significant(ratio, 4)}×`;
}

/** @param {Ports} ports @param {Plan[]} all @returns {string} what the end shows */
export function result(ports, all) {
  const best = Math.min(...all.map((plan) => plan.total));
  const first = all.filter((plan) => plan.total <= best * (1 + 1e-9)).map((plan) => plan.title);
  const [ring, sharp, nvls] = all;
  if (!ring || !sharp || !nvls) return "";
  const where = `${plural(ports.n, "rank")}, S = ${bytes(ports.nbytes)}`;
  const head = first.length > 1 ? `With ${where}, ${list(first)} finish together, after ${seconds(best)}.` : `With ${where}, the first to finish is ${first[0]}, after ${seconds(best)}.`;
  return `${head} Against the ring, the switch is ${times(gain(all, sharp))} as fast and NVLS ${times(gain(all, nvls))}; by bytes alone it would be ${times(bytesGain(all, sharp))} and ${times(bytesGain(all, nvls))}.`;
}
