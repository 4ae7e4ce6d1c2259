// @ts-check
// The same flow for other numbers, made in the page: no kernel is asked.

import { build, ROOTED } from "./algorithms.js";
import { list, plural, words } from "./format.js";
import { runsOn } from "./price.js";
import { variantWords, vary, verdictKey } from "./variants.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./scene.js").Flow} Flow */

/**
 * What a schedule was made with beside n, a root and a number of chunks.
 * @typedef {{node_size?: number | number[], radix?: number, inner?: string, outer?: string}} Made
 */
/** @typedef {Made & {n?: number, root?: number, chunks?: number, algorithm?: string, nbytes?: number, machine?: string, variants?: string[]}} Change */

/**
 * The same flow for other numbers, or null if this page cannot compute that.
 * @param {Flow} flow @param {Change} change @returns {Flow | null}
 */
export function rebuild(flow, change) {
  const old = flow.plain ?? flow.schedule;
  if (flow.records || flow.priced) return null;
  const machine = change.machine ?? flow.machine;
  const found = Object.hasOwn(flow.machines, machine) ? flow.machines[machine] : undefined;
  if (!found) return null;
  const n = Math.min(change.n ?? old.world_size, found.most ?? Infinity);
  const { nbytes, machine: _machine, variants: asked, ...rest } = change;
  const shape = n !== old.world_size || Object.values(rest).some((value) => value !== undefined);
  const parameters = { ...flow.parameters, ...made(change) };
  const plain = shape ? shaped(flow, { ...change, n }, parameters) : old;
  if (!plain || !runsOn(plain, found)) return null;
  const variants = asked ?? flow.variants ?? [];
  const next = {
    ...flow,
    schedule: plain,
    parameters,
    machine,
    nbytes: nbytes ?? flow.nbytes,
    title: shape || asked ? titleOf(plain, parameters) : flow.title,
    elements: shape ? null : flow.elements,
    error: shape || asked ? null : flow.error,
  };
  return shape || asked ? varied(next, plain, variants) : { ...next, schedule: flow.schedule };
}

/** @param {Flow} flow @param {Schedule} plain @param {string[]} variants @returns {Flow | null} */
function varied(flow, plain, variants) {
  // one rank has no second block to exchange: what a world cannot vary, it shows as it is
  const schedule = plain.world_size > 1 ? vary(plain, variants) : plain;
  if (!schedule) return null;
  const used = plain.world_size > 1 ? variants : [];
  return {
    ...flow,
    schedule,
    plain,
    variants: used,
    title: `${flow.title}${variantWords(used, words(schedule.collective))}`,
    error: flow.verdicts?.[verdictKey(plain, used)] ?? null,
  };
}

/** @param {Change} change @returns {Made} */
function made({ node_size, radix, inner, outer }) {
  return Object.fromEntries(Object.entries({ node_size, radix, inner, outer }).filter(([, value]) => value !== undefined));
}

/** @param {Flow} flow @param {Change & {n: number}} change @param {Made} parameters @returns {Schedule | null} */
function shaped(flow, change, parameters) {
  const old = flow.plain ?? flow.schedule;
  const size = { n: change.n, root: change.root ?? old.root, ...asBuilt(parameters) };
  const algorithm = change.algorithm ?? old.algorithm;
  if (change.chunks !== undefined) return build(old.collective, algorithm, { ...size, chunks: change.chunks });
  // a number of chunks that somebody chose stays, if it can; the usual one follows n
  const usual = build(old.collective, old.algorithm, { n: old.world_size, root: old.root, ...asBuilt(flow.parameters ?? {}) });
  const kept = usual && usual.num_chunks !== old.num_chunks ? old.num_chunks : null;
  return build(old.collective, algorithm, { ...size, chunks: kept }) ?? build(old.collective, algorithm, size);
}

/** @param {Made} parameters @returns {import("./algorithms.js").Asked} the names that `build` knows */
export function asBuilt({ node_size, radix, inner, outer }) {
  return { nodeSize: node_size ?? null, radix: radix ?? null, inner: inner ?? null, outer: outer ?? null };
}

/** @param {Schedule} schedule @param {Made} [parameters] @returns {string} as allranks.view.names.title_of writes it */
export function titleOf(schedule, parameters = {}) {
  const { collective, algorithm, world_size: n } = schedule;
  const name = `${words(algorithm)} ${words(collective)}`;
  const root = ROOTED.has(collective) ? `, root ${schedule.root}` : "";
  const chunks = schedule.num_chunks === 1 ? "" : `, ${schedule.num_chunks} chunks`;
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} on ${plural(n, "rank")}${root}${chunks}${parameterWords(parameters)}`;
}

/** @param {Made} parameters @returns {string} as allranks.view.names.parameter_words writes it */
export function parameterWords({ node_size, radix, inner, outer }) {
  return [
    node_size === undefined ? "" : `, nodes of ${list([node_size].flat().map(String))}`,
    radix === undefined ? "" : `, ${radix} ports down a switch`,
    inner === undefined ? "" : `, ${words(inner)} inside nodes`,
    outer === undefined ? "" : `, ${words(outer)} between nodes`,
  ].join("");
}
