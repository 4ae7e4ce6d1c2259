// @ts-check
// Judges answers to practice items: pure functions of (item, answer). No drawing here.

/** @typedef {{id: string, text: string, right?: boolean, feedback?: string, misconception?: string | null}} Option */
/** @typedef {[src: number, dst: number, chunk: number, op: string]} Move */
/**
 * @typedef {object} NumberKey
 * @property {number} value
 * @property {string | null} [unit]
 * @property {number} [tolerance] relative, 0.01 is one percent
 * @property {boolean} [exact]
 * @property {{value: number, feedback: string, misconception?: string | null}[]} [distractors]
 * @property {string} [feedback_right]
 * @property {string} [feedback_else]
 */
/**
 * @typedef {object} Item
 * @property {string} id
 * @property {string} type
 * @property {string} stem
 * @property {Option[]} [options]
 * @property {NumberKey} [num]
 * @property {{entries: {id: string, text: string}[], answers: string[][], distractors?: {answer: string[], feedback: string, misconception?: string | null}[], feedback_right?: string, feedback_else?: string}} [order]
 * @property {{world_size: number, num_switches?: number, num_chunks: number, cells: StateCell[], distractors?: {rank: number, chunk: number, parts: number[], feedback: string, misconception?: string | null}[], feedback_right?: string, feedback_else?: string}} [state]
 * @property {{world_size: number, num_chunks: number, answers: Move[], distractors?: {transfer: Move, feedback: string, misconception?: string | null}[], feedback_right?: string, feedback_else?: string}} [next]
 * @property {{lines: string[], answer: number, distractors?: {line: number, feedback: string, misconception?: string | null}[], feedback_right?: string, feedback_else?: string}} [spot]
 * @property {boolean} [predict]
 * @property {{target: string, state: string}} [figure]
 * @property {string} [explanation]
 */
/** @typedef {{rank: number, chunk: number, given?: boolean, answer: number[]}} StateCell */
/**
 * What the page shows: `counts` is false where nothing was really answered (empty, unreadable, a
 * wrong unit prefix), so that it is no attempt. `misconception` is the id that the answer shows.
 * @typedef {{right: boolean, counts: boolean, text: string, read?: string, misconception?: string | null, marks?: Record<string, "right" | "wrong" | "missed">}} Verdict
 */

/** @type {Record<string, {kind: string, factor: number}>} */
const UNITS = (() => {
  /** @type {Record<string, {kind: string, factor: number}>} */
  const table = {
    "%": { kind: "ratio", factor: 0.01 },
    x: { kind: "ratio", factor: 1 },
    times: { kind: "ratio", factor: 1 },
    GT: { kind: "transfers", factor: 1e9 },
  };
  /** @type {Record<string, number>} */
  const prefixes = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
  for (const [prefix, factor] of Object.entries(prefixes)) {
    table[`${prefix}B`] = { kind: "bytes", factor };
    table[`${prefix}B/s`] = { kind: "bytes per second", factor };
    table[`${prefix}b`] = { kind: "bits", factor };
    table[`${prefix}bit`] = { kind: "bits", factor };
    table[`${prefix}b/s`] = { kind: "bits per second", factor };
    table[`${prefix}bit/s`] = { kind: "bits per second", factor };
  }
  for (const [unit, factor] of Object.entries({ s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, min: 60 })) {
    table[unit] = { kind: "time", factor };
  }
  for (const word of ["steps", "step", "messages", "message", "elements", "element", "ranks", "rank", "chunks", "chunk", "segments", "segment", "transfers", "transfer", "blocks", "block", "alphas", "alpha"]) {
    table[word] = { kind: word.replace(/s$/, ""), factor: 1 };
  }
  return table;
})();

/** @param {string} unit @returns {string} the spelling of the table */
function canonical(unit) {
  const plain = unit
    .trim()
    .replace(/[µμ]/g, "u")
    .replace(/\s*\/\s*/g, "/")
    .replace(/^(usec|microseconds?)$/i, "us")
    .replace(/^(msec|milliseconds?)$/i, "ms")
    .replace(/^(sec|seconds?)$/i, "s")
    .replace(/^bytes?$/i, "B")
    .replace(/^(percent|per cent)$/i, "%")
    .replace(/^[×x]$/i, "x")
    .replace(/^([kKMGT]?i?(?:B|b|bit))ps$/, "$1/s");
  if (Object.hasOwn(UNITS, plain)) return plain;
  const lower = plain.toLowerCase();
  return Object.hasOwn(UNITS, lower) ? lower : plain;
}

/**
 * `doubt` asks about digits that are one number in one country and another in the next.
 * @typedef {{ok: true, value: number, unit: string, shown: string, doubt: string | null, digits: string} | {ok: false, why: string}} Reading
 */

const PLAIN = String.raw`(?:\d{1,30}(?:[.,]\d{0,30})?|[.,]\d{1,30})(?:[eE][+-]?\d{1,2})?`;
const NUMBER = new RegExp(String.raw`^([+-]?)(${PLAIN})(?:\s?/\s?(${PLAIN}))?\s?(\D*)$`);

/**
 * Reads what a person types: 1.5, 1,5, -0,25, 1,5e3, 7/4, 175 %, 12 us or 12 µs. Nothing separates thousands.
 * @param {string} text
 * @returns {Reading}
 */
export function parseNumber(text) {
  const clean = text.replace(/\s+/g, " ").replace(/[−–]/g, "-").trim();
  if (clean === "") return { ok: false, why: "Type a number first." };
  if (/\d[.,]\d+[.,]\d/.test(clean)) {
    return { ok: false, why: `“${clean}” has more than one decimal mark; write thousands without any.` };
  }
  const match = NUMBER.exec(clean);
  if (!match) return { ok: false, why: `“${clean}” is no number; write for example 1.5, 1,5, 7/4, 2e3 or 12 µs.` };
  const [, sign = "", top = "", bottom, typed = ""] = match;
  const unit = canonical(typed);
  if (unit !== "" && !Object.hasOwn(UNITS, unit)) {
    return { ok: false, why: `“${typed.trim()}” is not a unit known here. Leave it out, or write for example µs (or us), ms, MB, GB/s or %.` };
  }
  const divisor = bottom === undefined ? 1 : decimal(bottom);
  if (divisor === 0) return { ok: false, why: "Nothing can be divided by 0." };
  const value = ((sign === "-" ? -1 : 1) * decimal(top)) / divisor;
  const spelled = bottom === undefined ? "" : `${sign}${top}/${bottom} = `;
  const digits = /^[1-9]\d{0,2}[.,]\d{3}$/.test(top) && bottom === undefined ? top : "";
  const doubt = digits
    ? `“${digits}” can be read in two ways; write ${plain(decimal(top))} or ${digits.replace(/[.,]/, "")}.`
    : null;
  return { ok: true, value, unit, shown: `${spelled}${plain(value)}${unit ? ` ${spoken(unit)}` : ""}`, doubt, digits };
}

/** @param {string} unit of the table @returns {string} as people read it */
function spoken(unit) {
  return unit === "us" ? "µs" : unit;
}

/** @param {string} digits @returns {number} */
function decimal(digits) {
  return Number(digits.replace(",", "."));
}

/** @param {number} value @returns {string} */
function plain(value) {
  return String(Number(value.toPrecision(10)));
}

/**
 * The reading in the key's unit, or a note about the unit (which is no attempt).
 * @param {{value: number, unit: string}} reading
 * @param {NumberKey} key
 * @returns {{value: number} | {note: string}}
 */
function inUnit(reading, key) {
  const wanted = canonical(key.unit ?? "");
  if (reading.unit === "" || reading.unit === wanted) {
    return { value: reading.unit === "%" && wanted === "" ? reading.value / 100 : reading.value };
  }
  const got = UNITS[reading.unit];
  const want = wanted === "" ? { kind: reading.unit === "%" ? "ratio" : "", factor: 1 } : UNITS[wanted];
  if (!got || !want) return { value: reading.value };
  const name = key.unit ? `in ${key.unit}` : "without a unit";
  if (got.kind === want.kind) return { value: (reading.value * got.factor) / want.factor };
  const bits = got.kind.replace("bits", "") === want.kind.replace("bytes", "") && got.kind.startsWith("bits");
  if (bits) return { note: `You wrote bits (${reading.unit}); the question asks for bytes, ${name}. One byte is 8 bits.` };
  return { note: `You wrote ${spoken(reading.unit)}; the question asks for a number ${name}. This was not counted.` };
}

/** @param {number} value @param {number} key @param {NumberKey} rule @returns {boolean} */
function near(value, key, rule) {
  const slack = 1e-9 * Math.max(Math.abs(key), Math.abs(value));
  const room = rule.exact ? 0 : Math.abs(key) * (rule.tolerance ?? 0.01);
  return Math.abs(value - key) <= room + slack;
}

/** @param {NumberKey} key @param {string} text @returns {Verdict} */
export function judgeNumber(key, text) {
  const reading = parseNumber(text);
  if (!reading.ok) return { right: false, counts: false, text: reading.why };
  const read = `Read as ${reading.shown}${reading.unit === "" && key.unit ? ` ${key.unit}` : ""}.`;
  const converted = inUnit(reading, key);
  if ("note" in converted) return { right: false, counts: false, text: converted.note, read };
  const value = converted.value;
  const right = near(value, key.value, key);
  // 5.775 is a decimal if that is right; nobody ends a decimal with the zero of 1.500
  if (reading.doubt && (!right || reading.digits.endsWith("0"))) {
    return { right: false, counts: false, text: reading.doubt };
  }
  if (right) {
    return { right: true, counts: true, text: key.feedback_right ?? "That is it.", read };
  }
  for (const trap of key.distractors ?? []) {
    if (near(value, trap.value, key)) {
      return { right: false, counts: true, text: trap.feedback, read, misconception: trap.misconception ?? null };
    }
  }
  const prefix = prefixSlip(value, key, reading.unit);
  if (prefix) return { right: false, counts: false, text: prefix, read };
  return { right: false, counts: true, text: key.feedback_else ?? "Not this number.", read };
}

/** @param {number} value @param {NumberKey} key @param {string} typed @returns {string | null} */
function prefixSlip(value, key, typed) {
  if (!key.unit || typed === "" || typed === "%" || key.value === 0) return null;
  const slip = [1e3, 1e6, 1e9, 2 ** 10 / 1e3, 2 ** 20 / 1e6, 2 ** 30 / 1e9]
    .flatMap((factor) => [factor, 1 / factor])
    .some((factor) => !near(key.value * factor, key.value, key) && near(value, key.value * factor, { ...key, exact: false, tolerance: 0.001 }));
  return slip ? `The digits are right, the prefix of the unit is not (the question asks for ${key.unit}). This was not counted.` : null;
}

/** @param {Option[]} options @param {string | null} chosen @returns {Verdict} */
export function judgeChoice(options, chosen) {
  const option = options.find((one) => one.id === chosen);
  if (!option) return { right: false, counts: false, text: "Choose an answer first." };
  const right = option.right === true;
  return {
    right,
    counts: true,
    text: option.feedback ?? (right ? "That is it." : "Not this one."),
    misconception: right ? null : (option.misconception ?? null),
    marks: { [option.id]: right ? "right" : "wrong" },
  };
}

/** @param {Option[]} options @param {string[]} chosen @returns {Verdict} */
export function judgeMulti(options, chosen) {
  if (chosen.length === 0) {
    return { right: false, counts: false, text: "Choose at least one answer first." };
  }
  /** @type {Record<string, "right" | "wrong" | "missed">} */
  const marks = {};
  const wrong = [];
  /** @type {string | null} */
  let misconception = null;
  let missed = 0;
  for (const option of options) {
    const picked = chosen.includes(option.id);
    if (picked) marks[option.id] = option.right ? "right" : "wrong";
    if (picked && !option.right) {
      wrong.push(option.feedback ?? `Not: ${option.text}`);
      misconception ??= option.misconception ?? null;
    }
    if (!picked && option.right) missed += 1;
  }
  const right = wrong.length === 0 && missed === 0;
  const good = options.filter((o) => o.right && o.feedback).map((o) => o.feedback);
  const text = right
    ? good.join(" ") || "That is it: all of these and no other."
    : [...wrong, missed ? `${missed === 1 ? "One right answer is" : `${missed} right answers are`} still missing.` : ""]
        .filter(Boolean)
        .join(" ");
  return { right, counts: true, text, marks, misconception };
}

/** @param {NonNullable<Item["order"]>} key @param {string[]} answer @returns {Verdict} */
export function judgeOrder(key, answer) {
  if (key.answers.some((one) => same(one, answer))) {
    return { right: true, counts: true, text: key.feedback_right ?? "That is the order." };
  }
  const trap = (key.distractors ?? []).find((one) => same(one.answer, answer));
  // of several right orders, the one that begins as the answer does says where that goes wrong
  const first = Math.max(...key.answers.map((one) => answer.findIndex((id, index) => id !== one[index])));
  return {
    right: false,
    counts: true,
    text: trap?.feedback ?? `${key.feedback_else ?? "Not yet in order."} Place ${first + 1} is the first that does not fit.`,
    misconception: trap?.misconception ?? null,
  };
}

/** @param {NonNullable<Item["state"]>} key @param {(rank: number, chunk: number) => number[]} chosen @returns {Verdict} */
export function judgeState(key, chosen) {
  const asked = key.cells.filter((cell) => !cell.given);
  if (asked.every((cell) => chosen(cell.rank, cell.chunk).length === 0) && asked.some((cell) => cell.answer.length)) {
    return { right: false, counts: false, text: "Mark at least one part first." };
  }
  /** @type {Record<string, "right" | "wrong" | "missed">} */
  const marks = {};
  /** @type {StateCell[]} */
  const wrong = [];
  for (const cell of asked) {
    const fits = same(sorted(chosen(cell.rank, cell.chunk)), sorted(cell.answer));
    marks[`${cell.rank},${cell.chunk}`] = fits ? "right" : "wrong";
    if (!fits) wrong.push(cell);
  }
  if (wrong.length === 0) return { right: true, counts: true, text: key.feedback_right ?? "Every cell is right.", marks };
  const trap = (key.distractors ?? []).find((one) => same(sorted(one.parts), sorted(chosen(one.rank, one.chunk))));
  const cell = wrong[0];
  const where = cell ? `Look at rank ${cell.rank}, chunk ${cell.chunk}. ` : "";
  return {
    right: false,
    counts: true,
    text: trap?.feedback ?? `${wrong.length === 1 ? "One cell differs." : `${wrong.length} cells differ.`} ${where}${key.feedback_else ?? ""}`.trim(),
    misconception: trap?.misconception ?? null,
    marks,
  };
}

/** @param {NonNullable<Item["next"]>} key @param {Move | null} move @returns {Verdict} */
export function judgeNext(key, move) {
  if (!move) return { right: false, counts: false, text: "Choose sender, receiver, chunk and what happens first." };
  if (key.answers.some((one) => same(one, move))) {
    return { right: true, counts: true, text: key.feedback_right ?? "Yes, that transfer." };
  }
  const trap = (key.distractors ?? []).find((one) => same(one.transfer, move));
  const self = move[0] === move[1] ? "A rank never sends to itself." : null;
  return { right: false, counts: true, text: trap?.feedback ?? self ?? key.feedback_else ?? "Not this transfer.", misconception: trap?.misconception ?? null };
}

/** @param {NonNullable<Item["spot"]>} key @param {number | null} line @returns {Verdict} */
export function judgeSpot(key, line) {
  if (line === null) return { right: false, counts: false, text: "Choose a line first." };
  const right = line === key.answer;
  const trap = (key.distractors ?? []).find((one) => one.line === line);
  return {
    right,
    counts: true,
    text: right ? (key.feedback_right ?? "Yes, this line.") : (trap?.feedback ?? key.feedback_else ?? "This line is right as it is."),
    misconception: right ? null : (trap?.misconception ?? null),
    marks: { [String(line)]: right ? "right" : "wrong" },
  };
}

/** @param {readonly (string | number)[]} a @param {readonly (string | number)[]} b @returns {boolean} */
function same(a, b) {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

/** @param {number[]} values @returns {number[]} */
function sorted(values) {
  return [...values].sort((a, b) => a - b);
}

/**
 * Splits text at backticks: every odd piece is code. The caller makes text nodes of them.
 * @param {string} text
 * @returns {{code: boolean, text: string}[]}
 */
export function spans(text) {
  return text
    .split(/`([^`]+)`/)
    .map((piece, index) => ({ code: index % 2 === 1, text: piece }))
    .filter((piece) => piece.text !== "");
}
