// @ts-check
// <chunk-plane>: every all-reduce as a point, by the alphas it pays and the bytes, and the lines of
// equal time of a machine and a size.

import { picker, slider } from "./controls.js";
import { h, s, uniqueId } from "./dom.js";
import { bytes, plural, rate, significant, time as seconds } from "./format.js";
import { bounds, isoTime, lasts, marks, MOST_RANKS, nameOf, points, result, tell, treeTrail, winners } from "./plane.js";
import { cost } from "./price.js";
import { readPlan } from "./read-plan.js";
import { StillFigure } from "./still.js";

/** @typedef {import("./plane.js").Plane} Plane */
/** @typedef {import("./plane.js").Point} Point */
/** @typedef {import("./plane.js").Mark} Mark */
/** @typedef {import("./price.js").Machine} Machine */
/** @typedef {import("./algorithms.js").Schedule} Schedule */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */

const HEIGHT = 440;
const MARGIN = { left: 54, right: 16, top: 30, bottom: 50 };
const OWN = "yours";

export class ChunkPlane extends StillFigure {
  constructor() {
    super();
    /** @type {Plane | null} */
    this.plane = null;
    /** @type {Plane | null} */
    this.original = null;
    /** @type {Point[]} */
    this.points = [];
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {Schedule | null} */
    this.own = null;
    this.chosen = "";
    this.detail = h("p", { class: "ar-detail" });
    this.paste = h("details");
    this.verdict = h("p", { class: "ar-verdict", role: "status" });
    /** @type {Record<string, (value: number | string) => void>} */
    this.puts = {};
    this.pending = 0;
  }

  /** @param {unknown} data */
  setUp(data) {
    this.plane = /** @type {Plane} */ (data);
    this.original = this.plane;
    this.makeControls(this.plane);
    this.makePaste();
  }

  parts() {
    return [this.frameBox, this.detail, this.say];
  }

  below() {
    return [this.paste, this.table];
  }

  /** @param {Plane} plane */
  makeControls(plane) {
    const asked = plane.controls;
    /** @param {string} name @param {string} text @param {{min: number, max: number, step: number, value: number, log: boolean, show: (value: number) => string}} scale */
    const slide = (name, text, scale) => {
      const made = slider(text, scale, (value) => this.later({ [name]: value }));
      this.controls.append(made.node);
      this.puts[name] = (value) => made.put(Number(value));
    };
    const n = asked["n"];
    if (Array.isArray(n)) slide("n", "ranks n", { min: Number(n[0]), max: Number(n[1]), step: 1, value: plane.n, log: true, show: (value) => significant(Math.round(value), 6) });
    const size = asked["nbytes"];
    if (Array.isArray(size)) slide("nbytes", "size S", { min: Number(size[0]), max: Number(size[1]), step: 1, value: plane.nbytes, log: true, show: (value) => bytes(Math.round(value)) });
    const machines = Object.keys(plane.machines);
    if (asked["machine"] && machines.length > 1) {
      const made = picker("machine", machines.map((name) => [name, name]), plane.machine, (value) => this.change({ machine: value }));
      this.controls.append(made.node);
      this.puts["machine"] = (value) => { made.select.value = String(value); };
    }
    const reset = h("button", { type: "button", class: "ar-text-button" }, "Reset");
    reset.addEventListener("click", () => {
      if (!this.original) return;
      this.chosen = "";
      const { n: ranks, nbytes, machine } = this.original;
      this.change({ n: ranks, nbytes, machine });
    });
    if (this.controls.hasChildNodes()) this.controls.append(reset);
  }

  makePaste() {
    const id = uniqueId("ar-paste");
    const box = h("textarea", { id, class: "ar-paste", rows: 5, spellcheck: false, placeholder: '{"format":"allranks.schedule/1","collective":"all_reduce", …}' });
    const place = h("button", { type: "button", class: "ar-small-button" }, "Check it and place it");
    const clear = h("button", { type: "button", class: "ar-text-button" }, "Take it away");
    place.addEventListener("click", () => {
      const reading = readPlan(box.value);
      if (reading.schedule) {
        this.own = reading.schedule;
        this.chosen = OWN;
        this.change({ n: reading.schedule.world_size });
      }
      this.verdict.textContent = reading.problem ?? `It keeps its promise on ${plural(this.own?.world_size ?? 0, "rank")}, and is on the plane as “${OWN}”.`;
      this.verdict.classList.toggle("ar-bad", reading.problem !== null);
    });
    clear.addEventListener("click", () => {
      this.own = null;
      this.verdict.textContent = "";
      if (this.chosen === OWN) this.chosen = "";
      this.change({});
    });
    this.paste.append(
      h("summary", {}, "Put your own schedule on the plane"),
      h("label", { for: id }, "JSON of an all_reduce, as allranks schedule --format json prints it"),
      box,
      h("div", { class: "ar-bar" }, place, clear),
      this.verdict,
    );
  }

  /** @param {{n?: number | undefined, nbytes?: number | undefined}} wanted once per frame is enough for a slider */
  later(wanted) {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.change(wanted, 300));
  }

  /** @param {{n?: number | undefined, nbytes?: number | undefined, machine?: string | undefined}} wanted @param {number} [delay] ms until it is spoken */
  change(wanted, delay = 0) {
    const { plane } = this;
    if (!plane) return;
    const machine = wanted.machine !== undefined && Object.hasOwn(plane.machines, wanted.machine) ? wanted.machine : plane.machine;
    const most = Math.min(plane.machines[machine]?.most ?? MOST_RANKS, MOST_RANKS);
    const n = Math.min(Math.max(Math.round(wanted.n ?? plane.n), 2), most);
    const nbytes = Math.min(Math.max(Math.round(wanted.nbytes ?? plane.nbytes), 1), 1e12);
    this.plane = { ...plane, n, nbytes, machine };
    for (const [name, value] of Object.entries({ n, nbytes, machine })) this.puts[name]?.(value);
    this.draw(true);
    this.speakSoon(delay);
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    /** @param {...string} names */
    const number = (...names) => {
      const value = Number(names.map((name) => state.get(name)).find((text) => text !== null) ?? Number.NaN);
      return Number.isFinite(value) ? value : undefined;
    };
    this.chosen = state.get("point") ?? "";
    this.change({ n: number("n"), nbytes: number("nbytes", "S"), machine: state.get("machine") ?? undefined });
  }

  speak() {
    const { plane } = this;
    if (!plane) return;
    this.say.textContent = result(plane, this.points);
  }

  /** @returns {Machine} */
  get costs() {
    const { plane } = this;
    const found = plane?.machines[plane.machine];
    if (!found) throw new Error("chunk-plane: its machine is not among its machines");
    return found;
  }

  /** The reader's own schedule, priced; it has a place for its own number of ranks only.
   *  @returns {Point[]} */
  ownPoint() {
    const { own, plane } = this;
    if (!own || !plane || own.world_size !== plane.n) return [];
    const paid = cost(own, plane.nbytes, this.costs);
    const plain = cost(own, 1, { ...this.costs, alpha: 0, bandwidth: 1, gamma: 0 });
    return [{ key: OWN, title: OWN, alphas: paid.latency_terms, bytes: plain.seconds, sent: Math.max(...plain.sent), seconds: paid.seconds, chunks: null, ideal: false }];
  }

  /** @param {boolean} afresh */
  draw(afresh) {
    const { plane } = this;
    if (!plane) return;
    const room = this.measure(afresh);
    if (room === null) return;
    const machine = this.costs;
    this.points = [...points(plane.n, plane.nbytes, machine), ...this.ownPoint()];
    this.marks = marks(this.points);
    if (!this.points.some((point) => point.key === this.chosen)) this.chosen = winners(this.points)[0]?.key ?? "";
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, plane.label),
      h("strong", {}, plane.title),
      h("span", { class: "ar-sub" }, `${plural(plane.n, "rank")} · S = ${bytes(plane.nbytes)} · machine “${plane.machine}”: α ${seconds(machine.alpha)}, ${rate(machine.bandwidth)} per direction, ${machine.in_flight === 1 ? "one message of a port at a time" : "all messages of a port at once"}`),
    );
    this.frameBox.replaceChildren(this.drawing(plane, machine, room));
    this.makeTable();
    this.tellChosen();
  }

  /** @param {Plane} plane @param {Machine} machine @param {number} room @returns {SVGSVGElement} */
  drawing(plane, machine, room) {
    const limit = bounds(plane.n, machine);
    /** @type {[number, number]} */
    const across = [0.7, Math.max(...this.points.map((point) => point.alphas), 4) * 2.2];
    /** @type {[number, number]} */
    const up = [0.55, Math.max(...this.points.map((point) => point.bytes), 4) * 2.2];
    const w = room - MARGIN.left - MARGIN.right;
    const hgt = HEIGHT - MARGIN.top - MARGIN.bottom;
    /** @param {number} alphas */
    const x = (alphas) => MARGIN.left + (Math.log(alphas / across[0]) / Math.log(across[1] / across[0])) * w;
    /** @param {number} value */
    const y = (value) => MARGIN.top + hgt - (Math.log(value / up[0]) / Math.log(up[1] / up[0])) * hgt;
    const bottom = MARGIN.top + hgt;
    const svg = s("svg", { class: "ar-svg", width: room, height: HEIGHT, viewBox: `0 0 ${room} ${HEIGHT}`, role: "group", "aria-label": `${plane.title}. Points can be chosen with the arrow keys; the table below has all their numbers.` });
    const hatch = uniqueId("ar-hatching");
    svg.append(s("defs", {}, s("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("line", { x1: 0, x2: 0, y1: 0, y2: 7, class: "ar-hatching" }))));
    for (const mark of decades(up)) {
      svg.append(
        s("line", { x1: MARGIN.left, x2: MARGIN.left + w, y1: y(mark), y2: y(mark), class: "ar-rule" }),
        s("text", { x: MARGIN.left - 7, y: y(mark) + 4, class: "ar-axis", "text-anchor": "end" }, `${short(mark)} S`),
      );
    }
    for (const mark of decades(across)) {
      svg.append(
        s("line", { x1: x(mark), x2: x(mark), y1: MARGIN.top, y2: bottom, class: "ar-rule" }),
        s("text", { x: x(mark), y: bottom + 17, class: "ar-axis", "text-anchor": "middle" }, short(mark)),
      );
    }
    svg.append(
      s("text", { x: 4, y: 14, class: "ar-axis" }, "bytes, one after another"),
      s("text", { x: MARGIN.left + w, y: HEIGHT - 10, class: "ar-axis", "text-anchor": "end" }, "α paid, one after another"),
    );
    // below the bounds: nobody can be there
    const edge = { x: x(limit.alphas), y: y(limit.bytes) };
    const area = `M${MARGIN.left} ${MARGIN.top}H${edge.x.toFixed(1)}V${edge.y.toFixed(1)}H${MARGIN.left + w}V${bottom}H${MARGIN.left}Z`;
    svg.append(
      s("path", { d: area, class: "ar-forbidden" }),
      s("path", { d: area, fill: `url(#${hatch})` }),
      s("path", { d: `M${edge.x.toFixed(1)} ${MARGIN.top}V${edge.y.toFixed(1)}H${MARGIN.left + w}`, class: "ar-bound" }),
    );
    /** @type {Box[]} */
    const taken = [];
    const atFoot = y(up[0]) - 9;
    svg.append(s("text", { x: MARGIN.left + w - 6, y: atFoot, class: "ar-limit", "text-anchor": "end" }, `below ${significant(limit.bytes, 4)} S: no plan of sends and receives`));
    taken.push({ left: MARGIN.left + w - 270, right: MARGIN.left + w, top: atFoot - 12, bottom: atFoot + 4 });
    const tag = `less than ${plural(limit.alphas, "α", "α")}: no plan`;
    if (edge.x - MARGIN.left > 20) {
      const at = MARGIN.left + 15;
      svg.append(s("text", { x: 0, y: 0, transform: `translate(${at} ${(MARGIN.top + 10).toFixed(1)}) rotate(90)`, class: "ar-limit" }, tag));
    }
    // lines of equal time, the best one and slower ones
    const best = Math.min(...this.points.filter((point) => !point.ideal).map((point) => point.seconds));
    const clip = uniqueId("ar-clip");
    svg.append(s("clipPath", { id: clip }, s("rect", { x: MARGIN.left, y: MARGIN.top, width: w, height: hgt })));
    const lines = s("g", { "clip-path": `url(#${clip})` });
    const tags = s("g", {});
    const step = Math.max(...this.points.map((point) => point.seconds)) / best > 100 ? 10 : 3;
    for (const factor of [1, step, step ** 2]) {
      const line = isoTime(best * factor, plane.nbytes, machine, { x: across, y: up });
      if (line.length < 2) continue;
      const d = line.map((point, index) => `${index ? "L" : "M"}${x(point.alphas).toFixed(1)} ${y(point.bytes).toFixed(1)}`).join("");
      lines.append(s("path", { d, class: `ar-iso${factor === 1 ? " ar-best-iso" : ""}` }));
      const foot = line.at(-1);
      if (!foot) continue;
      const onFoot = foot.bytes < up[0] * 1.05;
      const px = Math.min(x(foot.alphas) + (onFoot ? 5 : -4), MARGIN.left + w - 4);
      const py = onFoot ? bottom - 26 : y(foot.bytes) - 6;
      const anchor = onFoot && px < MARGIN.left + w - 70 ? "start" : "end";
      const label = s("text", { x: px, y: py, class: `ar-iso-text${factor === 1 ? " ar-best-text" : ""}`, "text-anchor": anchor }, seconds(best * factor));
      const wide = textWidth(seconds(best * factor)) * 1.15;
      const box = anchor === "start" ? { left: px, right: px + wide, top: py - 12, bottom: py + 3 } : { left: px - wide, right: px, top: py - 12, bottom: py + 3 };
      if (taken.some((other) => meets(other, box))) continue;
      taken.push(box);
      tags.append(label);
    }
    const trail = treeTrail(plane.n).filter((point) => point.alphas <= across[1]);
    if (trail.length > 1) lines.append(s("path", { d: trail.map((point, index) => `${index ? "L" : "M"}${x(point.alphas).toFixed(1)} ${y(point.bytes).toFixed(1)}`).join(""), class: "ar-trail" }));
    svg.append(lines, tags);
    this.placeMarks(svg, taken, x, y, { left: MARGIN.left, right: MARGIN.left + w, top: MARGIN.top, bottom });
    return svg;
  }

  /**
   * Draws the points and finds room for their names beside them.
   * @param {SVGSVGElement} svg @param {Box[]} taken @param {(alphas: number) => number} x @param {(bytes: number) => number} y @param {Box} frame
   */
  placeMarks(svg, taken, x, y, frame) {
    const first = winners(this.points);
    const spots = this.marks.map((mark) => ({ mark, at: { x: x(mark.alphas), y: y(mark.bytes) } }));
    for (const { at } of spots) taken.push({ left: at.x - 8, right: at.x + 8, top: at.y - 8, bottom: at.y + 8 });
    const order = [...spots].sort((a, b) => Number(b.mark.points.some((point) => first.includes(point))) - Number(a.mark.points.some((point) => first.includes(point))));
    /** @type {Map<Mark, SVGElement[]>} */
    const names = new Map();
    for (const { mark, at } of order) {
      const won = mark.points.some((point) => first.includes(point));
      const words = mark.points.map((point) => (point.chunks === null ? point.title : `${point.title}, k = ${point.chunks}`)).join(", ");
      const text = won ? `${words} · first` : words;
      const wide = textWidth(text) * (won ? 1.07 : 1);
      // the last ones lie anywhere above or below, as far as the frame lets them
      const anywhere = Math.min(Math.max(at.x, frame.left + 4 + wide / 2), frame.right - wide / 2) - at.x;
      /** @type {[number, number, "start" | "end" | "middle"][]} */
      const tries = [[12, 4, "start"], [-12, 4, "end"], [0, -13, "middle"], [0, 22, "middle"], [10, -12, "start"], [10, 21, "start"], [-10, -12, "end"], [-10, 21, "end"], [12, 38, "start"], [-12, 38, "end"], [12, -28, "start"], [-12, -28, "end"], [12, 54, "start"], [-12, -44, "end"], [anywhere, -13, "middle"], [anywhere, 22, "middle"], [anywhere, -29, "middle"], [anywhere, 38, "middle"]];
      for (const [dx, dy, anchor] of tries) {
        const px = at.x + dx;
        const py = at.y + dy;
        const left = anchor === "start" ? px : anchor === "end" ? px - wide : px - wide / 2;
        const box = { left, right: left + wide, top: py - 12, bottom: py + 4 };
        if (box.left < frame.left + 2 || box.right > frame.right || box.top < frame.top - 12 || box.bottom > frame.bottom) continue;
        if (taken.some((other) => other.left !== at.x - 8 && meets(other, box))) continue;
        taken.push(box);
        const far = Math.abs(dy) > 24;
        names.set(mark, [
          ...(far ? [s("line", { x1: at.x, y1: at.y, x2: px, y2: py - (dy > 0 ? 10 : -4), class: "ar-leader" })] : []),
          s("text", { x: px, y: py, class: `ar-point-name${won ? " ar-won" : ""}`, "text-anchor": anchor }, text),
        ]);
        break;
      }
    }
    // the formula first, so that a schedule beside it stays in sight
    for (const { mark, at } of [...spots].sort((a, b) => Number(b.mark.points[0]?.ideal) - Number(a.mark.points[0]?.ideal))) {
      const lead = mark.points[0];
      if (!lead) continue;
      const mine = mark.points.some((point) => point.key === OWN);
      const chosen = mark.points.some((point) => point.key === this.chosen);
      const won = mark.points.some((point) => first.includes(point));
      const group = s("g", { class: `ar-point${won ? " ar-won" : ""}${chosen ? " ar-chosen" : ""}`, tabindex: chosen ? 0 : -1, role: "button", "aria-pressed": chosen ? "true" : "false", "aria-label": mark.points.map(tell).join(" "), "data-key": lead.key });
      if (chosen) group.append(s("circle", { cx: at.x, cy: at.y, r: 11, class: "ar-ring" }));
      group.append(shape(at.x, at.y, mine ? "square" : lead.ideal && mark.points.length === 1 ? "diamond" : "disc"), s("circle", { cx: at.x, cy: at.y, r: 16, class: "ar-touch" }));
      const choose = () => this.choose(lead.key);
      group.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "mouse") choose();
      });
      group.addEventListener("click", choose);
      group.addEventListener("keydown", (event) => this.key(event));
      svg.append(...(names.get(mark) ?? []), group);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = this.marks.findIndex((mark) => mark.points.some((point) => point.key === this.chosen));
    const next = this.marks[(at + by + this.marks.length) % this.marks.length]?.points[0];
    if (next) this.choose(next.key, true);
  }

  /** @param {string} key @param {boolean} [focus] */
  choose(key, focus = false) {
    this.chosen = key;
    for (const group of this.frameBox.querySelectorAll(".ar-point")) {
      const mine = this.marks.find((mark) => mark.points[0]?.key === group.getAttribute("data-key"))?.points.some((point) => point.key === key) ?? false;
      group.classList.toggle("ar-chosen", mine);
      group.setAttribute("tabindex", mine ? "0" : "-1");
      group.setAttribute("aria-pressed", String(mine));
      const ring = group.querySelector(".ar-ring");
      const touch = group.querySelector(".ar-touch");
      if (mine && !ring && touch) group.prepend(s("circle", { cx: touch.getAttribute("cx"), cy: touch.getAttribute("cy"), r: 11, class: "ar-ring" }));
      if (!mine) ring?.remove();
      if (mine && focus) /** @type {SVGElement} */ (/** @type {unknown} */ (group)).focus();
    }
    this.tellChosen();
  }

  tellChosen() {
    const mark = this.marks.find((one) => one.points.some((point) => point.key === this.chosen));
    this.detail.textContent = mark ? mark.points.map(tell).join(" ") : "";
  }

  makeTable() {
    const open = this.table.querySelector("details")?.open ?? false;
    const first = winners(this.points);
    const { plane } = this;
    if (!plane) return;
    const limit = bounds(plane.n, this.costs);
    const head = ["all-reduce", "α paid", "bytes, one after another", "out of the busiest rank", "time"].map((text) => h("th", { scope: "col" }, text));
    const body = [...this.points]
      .sort((a, b) => a.seconds - b.seconds)
      .map((point) =>
        h("tr", { class: first.includes(point) ? "ar-first" : null }, h("th", { scope: "row" }, `${nameOf(point)}${first.includes(point) ? " (first)" : ""}${point.ideal ? " (formula)" : ""}`), h("td", {}, significant(point.alphas, 7)), h("td", {}, `${significant(point.bytes, 4)} S`), h("td", {}, `${significant(point.sent, 4)} S`), h("td", {}, seconds(point.seconds))));
    body.push(h("tr", {}, h("th", { scope: "row" }, "the bounds"), h("td", {}, significant(limit.alphas)), h("td", {}, `${significant(limit.bytes, 4)} S`), h("td", {}, ""), h("td", {}, seconds(lasts(limit.alphas, limit.bytes, plane.nbytes, this.costs)))));
    this.table.replaceChildren(h("details", { open }, h("summary", {}, "The plane as a table"), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "The plane as a table" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)))));
  }
}

/** @param {[number, number]} ends @returns {number[]} marks of a log axis: 1, 2, 4, ... where it is short, else powers of ten */
function decades([low, high]) {
  const base = high / low > 600 ? 10 : 2;
  /** @type {number[]} */
  const found = [];
  for (let mark = 1; mark <= high; mark *= base) if (mark >= low) found.push(mark);
  return found;
}

/** @param {number} value @returns {string} */
function short(value) {
  return value >= 1e6 ? `${value / 1e6} M` : value >= 1e4 ? `${value / 1e3} k` : significant(value);
}

/** @param {string} text @returns {number} about as wide as it is drawn */
function textWidth(text) {
  return text.length * 6.7;
}

/** @param {Box} a @param {Box} b @returns {boolean} */
function meets(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** @param {number} x @param {number} y @param {"disc" | "diamond" | "square"} kind @returns {SVGElement} */
function shape(x, y, kind) {
  if (kind === "disc") return s("circle", { cx: x, cy: y, r: 6, class: "ar-dot" });
  if (kind === "square") return s("rect", { x: x - 6, y: y - 6, width: 12, height: 12, class: "ar-dot ar-own" });
  return s("path", { d: `M${x} ${y - 10}l10 10-10 10-10-10z`, class: "ar-dot ar-ideal" });
}
