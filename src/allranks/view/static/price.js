// @ts-check
// What a schedule costs on a uniform machine: the JavaScript twin of allranks.cost. tests/view
// compares them, price for price.

import { modulo, range } from "./algorithms/base.js";
import { endpoints } from "./engine.js";

/** @typedef {import("./algorithms.js").Schedule} Schedule */

/**
 * Seconds, bytes per second and direction; `bandwidth` null is infinite, `in_flight` null is all
 * messages of a rank at once, `most` the ranks that it holds (null: any number), and `adds` false
 * where no switch can add.
 * @typedef {{alpha: number, bandwidth: number | null, gamma: number, ports: number, in_flight: number | null, most?: number | null, adds?: boolean}} Machine
 */
/** All that one endpoint sends to one other in one step.
 * @typedef {{step: number, src: number, dst: number, chunks: number[], ops: ("copy" | "reduce")[], nbytes: number, reduced: number, out: string, into: string}} Message */
/** @typedef {Message & {start: number, end: number}} Event */
/**
 * `sent` and `received` are by rank, in bytes.
 * @typedef {{seconds: number, steps: number, latency_terms: number, messages: number, sent: number[], received: number[]}} Cost
 */

/** @param {Schedule} schedule @param {Machine} machine @returns {boolean} whether it can run there */
export function runsOn(schedule, machine) {
  return schedule.world_size <= (machine.most ?? Infinity) && (schedule.num_switches === 0 || machine.adds !== false);
}

/** A machine of a known number of ranks. @typedef {Machine & {in_flight: number}} Settled */

/** @param {Machine} machine @param {number} n @returns {Settled} */
function settled(machine, n) {
  return { ...machine, in_flight: machine.in_flight ?? Math.max(n - 1, 1) };
}

/** @param {Machine} machine @returns {number} */
function wire(machine) {
  return machine.bandwidth === null ? Infinity : machine.bandwidth;
}

/** @param {Schedule} schedule @param {number} nbytes S, of the whole vector @returns {number} bytes of a chunk */
export function chunkBytes(schedule, nbytes) {
  // one send buffer of an all_to_all has only n of its n * n pieces
  const parts = schedule.collective === "all_to_all" ? schedule.num_chunks / schedule.world_size : schedule.num_chunks;
  return nbytes / parts;
}

/**
 * The messages of one step, in order of src and dst.
 * @param {Schedule} schedule @param {number} number @param {number} nbytes @param {Machine} machine
 * @returns {Message[]}
 */
export function messages(schedule, number, nbytes, machine) {
  const n = schedule.world_size;
  const each = chunkBytes(schedule, nbytes);
  /** @type {Map<string, Message>} */
  const byPair = new Map();
  for (const [src, dst, chunk, op] of schedule.steps[number] ?? []) {
    const key = `${src} ${dst}`;
    const known = byPair.get(key);
    const message = known ?? { step: number, src, dst, chunks: [], ops: [], nbytes: 0, reduced: 0, out: "", into: "" };
    if (!known) byPair.set(key, message);
    message.chunks.push(chunk);
    message.ops.push(op);
    if (op === "reduce") message.reduced += 1;
  }
  const all = [...byPair.values()].sort((a, b) => a.src - b.src || a.dst - b.dst);
  /** @type {Map<number, number>} */
  const peersOut = new Map();
  /** @type {Map<number, number>} */
  const peersIn = new Map();
  for (const message of all) {
    const { src, dst } = message;
    const out = peersOut.get(src) ?? 0;
    const into = peersIn.get(dst) ?? 0;
    peersOut.set(src, out + 1);
    peersIn.set(dst, into + 1);
    message.out = `out ${src} ${src >= n ? dst : out % machine.ports}`;
    message.into = `in ${dst} ${dst >= n ? src : into % machine.ports}`;
    message.nbytes = message.chunks.length * each;
    message.reduced *= each;
  }
  return all;
}

/**
 * How long the messages of one step keep each port busy, and how many alphas it pays.
 * @param {Message[]} step @param {Settled} machine
 * @returns {Map<string, {seconds: number, terms: number}>}
 */
function ports(step, machine) {
  /** @type {Map<string, {peers: number, nbytes: number, reduced: number}>} */
  const load = new Map();
  for (const message of step) {
    for (const port of [message.out, message.into]) {
      const sum = load.get(port) ?? { peers: 0, nbytes: 0, reduced: 0 };
      load.set(port, sum);
      sum.peers += 1;
      sum.nbytes += message.nbytes;
      if (port === message.into) sum.reduced += message.reduced;
    }
  }
  const busy = new Map();
  for (const [port, { peers, nbytes, reduced }] of load) {
    const terms = Math.ceil(peers / machine.in_flight);
    busy.set(port, { terms, seconds: terms * machine.alpha + nbytes / wire(machine) + reduced * machine.gamma });
  }
  return busy;
}

/** @param {Iterable<number>} values @returns {number} the largest, 0 of none */
function largest(values) {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

/**
 * How long each step lasts in lock-step.
 * @param {Schedule} schedule @param {number} nbytes @param {Machine} machine @returns {number[]}
 */
export function stepSeconds(schedule, nbytes, machine) {
  const full = settled(machine, schedule.world_size);
  return schedule.steps.map((_, number) => {
    const busy = ports(messages(schedule, number, nbytes, full), full);
    return largest([...busy.values()].map((port) => port.seconds));
  });
}

/**
 * Bytes that each rank has sent when a step ends.
 * @param {Schedule} schedule @param {number} nbytes @returns {number[][]} by step and rank
 */
export function sentByStep(schedule, nbytes) {
  const each = chunkBytes(schedule, nbytes);
  let sum = range(schedule.world_size).map(() => 0);
  return schedule.steps.map((step) => {
    sum = [...sum];
    for (const [src] of step) if (src < schedule.world_size) sum[src] = (sum[src] ?? 0) + each;
    return sum;
  });
}

/**
 * Every message with its start and end, in seconds.
 * @param {Schedule} schedule @param {number} nbytes @param {Machine} machine
 * @param {"lockstep" | "data_driven"} clock @returns {Event[]}
 */
export function timeline(schedule, nbytes, machine, clock = "lockstep") {
  const full = settled(machine, schedule.world_size);
  return clock === "data_driven" ? dataDriven(schedule, nbytes, full) : lockstep(schedule, nbytes, full);
}

/** @param {Schedule} schedule @param {number} nbytes @param {Settled} machine @returns {Event[]} */
function lockstep(schedule, nbytes, machine) {
  /** @type {Event[]} */
  const events = [];
  let start = 0;
  for (const number of range(schedule.steps.length)) {
    const step = messages(schedule, number, nbytes, machine);
    const busy = ports(step, machine);
    for (const message of step) {
      const seconds = Math.max(busy.get(message.out)?.seconds ?? 0, busy.get(message.into)?.seconds ?? 0);
      events.push({ ...message, start, end: start + seconds });
    }
    start += largest([...busy.values()].map((port) => port.seconds));
  }
  return events;
}

/**
 * No barrier: a message starts when its data are there, its ports are free and nobody still sends
 * what it overwrites. The rules are those of allranks.cost.
 * @param {Schedule} schedule @param {number} nbytes @param {Settled} machine @returns {Event[]}
 */
function dataDriven(schedule, nbytes, machine) {
  /** @type {Map<string, number[]>} ends of the last messages of a port */
  const ends = new Map();
  /** @type {Map<string, number>} */
  const inPlace = new Map();
  /** @type {Map<string, number>} */
  const read = new Map();
  const total = endpoints(schedule);
  /** @param {Message} message */
  const earliest = (message) => {
    let time = 0;
    for (const port of [message.out, message.into]) {
      const last = ends.get(port) ?? [];
      if (last.length === machine.in_flight) time = Math.max(time, last[0] ?? 0);
    }
    for (const chunk of message.chunks) {
      time = Math.max(time, inPlace.get(`${message.src} ${chunk}`) ?? 0, read.get(`${message.dst} ${chunk}`) ?? 0);
    }
    return time;
  };
  /** @param {string} port @param {number} end */
  const occupy = (port, end) => {
    const last = ends.get(port) ?? [];
    last.push(end);
    if (last.length > machine.in_flight) last.shift();
    ends.set(port, last);
  };
  /** @type {Event[]} */
  const events = [];
  for (const number of range(schedule.steps.length)) {
    const waiting = messages(schedule, number, nbytes, machine);
    /** @type {{message: Message, left: number, added: number}[]} */
    const done = [];
    while (waiting.length) {
      let pick = 0;
      let best = [Infinity, 0, 0];
      waiting.forEach((message, index) => {
        const key = [earliest(message), modulo(message.dst - message.src, total), message.src];
        const before = (key[0] ?? 0) - (best[0] ?? 0) || (key[1] ?? 0) - (best[1] ?? 0) || (key[2] ?? 0) - (best[2] ?? 0);
        if (before < 0) {
          best = key;
          pick = index;
        }
      });
      const [message] = waiting.splice(pick, 1);
      if (!message) break;
      const start = best[0] ?? 0;
      const begun = Math.max(start + machine.alpha, ends.get(message.out)?.at(-1) ?? 0, ends.get(message.into)?.at(-1) ?? 0);
      const left = begun + message.nbytes / wire(machine);
      const added = left + message.reduced * machine.gamma;
      occupy(message.out, left);
      occupy(message.into, added);
      done.push({ message, left, added });
      events.push({ ...message, start, end: added });
    }
    /** @type {Map<string, number>} */
    const out = new Map();
    for (const { message, left } of done) {
      for (const chunk of message.chunks) {
        const place = `${message.src} ${chunk}`;
        out.set(place, Math.max(out.get(place) ?? 0, left));
      }
    }
    for (const { message, added } of done) {
      for (const chunk of message.chunks) {
        const place = `${message.dst} ${chunk}`;
        inPlace.set(place, Math.max(inPlace.get(place) ?? 0, added, out.get(place) ?? 0));
      }
    }
    for (const [place, left] of out) read.set(place, Math.max(read.get(place) ?? 0, left));
  }
  return events;
}

/**
 * @param {Schedule} schedule @param {number} nbytes @param {Machine} machine
 * @param {"lockstep" | "data_driven"} clock @returns {Cost}
 */
export function cost(schedule, nbytes, machine, clock = "lockstep") {
  const full = settled(machine, schedule.world_size);
  const sent = range(endpoints(schedule)).map(() => 0);
  const received = range(endpoints(schedule)).map(() => 0);
  let seconds = 0;
  let terms = 0;
  let count = 0;
  for (const number of range(schedule.steps.length)) {
    const step = messages(schedule, number, nbytes, full);
    const busy = [...ports(step, full).values()];
    seconds += largest(busy.map((port) => port.seconds));
    terms += largest(busy.map((port) => port.terms));
    count += step.length;
    for (const message of step) {
      sent[message.src] = (sent[message.src] ?? 0) + message.nbytes;
      received[message.dst] = (received[message.dst] ?? 0) + message.nbytes;
    }
  }
  if (clock === "data_driven") seconds = largest(dataDriven(schedule, nbytes, full).map((event) => event.end));
  const n = schedule.world_size;
  return { seconds, steps: schedule.steps.length, latency_terms: terms, messages: count, sent: sent.slice(0, n), received: received.slice(0, n) };
}

/**
 * Seconds that no schedule of sends and receives can beat (allranks.cost.lower_bound).
 * @param {string} collective @param {number} n @param {number} nbytes @param {Machine} machine
 * @returns {number}
 */
export function lowerBound(collective, n, nbytes, machine) {
  if (n === 1 || nbytes === 0) return 0;
  let terms = 0;
  for (let reach = 1; reach < n; reach *= 1 + machine.ports * settled(machine, n).in_flight) terms += 1;
  const others = ((n - 1) * nbytes) / n;
  const whole = { broadcast: nbytes, reduce: nbytes, all_reduce: 2 * others };
  const moved = Object.hasOwn(whole, collective) ? whole[/** @type {keyof typeof whole} */ (collective)] : others;
  let seconds = moved / wire(machine);
  if (collective === "reduce") seconds = Math.max(seconds, others / wire(machine) + others * machine.gamma);
  else if (collective === "all_reduce" || collective === "reduce_scatter") seconds += others * machine.gamma;
  return terms * machine.alpha + seconds / machine.ports;
}

/**
 * The number of chunks that makes a chain of n ranks fastest (allranks.cost.best_num_chunks): the
 * first k with k(k + 1) >= (n - 2) S beta / alpha.
 * @param {number} n @param {number} nbytes @param {Machine} machine @returns {number}
 */
export function bestChunks(n, nbytes, machine) {
  const most = Math.max(1, Math.floor(nbytes));
  const saved = (Math.max(n - 2, 0) * nbytes) / wire(machine);
  if (saved === 0) return 1;
  if (machine.alpha === 0) return most;
  const ratio = saved / machine.alpha;
  let k = Math.max(1, Math.floor(Math.sqrt(ratio)));
  while (k > 1 && (k - 1) * k >= ratio) k -= 1;
  while (k * (k + 1) < ratio) k += 1;
  return Math.min(k, most);
}

/**
 * The time of a chain of n ranks in k chunks, without walking it.
 * @param {string} collective broadcast or reduce
 * @param {number} n @param {number} nbytes @param {number} k @param {Machine} machine @returns {number}
 */
export function chainSeconds(collective, n, nbytes, k, machine) {
  const each = nbytes / k;
  const added = collective === "reduce" ? each * machine.gamma : 0;
  return (n > 1 ? n - 2 + k : 0) * (machine.alpha + each / wire(machine) + added);
}
