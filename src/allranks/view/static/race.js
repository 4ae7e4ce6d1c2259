// @ts-check
// What a race shows: pure functions of the data.

import { build } from "./algorithms.js";
import { range } from "./algorithms/base.js";
import { bytes, plural, say, time as seconds, words } from "./format.js";
import { bestChunks, cost, runsOn, sentByStep, stepSeconds } from "./price.js";
import { asBuilt, parameterWords } from "./rebuild.js";

/** @typedef {import("./price.js").Machine} Machine */
/** @typedef {import("./price.js").Cost} Cost */
/** `chunks` null is the usual number; `piped`: its chunks follow the control k, "auto" is the best.
 *  `stands_in` is the collective and the algorithm that run for one that is no schedule, on n S.
 *  @typedef {{algorithm: string, chunks: number | "auto" | null, piped: boolean, parameters?: import("./rebuild.js").Made, stands_in?: [collective: string, algorithm: string]}} Entrant */
/**
 * @typedef {object} Race
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {string} collective
 * @property {Entrant[]} entrants
 * @property {number} n
 * @property {number | null} root
 * @property {number} nbytes
 * @property {string} machine
 * @property {Record<string, Machine>} machines
 * @property {"steps" | "time"} count
 * @property {"bytes" | "S"} [meter] what the labels count: the bytes of the busiest rank, or vectors of S bytes
 * @property {Record<string, unknown>} controls
 */
/**
 * @typedef {object} Lane
 * @property {string} title
 * @property {string} algorithm
 * @property {number} chunks
 * @property {Cost} cost
 * @property {number[]} ends when each step ends, in the unit of the axis
 * @property {number[][]} sent bytes that each rank has sent when a step ends, by step
 * @property {number} total in the unit of the axis
 */

/** @param {Race} race @param {Entrant} entrant @returns {string} as allranks.view.names.entrant_title writes it */
export function entrantTitle(race, entrant) {
  const chunks = chunksOf(race, entrant);
  const cut = chunks === null ? "" : `, ${plural(chunks, "chunk")}`;
  return `${words(entrant.algorithm)}${cut}${parameterWords(entrant.parameters ?? {})}`;
}

/** @param {Race} race @param {Entrant} entrant @returns {number | null} null is the usual number */
function chunksOf(race, entrant) {
  const machine = race.machines[race.machine];
  if (entrant.piped && (entrant.chunks === "auto" || entrant.chunks === null)) return machine ? bestChunks(race.n, race.nbytes, machine) : 1;
  return entrant.chunks === null ? null : Number(entrant.chunks);
}

/** @param {Race} race @param {Entrant} entrant */
function scheduleOf(race, entrant) {
  const machine = race.machines[race.machine];
  const [collective, algorithm] = entrant.stands_in ?? [race.collective, entrant.algorithm];
  const schedule = build(collective, algorithm, { n: race.n, root: race.root, chunks: chunksOf(race, entrant), ...asBuilt(entrant.parameters ?? {}) });
  return schedule && machine && runsOn(schedule, machine) ? schedule : null;
}

/** @param {Race} race @param {Entrant} entrant @returns {number} bytes of all that its schedule moves about */
function wholeOf(race, entrant) {
  return entrant.stands_in ? race.n * race.nbytes : race.nbytes;
}

/** @param {number} nbytes @param {Race} race @returns {string} "1.67 S" */
function inVectors(nbytes, race) {
  return `${Number((nbytes / race.nbytes).toPrecision(3))} S`;
}

/** @param {Race} race @param {number[]} sent by rank, so far @returns {string} "" before anything is sent */
export function sentText(race, sent) {
  const most = Math.max(0, ...sent);
  if (!most) return "";
  if (race.meter !== "S") return `most: ${bytes(most)}`;
  return `most: ${inVectors(most, race)}, all: ${inVectors(sum(sent), race)}`;
}

/** @param {Race} race @param {Lane} lane @returns {string[]} for the table: of the busiest rank and, counted in vectors, of all */
export function sentTexts(race, lane) {
  const most = Math.max(0, ...lane.cost.sent);
  if (race.meter !== "S") return [bytes(most)];
  return [most, sum(lane.cost.sent)].map((nbytes) => `${bytes(nbytes)} (${inVectors(nbytes, race)})`);
}

/** @param {number[]} values @returns {number} */
function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** @param {Race} race @returns {string[]} who cannot run with these numbers */
export function absent(race) {
  return race.entrants.filter((entrant) => !scheduleOf(race, entrant)).map((entrant) => entrantTitle(race, entrant));
}

/** @param {Race} race @returns {Lane[]} one per entrant that can run, in the order given */
export function lanes(race) {
  const machine = race.machines[race.machine];
  if (!machine) throw new Error(`machine ${race.machine} is not in the data of this figure`);
  return race.entrants.flatMap((entrant) => {
    const schedule = scheduleOf(race, entrant);
    if (!schedule) return [];
    const whole = wholeOf(race, entrant);
    const price = cost(schedule, whole, machine, "lockstep");
    let end = 0;
    const ends = race.count === "steps"
      ? range(schedule.steps.length).map((step) => step + 1)
      : stepSeconds(schedule, whole, machine).map((value) => (end += value));
    return [{ title: entrantTitle(race, entrant), algorithm: entrant.algorithm, chunks: schedule.num_chunks, cost: price, ends, sent: sentByStep(schedule, whole), total: ends.at(-1) ?? 0 }];
  });
}

/** @param {Lane[]} all @returns {Lane[]} the first to finish; several if they are equal */
export function winners(all) {
  const best = Math.min(...all.map((lane) => lane.total));
  return all.filter((lane) => lane.total <= best * (1 + 1e-9));
}

/** @param {number} ratio above 1 @returns {number} with three digits, or as many as tell it from 1 */
function timesAsLong(ratio) {
  const digits = [3, 4, 5, 6].find((many) => Number(ratio.toPrecision(many)) > 1) ?? 9;
  return Number(ratio.toPrecision(digits));
}

/** @param {Race} race @param {Lane[]} all @returns {string} */
export function result(race, all) {
  const first = winners(all);
  if (!all.length) return "";
  const names = first.map((lane) => lane.title);
  /** @param {number} value */
  const show = (value) => (race.count === "steps" ? plural(value, "step") : seconds(value));
  const best = first[0]?.total ?? 0;
  const behind = all.filter((lane) => !first.includes(lane)).sort((a, b) => a.total - b.total)[0];
  const lead = behind && best > 0 ? ` Next is ${behind.title}, ${timesAsLong(behind.total / best)} times as long.` : "";
  const head = names.length > 1 ? `${names.join(" and ")} finish together` : `${names[0]} wins`;
  const where = `${plural(race.n, "rank")}, S = ${bytes(race.nbytes)}`;
  return `Counted in ${race.count === "steps" ? say("steps") : say("time")}: ${head} with ${show(best)} (${where}).${lead}`;
}
