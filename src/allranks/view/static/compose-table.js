// @ts-check
// The schedule that a reader composes as a table: one row for each transfer, every field a picker.

import { range } from "./algorithms/base.js";
import { h } from "./dom.js";
import { say } from "./format.js";

/** @typedef {import("./compose.js").Schedule} Schedule */
/** @typedef {import("./compose.js").Transfer} Transfer */
/** @typedef {import("./verify.js").WrongEvent} WrongEvent */
/**
 * @typedef {object} Hand what the table shows beside the rows, and what it asks for
 * @property {WrongEvent | null} blamed
 * @property {Map<string, WrongEvent>} unplayable by "step,index"
 * @property {"copy" | "reduce"} op of a new row
 * @property {number} step of a new row
 * @property {(step: number, index: number, transfer: Transfer) => void} change
 * @property {(step: number, index: number, to: number) => void} move
 * @property {(step: number, index: number) => void} remove
 * @property {(step: number, transfer: Transfer) => void} add
 */

const FIELDS = ["step", "src", "dst", "chunk", "op"];

/** @param {Schedule} schedule @param {Hand} hand @returns {HTMLElement} */
export function rowsTable(schedule, hand) {
  const head = FIELDS.map((name) => h("th", { scope: "col" }, name));
  const body = schedule.steps.flatMap((step, number) => step.map((transfer, index) => row(schedule, hand, number, index, transfer)));
  return h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "The schedule, one transfer in each row" },
    h("table", { class: "ar-rows-table" },
      h("thead", {}, h("tr", {}, ...head, h("th", { scope: "col" }, h("span", { class: "ar-hidden" }, "delete or add")))),
      h("tbody", {}, ...body, freshRow(schedule, hand))));
}

/** @param {Schedule} schedule @param {Hand} hand @param {number} number @param {number} index @param {Transfer} transfer */
function row(schedule, hand, number, index, transfer) {
  const key = `row-${number}-${index}`;
  const [src, dst, chunk, op] = transfer;
  const where = `step ${number}, rank ${src} to rank ${dst}, chunk ${chunk}`;
  const wrong = hand.unplayable.get(`${number},${index}`) ?? null;
  const blamed = isBlamed(hand.blamed, number, transfer);
  /** @param {number} place @param {string} value */
  const put = (place, value) => {
    const next = transfer.map((old, field) => (field !== place ? old : field === 3 ? value : Number(value)));
    hand.change(number, index, /** @type {Transfer} */ (next));
  };
  const ranks = numbers(schedule.world_size);
  const gone = h("button", { type: "button", class: "ar-row-button", "aria-label": `Delete ${where}`, title: "Delete", "data-key": `${key}-delete` }, "×");
  gone.addEventListener("click", () => hand.remove(number, index));
  const stepOptions = [...numbers(schedule.steps.length), /** @type {[string, string]} */ ([String(schedule.steps.length), say("new")])];
  return h("tr", { class: wrong || blamed ? "ar-blamed" : null, title: wrong?.message ?? null },
    h("td", {}, wrong || blamed ? h("span", { class: "ar-row-sign", role: "img", "aria-label": blamed ? "the first wrong event" : "cannot be played" }, "✗") : null, pick(`step of ${where}`, stepOptions, String(number), `${key}-step`, (value) => hand.move(number, index, Number(value)))),
    h("td", {}, pick(`sender of ${where}`, ranks, String(src), `${key}-src`, (value) => put(0, value))),
    h("td", {}, pick(`receiver of ${where}`, ranks, String(dst), `${key}-dst`, (value) => put(1, value))),
    h("td", {}, pick(`chunk of ${where}`, numbers(schedule.num_chunks), String(chunk), `${key}-chunk`, (value) => put(2, value))),
    h("td", {}, pick(`op of ${where}`, [["copy", "COPY"], ["reduce", "REDUCE"]], op, `${key}-op`, (value) => put(3, value))),
    h("td", {}, gone));
}

/** @param {Schedule} schedule @param {Hand} hand the row with which a transfer is added without dragging */
function freshRow(schedule, hand) {
  const ranks = numbers(schedule.world_size);
  const steps = [...numbers(schedule.steps.length), /** @type {[string, string]} */ ([String(schedule.steps.length), say("new")])];
  const picks = [
    pick("step of a new transfer", steps, String(hand.step), "new-step", () => {}),
    pick("sender of a new transfer", ranks, "0", "new-src", () => {}),
    pick("receiver of a new transfer", ranks, "1", "new-dst", () => {}),
    pick("chunk of a new transfer", numbers(schedule.num_chunks), "0", "new-chunk", () => {}),
    pick("op of a new transfer", [["copy", "COPY"], ["reduce", "REDUCE"]], hand.op, "new-op", () => {}),
  ];
  const add = h("button", { type: "button", class: "ar-row-button ar-row-add", "data-key": "new-add" }, "Add");
  add.addEventListener("click", () => {
    const [step = "0", src = "0", dst = "1", chunk = "0", op = "copy"] = picks.map((one) => one.value);
    hand.add(Number(step), [Number(src), Number(dst), Number(chunk), op === "reduce" ? "reduce" : "copy"]);
  });
  return h("tr", { class: "ar-fresh" }, ...picks.map((one) => h("td", {}, one)), h("td", {}, add));
}

/** @param {WrongEvent | null} event @param {number} step @param {Transfer} transfer @returns {boolean} */
function isBlamed(event, step, [src, dst, chunk]) {
  return event !== null && event.src !== null && event.step === step && event.src === src && event.dst === dst && event.chunk === chunk;
}

/** @param {number} count @returns {[string, string][]} */
function numbers(count) {
  return range(count).map((index) => [String(index), String(index)]);
}

/** @param {string} label @param {[string, string][]} options @param {string} value @param {string} key @param {(value: string) => void} act */
function pick(label, options, value, key, act) {
  const select = h("select", { class: "ar-select", "aria-label": label, "data-key": key }, ...options.map(([one, text]) => h("option", { value: one, selected: one === value }, text)));
  select.addEventListener("change", () => act(select.value));
  return select;
}
