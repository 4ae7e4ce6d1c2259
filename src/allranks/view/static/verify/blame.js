// @ts-check
// Where a fault that shows at the end entered the schedule: the twin of allranks.verify.blame, rule
// for rule and word for word. tests/view compares the two on random schedules.

import { ends } from "../engine.js";
import { before, filmOf, past } from "./film.js";
import { exactly, it, join, lacking, nameOf, once, partsWords, sameTransfer, twice, where } from "./parts.js";
import { Bench, reduces } from "./repair.js";
import { lastSend, silenceOf, silentAfter, silentSteps } from "./silences.js";

/** @typedef {import("../engine.js").Schedule} Schedule */
/** @typedef {import("../engine.js").Parts} Parts */
/** @typedef {import("../engine.js").State} State */
/** @typedef {import("../engine.js").Transfer} Transfer */
/** @typedef {import("./film.js").Film} Film */
/** @typedef {import("./film.js").Moves} Moves */
/** @typedef {import("./film.js").Value} Value */
/** @typedef {import("./repair.js").Repair} Repair */
/** @typedef {import("./silences.js").Silence} Silence */
/**
 * The first wrong event, with the fields of allranks.ScheduleError; what does not apply is null.
 * @typedef {object} WrongEvent
 * @property {string} kind
 * @property {string} message
 * @property {number | null} rank
 * @property {number | null} step
 * @property {number | null} src
 * @property {number | null} dst
 * @property {number | null} peer
 * @property {number | null} chunk
 */
/** A promised chunk that does not hold each of its parts once.
 *  @typedef {{rank: number, chunk: number, promised: number[], parts: Parts}} Fault */
/** @typedef {{schedule: Schedule, failed: Set<number>, silence: (endpoint: number) => Silence}} Case */

const ROOTED = new Set(["broadcast", "reduce", "scatter", "gather"]);
const KEEP = "REDUCE keeps it";

/** @param {Partial<WrongEvent> & {kind: string, message: string}} facts @returns {WrongEvent} */
export function wrongEvent(facts) {
  return { rank: null, step: null, src: null, dst: null, peer: null, chunk: null, ...facts };
}

/** @param {Schedule} schedule @param {State} state @returns {Fault[]} */
export function findFaults(schedule, state) {
  /** @type {Fault[]} */
  const found = [];
  for (let chunk = 0; chunk < schedule.num_chunks; chunk += 1) {
    for (let rank = 0; rank < schedule.world_size; rank += 1) {
      const promised = ends(schedule, rank, chunk);
      const parts = state[rank]?.[chunk] ?? [];
      if (promised && !exactly(parts, promised)) found.push({ rank, chunk, promised, parts });
    }
  }
  return found;
}

/** @param {Schedule} schedule @param {readonly Fault[]} faults @returns {WrongEvent} the fault that entered first */
export function firstFault(schedule, faults) {
  /** @type {Map<number, Silence>} */
  const known = new Map();
  /** @type {Case} */
  const here = {
    schedule,
    failed: new Set(faults.map((fault) => fault.rank)),
    silence: (endpoint) => {
      const found = known.get(endpoint) ?? silenceOf(schedule, endpoint);
      known.set(endpoint, found);
      return found;
    },
  };
  /** @type {{event: WrongEvent, film: Film, moves: Moves} | null} */
  let best = null;
  for (const chunk of [...new Set(faults.map((fault) => fault.chunk))].sort((a, b) => a - b)) {
    const moves = movesOf(schedule, chunk);
    const film = filmOf(schedule, chunk, moves);
    for (const event of traced(here, film, faults.filter((fault) => fault.chunk === chunk))) {
      if (best === null || (event.step ?? -1) < (best.event.step ?? -1)) best = { event, film, moves };
    }
  }
  if (best === null) throw new Error("no fault");
  return advised(here, best.film, best.moves, best.event);
}

/** @param {Schedule} schedule @param {number} chunk @returns {Moves} */
function movesOf(schedule, chunk) {
  /** @type {Moves} */
  const moves = new Map();
  schedule.steps.forEach((step, number) => {
    const some = step.filter((transfer) => transfer[2] === chunk);
    if (some.length) moves.set(number, some);
  });
  return moves;
}

/** @param {Case} here @param {number} endpoint @param {number} chunk @returns {boolean} whether a block only travels through */
function onTheWay({ schedule }, endpoint, chunk) {
  if (reduces(schedule) || !ROOTED.has(schedule.collective)) return false;
  return endpoint >= schedule.world_size || ends(schedule, endpoint, chunk) === null;
}

/** @param {Case} here @param {number} endpoint @param {number} chunk @returns {boolean} whether it most likely was to send the chunk on */
function passesOn(here, endpoint, chunk) {
  const { schedule, failed, silence } = here;
  if (!onTheWay(here, endpoint, chunk) || failed.has(endpoint)) return false;
  if (lastSend(silence(endpoint)) >= 0) return true;
  // a broadcast promises everything everywhere, so a switch that has got it is to send it on
  if (endpoint >= schedule.world_size) return schedule.collective === "broadcast";
  return Array.from({ length: schedule.num_chunks }, (_, other) => ends(schedule, endpoint, other)).some((parts) => parts !== null);
}

/** An advice that would not work gives way to a transfer that does, or to none.
 *  @param {Case} here @param {Film} film @param {Moves} moves @param {WrongEvent} event @returns {WrongEvent} */
function advised(here, film, moves, event) {
  if (event.kind !== "missing" || event.step === null || event.chunk === null) return event;
  const bench = new Bench(here.schedule, event.chunk, moves);
  if (!bench.isSmall() || works(bench, moves, event)) return event;
  const repair = bench.find(missingOf(here.schedule, film));
  if (repair) return repairable(here.schedule, event, repair);
  if (event.peer !== null && !bench.brings(event.step, event.peer, event.rank)) {
    const [what = ""] = event.message.split(", add the transfer");
    return { ...event, message: `${what}, and no single transfer more makes the chunk right` };
  }
  return event;
}

/** @param {Bench} bench @param {Moves} moves @param {WrongEvent} event @returns {boolean} */
function works(bench, moves, event) {
  const step = event.step ?? 0;
  if (event.peer !== null) return bench.findFrom(step, event.peer) !== null;
  if (!event.message.endsWith(KEEP)) return true;
  const copied = (moves.get(step) ?? []).find(([src, dst]) => src === event.src && dst === event.dst);
  return copied !== undefined && bench.isRightAsASum(step, copied);
}

/** @param {Schedule} schedule @param {Film} film @returns {number[]} all parts of the chunk that some rank ends without */
function missingOf(schedule, film) {
  /** @type {Set<number>} */
  const missing = new Set();
  for (let rank = 0; rank < schedule.world_size; rank += 1) {
    for (const part of lacking(ends(schedule, rank, film.chunk) ?? [], film.held[rank]?.parts ?? [])) missing.add(part);
  }
  return [...missing];
}

/** @param {Schedule} schedule @param {WrongEvent} event @param {Repair} repair @returns {WrongEvent} */
function repairable(schedule, event, { step, transfer }) {
  const [src, dst, chunk, op] = transfer;
  const from = nameOf(schedule, src);
  const to = nameOf(schedule, dst);
  const message = `step ${step}: chunk ${chunk}: ${from} has what others end without and does not send it to ${to}; add ${from} -> ${to} (${op.toUpperCase()}) in this step`;
  return wrongEvent({ kind: "missing", message, rank: event.rank, step, peer: src, chunk });
}

/** @param {Case} here @param {Film} film @param {readonly Fault[]} faults @returns {WrongEvent[]} the errors of one chunk */
function traced(here, film, faults) {
  /** @type {WrongEvent[]} */
  const events = [];
  for (const fault of onePerValue(film, faults)) {
    const doubled = twice(fault.parts).length > 0;
    if (doubled) events.push(doubleCount(here.schedule, film, fault));
    if (lacking(fault.promised, fault.parts).length) {
      const witness = witnessOf(film, faults, fault);
      events.push(wrongOwner(here, film, fault) ?? (witness ? null : replaced(here.schedule, film, fault)) ?? leftBehind(here, film, witness ?? fault));
    } else if (!doubled) events.push(stranger(here.schedule, film, fault));
  }
  return events;
}

/** @param {Film} film @param {readonly Fault[]} faults @returns {Fault[]} of ranks with equal parts the one that has had them longest */
function onePerValue(film, faults) {
  /** @type {Map<string, {step: number, fault: Fault}>} */
  const first = new Map();
  for (const fault of faults) {
    const key = fault.parts.join();
    const step = film.held[fault.rank]?.step ?? -1;
    const known = first.get(key);
    if (!known || step < known.step) first.set(key, { step, fault });
  }
  return [...first.values()].map(({ fault }) => fault);
}

/** @param {Schedule} schedule @param {Film} film @param {Fault} fault @returns {WrongEvent} the first sum of two values that both hold a part */
function doubleCount(schedule, film, fault) {
  const value = /** @type {Value} */ (past(film.held[fault.rank]).find((one) => twice(one.parts).length));
  const { transfer, source, parts } = clash(value);
  const again = twice(parts);
  const stands = value.arrivals.filter((arrival) => sameTransfer(arrival.transfer, transfer)).length;
  const advice =
    stands > 1
      ? "the same transfer stands twice in this step, leave one of them out"
      : exactly(source.parts, fault.promised) && schedule.world_size > transfer[1]
        ? `what ${nameOf(schedule, transfer[0])} sends is complete, so COPY it`
        : `send a chunk that does not contain ${it(again)}`;
  const message = `${where(schedule, value.step, transfer)}: ${partsWords(again)} would be added twice; ${advice}`;
  return wrongEvent({ kind: "double_count", message, rank: transfer[1], step: value.step, src: transfer[0], dst: transfer[1], chunk: transfer[2] });
}

/** @param {Value} value @returns {{transfer: Transfer, source: Value, parts: Parts}} the arrival that brought a part which was there already */
function clash(value) {
  /** @type {Parts} */
  let parts = value.own?.parts ?? value.parts.map(() => 0);
  for (const { transfer, source } of value.arrivals) {
    parts = join(parts, source.parts);
    if (twice(parts).length) return { transfer, source, parts };
  }
  throw new Error("no clash");
}

/** @param {Schedule} schedule @param {Film} film @param {Fault} fault @returns {WrongEvent} the first transfer of a part that nobody promised there */
function stranger(schedule, film, fault) {
  const extra = once(fault.parts).filter((part) => !fault.promised.includes(part));
  const value = /** @type {Value} */ (past(film.held[fault.rank]).find((one) => one.endpoint === fault.rank && extra.some((part) => one.parts[part])));
  const message = `step ${value.step}: ${nameOf(schedule, value.endpoint)}, chunk ${fault.chunk}: nobody promised ${partsWords(extra)} in this chunk of rank ${fault.rank}; leave ${it(extra)} out`;
  return wrongEvent({ kind: "double_count", message, rank: fault.rank, step: value.step, chunk: fault.chunk });
}

/** @param {Case} here @param {Film} film @param {Fault} fault @returns {WrongEvent | null} the transfer that completed the chunk where nobody promised it */
function wrongOwner(here, film, fault) {
  const { schedule } = here;
  const n = schedule.world_size;
  const last = schedule.steps.length - 1;
  const { rank, chunk } = fault;
  const resting = film.held.slice(0, n).filter((value) =>
    value !== null && value.arrivals.length > 0 && exactly(value.parts, fault.promised) &&
    ends(schedule, value.endpoint, chunk) === null && (value.step === last || !passesOn(here, value.endpoint, chunk)));
  /** @type {Map<number, string>} */
  const shifts = new Map([[(rank + 1) % n, "later"]]);
  shifts.set((rank - 1 + n) % n, "earlier");
  /** @param {Value} value @returns {number[]} */
  const order = (value) => [shifts.has(value.endpoint) ? 0 : 1, value.step, value.endpoint];
  const value = least(/** @type {Value[]} */ (resting), order);
  const arrival = value?.arrivals.at(-1);
  if (!value || !arrival) return null;
  const shift = shifts.get(value.endpoint);
  let advice = "let its way end there";
  if (shift && reduces(schedule) && !ROOTED.has(schedule.collective)) {
    advice = `start one chunk ${shift}`;
    if (shift === "earlier") advice += ' (the "r + 1" trap: rank r ends with chunk r + 1)';
  } else if (reduces(schedule) && ROOTED.has(schedule.collective)) advice = `let its way end there; the root is rank ${schedule.root}, is that used?`;
  const [src, dst] = arrival.transfer;
  const message = `${where(schedule, value.step, arrival.transfer)}: chunk ${chunk} is complete on rank ${value.endpoint}, the contract wants it on rank ${rank}: ${advice}`;
  return wrongEvent({ kind: "wrong_owner", message, rank, step: value.step, src, dst, peer: value.endpoint, chunk });
}

/**
 * The first of the values with the smallest key, keys compared number by number.
 * @template T @param {readonly T[]} values @param {(value: T) => number[]} keyOf @returns {T | null}
 */
function least(values, keyOf) {
  return values.reduce((best, value) => {
    if (best === null) return value;
    const a = keyOf(value);
    const b = keyOf(best);
    const place = a.findIndex((number, index) => number !== b[index]);
    return place >= 0 && (a[place] ?? 0) < (b[place] ?? 0) ? value : best;
  }, /** @type {T | null} */ (null));
}

/** @param {Film} film @param {readonly Fault[]} faults @param {Fault} fault @returns {Fault | null} a rank that lacks for another reason what a COPY lost */
function witnessOf(film, faults, fault) {
  const loss = firstLoss(film, fault);
  if (!loss) return null;
  const { value, lost } = loss;
  if (film.values.some((other) => other.endpoint !== value.endpoint && !lacking(lost, other.parts).length)) return null;
  return faults.find((other) =>
    lacking(lost.filter((part) => other.promised.includes(part)), other.parts).length > 0 &&
    !past(film.held[other.rank]).includes(value)) ?? null;
}

/** @param {Film} film @param {Fault} fault @returns {{value: Value, lost: number[]} | null} the first COPY that replaced missing parts */
function firstLoss(film, fault) {
  const missing = lacking(fault.promised, fault.parts);
  for (const value of past(film.held[fault.rank])) {
    const lost = missing.filter((part) => value.lost?.parts[part]);
    if (lost.length) return { value, lost };
  }
  return null;
}

/** @param {Schedule} schedule @param {Film} film @param {Fault} fault @returns {WrongEvent | null} the first COPY that replaced a missing part */
function replaced(schedule, film, fault) {
  const loss = firstLoss(film, fault);
  const arrival = loss?.value.arrivals[0];
  if (!loss || !arrival) return null;
  const { value, lost } = loss;
  const { transfer, source } = arrival;
  const shared = once(value.lost?.parts ?? []).some((part) => source.parts[part]);
  const advice = shared ? "send a chunk that contains what is there already" : KEEP;
  const [src, dst, chunk] = transfer;
  const message = `${where(schedule, value.step, transfer)}: COPY replaces what ${nameOf(schedule, dst)} holds and loses ${partsWords(lost)}; ${advice}`;
  return wrongEvent({ kind: "missing", message, rank: dst, step: value.step, src, dst, chunk });
}

/** @param {Case} here @param {Film} film @param {Fault} fault @returns {WrongEvent} the step in which the missing parts came to lie still */
function leftBehind(here, film, fault) {
  const { schedule, silence } = here;
  let missing = lacking(fault.promised, fault.parts);
  let carrying = film.values.filter((value) => !lacking(missing, value.parts).length);
  if (!carrying.length) {
    missing = missing.slice(0, 1);
    carrying = film.values.filter((value) => !lacking(missing, value.parts).length);
  }
  const gained = carrying.filter((value) => lacking(missing, before(value) ?? []).length > 0);
  const newest = /** @type {Value} */ (gained.reduce((best, value) => (value.step > (best?.step ?? -2) ? value : best), gained[0]));
  const adds = reduces(schedule);
  const what = adds ? partsWords(missing) : "it";
  const them = adds ? it(missing) : "it";
  const last = schedule.steps.length - 1;
  const passing = newest.step >= 0 && passesOn(here, newest.endpoint, fault.chunk);
  let gap = passing ? null : firstGap(carrying, film, silence);
  /** @type {{step: number, holder: number} | null} */
  let link = null;
  if (passing || (gap === null && newest.step < 0)) {
    const held = carrying.filter((value) => value.endpoint === newest.endpoint);
    if (onTheWay(here, newest.endpoint, fault.chunk)) link = firstLink(held, fault.rank, film, silence);
    gap = link ?? firstChance(held, fault.rank, film, silence);
  }
  const fan = gap || passing ? null : fanOf(gained, newest, missing);
  let holder = newest.endpoint;
  /** @type {number | null} */
  let step;
  let why;
  if (passing && newest.step < last) {
    step = gap ? gap.step : newest.step + 1;
    why = `${nameOf(schedule, holder)} holds ${what} since step ${newest.step} and does not send ${them} on`;
  } else if (link) {
    ({ step, holder } = link);
    why = `${nameOf(schedule, holder)} has ${what} and sends rank ${fault.rank} only other chunks`;
  } else if (gap) {
    ({ step, holder } = gap);
    why = `${nameOf(schedule, holder)} has ${what} and sends nothing in this step`;
  } else if (fan !== null) {
    step = newest.step;
    holder = fan;
    why = `${nameOf(schedule, holder)} has ${what} and sends ${them} to others in this step`;
  } else {
    step = schedule.steps.length ? Math.min(newest.step + 1, last) : null;
    why = newest.step >= last
      ? `the schedule ends here, and ${nameOf(schedule, holder)} has ${what}`
      : `${nameOf(schedule, holder)} has ${what}, and from here on nobody new gets ${them}`;
  }
  const place = step === null ? "no step" : `step ${step}`;
  const message = `${place}: chunk ${fault.chunk}: ${why}; rank ${fault.rank} ends without ${them}, add the transfer that brings ${them} there`;
  return wrongEvent({ kind: "missing", message, rank: fault.rank, step, peer: holder, chunk: fault.chunk });
}

/** @param {Value} value @param {number} step @param {Film} film @returns {boolean} whether the value is still there in a later step */
function lasts(value, step, film) {
  return step <= (film.replaced.get(value) ?? step);
}

/** @param {readonly Value[]} carrying @param {Film} film @param {Case["silence"]} silence @returns {{step: number, holder: number} | null} */
function firstGap(carrying, film, silence) {
  const found = carrying.flatMap((value) => {
    const quiet = silence(value.endpoint);
    const step = silentAfter(quiet, value.step);
    return step < lastSend(quiet) && lasts(value, step, film) ? [{ step, holder: value.endpoint }] : [];
  });
  return least(found, ({ step, holder }) => [step, holder]);
}

/** @param {readonly Value[]} gained @param {Value} newest @param {number[]} missing @returns {number | null} who sent the parts to several others at once */
function fanOf(gained, newest, missing) {
  const sources = gained
    .filter((value) => value.step === newest.step)
    .flatMap((value) => value.arrivals.map(({ source }) => source))
    .filter((source) => !lacking(missing, source.parts).length);
  const several = sources.filter((source) => sources.filter((other) => other === source).length > 1).map((source) => source.endpoint);
  return several.length ? Math.min(...several) : null;
}

/** @param {readonly Value[]} held @param {number} target @param {Film} film @param {Case["silence"]} silence @returns {{step: number, holder: number} | null} */
function firstLink(held, target, film, silence) {
  const holder = held[0]?.endpoint ?? 0;
  const steps = (silence(holder).sendsTo.get(target) ?? []).filter((step) => held.some((value) => value.step < step && lasts(value, step, film)));
  return steps[0] === undefined ? null : { step: steps[0], holder };
}

/** @param {readonly Value[]} held @param {number} target @param {Film} film @param {Case["silence"]} silence @returns {{step: number, holder: number} | null} */
function firstChance(held, target, film, silence) {
  const holder = held[0]?.endpoint ?? 0;
  const busy = silence(target).receives;
  const steps = silentSteps(silence(holder)).filter((step) => held.some((value) => value.step < step && lasts(value, step, film)));
  const step = steps.find((one) => !busy.has(one)) ?? steps[0];
  return step === undefined ? null : { step, holder };
}
