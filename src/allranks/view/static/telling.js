// @ts-check
// What a scene says in words, for eyes and ears: pure functions of a scene and a time.

import { range } from "./algorithms/base.js";
import { phaseSentence } from "./phases.js";
import { ends, holds, standing } from "./engine.js";
import { letter, list, plural, say, time as seconds } from "./format.js";
import { strayWords } from "./owners.js";
import { stateAt, stopAt, travelling, upcoming } from "./scene.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./engine.js").Parts} Parts */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Move} Move */

const TOLD = 4;

/** @param {Schedule} schedule @param {number} endpoint @returns {string} */
export function nameOf(schedule, endpoint) {
  return endpoint < schedule.world_size ? say(`rank ${endpoint}`) : `switch S${endpoint - schedule.world_size}`;
}

/** @param {Parts} parts @returns {string} "a+b", "2a+c", "nothing"; runs of four and more as "a to f" */
export function partsText(parts) {
  const once = parts.flatMap((count, part) => (count === 1 ? [part] : []));
  if (once.length > 8 && parts.every((count) => count < 2)) {
    return runs(once).map(([first, last]) => (last - first < 3 ? range(last - first + 1).map((i) => letter(first + i)).join("+") : `${letter(first)} to ${letter(last)}`)).join("+");
  }
  const held = parts.flatMap((count, part) => (count > 0 ? [`${count > 1 ? count : ""}${letter(part)}`] : []));
  return held.length ? held.join("+") : "nothing";
}

/**
 * How many of the parts that a rank's chunk can be added up from it holds: "2 of 4 parts, each once".
 * @param {Scene} scene @param {number} rank @param {number} chunk @param {number} time @returns {string} "" where nothing is added
 */
export function countText(scene, rank, chunk, time) {
  const { schedule } = scene;
  const parts = stateAt(scene, time)[rank]?.[chunk] ?? [];
  const promised = range(schedule.world_size).map((one) => ends(schedule, one, chunk)?.length ?? 0);
  const most = Math.max(0, ...promised);
  const held = parts.filter((count) => count > 0).length;
  if (most < 2 || !held) return "";
  const again = parts.flatMap((count, part) => (count > 1 ? [`${letter(part)} ${count} times`] : []));
  const share = `${held} of ${plural(most, "part")}`;
  return again.length ? `${share}, ${list(again)}` : held > 1 ? `${share}, each once` : share;
}

/** @param {number[]} rising @returns {[first: number, last: number][]} */
function runs(rising) {
  /** @type {[number, number][]} */
  const found = [];
  for (const value of rising) {
    const last = found.at(-1);
    if (last && last[1] === value - 1) last[1] = value;
    else found.push([value, value]);
  }
  return found;
}

/**
 * A chunk element by element: "a0+b0, a1+b1".
 * @param {Parts} parts @param {{start: number, length: number}} span @param {number} most
 * @returns {string}
 */
export function vectorText(parts, span, most = 4) {
  if (!holds(parts)) return "nothing";
  if (span.length === 0) return "no elements";
  /** @param {number} index */
  const element = (index) =>
    parts.flatMap((count, part) => (count > 0 ? [`${count > 1 ? `${count}·` : ""}${letter(part)}${index}`] : [])).join("+");
  const indices = range(span.length).map((offset) => span.start + offset);
  if (indices.length <= most) return indices.map(element).join(", ");
  return `${element(indices[0] ?? 0)}, ${element(indices[1] ?? 0)}, … ${element(indices.at(-1) ?? 0)}`;
}

/** @param {number[]} chunks @returns {string} "chunk 3", "chunks 0 to 3", "chunks 1, 4 and 6", "9 chunks" */
export function chunksText(chunks) {
  const rising = [...new Set(chunks)].sort((a, b) => a - b);
  const first = rising[0] ?? 0;
  const last = rising.at(-1) ?? first;
  if (rising.length === 1) return say(`chunk ${first}`);
  if (rising.length > 2 && last - first === rising.length - 1) return `chunks ${first} to ${last}`;
  return rising.length < 5 ? say(`chunks ${list(rising.map(String))}`) : plural(rising.length, "chunk");
}

/**
 * Moves of one sender to one receiver that are done in the same way belong together.
 * @param {Move[]} moves @returns {Move[][]}
 */
function together(moves) {
  /** @type {Map<string, Move[]>} */
  const groups = new Map();
  for (const move of moves) {
    const key = `${move.step} ${move.src} ${move.dst} ${move.op}`;
    const known = groups.get(key);
    if (known) known.push(move);
    else groups.set(key, [move]);
  }
  return [...groups.values()];
}

/**
 * "rank 0 sends chunk 3 to rank 1, which adds it", or the same in the past, for up to four messages.
 * @param {Scene} scene @param {Move[]} moves @param {number | null} at when they arrived, or null
 * @returns {string}
 */
function told(scene, moves, at) {
  const groups = together(moves);
  const over = at !== null;
  const state = over ? stateAt(scene, at) : [];
  const said = groups.slice(0, TOLD).map((group) => {
    const [move] = group;
    if (!move) return "";
    const verb = { copy: over ? "kept" : "keeps", reduce: over ? "added" : "adds" }[move.op];
    const now = over && group.length === 1 ? ` (now ${partsText(state[move.dst]?.[move.chunk] ?? [])})` : "";
    const again = group.length > 1 && group.every((one) => one.chunk === move.chunk);
    const what = `${chunksText(group.map((one) => one.chunk))}${again ? ` ${plural(group.length, "time")}` : ""}`;
    return `${nameOf(scene.schedule, move.src)} ${over ? "sent" : "sends"} ${what} to ${nameOf(scene.schedule, move.dst)}, which ${verb} ${group.length === 1 || again ? "it" : "them"}${now}`;
  });
  const more = groups.length - said.length;
  return `${said.join("; ")}${more ? `; and ${plural(more, "more message")} like these` : ""}.`;
}

/**
 * What happens now, or else what has just happened: a sentence or two; first the phase, if marked.
 * @param {Scene} scene @param {number} time @returns {string}
 */
export function sentence(scene, time) {
  return [phaseSentence(scene, time), eventSentence(scene, time)].filter(Boolean).join(" ");
}

/** @param {Scene} scene @param {number} time @returns {string} */
function eventSentence(scene, time) {
  const { schedule } = scene;
  const count = schedule.steps.length;
  if (count === 0) return "One rank has everything already: no step is needed.";
  const coming = travelling(scene, time).map(({ move }) => move);
  if (coming.length) {
    return scene.barrier ? `Now, in step ${coming[0]?.step}, ${told(scene, coming, null)}` : `Now ${told(scene, coming, null)}`;
  }
  const stop = stopAt(scene, time);
  const at = scene.stops[stop] ?? 0;
  if (stop === 0) return `Nothing has arrived yet. ${nextSentence(scene, 0)}`;
  const slack = scene.total * 1e-9;
  const landed = scene.moves.filter((move) =>
    scene.barrier ? move.step === stop - 1 : Math.abs(move.end - at) <= slack,
  );
  const done = scene.barrier
    ? `${stop} of ${plural(count, "step")} done. In step ${stop - 1}, `
    : `At ${seconds(at)}, `;
  if (stop === scene.stops.length - 1) return `${done}${told(scene, landed, at)} ${verdict(scene)}`;
  const stray = strayWords(scene, at);
  return `${done}${told(scene, landed, at)}${stray ? ` ${stray}` : ""}`;
}

/**
 * Two times with one moment have one sentence: what is told anew is what has changed.
 * @param {Scene} scene @param {number} time @returns {string}
 */
export function moment(scene, time) {
  const stop = stopAt(scene, time);
  if (scene.barrier) return `${stop}${time > (scene.stops[stop] ?? 0) + scene.total * 1e-9 ? " and on" : ""}`;
  return `${stop} ${travelling(scene, time).map(({ move }) => `${move.src}-${move.dst}-${move.chunk}`).join()}`;
}

/** @param {Scene} scene @param {number} time @returns {string} */
function nextSentence(scene, time) {
  const next = upcoming(scene, time);
  const first = next[0];
  if (!first) return "";
  const which = scene.barrier ? `In step ${first.step}, ` : say("First, ");
  const groups = together(next);
  if (groups.length === 1) {
    return `${which}${nameOf(scene.schedule, first.src)} sends ${chunksText(next.map((move) => move.chunk))} to ${nameOf(scene.schedule, first.dst)}.`;
  }
  const senders = [...new Set(next.map((move) => nameOf(scene.schedule, move.src)))];
  return senders.length > TOLD
    ? `${which}${senders.length} senders move ${plural(next.length, "chunk")} at once.`
    : `${which}${list(senders)} ${senders.length === 1 ? "sends" : "send"} ${plural(next.length, "chunk")} at once.`;
}

/** @param {Scene} scene @returns {string} how the end stands against the contract */
export function verdict(scene) {
  const { schedule } = scene;
  const state = stateAt(scene, scene.total);
  /** @type {string[]} */
  const faults = [];
  for (const rank of range(schedule.world_size)) {
    for (const chunk of range(schedule.num_chunks)) {
      const parts = state[rank]?.[chunk] ?? [];
      const kind = standing(schedule, parts, rank, chunk);
      if (kind === "twice") faults.push(`rank ${rank} has a part of chunk ${chunk} more than once (${partsText(parts)})`);
      if (kind === "missing") {
        const lost = (ends(schedule, rank, chunk) ?? []).filter((part) => parts[part] !== 1).map(letter);
        faults.push(`rank ${rank} lacks ${list(lost)} in chunk ${chunk}`);
      }
      if (kind === "wrong") faults.push(`rank ${rank} holds parts in chunk ${chunk} that do not belong there`);
    }
  }
  if (!faults.length) return "Finished: every promised chunk is in place, each part once.";
  const stray = strayWords(scene, scene.total);
  if (stray) return `The promise is broken. ${stray}`;
  const more = faults.length > 2 ? `; ${faults.length - 2} more cells are wrong` : "";
  return `The promise is broken: ${faults.slice(0, 2).join("; ")}${more}.`;
}
