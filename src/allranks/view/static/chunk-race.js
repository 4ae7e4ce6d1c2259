// @ts-check
// <chunk-race>: several algorithms on one clock, with the bytes that every rank sends.

import { ROOTED } from "./algorithms.js";
import { range } from "./algorithms/base.js";
import { chooseSegment, picker, segmented, slider } from "./controls.js";
import { h, s } from "./dom.js";
import { bytes, plural, rate, say, ticks, time as seconds, timeUnit } from "./format.js";
import { PlayerElement } from "./player.js";
import { absent, lanes, result, sentText, sentTexts, winners } from "./race.js";

/** @typedef {import("./race.js").Race} Race */
/** @typedef {import("./race.js").Lane} Lane */
/**
 * The parts of one drawn lane that change with time.
 * @typedef {object} Row
 * @property {SVGRectElement} fill
 * @property {SVGGElement} cuts
 * @property {number[]} cutsAt
 * @property {SVGTextElement} name
 * @property {SVGTextElement} end
 * @property {SVGTextElement} most
 * @property {string} length
 * @property {boolean} won
 * @property {Lane} lane
 * @property {{rect: SVGRectElement, rank: number, base: number}[]} bars
 * @property {number} y
 */

const ROW = 70;
const TOP = 44;

export class ChunkRace extends PlayerElement {
  constructor() {
    super();
    /** @type {Race | null} */
    this.race = null;
    /** @type {Lane[]} */
    this.lanes = [];
    this.frameBox = h("div", { class: "ar-frame" });
    this.heading = h("p", { class: "ar-title" });
    this.controls = h("div", { class: "ar-controls" });
    this.table = h("div");
    /** @type {HTMLFieldSetElement | null} */
    this.group = null;
    /** @type {Record<string, (value: string | number) => void>} */
    this.puts = {};
    this.room = 0;
    this.laneX = 0;
    this.laneW = 0;
    /** @type {Row[]} */
    this.rows = [];
    this.most = 1;
    this.rowH = ROW;
    this.cursor = s("g", { class: "ar-now" });
    this.pending = 0;
  }

  get total() {
    return Math.max(0, ...this.lanes.map((lane) => lane.total));
  }

  get stops() {
    return [0, ...new Set(this.lanes.map((lane) => lane.total))].sort((a, b) => a - b);
  }

  get duration() {
    return 9;
  }

  sentences() {
    if (!this.race) return [];
    const all = this.lanes.map((lane) => lane.title).join("; ");
    return [this.startLine(), `At ${seconds(1.2345e-3)}, finished: ${all}.`, result(this.race, this.lanes)];
  }

  timeText() {
    if (!this.race) return "";
    return this.race.count === "steps" ? `${Number(this.time.toFixed(1))} steps` : seconds(this.time);
  }

  /** Says who runs, and nothing about who wins: all that a reader who has yet to predict may see. */
  startLine() {
    return `${plural(this.lanes.length, "algorithm")} at the start line: ${this.lanes.map((lane) => lane.title).join("; ")}.`;
  }

  sentence() {
    if (!this.race) return "";
    if (this.locked) return this.startLine();
    const over = this.lanes.filter((lane) => lane.total <= this.time * (1 + 1e-9));
    if (this.time >= this.total * (1 - 1e-9) && this.total > 0) return result(this.race, this.lanes);
    if (!over.length) return this.startLine();
    return `At ${this.timeText()}, finished: ${over.map((lane) => lane.title).join("; ")}.`;
  }

  /** @param {unknown} data */
  setUp(data) {
    this.race = /** @type {Race} */ (data);
    const caption = this.querySelector(":scope > .ar-caption");
    this.frameBox.tabIndex = 0;
    this.frameBox.setAttribute("role", "group");
    this.group = segmented(say("Axis"), [["steps", "count steps"], ["time", "count time"]], this.race.count, (value) => this.change(new URLSearchParams([["count", value]])));
    this.makeControls();
    for (const part of [h("div", { class: "ar-top" }, this.heading, this.controls), this.frameBox, this.makeBar(), this.makeSay(), this.table]) {
      this.insertBefore(part, caption);
    }
    if (caption) this.insertBefore(caption, this.table);
    this.remake();
  }

  makeControls() {
    const { race } = this;
    if (!race) return;
    const asked = race.controls;
    /** @type {Node[]} */
    const nodes = [];
    /** @param {string} name @param {string} text @param {{min: number, max: number, step: number, value: number, log?: boolean, show: (value: number) => string}} scale */
    const slide = (name, text, scale) => {
      const made = slider(text, scale, (value) => this.later(new URLSearchParams([[name, String(value)]])));
      nodes.push(made.node);
      this.puts[name] = (value) => made.put(Number(value));
    };
    /** @param {string} name @param {string} text @param {[string, string][]} options @param {string} chosen */
    const pick = (name, text, options, chosen) => {
      const made = picker(text, options, chosen, (value) => this.change(new URLSearchParams([[name, value]])));
      nodes.push(made.node);
      this.puts[name] = (value) => { made.select.value = String(value); };
      return made.select;
    };
    const n = asked["n"];
    if (Array.isArray(n)) slide("n", "ranks n", { min: Number(n[0]), max: Number(n[1]), step: 1, value: race.n, show: String });
    const size = asked["nbytes"];
    if (Array.isArray(size)) slide("nbytes", "size S", { min: Number(size[0]), max: Number(size[1]), step: 1, value: race.nbytes, log: true, show: (value) => bytes(Math.round(value)) });
    if (asked["root"] && ROOTED.has(race.collective)) {
      const select = pick("root", "root", [], String(race.root ?? 0));
      this.puts["root"] = (value) => {
        select.replaceChildren(...range(this.race?.n ?? 1).map((rank) => h("option", { value: rank }, String(rank))));
        select.value = String(value);
      };
      this.puts["root"](race.root ?? 0);
    }
    if (asked["k"]) {
      const made = pick("k", "chunks k", [["auto", "best"], ...[1, 2, 4, 8, 16, 44, 64, 256, 1024].map((k) => /** @type {[string, string]} */ ([String(k), String(k)]))], "auto");
      this.puts["k"] = (value) => {
        if (![...made.options].some((option) => option.value === String(value))) made.append(h("option", { value }, String(value)));
        made.value = String(value);
      };
    }
    const machines = Object.keys(race.machines);
    if (asked["machine"] && machines.length > 1) pick("machine", "machine", machines.map((name) => [name, name]), race.machine);
    this.controls.replaceChildren(...nodes);
    if (this.group) this.controls.append(this.group);
  }

  /** A slider moves faster than a race of many ranks is priced: once per frame is enough.
   *  @param {URLSearchParams} asked */
  later(asked) {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.change(asked));
  }

  /** @param {URLSearchParams} asked */
  change(asked) {
    const { race } = this;
    if (!race) return;
    const next = { ...race };
    /** @param {string} name @param {number} low @param {number} high @returns {number | null} */
    const number = (name, low, high) => {
      const text = asked.get(name);
      const value = text === null ? Number.NaN : Number(text);
      return Number.isFinite(value) ? Math.min(Math.max(value, low), high) : null;
    };
    const n = number("n", 1, 256);
    if (n !== null) next.n = Math.round(n);
    const size = number("nbytes", 0, 1e12) ?? number("S", 0, 1e12);
    if (size !== null) next.nbytes = Math.round(size);
    const root = number("root", 0, next.n - 1);
    if (root !== null) next.root = Math.round(root);
    const machine = asked.get("machine");
    if (machine && Object.hasOwn(race.machines, machine)) next.machine = machine;
    next.n = Math.min(next.n, race.machines[next.machine]?.most ?? Infinity);
    if (next.root !== null) next.root = Math.min(next.root, next.n - 1);
    const count = asked.get("count");
    if (count === "steps" || count === "time") next.count = count;
    const k = asked.get("k");
    const chosen = k === "auto" ? "auto" : number("k", 1, 4096);
    if (chosen !== null) {
      next.entrants = race.entrants.map((one) => (one.piped ? { ...one, chunks: chosen } : one));
    }
    this.pause();
    this.race = next;
    /** @type {Record<string, string | number>} */
    const now = { n: next.n, nbytes: next.nbytes, root: next.root ?? 0, machine: next.machine };
    if (chosen !== null) now["k"] = chosen;
    for (const [name, value] of Object.entries(now)) this.puts[name]?.(value);
    this.remake();
    this.go(this.locked ? 0 : this.total);
    this.speak();
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    this.change(state);
    if (this.locked) {
      this.go(0);
      return;
    }
    const at = state.get("t");
    if (at === "end") this.go(this.total);
    else if (at !== null && Number.isFinite(Number(at))) this.go(Number(at) * this.total);
    this.speak();
    if (state.get("play") === "1") {
      this.go(0);
      this.play();
    }
  }

  remake() {
    const { race } = this;
    if (!race) return;
    this.lanes = lanes(race);
    if (this.group) chooseSegment(this.group, race.count);
    const machine = race.machines[race.machine];
    const root = race.root === null ? "" : `, root ${race.root}`;
    const out = absent(race);
    const without = out.length ? ` · not for ${plural(race.n, "rank")} of this machine: ${out.join("; ")}` : "";
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, race.label),
      h("strong", {}, race.title),
      h("span", { class: "ar-sub" }, `${plural(race.n, "rank")}${root} · S = ${bytes(race.nbytes)} · machine “${race.machine}”: α ${seconds(machine?.alpha ?? 0)}, ${rate(machine?.bandwidth ?? null)} per direction${without}`),
    );
    this.frameBox.setAttribute("aria-label", `${race.title}. Keys: space plays, arrows step, Home and End.`);
    this.room = 0;
    this.makeTable();
    this.draw();
    this.reserve();
  }

  makeTable() {
    const open = this.table.querySelector("details")?.open ?? false;
    const first = winners(this.lanes);
    const { race } = this;
    if (!race) return;
    const sent = [say("sent by the busiest rank"), ...(race.meter === "S" ? [say("sent by all ranks")] : [])];
    const head = [say("algorithm"), say("steps"), say("time"), ...sent, say("messages")].map((text) => h("th", { scope: "col" }, text));
    const body = this.lanes.map((lane) =>
      h("tr", { class: first.includes(lane) ? "ar-first" : null }, h("th", { scope: "row" }, `${lane.title}${first.includes(lane) ? " (first)" : ""}`), h("td", {}, String(lane.cost.steps)), h("td", {}, seconds(lane.cost.seconds)), ...sentTexts(race, lane).map((text) => h("td", {}, text)), h("td", {}, String(lane.cost.messages))));
    this.table.replaceChildren(h("details", { open }, h("summary", {}, "The race as a table"), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "The race as a table" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)))));
  }

  draw() {
    if (!this.race) return;
    const room = Math.floor(this.frameBox.clientWidth || 720);
    if (room !== this.room) {
      this.room = room;
      this.drawStill();
    }
    this.drawMoment();
  }

  drawStill() {
    const { race } = this;
    if (!race) return;
    const narrow = this.room < 620;
    const bytesW = narrow ? 0 : Math.min(230, this.room * 0.26);
    this.laneX = 12;
    this.laneW = Math.max(this.room - this.laneX - bytesW - (narrow ? 14 : 48), 220);
    this.rowH = narrow ? ROW + 72 : ROW;
    const bytesX = narrow ? this.laneX : this.laneX + this.laneW + 36;
    const span = narrow ? this.laneW : bytesW;
    const height = TOP + this.lanes.length * this.rowH;
    const width = narrow ? this.laneX + this.laneW + 14 : this.room;
    const svg = s("svg", { class: "ar-svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${race.title}. The sentence and the table below say who wins.` });
    const { factor, unit } = race.count === "steps" ? { factor: 1, unit: say("steps") } : timeUnit(this.total);
    const scale = this.laneW / (this.total || 1);
    svg.append(s("text", { x: this.laneX, y: 14, class: "ar-axis" }, race.count === "steps" ? say("steps") : `time in ${unit}, true to cost`));
    for (const tick of ticks(this.total * factor, this.laneW / 70)) {
      const x = this.laneX + (tick / factor) * scale;
      const anchor = x > this.laneX + this.laneW - 12 ? "end" : tick === 0 ? "start" : "middle";
      svg.append(s("line", { x1: x, x2: x, y1: TOP - 8, y2: height - 8, class: "ar-rule" }), s("text", { x, y: TOP - 12, class: "ar-axis", "text-anchor": anchor }, String(tick)));
    }
    this.most = Math.max(1, ...this.lanes.flatMap((lane) => lane.cost.sent));
    if (!narrow) svg.append(s("text", { x: bytesX, y: 14, class: "ar-axis" }, "bytes that each rank sends"));
    const first = winners(this.lanes);
    this.rows = this.lanes.map((lane, index) => {
      const y = TOP + index * this.rowH;
      const won = first.includes(lane);
      const name = s("text", { x: this.laneX, y: y + 16, class: "ar-name" }, lane.title);
      const fill = s("rect", { x: this.laneX, y: y + 24, width: 0, height: 22, rx: 4, class: "ar-race-fill" });
      const cuts = s("g");
      const thin = (lane.total * scale) / Math.max(lane.ends.length, 1) < 4;
      const cutsAt = thin ? [] : lane.ends.slice(0, -1);
      const length = race.count === "steps" ? plural(lane.total, "step") : seconds(lane.total);
      const inside = lane.total * scale > this.laneW - 130;
      const end = s("text", { x: inside ? this.laneX + lane.total * scale - 8 : this.laneX + lane.total * scale + 8, y: y + 40, class: `ar-end${inside ? " ar-inside" : ""}`, "text-anchor": inside ? "end" : "start" });
      svg.append(s("rect", { x: this.laneX, y: y + 24, width: this.laneW, height: 22, rx: 4, class: "ar-track" }), name, fill, cuts, end);
      const base = narrow ? y + 112 : y + 52;
      const each = span / lane.cost.sent.length;
      // numbers of two digits need more room; where it is narrow, not every rank has its number
      const every = Math.ceil((race.n > 10 ? 20 : 14) / each);
      const bars = lane.cost.sent.map((_, rank) => {
        const rect = s("rect", { x: bytesX + rank * each, y: base, width: Math.max(each - (each > 4 ? 2 : 0.3), 0.7), height: 0, class: "ar-bytes", fill: `var(--ar-rank-${rank % 8})` });
        svg.append(rect);
        if (rank % every === 0) svg.append(s("text", { x: bytesX + rank * each + each / 2 - 1, y: base + 13, class: "ar-axis", "text-anchor": "middle" }, String(rank)));
        return { rect, rank, base };
      });
      svg.append(s("line", { x1: bytesX, x2: bytesX + span, y1: base + 0.5, y2: base + 0.5, class: "ar-floor" }));
      const most = s("text", { x: bytesX + span - (narrow ? 8 : 0), y: base - 41, class: "ar-axis", "text-anchor": "end" });
      svg.append(most);
      return { fill, cuts, cutsAt, name, end, most, length, won, lane, bars, y };
    });
    this.cursor = s("g", { class: "ar-now" });
    svg.append(this.cursor);
    this.frameBox.replaceChildren(svg);
    this.frameBox.classList.toggle("ar-scrolls", width > this.room + 1);
  }

  drawMoment() {
    const { race } = this;
    if (!race) return;
    const scale = this.laneW / (this.total || 1);
    const slack = 1 + 1e-9;
    for (const row of this.rows) {
      const { lane } = row;
      const there = this.total > 0 && this.time * slack >= lane.total;
      const at = Math.min(this.time, lane.total);
      row.fill.setAttribute("width", String(Math.max(at * scale, 0)));
      row.fill.classList.toggle("ar-won", there && row.won);
      row.name.classList.toggle("ar-won", there && row.won);
      row.end.textContent = there ? `${row.length}${row.won ? " · first" : ""}` : "";
      const passed = row.cutsAt.filter((end) => end < at * slack);
      if (row.cuts.childElementCount !== passed.length) {
        row.cuts.replaceChildren(...passed.map((end) => s("line", { x1: this.laneX + end * scale, x2: this.laneX + end * scale, y1: row.y + 24, y2: row.y + 46, class: "ar-cut" })));
      }
      const over = lane.ends.filter((end) => end <= at * slack).length;
      const sent = over ? (lane.sent[over - 1] ?? []) : [];
      const label = sentText(race, sent);
      if (row.most.textContent !== label) row.most.textContent = label;
      for (const bar of row.bars) {
        const tall = ((sent[bar.rank] ?? 0) / this.most) * 36;
        bar.rect.setAttribute("height", String(tall));
        bar.rect.setAttribute("y", String(bar.base - tall));
      }
    }
    const x = this.laneX + this.time * scale;
    const bottom = TOP + this.rows.length * this.rowH - 8;
    this.cursor.replaceChildren(s("line", { x1: x, x2: x, y1: TOP - 8, y2: bottom }), s("path", { d: `M${x - 6} ${TOP - 10}h12l-6 8z` }));
  }
}
