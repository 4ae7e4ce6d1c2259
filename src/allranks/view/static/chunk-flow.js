// @ts-check
// <chunk-flow>: one schedule, or one measured run, and the hand that moves it.

import { chooseSegment, segmented } from "./controls.js";
import { h, s, uniqueId } from "./dom.js";
import { flowControls } from "./flow-controls.js";
import { drawLens, drawReads } from "./flow-reads.js";
import { FlowTables } from "./flow-tables.js";
import { readVariants, variantControls } from "./flow-variants.js";
import { bytes, plural, rate, say, time as seconds } from "./format.js";
import { Lanes } from "./lanes.js";
import { layout } from "./layout.js";
import { Matrix } from "./matrix.js";
import { PhaseStrip } from "./phase-strip.js";
import { PlayerElement } from "./player.js";
import { rebuild } from "./rebuild.js";
import { CLOCK_NAMES, clocks, machineOf, makeScene, sameState, timeOfStep } from "./scene.js";
import { moment, sentence } from "./telling.js";

/** @typedef {import("./scene.js").Flow} Flow */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Clock} Clock */
/** @typedef {import("./layout.js").Layout} Layout */

const NOT_HERE = "There is no such schedule for these numbers, or it is too long for a page; the figure stays as it was.";

export class ChunkFlow extends PlayerElement {
  constructor() {
    super();
    /** @type {Flow | null} */
    this.flow = null;
    /** @type {Scene | null} */
    this.scene = null;
    this.room = 0;
    this.frameBox = h("div", { class: "ar-frame" });
    this.heading = h("p", { class: "ar-title" });
    this.controls = h("div", { class: "ar-controls" });
    this.reads = h("dl", { class: "ar-read" });
    this.lens = h("p", { class: "ar-lens" });
    this.note = h("p", { class: "ar-note", hidden: true });
    this.tables = new FlowTables();
    this.phases = new PhaseStrip((time) => this.jump(time));
    /** @type {[rank: number, column: number]} */
    this.watched = [0, 0];
    /** @type {Matrix | null} */
    this.matrix = null;
    /** @type {Lanes | null} */
    this.lanes = null;
    /** @type {HTMLFieldSetElement | null} */
    this.clockGroup = null;
    /** @type {import("./flow-controls.js").Puts} */
    this.puts = {};
    /** @type {(variants: string[]) => void} */
    this.putVariants = () => {};
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

  moment() {
    return this.scene ? moment(this.scene, this.time) : "";
  }

  /** @returns {string[]} sentences that the figure will say: the longest reserves the room for all */
  sentences() {
    const { scene } = this;
    if (!scene) return [];
    const every = Math.ceil(scene.stops.length / (scene.moves.length > 2000 ? 8 : 40));
    const some = scene.stops.filter((_, index) => index % every === 0 || index === scene.stops.length - 1);
    return some.flatMap((stop, index) => [sentence(scene, stop), sentence(scene, (stop + (some[index + 1] ?? stop)) / 2)]);
  }

  timeText() {
    const { scene } = this;
    if (!scene) return "";
    const between = this.time > (this.stops[this.stop] ?? 0) + scene.total * 1e-9;
    const done = scene.barrier ? `${this.stop} of ${plural(scene.schedule.steps.length, "step")} done` : "";
    return [done, scene.barrier && between ? `now in step ${this.stop}` : "", scene.counted ? "" : seconds(this.time)].filter(Boolean).join(", ");
  }

  /** @param {unknown} data */
  setUp(data) {
    this.flow = /** @type {Flow} */ (data);
    const { flow } = this;
    const caption = this.querySelector(":scope > .ar-caption");
    this.frameBox.tabIndex = 0;
    this.frameBox.setAttribute("role", "group");
    const able = clocks(flow);
    this.clockGroup = segmented(
      say("Axis"),
      able.map((clock) => [clock, CLOCK_NAMES[clock]]),
      able.includes(flow.clock) ? flow.clock : (able[0] ?? "steps"),
      (value) => this.setClock(/** @type {Clock} */ (value)),
    );
    const { nodes, puts } = flowControls(flow, (asked) => this.change(asked), () => this.flow?.schedule.world_size ?? 1);
    this.puts = puts;
    const varying = variantControls(flow, (asked) => this.change(asked), () => this.flow?.variants ?? []);
    this.putVariants = varying.put;
    this.controls.replaceChildren(...nodes, ...varying.nodes, this.clockGroup);
    const parts = [
      h("div", { class: "ar-top" }, this.heading, this.controls),
      this.note,
      this.frameBox,
      this.makeBar(),
      this.makeSay(),
      this.reads,
      this.lens,
      this.tables.node,
    ];
    for (const part of parts) this.insertBefore(part, caption);
    this.scrubPlace.prepend(this.phases.node);
    if (caption) this.insertBefore(caption, this.tables.node);
    this.remake();
  }

  /** Another axis keeps the state that is shown: exactly where both clocks know it. @param {Clock} clock */
  setClock(clock) {
    const before = this.scene;
    if (!this.flow || !before || this.flow.clock === clock) return;
    this.pause();
    const time = this.time;
    this.flow = { ...this.flow, clock };
    this.remake();
    if (this.scene) this.go(sameState(before, time, this.scene));
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
    const wanted = {
      n: number("n"), root: number("root"), chunks: number("chunks", "k"), nbytes: number("nbytes", "S"),
      node_size: number("node_size"), radix: number("radix"),
      variants: readVariants(asked.get("variant")),
      ...Object.fromEntries(["algorithm", "machine", "inner", "outer"].map((name) => [name, asked.get(name) ?? undefined])),
    };
    const change = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
    if (!Object.keys(change).length) return false;
    // the film turned round stays where it is: what has happened becomes what will
    const turned = Object.keys(change).join() === "variants" && isTurned(this.flow.variants) !== isTurned(wanted.variants);
    const left = this.total - this.time;
    const next = rebuild(this.flow, change);
    if (!next) {
      this.putControls(this.flow);
      if (!this.flow.records && !this.flow.priced) this.say.textContent = NOT_HERE;
      return false;
    }
    this.pause();
    this.flow = next;
    this.putControls(next);
    this.remake();
    this.go(turned && !this.locked ? left : 0);
    this.speak();
    return true;
  }

  /** @param {Flow} flow what the controls must show */
  putControls(flow) {
    const { schedule } = flow;
    const now = { ...flow.parameters, n: schedule.world_size, root: schedule.root ?? 0, chunks: schedule.num_chunks, algorithm: schedule.algorithm, machine: flow.machine, nbytes: flow.nbytes };
    for (const [name, value] of Object.entries(now)) this.puts[name]?.(String(value));
    this.putVariants(flow.variants ?? []);
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
    else if (this.scene && step !== null && Number.isFinite(Number(step))) this.go(timeOfStep(this.scene, Number(step)));
    const cell = /^(\d+),(\d+)$/.exec(state.get("cell") ?? "");
    if (cell) this.watchCell(Number(cell[1]), this.scene?.columnOf[Number(cell[2])] ?? -1);
    this.speak();
    if (state.get("play") === "1") this.play();
  }

  /** A new scene: everything is drawn afresh. */
  remake() {
    const { flow } = this;
    if (!flow) return;
    this.scene = makeScene(flow, flow.clock);
    const { scene } = this;
    if (this.clockGroup) chooseSegment(this.clockGroup, scene.clock);
    const first = scene.moves[0];
    this.watched = first ? [first.dst, scene.columnOf[first.chunk] ?? 0] : [0, 0];
    const measured = flow.label.startsWith("MEASURED");
    this.heading.replaceChildren(
      h("span", { class: `ar-badge${measured ? " ar-measured" : ""}` }, flow.label),
      h("strong", {}, flow.title),
      h("span", { class: "ar-sub" }, conditions(flow)),
    );
    this.frameBox.setAttribute("aria-label", `${flow.title}. Keys: space plays, arrows step, Home and End.`);
    this.note.hidden = !flow.error;
    if (flow.error) this.note.replaceChildren(...this.errorNote(flow.error));
    this.room = 0;
    this.tables.make(scene);
    this.phases.make(scene, this.scrub);
    this.draw();
    this.reserve();
  }

  /** @param {{step: number | null, message: string}} error @returns {Node[]} */
  errorNote({ step, message }) {
    const nodes = [h("strong", {}, "Not a correct schedule. "), document.createTextNode(message)];
    if (step === null) return nodes;
    const go = h("button", { type: "button", class: "ar-text-button" }, "Show that step");
    go.addEventListener("click", () => {
      if (this.scene) this.jump(timeOfStep(this.scene, step + 1));
    });
    return [...nodes, document.createTextNode(" "), go];
  }

  draw() {
    const { scene } = this;
    if (!scene) return;
    const room = Math.floor(this.frameBox.clientWidth || this.clientWidth || 720);
    if (room !== this.room) {
      this.room = room;
      this.drawStill(scene, layout(scene, room));
    }
    this.matrix?.update(this.time, this.watched);
    this.lanes?.update(this.time);
    this.phases.update(this.time, this.locked);
    drawReads(this.reads, scene, this.time);
    drawLens(this.lens, scene, this.time, this.watched);
    this.tables.update(this.time);
  }

  /** What does not change while the figure plays. @param {Scene} scene @param {Layout} place */
  drawStill(scene, place) {
    const counted = `${plural(scene.schedule.steps.length, "step")}, ${plural(scene.messages.length, "message")}`;
    const svg = s("svg", {
      class: "ar-svg", width: place.width, height: place.height,
      viewBox: `0 0 ${place.width} ${place.height}`, role: "img",
      "aria-label": `${scene.flow.title}: ${counted}. The tables below say the same in words.`,
    });
    svg.append(
      s("defs", {}, s("pattern", { id: this.pattern, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 2, height: 5, class: "ar-hatch" }))),
    );
    this.matrix = new Matrix(scene, place, this.pattern, (rank, column) => this.watchCell(rank, column));
    this.lanes = new Lanes(scene, place, { seek: (share) => this.seek(share), release: () => this.speak() });
    svg.append(this.matrix.back, this.lanes.group, this.matrix.front, this.lanes.cursor);
    this.frameBox.replaceChildren(svg);
    this.frameBox.classList.toggle("ar-scrolls", place.width > this.room + 1);
  }

  /** @param {number} share of the axis, 0 to 1 */
  seek(share) {
    const { scene } = this;
    if (this.locked || !scene) return;
    this.pause();
    this.go(this.lanes?.timed ? share * this.total : timeOfStep(scene, share * scene.span));
    this.speak();
  }

  /** @param {number} rank @param {number} column */
  watchCell(rank, column) {
    if (!this.scene?.columns[column] || !this.matrix?.cells[rank]) return;
    this.watched = [rank, column];
    this.draw();
  }
}

/** @param {string[] | undefined} variants @returns {boolean} whether they play the film backwards */
function isTurned(variants) {
  return (variants ?? []).includes("reversed");
}

/** @param {Flow} flow @returns {string} for what size and machine the times hold */
function conditions(flow) {
  if (flow.records) return `S = ${bytes(flow.nbytes)} · ${flow.measured}`;
  if (flow.priced) return `S = ${bytes(flow.nbytes)} · machine “${flow.machine}”${flow.priced.note ? `: ${flow.priced.note}` : ""}`;
  const machine = machineOf(flow);
  return `S = ${bytes(flow.nbytes)} · machine “${flow.machine}”: α ${seconds(machine.alpha)}, ${rate(machine.bandwidth)} per direction`;
}
