// @ts-check
// <chunk-ports>: a ring, a switch that adds and NVLS on one clock, with a counter at every port.

import { picker, slider } from "./controls.js";
import { h } from "./dom.js";
import { bytes, list, plural, rate, say, time as seconds } from "./format.js";
import { PlayerElement } from "./player.js";
import { bytesGain, counters, gain, plans, result, times } from "./ports.js";

/** @typedef {import("./ports.js").Ports} Ports */
/** @typedef {import("./ports.js").Plan} Plan */
/** @typedef {"out" | "into" | "switchIn" | "switchOut"} Counter */
/**
 * The parts of one plan's row that change with time.
 * @typedef {object} Row
 * @property {Plan} plan
 * @property {HTMLElement} row
 * @property {HTMLElement} end
 * @property {HTMLElement} fill
 * @property {Record<Counter, {fill: HTMLElement, value: HTMLElement, whole: number}>} counts
 */

/** @type {[Counter, string][]} */
const COUNTERS = [["out", "rank, out"], ["into", "rank, in"], ["switchIn", "switch, in"], ["switchOut", "switch, out"]];
const PIECES = [1, 2, 4, 8, 16, 22, 32, 64, 128, 256];

export class ChunkPorts extends PlayerElement {
  constructor() {
    super();
    /** @type {Ports | null} */
    this.ports = null;
    /** @type {Plan[]} */
    this.plans = [];
    /** @type {Row[]} */
    this.rows = [];
    this.frameBox = h("div", { class: "ar-frame", tabindex: 0, role: "group" });
    this.heading = h("p", { class: "ar-title" });
    this.controls = h("div", { class: "ar-controls" });
    this.table = h("div");
    /** @type {Record<string, (value: string | number) => void>} */
    this.puts = {};
    this.pending = 0;
  }

  get total() {
    return Math.max(0, ...this.plans.map((plan) => plan.total));
  }

  get stops() {
    return [0, ...new Set(this.plans.map((plan) => plan.total))].sort((a, b) => a - b);
  }

  get duration() {
    return 9;
  }

  timeText() {
    return seconds(this.time);
  }

  sentences() {
    return this.ports ? [this.startLine(), this.midway(this.plans), result(this.ports, this.plans)] : [];
  }

  /** Says who runs, and nothing about who wins: all that a reader who has yet to predict may see. */
  startLine() {
    return `Nothing has been sent yet. Three plans wait for the same all-reduce on ${plural(this.ports?.n ?? 0, "rank")}: a ring, a switch that adds, and NVLS.`;
  }

  /** @param {Plan[]} over */
  midway(over) {
    return `At ${this.timeText()}, finished: ${list(over.map((plan) => plan.title))}.`;
  }

  sentence() {
    if (!this.ports) return "";
    if (this.locked || this.time === 0) return this.startLine();
    if (this.time >= this.total * (1 - 1e-9)) return result(this.ports, this.plans);
    const over = this.plans.filter((plan) => plan.total <= this.time * (1 + 1e-9));
    return over.length ? this.midway(over) : `At ${this.timeText()}, no plan has finished.`;
  }

  /** @param {unknown} data */
  setUp(data) {
    this.ports = /** @type {Ports} */ (data);
    const caption = this.querySelector(":scope > .ar-caption");
    this.makeControls(this.ports);
    for (const part of [h("div", { class: "ar-top" }, this.heading, this.controls), this.frameBox, this.makeBar(), this.makeSay(), this.table]) {
      this.insertBefore(part, caption);
    }
    if (caption) this.insertBefore(caption, this.table);
    this.remake();
  }

  /** @param {Ports} ports */
  makeControls(ports) {
    const asked = ports.controls;
    /** @param {string} name @param {string} text @param {{min: number, max: number, step: number, value: number, log?: boolean, show: (value: number) => string}} scale */
    const slide = (name, text, scale) => {
      const made = slider(text, scale, (value) => this.later(new URLSearchParams([[name, String(value)]])));
      this.controls.append(made.node);
      this.puts[name] = (value) => made.put(Number(value));
    };
    const n = asked["n"];
    if (Array.isArray(n)) slide("n", "ranks n", { min: Number(n[0]), max: Number(n[1]), step: 1, value: ports.n, show: String });
    const size = asked["nbytes"];
    if (Array.isArray(size)) slide("nbytes", "size S", { min: Number(size[0]), max: Number(size[1]), step: 1, value: ports.nbytes, log: true, show: (value) => bytes(Math.round(value)) });
    if (asked["k"]) {
      /** @type {[string, string][]} */
      const options = [["auto", "best for each"], ...PIECES.map((k) => /** @type {[string, string]} */ ([String(k), String(k)]))];
      const made = picker("k", options, ports.pieces === null ? "auto" : String(ports.pieces), (value) => this.change(new URLSearchParams([["k", value]])));
      made.node.querySelector("label")?.replaceChildren("pieces k");
      this.controls.append(made.node);
      this.puts["k"] = (value) => {
        if (![...made.select.options].some((option) => option.value === String(value))) made.select.append(h("option", { value }, String(value)));
        made.select.value = String(value);
      };
    }
  }

  /** A slider moves faster than a page draws: once per frame is enough. @param {URLSearchParams} asked */
  later(asked) {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.change(asked));
  }

  /** @param {URLSearchParams} asked */
  change(asked) {
    const { ports } = this;
    if (!ports) return;
    const next = { ...ports };
    /** @param {string} name @param {number} low @param {number} high @returns {number | null} */
    const number = (name, low, high) => {
      const text = asked.get(name);
      const value = text === null ? Number.NaN : Number(text);
      return Number.isFinite(value) ? Math.round(Math.min(Math.max(value, low), high)) : null;
    };
    next.n = number("n", 2, 256) ?? ports.n;
    next.nbytes = number("nbytes", 1, 1e12) ?? number("S", 1, 1e12) ?? ports.nbytes;
    const k = asked.get("k");
    next.pieces = k === "auto" ? null : (number("k", 1, 4096) ?? ports.pieces);
    this.pause();
    this.ports = next;
    this.puts["n"]?.(next.n);
    this.puts["nbytes"]?.(next.nbytes);
    this.puts["k"]?.(next.pieces ?? "auto");
    this.remake();
    this.go(this.locked ? 0 : this.total);
    this.speak();
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    this.change(state);
    if (this.locked) return;
    const at = state.get("t");
    if (at !== null && at !== "end" && Number.isFinite(Number(at))) this.go(Number(at) * this.total);
    this.speak();
    if (state.get("play") === "1") {
      this.go(0);
      this.play();
    }
  }

  /** New numbers: everything is drawn afresh. */
  remake() {
    const { ports } = this;
    if (!ports) return;
    this.plans = plans(ports);
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, ports.label),
      h("strong", {}, ports.title),
      h("span", { class: "ar-sub" }, `${plural(ports.n, "rank")} · S = ${bytes(ports.nbytes)} · machine “${ports.machine}”: α ${seconds(ports.costs.alpha)}, ${rate(ports.costs.bandwidth)} per direction, at the switch as at the ranks`),
    );
    this.frameBox.setAttribute("aria-label", `${ports.title}. Keys: space plays, arrows step, Home and End.`);
    this.rows = this.plans.map((plan) => this.makeRow(plan));
    this.frameBox.replaceChildren(h("div", { class: "ar-plans" }, ...this.rows.map(({ row }) => row)));
    this.makeTable(ports);
    this.draw();
    this.reserve();
  }

  /** @param {Plan} plan @returns {Row} */
  makeRow(plan) {
    const end = h("span", { class: "ar-plan-end" });
    const fill = h("i", { class: "ar-plan-fill" });
    const most = Math.max(1, ...this.plans.flatMap(({ passed }) => [passed.at(-1)?.out ?? 0, passed.at(-1)?.into ?? 0]));
    const ports = Math.max(1, ...this.plans.map((one) => one.ports));
    const size = this.ports?.nbytes ?? 0;
    const counts = /** @type {Row["counts"]} */ ({});
    const boxes = COUNTERS.map(([name, text]) => {
      const inSwitch = name.startsWith("switch");
      const bar = h("i", { class: "ar-plan-fill" });
      const value = h("b");
      const whole = inSwitch ? most * ports : most;
      counts[name] = { fill: bar, value, whole };
      // the mark stands where the bar of S is, or of n times S at the switch
      const mark = h("i", { class: "ar-plan-mark" });
      mark.style.left = `${((inSwitch ? size * ports : size) / whole) * 100}%`;
      const there = !inSwitch || plan.ports > 0;
      return h("div", { class: "ar-plan-count" }, h("dt", {}, text), h("dd", {}, value, there ? h("span", { class: "ar-plan-bar", "aria-hidden": "true" }, bar, mark) : null));
    });
    const row = h("div", { class: "ar-plan", role: "group", "aria-label": plan.title },
      h("p", { class: "ar-plan-head" }, h("span", { class: "ar-plan-name" }, plan.title), end),
      h("span", { class: "ar-plan-bar ar-plan-time", "aria-hidden": "true" }, fill),
      h("dl", { class: "ar-plan-counts" }, ...boxes));
    return { plan, row, end, fill, counts };
  }

  /** @param {Ports} ports */
  makeTable(ports) {
    const open = this.table.querySelector("details")?.open ?? false;
    const head = [say("plan"), say("steps"), say("time"), "against the ring", "by bytes alone", "rank out", "rank in", "switch in", "switch out"];
    const body = this.plans.map((plan) => {
      const last = counters(plan, plan.total);
      const texts = [String(plan.ends.length), seconds(plan.total), times(gain(this.plans, plan)), times(bytesGain(this.plans, plan)), bytes(last.out), bytes(last.into), plan.ports ? bytes(last.switchIn) : "no switch", plan.ports ? bytes(last.switchOut) : "no switch"];
      return h("tr", {}, h("th", { scope: "row" }, plan.title), ...texts.map((text) => h("td", {}, text)));
    });
    this.table.replaceChildren(h("details", { open }, h("summary", {}, "The counters as a table"), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": `Counters for ${plural(ports.n, "rank")}` }, h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...body)))));
  }

  draw() {
    const best = Math.min(...this.plans.map((plan) => plan.total));
    for (const { plan, row, end, fill, counts } of this.rows) {
      const there = this.total > 0 && this.time * (1 + 1e-9) >= plan.total;
      const won = there && plan.total <= best * (1 + 1e-9);
      row.classList.toggle("ar-won", won);
      const said = there ? `${seconds(plan.total)}${won ? " · first" : ""}` : "";
      if (end.textContent !== said) end.textContent = said;
      fill.style.width = `${this.total ? (Math.min(this.time, plan.total) / this.total) * 100 : 0}%`;
      const now = counters(plan, this.time);
      for (const [name] of COUNTERS) {
        const { fill: bar, value, whole } = counts[name];
        const absent = name.startsWith("switch") && plan.ports === 0;
        const text = absent ? "no switch" : bytes(Number(now[name].toPrecision(4)));
        if (value.textContent !== text) value.textContent = text;
        bar.style.width = `${(now[name] / whole) * 100}%`;
      }
    }
  }
}
