// @ts-check
// <chunk-compose>: a reader drags chunks between ranks, and the schedule writes itself.

import { range } from "./algorithms/base.js";
import { added, arrays, asJson, asPython, changed, counts, elementsText, fewest, hasRoot, heading, isBlocked, marks, MOST_CHUNKS, moved, promises, promiseText, remade, removed, usualOp } from "./compose.js";
import { board, widthOf } from "./compose-board.js";
import { rowsTable } from "./compose-table.js";
import { chooseSegment, picker, segmented } from "./controls.js";
import { dataOf, h, whenParsed } from "./dom.js";
import { states } from "./engine.js";
import { bytes, plural, say, significant, words } from "./format.js";
import { makeGate } from "./gate.js";
import { recall } from "./memory.js";
import { ANSWERED } from "./player.js";
import { unplayable, verify } from "./verify.js";
import { sumText } from "./verify/parts.js";

/** @typedef {import("./compose.js").Compose} Compose */
/** @typedef {import("./compose.js").Schedule} Schedule */
/** @typedef {import("./compose.js").Transfer} Transfer */
/** @typedef {import("./compose.js").State} State */
/** @typedef {import("./verify.js").WrongEvent} WrongEvent */
/** What stands in the board: a step (its number; one more than there are: a new one), or the end.
 *  @typedef {number | "end"} Place */
/** @typedef {{schedule: Schedule, at: Place}} Moment */
/** @typedef {{proved: boolean, event: WrongEvent | null}} Verdict */

const MOST_UNDO = 100;
/** What the table takes beside the board, in CSS pixels. */
const TABLE = 500;

export class ChunkCompose extends HTMLElement {
  constructor() {
    super();
    /** @type {Compose | null} */
    this.data = null;
    /** @type {Schedule} */
    this.schedule = { collective: "broadcast", algorithm: "mine", world_size: 2, num_chunks: 1, num_switches: 0, root: 0, steps: [] };
    /** @type {Moment} */
    this.base = { schedule: this.schedule, at: 0 };
    /** @type {Place} */
    this.at = 0;
    /** @type {Moment[]} */
    this.history = [];
    /** @type {"copy" | "reduce"} */
    this.op = "copy";
    /** @type {{rank: number, chunk: number} | null} what the reader has picked up */
    this.picked = null;
    /** @type {Verdict | null} null: not checked since the last change */
    this.verdict = null;
    this.note = "";
    this.locked = false;
    this.upgraded = false;
    this.heading = h("p", { class: "ar-title" });
    this.controls = h("div", { class: "ar-controls" });
    this.gate = h("div", { class: "ar-gate", hidden: true });
    this.tabs = h("div", { class: "ar-tabs", role: "group", "aria-label": "What the board shows" });
    this.frameBox = h("div", { class: "ar-frame ar-compose-frame" });
    this.line = h("div", { class: "ar-compose-line" });
    this.say = h("p", { class: "ar-say", "aria-live": "polite", "aria-atomic": "true" });
    this.verdictBox = h("div", { class: "ar-verdict", role: "status" });
    this.buttons = h("div", { class: "ar-compose-bar" });
    this.reads = h("dl", { class: "ar-read ar-compose-read" });
    this.rows = h("div", { class: "ar-rows" });
    this.desk = h("div", { class: "ar-desk" }, this.frameBox, this.rows);
    this.more = h("div", { class: "ar-tables" });
    /** @type {Record<string, HTMLSelectElement>} */
    this.picks = {};
    /** @type {HTMLFieldSetElement | null} */
    this.opChoice = null;
    /** @type {ResizeObserver | null} */
    this.resizer = null;
    /** @type {HTMLButtonElement | null} */
    this.undoButton = null;
    this.room = 0;
    this.onAnswered = () => this.checkGate();
  }

  connectedCallback() {
    document.addEventListener(ANSWERED, this.onAnswered);
    whenParsed(() => {
      if (!this.upgraded) this.upgrade();
      this.resizer = new ResizeObserver(() => {
        if (this.desk.clientWidth !== this.room) this.drawBoard();
      });
      this.resizer.observe(this.desk);
    });
  }

  disconnectedCallback() {
    document.removeEventListener(ANSWERED, this.onAnswered);
    this.resizer?.disconnect();
  }

  /** @param {unknown} [given] */
  upgrade(given) {
    const data = given ?? dataOf(this);
    if (!data) return;
    this.upgraded = true;
    this.data = /** @type {Compose} */ (data);
    this.classList.add("ar-figure", "ar-live");
    this.querySelector(":scope > .ar-fallback")?.remove();
    const caption = this.querySelector(":scope > .ar-caption");
    this.makeControls(this.data);
    this.makeButtons();
    const parts = [
      h("div", { class: "ar-top" }, this.heading, this.controls), this.gate, this.line, this.desk, this.say,
      this.buttons, this.verdictBox, this.reads, h("p", { class: "ar-back-place" }), this.more,
    ];
    for (const part of parts) this.insertBefore(part, caption);
    if (caption) this.insertBefore(caption, this.more);
    this.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.picked) this.put(null);
    });
    this.example(this.data.example);
    this.checkGate();
  }

  /** @param {Compose} data */
  makeControls(data) {
    /** @param {string} name @param {string} text @param {[string, string][]} options */
    const pick = (name, text, options) => {
      const made = picker(text, options, "", () => this.remake());
      this.picks[name] = made.select;
      this.controls.append(made.node);
    };
    const [fewestRanks, mostRanks] = data.n;
    pick("collective", "contract", data.contracts.map((name) => [name, words(name)]));
    pick("n", "ranks n", range(mostRanks - fewestRanks + 1).map((index) => [String(fewestRanks + index), String(fewestRanks + index)]));
    pick("root", "root", []);
    pick("chunks", "chunks", range(MOST_CHUNKS).map((index) => [String(index + 1), String(index + 1)]));
    this.opChoice = segmented("What the receiver does", [["copy", "COPY: keep"], ["reduce", "REDUCE: add"]], this.op, (value) => {
      this.op = value === "reduce" ? "reduce" : "copy";
    });
    this.line.append(this.tabs, h("div", { class: "ar-op-choice" }, h("span", { "aria-hidden": "true" }, "next transfer"), this.opChoice));
  }

  makeButtons() {
    /** @param {string} text @param {string} kind @param {() => void} act */
    const button = (text, kind, act) => {
      const made = h("button", { type: "button", class: kind }, text);
      made.addEventListener("click", act);
      this.buttons.append(made);
      return made;
    };
    button(say("Check"), "ar-check", () => this.check());
    button("New step", "ar-plain-button", () => this.look(this.schedule.steps.length));
    this.undoButton = button(say("Undo"), "ar-plain-button", () => this.undo());
    button(say("Reset"), "ar-plain-button", () => this.change(this.base.schedule, this.base.at, "The board is as it was at the start."));
  }

  // ---- what a reader does ----

  /** @param {string} name */
  example(name) {
    const found = this.data?.examples[name];
    if (!found) return;
    const { schedule } = found;
    this.base = { schedule, at: name === this.data?.example ? schedule.steps.length : 0 };
    this.op = usualOp(schedule.collective);
    this.history = [];
    this.set(this.base, "");
  }

  /** The schedule for what the pickers say now. */
  remake() {
    /** @param {string} name */
    const number = (name) => Number(this.picks[name]?.value ?? 0);
    const collective = this.picks["collective"]?.value ?? "broadcast";
    const schedule = remade(this.schedule, { collective, n: number("n"), root: number("root"), chunks: number("chunks") });
    if (collective !== this.schedule.collective) this.op = usualOp(collective);
    this.base = { schedule: { ...schedule, steps: [] }, at: 0 };
    this.change(schedule, schedule.steps.length, promiseText(schedule));
  }

  /** @param {Schedule} schedule @param {Place} at @param {string} note */
  change(schedule, at, note) {
    this.history = [...this.history, { schedule: this.schedule, at: this.at }].slice(-MOST_UNDO);
    this.set({ schedule, at }, note);
  }

  /** @param {Moment} moment @param {string} note */
  set({ schedule, at }, note) {
    this.schedule = schedule;
    this.at = at === "end" ? at : Math.min(at, schedule.steps.length);
    this.picked = null;
    this.verdict = null;
    this.note = note;
    this.redraw();
  }

  undo() {
    const before = this.history.at(-1);
    if (!before) return;
    this.history = this.history.slice(0, -1);
    this.set(before, "The last change is undone.");
  }

  /** @param {Place} at */
  look(at) {
    this.at = at;
    this.picked = null;
    this.note = "";
    this.redraw();
  }

  /** @param {{rank: number, chunk: number} | null} picked */
  put(picked) {
    this.picked = picked;
    this.note = picked ? `Rank ${picked.rank}, chunk ${picked.chunk} is picked up. Choose the rank that receives it, or press Escape.` : "Put back.";
    this.redraw();
  }

  /** @param {Transfer} transfer in the step that is shown */
  add(transfer) {
    const at = this.at === "end" ? this.schedule.steps.length : this.at;
    const [src, dst, chunk, op] = transfer;
    this.change(added(this.schedule, at, transfer), at, `Step ${at}: rank ${src} sends chunk ${chunk} to rank ${dst}, ${op.toUpperCase()}.`);
  }

  check() {
    const event = verify(this.schedule);
    this.verdict = { proved: event === null, event };
    this.at = "end";
    this.picked = null;
    this.note = "";
    this.redraw();
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    if (this.locked) return;
    const name = state.get("example");
    if (name) this.example(name);
    /** @type {[string, string][]} */
    const asked = [["collective", state.get("contract") ?? ""], ...["n", "root", "chunks"].map((key) => /** @type {[string, string]} */ ([key, state.get(key) ?? ""]))];
    const known = asked.filter(([key, value]) => value && [...(this.picks[key]?.options ?? [])].some((option) => option.value === value) || (key === "root" && value));
    if (known.length) {
      for (const [key, value] of known) {
        const select = this.picks[key];
        if (key === "root") this.offerRoots(Number(this.picks["n"]?.value));
        if (select) select.value = value;
      }
      if (!name) this.schedule = { ...this.schedule, steps: [] };
      this.remake();
    }
    const step = state.get("step");
    if (step === "end") this.look("end");
    else if (step !== null && Number.isFinite(Number(step))) this.look(Math.min(Math.max(Math.round(Number(step)), 0), this.schedule.steps.length));
    if (state.get("check") === "1") this.check();
  }

  checkGate() {
    if (!this.upgraded) return;
    const id = this.getAttribute("predict");
    const wait = Boolean(id && document.getElementById(`quiz-${id}`) && !recall(id));
    const opened = this.locked && !wait;
    this.locked = wait;
    this.gate.hidden = !wait;
    this.classList.toggle("ar-locked", wait);
    if (wait && id && !this.gate.hasChildNodes()) {
      this.gate.append(...makeGate(id, () => this.frameBox.querySelector("button")?.focus()));
    }
    for (const part of [this.controls, this.line, this.desk, this.buttons]) part.inert = this.locked;
    if (opened) this.speak();
  }

  // ---- what it shows ----

  /** @returns {State[]} */
  get states() {
    return states(this.schedule);
  }

  redraw() {
    const focused = document.activeElement instanceof HTMLElement && this.contains(document.activeElement) ? document.activeElement.dataset["key"] : undefined;
    this.showPickers();
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, this.data?.label ?? ""),
      h("strong", {}, this.data?.title ?? ""),
      h("span", { class: "ar-sub" }, `${heading(this.schedule)}. ${promiseText(this.schedule)}`),
    );
    this.drawTabs();
    this.drawBoard();
    this.rows.replaceChildren(rowsTable(this.schedule, {
      blamed: this.verdict?.event ?? null,
      unplayable: this.unplayables(),
      op: this.op,
      step: this.at === "end" ? this.schedule.steps.length : this.at,
      change: (step, index, transfer) => this.change(changed(this.schedule, step, index, transfer), this.at, "A row has changed."),
      move: (step, index, to) => this.change(moved(this.schedule, step, index, to), this.at, `The transfer is now in step ${to}.`),
      remove: (step, index) => this.change(removed(this.schedule, step, index), this.at, "The transfer is gone."),
      add: (step, transfer) => {
        this.at = Math.min(step, this.schedule.steps.length);
        this.add(transfer);
      },
    }));
    this.drawReads();
    this.drawVerdict();
    this.drawMore();
    if (this.undoButton) this.undoButton.disabled = this.history.length === 0;
    this.speak();
    const again = focused ? this.querySelector(`[data-key="${focused}"]`) : null;
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  showPickers() {
    const { schedule, picks } = this;
    this.offerRoots(schedule.world_size);
    /** @type {Record<string, string>} */
    const now = { collective: schedule.collective, n: String(schedule.world_size), root: String(schedule.root ?? 0), chunks: String(schedule.num_chunks) };
    for (const [name, select] of Object.entries(picks)) select.value = now[name] ?? "";
    /** @param {string} name @param {boolean} shown */
    const show = (name, shown) => {
      const box = picks[name]?.parentElement;
      if (box) box.hidden = !shown;
    };
    show("root", hasRoot(schedule.collective));
    show("chunks", !isBlocked(schedule.collective));
    if (isBlocked(schedule.collective) && picks["chunks"]) picks["chunks"].value = "1";
    if (this.opChoice) chooseSegment(this.opChoice, this.op);
  }

  /** @param {number} n */
  offerRoots(n) {
    const select = this.picks["root"];
    if (!select || select.options.length === n) return;
    select.replaceChildren(...range(n).map((rank) => h("option", { value: rank }, String(rank))));
  }

  /** @returns {Map<string, WrongEvent>} by "step,index", the rows that cannot be played */
  unplayables() {
    /** @type {Map<string, WrongEvent>} */
    const found = new Map();
    this.states.slice(0, -1).forEach((state, number) => {
      const step = this.schedule.steps[number] ?? [];
      step.forEach((_, index) => {
        const alone = { ...this.schedule, steps: this.schedule.steps.map((some, other) => (other === number ? some.filter((__, place) => place <= index && !found.has(`${number},${place}`)) : some)) };
        const wrong = unplayable(alone, number, state);
        if (wrong) found.set(`${number},${index}`, wrong);
      });
    });
    return found;
  }

  drawTabs() {
    const { steps } = this.schedule;
    /** @param {Place} at @param {string} text */
    const tab = (at, text) => {
      const pressed = this.at === at;
      const made = h("button", { type: "button", class: "ar-tab", "aria-pressed": String(pressed), "data-key": `tab-${at}` }, text);
      made.addEventListener("click", () => this.look(at));
      return made;
    };
    const fresh = this.at === steps.length ? `step ${steps.length} (new)` : `+ step ${steps.length}`;
    this.tabs.replaceChildren(...steps.map((_, number) => tab(number, `step ${number}`)), tab(steps.length, fresh), tab("end", "the end"));
  }

  drawBoard() {
    this.room = this.desk.clientWidth;
    const beside = isBeside(this.room, this.schedule.num_chunks);
    this.desk.classList.toggle("ar-beside", beside);
    const all = this.states;
    const index = this.at === "end" ? all.length - 1 : Math.min(this.at, all.length - 1);
    board(this.frameBox, {
      room: beside ? this.room - TABLE : this.room,
      schedule: this.schedule,
      state: /** @type {State} */ (all[index]),
      after: this.at === "end" ? null : (all[index + 1] ?? null),
      transfers: this.at === "end" ? [] : (this.schedule.steps[this.at] ?? []),
      unplayable: new Set([...this.unplayables().keys()].filter((key) => key.startsWith(`${this.at},`)).map((key) => Number(key.split(",")[1]))),
      marks: this.at === "end" && this.verdict ? marks(this.schedule) : null,
      picked: this.picked,
      op: this.op,
      pick: (rank, chunk) => this.put(this.picked?.rank === rank && this.picked.chunk === chunk ? null : { rank, chunk }),
      empty: (rank, chunk, awaited) => {
        this.note = awaited
          ? `Rank ${rank} gets chunk ${chunk} in this step, so it can send it on from the next step. Press New step.`
          : `Rank ${rank} holds nothing of chunk ${chunk} here, so it cannot send it.`;
        this.speak();
      },
      send: (src, dst, chunk) => this.add([src, dst, chunk, this.op]),
    });
  }

  /** @returns {string} */
  sentence() {
    const { steps } = this.schedule;
    if (this.at === "end") {
      const last = /** @type {State} */ (this.states.at(-1));
      const held = last.map((row, rank) => `rank ${rank} holds ${row.map((parts) => sumText(parts)).join(" | ")}`);
      return `After the last step: ${held.join("; ")}.`;
    }
    const here = steps[this.at] ?? [];
    if (!here.length) return `Before step ${this.at}, which is still empty. Drag a chunk to another rank, or choose it in the last row of the table.`;
    const said = here.map(([src, dst, chunk, op]) => (op === "copy" ? `rank ${dst} copies chunk ${chunk} from rank ${src}` : `rank ${dst} adds chunk ${chunk} from rank ${src}`));
    const bad = [...this.unplayables().keys()].some((key) => key.startsWith(`${this.at},`));
    const all = `In step ${this.at}, at the same time: ${said.join("; ")}. The cells show what was there before the step.`;
    return bad ? `${all} What is marked ✗ cannot be played: press Check to read why.` : all;
  }

  speak() {
    const text = [this.note, this.sentence()].filter(Boolean).join(" ");
    if (this.say.textContent !== text) this.say.textContent = text;
  }

  drawVerdict() {
    const { verdict, schedule } = this;
    this.verdictBox.className = `ar-verdict${verdict ? (verdict.proved ? " ar-right" : " ar-wrong") : ""}`;
    if (!verdict) {
      this.verdictBox.replaceChildren();
      return;
    }
    if (verdict.event) {
      const { step, message } = verdict.event;
      const show = h("button", { type: "button", class: "ar-text-button" }, "Show that step");
      show.addEventListener("click", () => this.look(step ?? 0));
      this.verdictBox.replaceChildren(h("p", {}, h("strong", { class: "ar-sign" }, "✗ The promise is broken."), " The verifier names the first wrong event: "), h("p", { class: "ar-first" }, message), ...(step !== null && schedule.steps.length ? [show] : []));
      return;
    }
    const { inTurn } = counts(schedule, this.data?.itemsize ?? 8);
    const least = fewest(schedule);
    const proved = schedule.steps.length ? `${plural(schedule.steps.length, "step")}, ${plural(inTurn, "message")} one after another.` : "No step is needed.";
    const better = least === null ? "" : inTurn > least ? ` ${plural(least, "message")} one after another would do: who can send more in the same step?` : ` No plan has fewer messages one after another.`;
    this.verdictBox.replaceChildren(h("p", {}, h("strong", { class: "ar-sign" }, "✓ Proved."), ` Every promised chunk is in place, each part once: ${proved}${better}`));
  }

  drawReads() {
    const now = counts(this.schedule, this.data?.itemsize ?? 8);
    const all = marks(this.schedule).flat();
    const promised = promises(this.schedule);
    const done = all.filter((mark) => mark.kind === "done").length;
    const ratio = significant(now.busiest / now.whole, 3);
    const who = now.busiest ? (now.who.sends ? `${ratio} S, sent by rank ${now.who.rank}` : `${ratio} S, received by rank ${now.who.rank}`) : `S is ${bytes(now.whole)}`;
    /** @param {string} term @param {string} value @param {string} small */
    const read = (term, value, small) => h("div", {}, h("dt", {}, term), h("dd", {}, h("b", {}, value), h("small", {}, small)));
    this.reads.replaceChildren(
      read(say("steps"), String(now.steps), plural(now.transfers, "transfer")),
      read("one after another", plural(now.inTurn, "message"), "through the busiest port"),
      read("bytes of the busiest rank", bytes(now.busiest), who),
      read("promised places", this.verdict ? `${done} of ${promised}` : `? of ${promised}`, this.verdict ? "are right at the end" : "press Check"),
    );
  }

  drawMore() {
    const open = [...this.more.querySelectorAll("details")].map((one) => one.open);
    const head = range(this.schedule.num_chunks).map((chunk) => h("th", { scope: "col" }, `chunk ${chunk}: ${elementsText(this.schedule, chunk)}`));
    const body = arrays(this.schedule).map((row, rank) => h("tr", {}, h("th", { scope: "row" }, `rank ${rank}`), ...row.map((numbers) => h("td", {}, numbers ? h("code", {}, numbers.join(" ")) : "nothing"))));
    const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "holder"), ...head)), h("tbody", {}, ...body));
    this.more.replaceChildren(
      h("details", { open: open[0] ?? false },
        h("summary", {}, "Your schedule as text: copy it"),
        this.textBox("JSON", "Save it as a file; `allranks verify FILE` and `ar.Schedule.from_json` read it.", asJson(this.schedule)),
        this.textBox("Python", "For a code cell.", asPython(this.schedule))),
      h("details", { open: open[1] ?? false },
        h("summary", {}, "The numbers at the end, if element i of rank r starts as 100 (r + 1) + i"),
        h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "The numbers at the end" }, table)),
    );
  }

  /** @param {string} kind @param {string} what @param {string} text */
  textBox(kind, what, text) {
    const pre = h("pre", { class: "ar-text", tabindex: 0, "aria-label": `The schedule as ${kind}` }, text);
    const said = h("span", { role: "status" });
    const copy = h("button", { type: "button", class: "ar-plain-button" }, `Copy as ${kind}`);
    copy.addEventListener("click", () => {
      copied(text, pre).then((done) => {
        said.textContent = done ? "Copied." : "The browser does not allow it: the text is selected, press Ctrl + C.";
      });
    });
    const [before = "", code, between = "", other, after = ""] = what.split("`");
    const words_ = code === undefined ? [what] : [before, h("code", {}, code), between, h("code", {}, other ?? ""), after];
    return h("div", { class: "ar-text-box" }, h("p", {}, copy, " ", said, " ", ...words_), pre);
  }
}

/** @param {number} room @param {number} chunks @returns {boolean} whether the table fits beside the board */
function isBeside(room, chunks) {
  return room - TABLE >= widthOf(chunks, 74);
}

/** @param {string} text @param {HTMLElement} box @returns {Promise<boolean>} whether the clipboard took it; else it is selected */
async function copied(text, box) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    window.getSelection()?.selectAllChildren(box);
    return false;
  }
}
