// @ts-check
// From a flow (plain JSON) and a clock to everything that a picture at a given time needs. Pure.

import { range } from "./algorithms/base.js";
import { columnOf, columns } from "./columns.js";
import { holds, play, receive, split, standing, startState } from "./engine.js";
import { aboveBound, bytes, plural, say, time as seconds } from "./format.js";
import { phasesOf } from "./phases.js";
import { cost, lowerBound, stepSeconds, timeline } from "./price.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {import("./columns.js").Column} Column */
/** @typedef {import("./price.js").Machine} Machine */
/** @typedef {import("./engine.js").Parts} Parts */
/** @typedef {import("./engine.js").State} State */
/** @typedef {"steps" | "lockstep" | "data_driven" | "measured"} Clock */
/** @typedef {[step: number, src: number, dst: number, chunk: number, op: "copy" | "reduce", start_s: number, end_s: number, nbytes: number, transport: string, device: string]} Row */
/** One message of a machine that this page cannot price: its times come from Python.
 *  @typedef {[step: number, src: number, dst: number, chunks: number[], start_s: number, end_s: number, nbytes: number]} Priced */
/**
 * @typedef {object} Flow
 * @property {string} format
 * @property {string} title
 * @property {string} label
 * @property {Schedule} schedule
 * @property {import("./rebuild.js").Made} [parameters]
 * @property {number} nbytes
 * @property {string} machine
 * @property {Record<string, Machine>} machines
 * @property {Clock} clock
 * @property {boolean} [phases] whether the two halves of an all-reduce are marked
 * @property {number | null} elements
 * @property {Row[] | null} records
 * @property {{note: string, bound: number | null, step_ends: number[], lockstep: Priced[], data_driven: Priced[]} | null} [priced]
 * @property {string} measured what was measured where, in words; "" for a simulated flow
 * @property {{step: number | null, message: string} | null} error
 * @property {Record<string, unknown>} controls
 * @property {boolean} [owners] whether the figure says who must end with which chunk
 * @property {string[]} [variants] of the plain schedule that are shown
 * @property {Schedule} [plain] the schedule without them; absent while none was asked for
 * @property {Record<string, {step: number | null, message: string} | null>} [verdicts] what the verifier says of each
 */
/** One transfer on the clock of a scene.
 * @typedef {{step: number, src: number, dst: number, chunk: number, op: "copy" | "reduce", start: number, end: number, nbytes: number, carried: Parts}} Move */
/** All bytes from one rank to one other in one step: one message. `left` and `right` are where its
 *  bar lies on the axis.
 * @typedef {{step: number, src: number, dst: number, chunks: number[], op: string, start: number, end: number, left: number, right: number, nbytes: number}} Message */
/**
 * @typedef {object} Scene
 * @property {Flow} flow
 * @property {Schedule} schedule
 * @property {Clock} clock the choice of the reader: a measured run keeps its own times on any axis
 * @property {boolean} counted time itself counts steps, not seconds
 * @property {boolean} inSteps the axis counts steps
 * @property {boolean} barrier all transfers of a step start and end together
 * @property {Move[]} moves in the order in which receivers apply them
 * @property {Message[]} messages
 * @property {State} start
 * @property {number} total of the clock
 * @property {number} span of the axis
 * @property {number[]} stops where something has just arrived; the first is 0
 * @property {number} seconds of the whole run
 * @property {number} bound lower bound in seconds, or NaN
 * @property {{start: number, length: number}[]} elements by chunk
 * @property {Column[]} columns
 * @property {number[]} columnOf by chunk
 * @property {import("./phases.js").Phase[]} phases those that are marked: none without steps for all
 */

/** @param {Flow} flow @returns {Clock[]} the clocks that this flow can show */
export function clocks(flow) {
  return flow.records ? ["measured", "steps"] : ["steps", "lockstep", "data_driven"];
}

/** @type {Record<Clock, string>} */
export const CLOCK_NAMES = {
  steps: say("steps"),
  lockstep: "time, lock-step",
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
  const inSteps = used === "steps";
  const counted = inSteps && !flow.records;
  const barrier = counted || used === "lockstep";
  const { moves, messages } = flow.records ? replayed(flow.records, inSteps) : simulated(flow, used);
  carry(schedule, moves);
  const stops = barrier
    ? stepEnds(counted ? schedule.steps.map(() => 1) : lengthsOf(flow))
    : arrivals(moves);
  const total = stops.at(-1) ?? 0;
  const all = columns(schedule);
  return {
    flow,
    schedule,
    clock: used,
    counted,
    inSteps,
    barrier,
    moves,
    messages,
    start: startState(schedule),
    total,
    span: inSteps ? schedule.steps.length : total,
    stops,
    seconds: flow.records ? total : counted ? wholeSeconds(flow) : total,
    bound: boundOf(flow),
    elements: elementsOf(flow),
    columns: all,
    columnOf: columnOf(all, schedule.num_chunks),
    phases: flow.phases && barrier ? phasesOf(schedule) : [],
  };
}

/** @param {Row[]} records @param {boolean} inSteps @returns {{moves: Move[], messages: Message[]}} */
function replayed(records, inSteps) {
  /** @type {Move[]} */
  const moves = [];
  /** @type {Message[]} */
  const messages = [];
  for (const [step, src, dst, chunk, op, start, end, nbytes] of records) {
    moves.push({ step, src, dst, chunk, op, start, end, nbytes, carried: [] });
    messages.push({ step, src, dst, chunks: [chunk], op, start, end, nbytes, left: inSteps ? step : start, right: inSteps ? step + 1 : end });
  }
  moves.sort((a, b) => a.step - b.step || a.src - b.src || a.chunk - b.chunk);
  return { moves, messages };
}

/** @param {Flow} flow @param {Clock} clock @returns {{moves: Move[], messages: Message[]}} */
function simulated(flow, clock) {
  /** @type {Move[]} */
  const moves = [];
  /** @type {Message[]} */
  const messages = [];
  const counted = clock === "steps";
  for (const event of eventsOf(flow, clock === "data_driven" ? "data_driven" : "lockstep")) {
    const start = counted ? event.step : event.start;
    const end = counted ? event.step + 1 : event.end;
    messages.push({ step: event.step, src: event.src, dst: event.dst, chunks: event.chunks, op: event.ops[0] ?? "copy", nbytes: event.nbytes, start, end, left: start, right: end });
    event.chunks.forEach((chunk, index) => {
      moves.push({ step: event.step, src: event.src, dst: event.dst, chunk, op: event.ops[index] ?? "copy", start, end, nbytes: event.nbytes / event.chunks.length, carried: [] });
    });
  }
  moves.sort((a, b) => a.step - b.step || a.src - b.src || a.chunk - b.chunk);
  return { moves, messages };
}

/**
 * @param {Flow} flow @param {"lockstep" | "data_driven"} clock
 * @returns {{step: number, src: number, dst: number, chunks: number[], ops: ("copy" | "reduce")[], start: number, end: number, nbytes: number}[]}
 */
function eventsOf(flow, clock) {
  if (!flow.priced) return timeline(flow.schedule, flow.nbytes, machineOf(flow), clock);
  /** @type {Map<string, "copy" | "reduce">} */
  const ops = new Map();
  flow.schedule.steps.forEach((step, number) => step.forEach(([src, dst, chunk, op]) => ops.set(`${number} ${src} ${dst} ${chunk}`, op)));
  return flow.priced[clock].map(([step, src, dst, chunks, start, end, nbytes]) => ({
    step, src, dst, chunks, start, end, nbytes, ops: chunks.map((chunk) => ops.get(`${step} ${src} ${dst} ${chunk}`) ?? "copy"),
  }));
}

/** @param {Flow} flow @returns {number[]} seconds of every step in lock-step */
function lengthsOf(flow) {
  if (!flow.priced) return stepSeconds(flow.schedule, flow.nbytes, machineOf(flow));
  return flow.priced.step_ends.map((end, step, all) => end - (all[step - 1] ?? 0));
}

/** @param {Flow} flow @returns {number} seconds of the whole run in lock-step */
function wholeSeconds(flow) {
  return flow.priced ? (flow.priced.step_ends.at(-1) ?? 0) : cost(flow.schedule, flow.nbytes, machineOf(flow), "lockstep").seconds;
}

/** @param {Flow} flow @returns {number} what a switch adds lies outside the bound for sends and receives */
function boundOf(flow) {
  const { schedule } = flow;
  if (flow.priced) return flow.priced.bound ?? NaN;
  if (flow.records || schedule.num_switches) return NaN;
  return lowerBound(schedule.collective, schedule.world_size, flow.nbytes, machineOf(flow));
}

/**
 * Notes what every move carries: the sender's cell before the step.
 * @param {Schedule} schedule @param {Move[]} moves in order of steps
 */
function carry(schedule, moves) {
  let state = startState(schedule);
  let next = 0;
  schedule.steps.forEach((step, number) => {
    for (let move = moves[next]; move && move.step === number; move = moves[next]) {
      move.carried = state[move.src]?.[move.chunk] ?? [];
      next += 1;
    }
    state = play(state, step);
  });
}

/** @param {Flow} flow @returns {{start: number, length: number}[]} the elements of every chunk */
function elementsOf(flow) {
  const { schedule } = flow;
  // the vector of an all-to-all is one rank's send buffer: its chunks count anew for every sender
  const pieces = schedule.collective === "all_to_all" ? schedule.num_chunks / schedule.world_size : schedule.num_chunks;
  const spans = split(flow.elements ?? (pieces < 3 ? 8 : 2 * pieces), pieces);
  return range(schedule.num_chunks).map((chunk) => spans[chunk % pieces] ?? { start: 0, length: 0 });
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

/** @type {WeakMap<Scene, {arrived: number, state: State}>} */
const LAST_STATE = new WeakMap();
/** @type {WeakMap<Parts, WeakMap<Parts, Parts>>} */
const SUMS = new WeakMap();

/**
 * The same array for the same two: a drawing then sees at once which cells have not changed.
 * @param {Parts} own @param {Parts} carried @returns {Parts}
 */
function sumOf(own, carried) {
  const known = SUMS.get(own) ?? new WeakMap();
  SUMS.set(own, known);
  const sum = known.get(carried) ?? receive(own, carried, "reduce");
  known.set(carried, sum);
  return sum;
}

/**
 * What every endpoint holds at a time. The answer is shared and must not be changed.
 * @param {Scene} scene @param {number} time @returns {State}
 */
export function stateAt(scene, time) {
  const landed = scene.moves.filter((move) => arrived(scene, move, time));
  // what has arrived only grows with time, so its number tells which state it is
  const known = LAST_STATE.get(scene);
  if (known?.arrived === landed.length) return known.state;
  const state = scene.start.map((row) => [...row]);
  for (const move of landed) {
    if (!holds(move.carried)) continue;
    const row = state[move.dst];
    const own = row?.[move.chunk];
    if (row && own) row[move.chunk] = move.op === "copy" ? move.carried : sumOf(own, move.carried);
  }
  LAST_STATE.set(scene, { arrived: landed.length, state });
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

/** @type {WeakMap<State, {promised: number, kept: number}>} */
const KEPT = new WeakMap();

/** @param {Schedule} schedule @param {State} state how many cells keep the promise */
function keptIn(schedule, state) {
  const known = KEPT.get(state);
  if (known) return known;
  const count = { promised: 0, kept: 0 };
  for (const rank of range(schedule.world_size)) {
    for (const chunk of range(schedule.num_chunks)) {
      const kind = standing(schedule, state[rank]?.[chunk] ?? [], rank, chunk);
      count.promised += kind === "free" ? 0 : 1;
      count.kept += kind === "kept" ? 1 : 0;
    }
  }
  KEPT.set(state, count);
  return count;
}

/**
 * The numbers under the picture.
 * @param {Scene} scene @param {number} time
 */
export function readOuts(scene, time) {
  const { schedule } = scene;
  const n = schedule.world_size;
  const sent = range(n).map(() => 0);
  const received = range(n).map(() => 0);
  const switches = { sent: 0, received: 0 };
  let delivered = 0;
  for (const { src, dst, nbytes } of scene.messages.filter((message) => arrived(scene, message, time))) {
    delivered += 1;
    if (src < n) sent[src] = (sent[src] ?? 0) + nbytes;
    else switches.sent += nbytes;
    if (dst < n) received[dst] = (received[dst] ?? 0) + nbytes;
    else switches.received += nbytes;
  }
  const { promised, kept } = keptIn(schedule, stateAt(scene, time));
  const most = Math.max(...sent);
  const busiest = sent.findIndex((nbytes) => nbytes >= most * (1 - 1e-9));
  const others = sent.filter((nbytes) => nbytes >= most * (1 - 1e-9)).length - 1;
  return {
    time: scene.counted ? `${significantSteps(time)} of ${plural(schedule.steps.length, "step")}` : seconds(time),
    sent: bytes(most),
    received: bytes(Math.max(...received)),
    switchIn: bytes(switches.received),
    switchOut: bytes(switches.sent),
    busiest: most > 0 ? `rank ${busiest}${others ? ` and ${plural(others, "other")}` : ""}` : "",
    messages: `${delivered} of ${scene.messages.length}`,
    kept: `${kept} of ${promised}`,
    whole: seconds(scene.seconds),
    bound: scene.bound > 0 ? aboveBound(scene.seconds / scene.bound) : "",
  };
}

/** @param {number} value @returns {string} */
function significantSteps(value) {
  return String(Math.round(value * 10) / 10);
}

/**
 * The time at which a step begins.
 * @param {Scene} scene @param {number} step 2.5 is half way through step 2 @returns {number}
 */
export function timeOfStep(scene, step) {
  if (scene.barrier) {
    const whole = Math.min(Math.max(Math.floor(step), 0), scene.stops.length - 1);
    const here = scene.stops[whole] ?? 0;
    const next = scene.stops[whole + 1] ?? here;
    return here + (next - here) * (step - Math.floor(step));
  }
  return scene.moves.reduce((latest, move) => (move.step < step ? Math.max(latest, move.end) : latest), 0);
}

/**
 * The time in another scene of the same schedule that shows the same state. A measured run keeps
 * its own clock on every axis, and steps keep their number; between a lock-step and a data-driven
 * clock, what is finished there is finished here.
 * @param {Scene} before @param {number} time @param {Scene} after @returns {number}
 */
export function sameState(before, time, after) {
  if (before.flow.records) return time;
  const stop = stopAt(before, time);
  const start = before.stops[stop] ?? 0;
  const length = (before.stops[stop + 1] ?? start) - start;
  if (before.barrier && after.barrier) return timeOfStep(after, stop + (length ? (time - start) / length : 0));
  if (time >= before.total * (1 - 1e-9)) return after.total;
  if (before.barrier) return timeOfStep(after, stop);
  const late = before.moves.find((move) => !arrived(before, move, time));
  return timeOfStep(after, late ? late.step : 0);
}
