// @ts-check
// From a flow (plain JSON) and a clock to everything that a picture at a given time needs. Pure.

import { build, find, range, ROOTED } from "./algorithms.js";
import { cost, ends, endpoints, holds, lowerBound, receive, split, standing, startState, states, stepSeconds, timeline } from "./engine.js";
import { above, bytes, letter, list, plural, time as seconds, words } from "./format.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./engine.js").Machine} Machine */
/** @typedef {import("./engine.js").Parts} Parts */
/** @typedef {import("./engine.js").State} State */
/** @typedef {"steps" | "lockstep" | "data_driven" | "measured"} Clock */
/** @typedef {[step: number, src: number, dst: number, chunk: number, op: "copy" | "reduce", start_s: number, end_s: number, nbytes: number, transport: string, device: string]} Row */
/**
 * @typedef {object} Flow
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {Schedule} schedule
 * @property {number} nbytes
 * @property {string} machine
 * @property {Record<string, Machine>} machines
 * @property {Clock} clock
 * @property {number | null} elements
 * @property {Row[] | null} records
 * @property {string} measured what was measured where, in words; "" for a simulated flow
 * @property {{step: number | null, message: string} | null} error
 * @property {Record<string, unknown>} controls
 */
/** One transfer on the time axis of a scene.
 * @typedef {{step: number, src: number, dst: number, chunk: number, op: "copy" | "reduce", start: number, end: number, nbytes: number, carried: Parts}} Move */
/** All bytes from one rank to one other in one step: one message.
 * @typedef {{step: number, src: number, dst: number, chunks: number[], op: string, start: number, end: number, nbytes: number}} Message */
/**
 * @typedef {object} Scene
 * @property {Flow} flow
 * @property {Schedule} schedule
 * @property {Clock} clock
 * @property {boolean} counted the axis counts steps, not seconds
 * @property {boolean} barrier all transfers of a step start and end together
 * @property {Move[]} moves in the order in which receivers apply them
 * @property {Message[]} messages
 * @property {State} start
 * @property {number} total
 * @property {number[]} stops where something has just arrived; the first is 0
 * @property {number} seconds of the whole run
 * @property {number} bound lower bound in seconds, or NaN
 * @property {{start: number, length: number}[]} elements by chunk
 */

/** @param {Flow} flow @returns {Clock[]} the clocks that this flow can show */
export function clocks(flow) {
  return flow.records ? ["measured", "steps"] : ["steps", "lockstep", "data_driven"];
}

/** @type {Record<Clock, string>} */
export const CLOCK_NAMES = {
  steps: "count steps",
  lockstep: "time, in lock-step",
  data_driven: "time, data-driven",
  measured: "measured time",
};

/** @param {Flow} flow @returns {Machine} */
export function machineOf(flow) {
  const machine = flow.machines[flow.machine];
  if (!machine) throw new Error(`machine ${flow.machine} is not in the data of this figure`);
  return machine;
}

/** @param {Flow} flow @param {Clock} [clock] @returns {Scene} */
export function makeScene(flow, clock = flow.clock) {
  const { schedule } = flow;
  const used = clocks(flow).includes(clock) ? clock : /** @type {Clock} */ (clocks(flow)[0]);
  const before = states(schedule);
  const machine = machineOf(flow);
  /** @param {number} step @param {number} src @param {number} chunk @returns {Parts} */
  const carried = (step, src, chunk) => before[step]?.[src]?.[chunk] ?? [];
  /** @type {Move[]} */
  const moves = [];
  /** @type {Message[]} */
  const messages = [];
  if (flow.records && used === "measured") {
    for (const [step, src, dst, chunk, op, start, end, nbytes] of flow.records) {
      moves.push({ step, src, dst, chunk, op, start, end, nbytes, carried: carried(step, src, chunk) });
      messages.push({ step, src, dst, chunks: [chunk], op, start, end, nbytes });
    }
  } else {
    const events = timeline(schedule, flow.nbytes, machine, used === "data_driven" ? "data_driven" : "lockstep");
    const counted = used === "steps";
    for (const event of events) {
      const start = counted ? event.step : event.start;
      const end = counted ? event.step + 1 : event.end;
      messages.push({ ...event, op: event.ops[0] ?? "copy", start, end });
      event.chunks.forEach((chunk, index) => {
        const op = event.ops[index] ?? "copy";
        const nbytes = event.nbytes / event.chunks.length;
        moves.push({ step: event.step, src: event.src, dst: event.dst, chunk, op, start, end, nbytes, carried: carried(event.step, event.src, chunk) });
      });
    }
  }
  moves.sort((a, b) => a.step - b.step || a.src - b.src || a.chunk - b.chunk);
  const barrier = used === "steps" || used === "lockstep";
  const stops = barrier
    ? stepEnds(used === "steps" ? schedule.steps.map(() => 1) : stepSeconds(schedule, flow.nbytes, machine))
    : arrivals(moves);
  const last = stops.at(-1) ?? 0;
  const run = flow.records
    ? flow.records.reduce((latest, row) => Math.max(latest, row[6]), 0)
    : cost(schedule, flow.nbytes, machine, used === "data_driven" ? "data_driven" : "lockstep").seconds;
  return {
    flow,
    schedule,
    clock: used,
    counted: used === "steps",
    barrier,
    moves,
    messages,
    start: before[0] ?? startState(schedule),
    total: last,
    stops,
    seconds: run,
    // what a switch adds lies outside the bound for sends and receives
    bound: flow.records || schedule.num_switches ? NaN : lowerBound(schedule.collective, schedule.world_size, flow.nbytes, machine),
    elements: split(elementCount(flow), schedule.num_chunks),
  };
}

/** @param {Flow} flow @returns {number} enough for two elements per chunk, as the course writes vectors */
export function elementCount(flow) {
  const chunks = flow.schedule.num_chunks;
  return flow.elements ?? (chunks < 3 ? 8 : 2 * chunks);
}

/** @param {number[]} lengths of the steps @returns {number[]} 0, and when each step ends */
function stepEnds(lengths) {
  let sum = 0;
  return [0, ...lengths.map((length) => (sum += length))];
}

/** @param {Move[]} moves @returns {number[]} 0, and every time at which something arrives */
function arrivals(moves) {
  const ends = moves.map((move) => move.end).sort((a, b) => a - b);
  const last = ends.at(-1) ?? 0;
  const stops = [0];
  for (const end of ends) if (end - (stops.at(-1) ?? 0) > last * 1e-9) stops.push(end);
  return stops;
}

/**
 * How many stops lie at or before a time: where "step" and "back" start from.
 * @param {Scene} scene @param {number} time @returns {number} index into `stops`
 */
export function stopAt(scene, time) {
  const slack = scene.total * 1e-9;
  let index = 0;
  while (index + 1 < scene.stops.length && (scene.stops[index + 1] ?? 0) <= time + slack) index += 1;
  return index;
}

/** @param {Scene} scene @param {Move | Message} move @param {number} time @returns {boolean} */
export function arrived(scene, move, time) {
  return move.end <= time + scene.total * 1e-9;
}

/** @param {Scene} scene @param {number} time @returns {State} what every endpoint holds at a time */
export function stateAt(scene, time) {
  const state = scene.start.map((row) => [...row]);
  for (const move of scene.moves) {
    if (!arrived(scene, move, time) || !holds(move.carried)) continue;
    const row = state[move.dst];
    const own = row?.[move.chunk];
    if (row && own) row[move.chunk] = receive(own, move.carried, move.op);
  }
  return state;
}

/**
 * The transfers on their way, and how far each is (0 to 1).
 * @param {Scene} scene @param {number} time
 * @returns {{move: Move, progress: number}[]}
 */
export function travelling(scene, time) {
  const slack = scene.total * 1e-9;
  return scene.moves
    .filter((move) => move.start < time - slack && !arrived(scene, move, time))
    .map((move) => ({ move, progress: (time - move.start) / (move.end - move.start) }));
}

/**
 * The transfers that start next, seen from a stop.
 * @param {Scene} scene @param {number} time @returns {Move[]}
 */
export function upcoming(scene, time) {
  const slack = scene.total * 1e-9;
  const later = scene.moves.filter((move) => move.start >= time - slack && !arrived(scene, move, time));
  const first = Math.min(...later.map((move) => move.start));
  return later.filter((move) => move.start <= first + slack);
}

/**
 * The numbers under the picture.
 * @param {Scene} scene @param {number} time
 */
export function readOuts(scene, time) {
  const { schedule } = scene;
  const sent = range(schedule.world_size).map(() => 0);
  let delivered = 0;
  for (const message of scene.messages) {
    if (!arrived(scene, message, time)) continue;
    delivered += 1;
    if (message.src < schedule.world_size) sent[message.src] = (sent[message.src] ?? 0) + message.nbytes;
  }
  const state = stateAt(scene, time);
  let promised = 0;
  let kept = 0;
  for (const rank of range(schedule.world_size)) {
    for (const chunk of range(schedule.num_chunks)) {
      const standing_ = standing(schedule, state[rank]?.[chunk] ?? [], rank, chunk);
      promised += standing_ === "free" ? 0 : 1;
      kept += standing_ === "kept" ? 1 : 0;
    }
  }
  const most = Math.max(...sent);
  const busiest = sent.indexOf(most);
  return {
    time: scene.counted ? `${significantSteps(time)} of ${plural(schedule.steps.length, "step")}` : seconds(time),
    sent: bytes(most),
    busiest: most > 0 ? `rank ${busiest}${sent.filter((s) => s === most).length > 1 ? " and others" : ""}` : "",
    messages: `${delivered} of ${scene.messages.length}`,
    kept: `${kept} of ${promised}`,
    whole: seconds(scene.seconds),
    bound: scene.bound > 0 ? `${above(scene.seconds / scene.bound)} the lower bound` : "",
  };
}

/** @param {number} value @returns {string} */
function significantSteps(value) {
  return String(Math.round(value * 10) / 10);
}

/** @param {Schedule} schedule @param {number} endpoint @returns {string} */
export function nameOf(schedule, endpoint) {
  return endpoint < schedule.world_size ? `rank ${endpoint}` : `switch S${endpoint - schedule.world_size}`;
}

/** @param {Parts} parts @returns {string} "a+b", "2a+c", "nothing" */
export function partsText(parts) {
  const held = parts.flatMap((count, part) => (count > 0 ? [`${count > 1 ? count : ""}${letter(part)}`] : []));
  return held.length ? held.join("+") : "nothing";
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

/**
 * What has just happened and what is there now, in a sentence or two, for eyes and ears.
 * @param {Scene} scene @param {number} time @returns {string}
 */
export function sentence(scene, time) {
  const { schedule } = scene;
  const count = schedule.steps.length;
  if (count === 0) return "One rank has everything already: no step is needed.";
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
  const state = stateAt(scene, at);
  const told = landed.slice(0, 4).map((move) => {
    const now = state[move.dst]?.[move.chunk] ?? [];
    const verb = move.op === "copy" ? "kept it" : "added it";
    return `${nameOf(schedule, move.src)} sent chunk ${move.chunk} to ${nameOf(schedule, move.dst)}, which ${verb} (now ${partsText(now)})`;
  });
  const more = landed.length - told.length;
  const end = stop === scene.stops.length - 1 ? ` ${verdict(scene)}` : "";
  return `${done}${told.join("; ")}${more ? `; and ${plural(more, "more transfer")} like these` : ""}.${end}`;
}

/** @param {Scene} scene @param {number} time @returns {string} */
function nextSentence(scene, time) {
  const next = upcoming(scene, time);
  if (!next.length) return "";
  const senders = [...new Set(next.map((move) => nameOf(scene.schedule, move.src)))];
  const first = next[0];
  if (!first) return "";
  const which = scene.barrier ? `In step ${first.step}, ` : "First, ";
  if (next.length === 1) {
    return `${which}${nameOf(scene.schedule, first.src)} sends chunk ${first.chunk} to ${nameOf(scene.schedule, first.dst)}.`;
  }
  return senders.length > 4
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
  const more = faults.length > 2 ? `; ${faults.length - 2} more cells are wrong` : "";
  return `The promise is broken: ${faults.slice(0, 2).join("; ")}${more}.`;
}

/**
 * The slots of a column: the parts that can ever be in that chunk.
 * @param {Schedule} schedule @returns {number[][]} by chunk
 */
export function slots(schedule) {
  const first = startState(schedule);
  return range(schedule.num_chunks).map((chunk) =>
    range(schedule.world_size).filter((part) => first.some((row) => (row[chunk]?.[part] ?? 0) > 0)),
  );
}

/**
 * Where each chunk must end, if that is one rank alone: its home.
 * @param {Schedule} schedule @returns {(number | null)[]} by chunk
 */
export function homes(schedule) {
  return range(schedule.num_chunks).map((chunk) => {
    const promised = range(schedule.world_size).filter((rank) => ends(schedule, rank, chunk) !== null);
    return schedule.world_size > 1 && promised.length === 1 ? (promised[0] ?? null) : null;
  });
}

/**
 * The same flow for other numbers, or null if this page cannot compute that.
 * @param {Flow} flow
 * @param {{n?: number, root?: number, chunks?: number, algorithm?: string, nbytes?: number, machine?: string}} change
 * @returns {Flow | null}
 */
export function rebuild(flow, change) {
  const old = flow.schedule;
  if (flow.records) return null;
  const algorithm = change.algorithm ?? old.algorithm;
  const shape = [change.n, change.root, change.chunks, change.algorithm].some((value) => value !== undefined);
  const entry = find(old.collective, algorithm);
  if (shape && !entry) return null;
  const n = change.n ?? old.world_size;
  const schedule = shape
    ? build(old.collective, algorithm, {
        n,
        root: change.root ?? old.root,
        chunks: change.chunks ?? (entry?.open ? (find(old.collective, old.algorithm)?.open ? old.num_chunks : 1) : null),
      })
    : old;
  if (!schedule) return null;
  const machine = change.machine ?? flow.machine;
  if (!Object.hasOwn(flow.machines, machine)) return null;
  return {
    ...flow,
    schedule,
    machine,
    nbytes: change.nbytes ?? flow.nbytes,
    title: shape ? titleOf(schedule) : flow.title,
    elements: shape ? null : flow.elements,
    error: shape ? null : flow.error,
  };
}

/** @param {Schedule} schedule @returns {string} as allranks.view.frames.title writes it */
export function titleOf(schedule) {
  const { collective, algorithm, world_size: n } = schedule;
  const name = `${words(algorithm)} ${words(collective)}`;
  const root = ROOTED.has(collective) ? `, root ${schedule.root}` : "";
  const chunks = schedule.num_chunks === 1 ? "" : `, ${schedule.num_chunks} chunks`;
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} on ${plural(n, "rank")}${root}${chunks}`;
}

/** @param {Schedule} schedule @returns {number} */
export function rows(schedule) {
  return endpoints(schedule);
}
