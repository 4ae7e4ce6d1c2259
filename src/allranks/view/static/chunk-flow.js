// @ts-check
// <chunk-flow>: the matrix of ranks and chunks, the lanes of time, and the hand that moves them.

import { range, ROOTED } from "./algorithms.js";
import { holds, standing } from "./engine.js";
import { bytes, letter, plural, rate, ticks, time as seconds, timeUnit, words } from "./format.js";
import { colorOf, h, inkOn, s, uniqueId } from "./dom.js";
import { CELL, laneCenter, layout, PITCH, SLIM, TOP, tracks } from "./layout.js";
import { chooseSegment, picker, PlayerElement, segmented, slider } from "./player.js";
import {
  arrived, CLOCK_NAMES, clocks, homes, machineOf, makeScene, nameOf, partsText, readOuts, rebuild, rows,
  sentence, stateAt, travelling, upcoming, vectorText,
} from "./scene.js";

/** @typedef {import("./scene.js").Flow} Flow */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Move} Move */
/** @typedef {import("./scene.js").Message} Message */
/** @typedef {import("./scene.js").Clock} Clock */
/** @typedef {import("./engine.js").Parts} Parts */
/** @typedef {import("./layout.js").Layout} Layout */

const TABLE_MOST = 1000;

/** @param {number} p 0 to 1 @returns {number} */
function ease(p) {
  return p < 0.5 ? 2 * p * p : 1 - 2 * (1 - p) * (1 - p);
}

export class ChunkFlow extends PlayerElement {
  constructor() {
    super();
    /** @type {Flow | null} */
    this.original = null;
    /** @type {Flow | null} */
    this.flow = null;
    /** @type {Scene | null} */
    this.scene = null;
    /** @type {Layout | null} */
    this.place = null;
    this.room = 0;
    this.frameBox = h("div", { class: "ar-frame" });
    this.heading = h("p", { class: "ar-title" });
    this.controls = h("div", { class: "ar-controls" });
    this.reads = h("dl", { class: "ar-read" });
    this.lens = h("p", { class: "ar-lens" });
    this.note = h("p", { class: "ar-note", hidden: true });
    this.tables = h("div", { class: "ar-tables" });
    /** @type {[rank: number, chunk: number]} */
    this.watched = [0, 0];
    /** @type {SVGGElement[][]} */
    this.cells = [];
    /** @type {(string | undefined)[][]} */
    this.drawn = [];
    this.moving = s("g");
    this.hints = s("g");
    this.cursor = s("g");
    /** @type {{window: SVGSVGElement, start: number, end: number, width: number}[]} */
    this.fills = [];
    /** @type {HTMLTableRowElement[]} */
    this.transferRows = [];
    this.stateTable = h("tbody");
    /** @type {HTMLFieldSetElement | null} */
    this.clockGroup = null;
    /** @type {Record<string, (value: string | number) => void>} */
    this.puts = {};
    this.pattern = uniqueId("ar-hatch");
  }

  get total() {
    return this.scene?.total ?? 0;
  }

  get stops() {
    return this.scene?.stops ?? [0];
  }

  sentence() {
    return this.scene ? sentence(this.scene, this.time) : "";
  }

  timeText() {
    if (!this.scene) return "";
    const done = this.scene.barrier ? `${this.stop} of ${plural(this.scene.schedule.steps.length, "step")} done` : "";
    return [done, this.scene.counted ? "" : seconds(this.time)].filter(Boolean).join(", ");
  }

  /** @param {unknown} data */
  setUp(data) {
    this.original = /** @type {Flow} */ (data);
    this.flow = this.original;
    const caption = this.querySelector(":scope > .ar-caption");
    this.frameBox.tabIndex = 0;
    this.frameBox.setAttribute("role", "group");
    this.clockGroup = segmented(
      "Axis",
      clocks(this.flow).map((clock) => [clock, CLOCK_NAMES[clock]]),
      clocks(this.flow).includes(this.flow.clock) ? this.flow.clock : (clocks(this.flow)[0] ?? "steps"),
      (value) => this.setClock(/** @type {Clock} */ (value)),
    );
    this.makeControls();
    const parts = [
      h("div", { class: "ar-top" }, this.heading, this.controls),
      this.note,
      this.frameBox,
      this.lens,
      this.makeBar(),
      this.reads,
      this.makeSay(),
      this.tables,
    ];
    for (const part of parts) this.insertBefore(part, caption);
    if (caption) this.insertBefore(caption, this.tables);
    this.remake();
  }

  makeControls() {
    const flow = this.flow;
    if (!flow) return;
    const asked = flow.controls;
    const { schedule } = flow;
    /** @type {Node[]} */
    const nodes = [];
    /** @param {string} name @param {{node: HTMLElement, put: (value: string | number) => void}} control */
    const add = (name, control) => {
      nodes.push(control.node);
      this.puts[name] = control.put;
    };
    /** @param {string} name @param {string} text @param {[string, string][]} options @param {string} chosen */
    const pick = (name, text, options, chosen) => {
      const made = picker(text, options, chosen, (value) => this.change(new URLSearchParams([[name, value]])));
      add(name, { node: made.node, put: (value) => { made.select.value = String(value); } });
      return made.select;
    };
    const algorithms = Array.isArray(asked["algorithm"]) ? asked["algorithm"].map(String) : [];
    if (algorithms.length) pick("algorithm", "algorithm", algorithms.map((name) => [name, words(name)]), schedule.algorithm);
    const n = asked["n"];
    if (Array.isArray(n)) {
      const span = range(Number(n[1]) - Number(n[0]) + 1).map((index) => String(Number(n[0]) + index));
      pick("n", "ranks n", span.map((value) => [value, value]), String(schedule.world_size));
    }
    if (asked["root"] && ROOTED.has(schedule.collective)) {
      const select = pick("root", "root", [], String(schedule.root));
      this.puts["root"] = (value) => {
        const ranks = this.flow?.schedule.world_size ?? 1;
        select.replaceChildren(...range(ranks).map((rank) => h("option", { value: rank }, String(rank))));
        select.value = String(value);
      };
      this.puts["root"](schedule.root ?? 0);
    }
    const chunks = asked["chunks"];
    if (Array.isArray(chunks)) {
      const made = slider(
        "chunks",
        { min: Number(chunks[0]), max: Number(chunks[1]), step: 1, value: schedule.num_chunks, show: String },
        (value) => this.change(new URLSearchParams([["chunks", String(value)]])),
      );
      add("chunks", { node: made.node, put: (value) => made.put(Number(value)) });
    }
    const size = asked["nbytes"];
    if (Array.isArray(size)) {
      const made = slider(
        "size S",
        { min: Number(size[0]), max: Number(size[1]), step: 1, value: flow.nbytes, log: true, show: bytes },
        (value) => this.change(new URLSearchParams([["nbytes", String(value)]])),
      );
      add("nbytes", { node: made.node, put: (value) => made.put(Number(value)) });
    }
    const machines = Object.keys(flow.machines);
    if (asked["machine"] && machines.length > 1) pick("machine", "machine", machines.map((name) => [name, name]), flow.machine);
    this.controls.replaceChildren(...nodes);
    if (this.clockGroup) this.controls.append(this.clockGroup);
  }

  /** @param {Clock} clock */
  setClock(clock) {
    if (!this.flow || this.flow.clock === clock) return;
    this.pause();
    const share = this.stop / Math.max(this.stops.length - 1, 1);
    const exact = this.scene?.barrier;
    const stop = this.stop;
    this.flow = { ...this.flow, clock };
    this.remake();
    const target = exact && this.scene?.barrier ? stop : Math.round(share * (this.stops.length - 1));
    this.go(this.stops[target] ?? 0);
    this.speak();
  }

  /**
   * Other numbers from a control or from a link in the prose; the figure returns to its start.
   * @param {URLSearchParams} asked @returns {boolean} whether anything changed
   */
  change(asked) {
    if (!this.flow) return false;
    /** @param {...string} names @returns {number | undefined} */
    const number = (...names) => {
      const found = names.map((name) => asked.get(name)).find((value) => value !== null && value !== undefined);
      const value = found === undefined || found === null ? Number.NaN : Number(found);
      return Number.isFinite(value) ? value : undefined;
    };
    const algorithm = asked.get("algorithm") ?? undefined;
    const machine = asked.get("machine") ?? undefined;
    const wanted = {
      n: number("n"), root: number("root"), chunks: number("chunks", "k"), algorithm, machine,
      nbytes: number("nbytes", "S"),
    };
    const change = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    if (!Object.keys(change).length) return false;
    const next = rebuild(this.flow, change);
    if (!next) return false;
    this.pause();
    this.flow = next;
    const { schedule } = next;
    const now = { n: schedule.world_size, root: schedule.root ?? 0, chunks: schedule.num_chunks, algorithm: schedule.algorithm, machine: next.machine, nbytes: next.nbytes };
    for (const [name, value] of Object.entries(now)) this.puts[name]?.(value);
    this.remake();
    this.go(0);
    this.speak();
    return true;
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    this.change(state);
    const clock = state.get("clock");
    if (clock && this.flow && clocks(this.flow).includes(/** @type {Clock} */ (clock))) {
      this.setClock(/** @type {Clock} */ (clock));
    }
    if (this.locked) return;
    this.pause();
    const step = state.get("step");
    if (step === "end") this.go(this.total);
    else if (step !== null && Number.isFinite(Number(step))) this.go(this.timeOfStep(Number(step)));
    const cell = /^(\d+),(\d+)$/.exec(state.get("cell") ?? "");
    if (cell) this.watch_(Number(cell[1]), Number(cell[2]));
    this.speak();
    if (state.get("play") === "1") this.play();
  }

  /** @param {number} step 2.5 is half way through step 2 @returns {number} */
  timeOfStep(step) {
    if (!this.scene) return 0;
    if (this.scene.barrier) {
      const whole = Math.min(Math.max(Math.floor(step), 0), this.stops.length - 1);
      const here = this.stops[whole] ?? 0;
      const next = this.stops[whole + 1] ?? here;
      return here + (next - here) * (step - Math.floor(step));
    }
    const ends = this.scene.moves.filter((move) => move.step < step).map((move) => move.end);
    return Math.max(0, ...ends);
  }

  /** A new scene: everything is drawn afresh. */
  remake() {
    if (!this.flow) return;
    this.scene = makeScene(this.flow, this.flow.clock);
    if (this.clockGroup) chooseSegment(this.clockGroup, this.scene.clock);
    const first = this.scene.moves[0];
    this.watched = first ? [first.dst, first.chunk] : [0, 0];
    const { flow } = this;
    const measured = flow.label.startsWith("MEASURED");
    this.heading.replaceChildren(
      h("span", { class: `ar-badge${measured ? " ar-measured" : ""}` }, flow.label),
      h("strong", {}, flow.title),
      h("span", { class: "ar-sub" }, this.conditions()),
    );
    this.frameBox.setAttribute("aria-label", `${flow.title}. Keys: space plays, arrows step, Home and End.`);
    this.note.hidden = !flow.error;
    if (flow.error) this.note.replaceChildren(...this.errorNote(flow.error));
    this.room = 0;
    this.makeTables();
    this.draw();
  }

  /** @returns {string} */
  conditions() {
    if (!this.flow) return "";
    const machine = machineOf(this.flow);
    if (this.flow.records) return `S = ${bytes(this.flow.nbytes)} · ${this.flow.measured}`;
    return `S = ${bytes(this.flow.nbytes)} · machine “${this.flow.machine}”: α ${seconds(machine.alpha)}, ${rate(machine.bandwidth)} per direction`;
  }

  /** @param {{step: number | null, message: string}} error @returns {Node[]} */
  errorNote(error) {
    const nodes = [h("strong", {}, "Not a correct schedule. "), document.createTextNode(error.message)];
    const step = error.step;
    if (step === null) return nodes;
    const go = h("button", { type: "button", class: "ar-text-button" }, "Show that step");
    go.addEventListener("click", () => this.jump(this.timeOfStep(step + 1)));
    return [...nodes, document.createTextNode(" "), go];
  }

  resized() {
    this.draw();
  }

  draw() {
    const { scene } = this;
    if (!scene) return;
    const room = Math.floor(this.frameBox.clientWidth || this.clientWidth || 720);
    if (room !== this.room) {
      this.room = room;
      this.place = layout(scene, room);
      this.drawStill(scene, this.place);
    }
    if (this.place) this.drawMoment(scene, this.place);
  }

  /** What does not change while the figure plays. @param {Scene} scene @param {Layout} place */
  drawStill(scene, place) {
    const { schedule } = scene;
    const svg = s("svg", {
      class: "ar-svg", width: place.width, height: place.height,
      viewBox: `0 0 ${place.width} ${place.height}`, role: "img",
      "aria-label": `${scene.flow.title}: ${plural(schedule.steps.length, "step")}, ${plural(scene.messages.length, "message")}. The tables below say the same in words.`,
    });
    svg.append(
      s("defs", {}, s("pattern", { id: this.pattern, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 2, height: 5, class: "ar-hatch" }))),
    );
    const back = s("g");
    const front = s("g");
    const home = homes(schedule);
    for (const chunk of range(schedule.num_chunks)) {
      const center = (place.x[chunk] ?? 0) + (place.w[chunk] ?? 0) / 2;
      const narrow = (place.w[chunk] ?? 0) < 54;
      back.append(s("text", { x: center, y: 18, class: "ar-axis", "text-anchor": "middle" }, narrow ? (chunk === 0 ? "chunk 0" : String(chunk)) : `chunk ${chunk}`));
      if (!narrow || schedule.num_chunks === 1) {
        back.append(s("text", { x: center, y: 34, class: "ar-axis ar-faint", "text-anchor": "middle" }, elementsText(scene.elements[chunk])));
      }
    }
    this.cells = [];
    this.drawn = [];
    for (const rank of range(rows(schedule))) {
      const y = TOP + rank * PITCH;
      back.append(badge(rank, schedule.world_size, place.margins.badge, y + CELL / 2, place.margins === SLIM ? 13 : 15));
      if (rank < schedule.world_size) back.append(s("text", { x: place.margins.letter, y: y + CELL / 2 + 4.5, class: "ar-axis", "text-anchor": "middle" }, letter(rank)));
      /** @type {SVGGElement[]} */
      const row = [];
      for (const chunk of range(schedule.num_chunks)) {
        const cell = s("g", { class: "ar-cell-group", transform: `translate(${place.x[chunk]} ${y})` });
        cell.addEventListener("pointerenter", () => this.watch_(rank, chunk));
        cell.addEventListener("click", () => this.watch_(rank, chunk));
        row.push(cell);
        back.append(cell);
        if (home[chunk] === rank && (place.w[chunk] ?? 0) >= 34) {
          back.append(s("text", { x: (place.x[chunk] ?? 0) + 1, y: y - 5, class: "ar-axis ar-home" }, "home"));
        }
      }
      this.cells.push(row);
      this.drawn.push(range(schedule.num_chunks).map(() => undefined));
    }
    this.moving = s("g");
    this.hints = s("g", { class: "ar-hints" });
    this.cursor = s("g", { class: "ar-now" });
    this.fills = [];
    const lanes = this.drawLanes(scene, place);
    front.append(this.hints, this.moving);
    svg.append(back, lanes, front, this.cursor);
    this.frameBox.replaceChildren(svg);
    this.frameBox.classList.toggle("ar-scrolls", place.width > this.room + 1);
  }

  /** @param {Scene} scene @param {Layout} place @returns {SVGGElement} */
  drawLanes(scene, place) {
    const { schedule } = scene;
    const group = s("g", { class: "ar-lanes" });
    const count = rows(schedule);
    const scale = place.laneW / (scene.total || 1);
    const top = laneCenter(0, place) - 27;
    const bottom = laneCenter(count - 1, place) + 26;
    /** @param {number} at */
    const x = (at) => place.laneX + at * scale;
    if (scene.counted) {
      const every = Math.max(1, Math.ceil(26 / scale));
      for (const step of range(schedule.steps.length)) {
        group.append(s("line", { x1: x(step), x2: x(step), y1: top + 4, y2: bottom, class: "ar-rule" }));
        if (step % every === 0) group.append(s("text", { x: x(step + 0.5), y: top - 2, class: "ar-axis", "text-anchor": "middle" }, String(step)));
      }
      group.append(s("text", { x: place.laneX, y: top - 18, class: "ar-axis" }, "step"));
    } else {
      const { factor, unit } = timeUnit(scene.total);
      for (const mark of ticks(scene.total * factor, place.laneW / 64)) {
        const at = x(mark / factor);
        group.append(
          s("line", { x1: at, x2: at, y1: top + 4, y2: bottom, class: "ar-rule" }),
          s("text", { x: at, y: top - 2, class: "ar-axis", "text-anchor": at > place.laneX + place.laneW - 12 ? "end" : "middle" }, String(mark)),
        );
      }
      group.append(s("text", { x: place.laneX, y: top - 18, class: "ar-axis" }, `time in ${unit}, true to ${scene.clock === "measured" ? "the clock" : "cost"}`));
    }
    for (const rank of range(count)) {
      const y = laneCenter(rank, place);
      if (place.stacked) group.append(badge(rank, schedule.world_size, place.margins.badge, y, 11));
      group.append(
        s("rect", { x: place.laneX, y: y - 17, width: place.laneW, height: 18, rx: 3, class: "ar-track" }),
        s("rect", { x: place.laneX, y: y + 4, width: place.laneW, height: 14, rx: 3, class: "ar-track" }),
      );
    }
    const sides = { "ar-out": tracks(scene.messages, "src"), "ar-in": tracks(scene.messages, "dst") };
    for (const message of scene.messages) {
      const left = x(message.start);
      const width = Math.max((message.end - message.start) * scale - 1.5, 1);
      /** @param {number} lane @param {number} dy @param {number} tall @param {number} color @param {"ar-out" | "ar-in"} kind */
      const bar = (lane, dy, tall, color, kind) => {
        const { track, tracks: count_ } = sides[kind].get(message) ?? { track: 0, tracks: 1 };
        const height = tall / count_ - (count_ > 1 ? 0.5 : 0);
        const y = laneCenter(lane, place) + dy + (tall / count_) * track;
        const text = height < 13 ? "" : barText(message, kind, width, schedule);
        const radius = Math.min(3, width / 3);
        group.append(s("rect", { x: left, y, width, height, rx: radius, class: `ar-slot ${kind}` }));
        const at = { x: width / 2, y: height / 2 + 4, "text-anchor": "middle" };
        if (text) group.append(s("text", { ...at, x: left + at.x, y: y + at.y, class: "ar-bar-text" }, text));
        // a window over the finished bar that opens with time, so that its text is never half dark
        const fill = s("svg", { x: left, y, width: 0, height, class: "ar-window" });
        fill.append(s("rect", { width, height, rx: radius, fill: colorOf(color, schedule.world_size), class: `ar-fill ${kind}` }));
        if (text) fill.append(s("text", { ...at, class: "ar-bar-text ar-on", fill: inkOn(color, schedule.world_size) }, text));
        group.append(fill);
        this.fills.push({ window: fill, start: message.start, end: message.end, width });
      };
      bar(message.src, -17, 18, message.src, "ar-out");
      bar(message.dst, 4, 14, message.src, "ar-in");
    }
    const hit = s("rect", { x: place.laneX, y: top, width: place.laneW, height: bottom - top, class: "ar-hit" });
    /** @param {PointerEvent} event */
    const seek = (event) => {
      if (this.locked) return;
      const box = hit.getBoundingClientRect();
      this.pause();
      this.go(((event.clientX - box.left) / box.width) * this.total);
    };
    hit.addEventListener("pointerdown", (event) => {
      hit.setPointerCapture(event.pointerId);
      seek(event);
    });
    hit.addEventListener("pointermove", (event) => {
      if (hit.hasPointerCapture(event.pointerId)) seek(event);
    });
    hit.addEventListener("pointerup", () => this.speak());
    group.append(hit);
    return group;
  }

  /** What changes with time. @param {Scene} scene @param {Layout} place */
  drawMoment(scene, place) {
    const { schedule } = scene;
    const state = stateAt(scene, this.time);
    const over = this.time >= scene.total * (1 - 1e-9);
    const home = homes(schedule);
    const coming = travelling(scene, this.time);
    const targets = new Set(coming.map(({ move }) => `${move.dst},${move.chunk}`));
    this.cells.forEach((row, rank) => row.forEach((cell, chunk) => {
      const parts = state[rank]?.[chunk] ?? [];
      const kind = rank < schedule.world_size ? standing(schedule, parts, rank, chunk) : "free";
      const look = `${parts.join()}|${kind === "kept" || kind === "twice" || over ? kind : ""}|${targets.has(`${rank},${chunk}`)}|${this.watched[0] === rank && this.watched[1] === chunk}`;
      if (this.drawn[rank]?.[chunk] === look) return;
      const line = this.drawn[rank];
      if (line) line[chunk] = look;
      cell.replaceChildren(...this.cellNodes(scene, place, chunk, parts, {
        home: home[chunk] === rank,
        awaited: targets.has(`${rank},${chunk}`),
        watched: this.watched[0] === rank && this.watched[1] === chunk,
        kind: kind === "free" || (kind !== "kept" && kind !== "twice" && !over) ? "" : kind,
      }));
    }));
    this.moving.replaceChildren(...coming.map(({ move, progress }, index) => this.traveller(scene, place, move, progress, index)));
    const between = coming.length > 0;
    this.hints.replaceChildren(...(between || over ? [] : upcoming(scene, this.time).map((move) => arrow(place, move, schedule.world_size))));
    const x = place.laneX + (scene.total ? this.time / scene.total : 0) * place.laneW;
    const top = laneCenter(0, place) - 25;
    const bottom = laneCenter(rows(schedule) - 1, place) + 26;
    this.cursor.replaceChildren(
      s("line", { x1: x, x2: x, y1: top, y2: bottom }),
      s("path", { d: `M${x - 6} ${top - 1}h12l-6 8z` }),
    );
    for (const fill of this.fills) {
      const share = fill.end > fill.start ? (this.time - fill.start) / (fill.end - fill.start) : this.time >= fill.end ? 1 : 0;
      fill.window.setAttribute("width", String(Math.min(Math.max(share, 0), 1) * fill.width));
    }
    this.drawReads(scene);
    this.drawLens(scene, state);
    this.markRows(scene);
  }

  /**
   * @param {Scene} scene @param {Layout} place @param {number} chunk @param {Parts} parts
   * @param {{home?: boolean, awaited?: boolean, watched?: boolean, kind?: string}} look
   * @returns {SVGElement[]}
   */
  cellNodes(scene, place, chunk, parts, { home = false, awaited = false, watched = false, kind = "" }) {
    const width = place.w[chunk] ?? 0;
    const column = place.slots[chunk] ?? [];
    const ranks = scene.schedule.world_size;
    /** @type {SVGElement[]} */
    const nodes = [
      s("rect", { width, height: CELL, rx: 4, class: `ar-cell${home ? " ar-cell-home" : ""}${awaited ? " ar-awaited" : ""}${watched ? " ar-watched" : ""}` }),
    ];
    const inner = width - 4;
    const slot = column.length ? inner / column.length : inner;
    column.forEach((part, index) => {
      const count = parts[part] ?? 0;
      const x = 2 + index * slot;
      if (count > 0) nodes.push(this.tile(scene, place, x, slot, part, count, chunk, ranks));
      else if (kind === "missing") {
        nodes.push(s("rect", { x: x + 1, y: 3, width: slot - 2, height: CELL - 6, rx: 3, class: "ar-missing" }));
        if (place.letters) nodes.push(s("text", { x: x + slot / 2, y: CELL / 2 + 4, class: "ar-missing-text", "text-anchor": "middle" }, `${letter(part)}?`));
      }
    });
    const foreign = parts.flatMap((count, part) => (count > 0 && !column.includes(part) ? [part] : []));
    if (foreign.length) nodes.push(s("text", { x: width / 2, y: CELL / 2 + 4, class: "ar-missing-text", "text-anchor": "middle" }, partsText(parts)));
    if (!place.letters && holds(parts) && column.length > 1) {
      const held = parts.filter((count) => count > 0).length;
      nodes.push(s("text", { x: width / 2, y: CELL - 5, class: "ar-count", "text-anchor": "middle" }, `${held} of ${column.length}`));
    }
    if (kind === "kept") nodes.push(mark(width, "M-3.4 .2l2.4 2.6 4.6-5.4", "ar-kept"));
    if (kind === "twice" || kind === "missing" || kind === "wrong") nodes.push(mark(width, "M-3 -3l6 6M3 -3l-6 6", "ar-broken"));
    return nodes;
  }

  /**
   * @param {Scene} scene @param {Layout} place @param {number} x @param {number} slot
   * @param {number} part @param {number} count @param {number} chunk @param {number} ranks
   * @returns {SVGGElement}
   */
  tile(scene, place, x, slot, part, count, chunk, ranks) {
    const group = s("g", { transform: `translate(${x} 2)` });
    const height = place.letters ? CELL - 4 : CELL - 20;
    const width = slot - (slot > 12 ? 2 : 0.6);
    group.append(s("rect", { x: (slot - width) / 2, width, height, rx: Math.min(3, width / 3), fill: colorOf(part, ranks), class: "ar-tile" }));
    if (count > 1) group.append(s("rect", { x: (slot - width) / 2, width, height, rx: 3, fill: `url(#${this.pattern})` }));
    if (place.letters) {
      const lines = tileText(part, scene.elements[chunk], place);
      lines.forEach((text, index) => {
        group.append(s("text", { x: slot / 2, y: height / 2 + 4.5 + (index - (lines.length - 1) / 2) * 13, class: "ar-part", fill: inkOn(part, ranks), "text-anchor": "middle" }, text));
      });
    }
    if (count > 1) {
      group.append(
        s("rect", { x: slot / 2 - 12, y: -14, width: 24, height: 16, rx: 8, class: "ar-times" }),
        s("text", { x: slot / 2, y: -2, class: "ar-times-text", "text-anchor": "middle" }, `×${count}`),
      );
    }
    return group;
  }

  /**
   * @param {Scene} scene @param {Layout} place @param {Move} move @param {number} progress
   * @param {number} index @returns {SVGGElement}
   */
  traveller(scene, place, move, progress, index) {
    const p = ease(progress);
    const hop = Math.abs(move.dst - move.src) > 1;
    const sway = hop ? Math.sin(Math.PI * p) * (8 + 5 * (index % 3)) : 0;
    const y = TOP + (move.src + (move.dst - move.src) * p) * PITCH;
    const width = place.w[move.chunk] ?? 0;
    const ranks = scene.schedule.world_size;
    const group = s("g", { transform: `translate(${(place.x[move.chunk] ?? 0) + sway} ${y})`, class: "ar-traveller" });
    group.append(s("rect", { x: -3, y: -3, width: width + 6, height: CELL + 6, rx: 6, class: "ar-envelope", stroke: colorOf(move.src, ranks) }));
    group.append(...this.cellNodes(scene, place, move.chunk, move.carried, {}));
    group.append(
      s("circle", { cx: width + 3, cy: CELL / 2, r: 8.5, class: "ar-op" }),
      s("path", { d: move.op === "reduce" ? `M${width - 1} ${CELL / 2}h8m-4 -4v8` : `M${width - 1} ${CELL / 2 - 2}h8m-8 4h8`, class: "ar-op-sign" }),
    );
    return group;
  }

  /** @param {Scene} scene */
  drawReads(scene) {
    const read = readOuts(scene, this.time);
    /** @type {[string, string, string][]} */
    const entries = [
      [scene.counted ? "steps so far" : "time so far", read.time, scene.counted ? "" : `of ${seconds(scene.total)}`],
      ["busiest rank sent", read.sent, read.busiest],
      ["messages", read.messages, ""],
      ["chunks in place", read.kept, ""],
      [scene.clock === "measured" ? "measured in all" : "the whole run takes", read.whole, read.bound],
    ];
    if (this.reads.children.length !== entries.length) {
      this.reads.replaceChildren(...entries.map(() => h("div", {}, h("dt"), h("dd", {}, h("b"), h("small")))));
    }
    entries.forEach(([name, value, small], index) => {
      const box = this.reads.children[index];
      const put = (/** @type {string} */ selector, /** @type {string} */ text) => {
        const node = box?.querySelector(selector);
        if (node && node.textContent !== text) node.textContent = text;
      };
      put("dt", name);
      put("b", value);
      put("small", small);
    });
  }

  /** @param {number} rank @param {number} chunk */
  watch_(rank, chunk) {
    if (!this.scene || !this.cells[rank]?.[chunk]) return;
    this.watched = [rank, chunk];
    this.draw();
  }

  /** @param {Scene} scene @param {import("./engine.js").State} state */
  drawLens(scene, state) {
    const [rank, chunk] = this.watched;
    const text = vectorText(state[rank]?.[chunk] ?? [], scene.elements[chunk] ?? { start: 0, length: 0 }, 8);
    const key = `${rank},${chunk},${text}`;
    if (this.lens.dataset["key"] === key) return;
    this.lens.dataset["key"] = key;
    this.lens.replaceChildren(
      h("span", { class: "ar-lens-where" }, `${nameOf(scene.schedule, rank)}, chunk ${chunk}`),
      text === "nothing" ? " holds nothing yet" : h("code", {}, `[ ${text} ]`),
    );
  }

  makeTables() {
    const { scene } = this;
    if (!scene) return;
    const { schedule } = scene;
    const body = h("tbody");
    this.transferRows = [];
    for (const move of scene.moves.slice(0, TABLE_MOST)) {
      const row = h(
        "tr", {},
        h("td", {}, String(move.step)), h("td", {}, nameOf(schedule, move.src)), h("td", {}, nameOf(schedule, move.dst)),
        h("td", {}, String(move.chunk)), h("td", {}, move.op), h("td", {}, partsText(move.carried)),
        h("td", {}, scene.counted ? String(move.start) : seconds(move.start)), h("td", {}, scene.counted ? String(move.end) : seconds(move.end)),
      );
      this.transferRows.push(row);
      body.append(row);
    }
    const rest = scene.moves.length - TABLE_MOST;
    const head = ["step", "from", "to", "chunk", "op", "carries parts", "starts", "ends"];
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), body);
    this.stateTable = h("tbody");
    const columns = range(schedule.num_chunks).map((chunk) => h("th", { scope: "col" }, `chunk ${chunk}`));
    const held = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "holder"), ...columns)), this.stateTable);
    const open = [...this.tables.querySelectorAll("details")].map((one) => one.open);
    const transfers = h(
      "details", { open: open[0] ?? false }, h("summary", {}, `Transfers as a table (${scene.moves.length})`),
      h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "Table of transfers" }, table),
      rest > 0 ? h("p", {}, `${plural(rest, "more row is", "more rows are")} not shown.`) : null,
    );
    const now = h(
      "details", { open: open[1] ?? false }, h("summary", {}, "What every rank holds now, as a table"),
      h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "Table of what every rank holds" }, held),
    );
    now.addEventListener("toggle", () => this.markRows(scene));
    transfers.addEventListener("toggle", () => this.markRows(scene));
    this.tables.replaceChildren(transfers, now);
  }

  /** @param {Scene} scene */
  markRows(scene) {
    const [transfers, now] = this.tables.querySelectorAll("details");
    if (transfers?.open) {
      scene.moves.slice(0, TABLE_MOST).forEach((move, index) => {
        const row = this.transferRows[index];
        row?.classList.toggle("ar-done", arrived(scene, move, this.time));
      });
    }
    const key = `${this.stop}`;
    if (!now?.open || this.stateTable.dataset["key"] === key) return;
    this.stateTable.dataset["key"] = key;
    const state = stateAt(scene, this.time);
    this.stateTable.replaceChildren(
      ...range(rows(scene.schedule)).map((rank) =>
        h("tr", {}, h("th", { scope: "row" }, nameOf(scene.schedule, rank)), ...(state[rank] ?? []).map((parts, chunk) =>
          h("td", {}, vectorText(parts, scene.elements[chunk] ?? { start: 0, length: 0 }, 2)))),
      ),
    );
  }
}

/** @param {number} part @param {{start: number, length: number} | undefined} span @param {Layout} place @returns {string[]} */
function tileText(part, span, place) {
  const name = letter(part);
  if (!place.indices || !span || span.length === 0) return [name];
  const first = span.start;
  const last = span.start + span.length - 1;
  if (span.length === 1) return [`${name}${first}`];
  if (span.length === 2) return [`${name}${first}`, `${name}${last}`];
  return place.slot >= 44 ? [`${name}${first} …`, `… ${name}${last}`] : [name];
}

/** @param {{start: number, length: number} | undefined} span @returns {string} */
function elementsText(span) {
  if (!span || span.length === 0) return "empty";
  const last = span.start + span.length - 1;
  return span.length === 1 ? `[${last}]` : `[${span.start}${span.length === 2 ? ", " : " … "}${last}]`;
}

/** @param {Message} message @param {string} kind @param {number} width @param {Scene["schedule"]} schedule @returns {string} */
function barText(message, kind, width, schedule) {
  const out = kind === "ar-out";
  const peer = out ? message.dst : message.src;
  const name = peer < schedule.world_size ? String(peer) : `S${peer - schedule.world_size}`;
  const several = message.chunks.length > 1;
  if (width > 104 && schedule.num_chunks > 1) {
    const what = several ? `${message.chunks.length} chunks` : `chunk ${message.chunks[0]}`;
    return out ? `${what} to ${name}` : `${what} from ${name}`;
  }
  if (width > 52) return out ? `to ${name}` : `from ${name}`;
  if (width > 22) return out ? `→${name}` : `${name}→`;
  return "";
}

/** @param {number} width @param {string} d @param {string} kind @returns {SVGGElement} */
function mark(width, d, kind) {
  return s("g", { transform: `translate(${width - 1} ${CELL - 1})`, class: `ar-mark ${kind}` }, s("circle", { r: 7 }), s("path", { d }));
}

/** @param {number} rank @param {number} ranks @param {number} x @param {number} y @param {number} r @returns {SVGGElement} */
function badge(rank, ranks, x, y, r = 15) {
  const group = s("g", { transform: `translate(${x} ${y})` });
  group.append(
    rank < ranks
      ? s("circle", { r, fill: colorOf(rank, ranks), class: "ar-tile" })
      : s("rect", { x: -r, y: -r, width: 2 * r, height: 2 * r, rx: 4, fill: colorOf(rank, ranks), class: "ar-tile" }),
    s("text", { y: 4.5, class: "ar-rank", fill: inkOn(rank, ranks), "text-anchor": "middle" }, rank < ranks ? String(rank) : `S${rank - ranks}`),
  );
  return group;
}

/** @param {Layout} place @param {Move} move @param {number} ranks @returns {SVGGElement} */
function arrow(place, move, ranks) {
  const x = (place.x[move.chunk] ?? 0) + (place.w[move.chunk] ?? 0) + 2;
  const y0 = TOP + move.src * PITCH + CELL / 2;
  const y1 = TOP + move.dst * PITCH + CELL / 2;
  const far = x + Math.min(12 + 4 * Math.abs(move.dst - move.src), place.margins.gap);
  return s(
    "g", { style: `--ar-of: ${colorOf(move.src, ranks)}` },
    s("path", { d: `M${x} ${y0}C${far} ${y0} ${far} ${y1} ${x + 1} ${y1}`, class: "ar-arrow" }),
    s("path", { d: `M${x + 8} ${y1 - 5}l-7.5 5l7.5 5`, class: "ar-arrow" }),
  );
}
