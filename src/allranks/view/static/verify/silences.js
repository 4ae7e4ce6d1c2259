// @ts-check
// When an endpoint sends and receives, and when it is silent: what blame looks for.

/** @typedef {import("../engine.js").Schedule} Schedule */
/**
 * `sends` are the steps in which an endpoint sends, in order; `sendsTo` the same for each receiver;
 * `receives` the steps in which it gets something.
 * @typedef {{numSteps: number, sends: number[], receives: Set<number>, sendsTo: Map<number, number[]>}} Silence
 */

/** @param {Schedule} schedule @param {number} endpoint @returns {Silence} */
export function silenceOf(schedule, endpoint) {
  /** @type {Silence} */
  const silence = { numSteps: schedule.steps.length, sends: [], receives: new Set(), sendsTo: new Map() };
  schedule.steps.forEach((step, number) => {
    for (const [src, dst] of step) {
      if (dst === endpoint) silence.receives.add(number);
      if (src !== endpoint) continue;
      if (!silence.sends.includes(number)) silence.sends.push(number);
      silence.sendsTo.set(dst, [...(silence.sendsTo.get(dst) ?? []), number]);
    }
  });
  return silence;
}

/** @param {Silence} silence @returns {number} the last step with a send, or -1 */
export function lastSend(silence) {
  return silence.sends.at(-1) ?? -1;
}

/** @param {Silence} silence @param {number} step @returns {number} the first later step without a send */
export function silentAfter(silence, step) {
  let silent = step + 1;
  while (silence.sends.includes(silent)) silent += 1;
  return silent;
}

/** @param {Silence} silence @returns {number[]} all steps without a send */
export function silentSteps(silence) {
  return Array.from({ length: silence.numSteps }, (_, step) => step).filter((step) => !silence.sends.includes(step));
}
