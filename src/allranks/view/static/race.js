// @ts-check
// What a race shows: pure functions of the data.

import { build } from "./algorithms.js";
import { range } from "./algorithms/base.js";
import { bytes, plural, time as seconds, words } from "./format.js";
import { bestChunks, cost, runsOn, sentByStep, stepSeconds } from "./price.js";
import { asBuilt, parameterWords } from "./rebuild.js";

/** @typedef {import("./price.js").Machine} Machine */
/** @typedef {import("./price.js").Cost} Cost */
/** `chunks` null is the usual number; `piped`: its chunks follow the control k, "auto" is the best.
 *  @typedef {{algorithm: string, chunks: number | "auto" | null, piped: boolean, parameters?: import("./rebuild.js").Made}} Entrant */
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
  const schedule = build(race.collective, entrant.algorithm, { n: race.n, root: race.root, chunks: chunksOf(race, entrant), ...asBuilt(entrant.parameters ?? {}) });
  return schedule && machine && runsOn(schedule, machine) ? schedule : null;
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
    const price = cost(schedule, race.nbytes, machine, "lockstep");
    let sum = 0;
    const ends = race.count === "steps"
      ? range(schedule.steps.length).map((step) => step + 1)
      : stepSeconds(schedule, race.nbytes, machine).map((value) => (sum += value));
    return [{ title: entrantTitle(race, entrant), algorithm: entrant.algorithm, chunks: schedule.num_chunks, cost: price, ends, sent: sentByStep(schedule, race.nbytes), total: ends.at(-1) ?? 0 }];
  });
}

/** @param {Lane[]} all @returns {Lane[]} the first to finish; several if they are equal */
export function winners(all) {
  const best = Math.min(...all.map((lane) => lane.total));
  return all.filter((lane) => lane.total <= best * (1 + 1e-9));
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
  const lead = behind && best > 0 ? ` Next is ${behind.title}, ${Number((behind.total / best).toPrecision(3))} times as long.` : "";
  const head = names.length > 1 ? `${names.join(" and ")} finish together` : `${names[0]} wins`;
  const where = `${plural(race.n, "rank")}, S = ${bytes(race.nbytes)}`;
  return `Counted in ${race.count === "steps" ? "steps" : "time"}: ${head} with ${show(best)} (${where}).${lead}`;
}
