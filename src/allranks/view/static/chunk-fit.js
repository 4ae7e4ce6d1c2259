// @ts-check
// <chunk-fit>: two models of a gain times one efficiency, against published points.

import { chooseSegment, segmented, slider } from "./controls.js";
import { range } from "./algorithms/base.js";
import { h, s } from "./dom.js";
import { say, significant } from "./format.js";
import { bestEfficiency, describe, machineOf, percent, ratio, residuals, rms, signed, spread, used } from "./fit.js";
import { StillFigure } from "./still.js";

/** @typedef {import("./fit.js").Fit} Fit */
/** @typedef {import("./fit.js").Model} Model */

const HEIGHT = 330;
const MARGIN = { left: 46, right: 16, top: 30, bottom: 44 };
const LOW = 0.5;
const HIGH = 1;
const TOP = 1.9;
const BOTTOM = 0.4;
const STEP = 0.005;

export class ChunkFit extends StillFigure {
  constructor() {
    super();
    /** @type {Fit | null} */
    this.fit = null;
    /** @type {Fit | null} */
    this.original = null;
    /** @type {(value: number) => void} */
    this.put = () => {};
    /** @type {HTMLFieldSetElement | null} */
    this.group = null;
    /** @type {HTMLButtonElement[]} */
    this.fits = [];
    this.marks = h("span", { class: "ar-fit-marks", "aria-hidden": "true" });
  }

  /** @param {unknown} data */
  setUp(data) {
    this.fit = /** @type {Fit} */ (data);
    this.original = this.fit;
    this.makeControls(this.fit);
  }

  /** @param {Fit} fit */
  makeControls(fit) {
    if (fit.machines.length > 1) {
      this.group = segmented("Machine", fit.machines.map(({ name }) => [name, name]), fit.machine, (value) => this.change({ machine: value }));
      this.controls.append(this.group);
    }
    const made = slider("efficiency e", { min: LOW, max: HIGH, step: STEP, value: fit.efficiency, show: (value) => value.toFixed(3) }, (value) => this.change({ efficiency: value }));
    this.put = made.put;
    made.node.append(this.marks);
    this.controls.append(made.node);
    this.fits = fit.models.map((model) => {
      const button = h("button", { type: "button", class: "ar-text-button" });
      button.addEventListener("click", () => {
        if (this.fit) this.change({ efficiency: bestEfficiency(model, machineOf(this.fit)) });
      });
      return button;
    });
    const reset = h("button", { type: "button", class: "ar-text-button" }, "Reset");
    reset.addEventListener("click", () => {
      if (this.original) this.change({ efficiency: this.original.efficiency, machine: this.original.machine });
    });
    this.controls.append(...this.fits, reset);
  }

  /** @param {{efficiency?: number | undefined, machine?: string | undefined}} wanted */
  change({ efficiency, machine }) {
    if (!this.fit) return;
    const known = this.fit.machines.some((one) => one.name === machine);
    this.fit = {
      ...this.fit,
      efficiency: Math.min(Math.max(efficiency ?? this.fit.efficiency, LOW), HIGH),
      machine: known && machine ? machine : this.fit.machine,
    };
    this.put(this.fit.efficiency);
    if (this.group) chooseSegment(this.group, this.fit.machine);
    this.draw(true);
    this.speakSoon();
  }

  /** `e` is a number, or the name of a model: its own best. @param {URLSearchParams} state */
  apply(state) {
    if (!this.fit) return;
    const machine = state.get("machine") ?? undefined;
    this.change({ machine });
    const asked = state.get("e");
    const model = this.fit.models.find((one) => one.name === asked);
    const value = model ? bestEfficiency(model, machineOf(this.fit)) : Number(asked ?? Number.NaN);
    if (Number.isFinite(value)) this.change({ efficiency: value });
    this.speak();
  }

  speak() {
    if (this.fit) this.say.textContent = describe(this.fit);
  }

  /** @param {boolean} afresh */
  draw(afresh) {
    const { fit } = this;
    if (!fit) return;
    const room = this.measure(afresh);
    if (room === null) return;
    const machine = machineOf(fit);
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, fit.label),
      h("strong", {}, fit.title),
      h("span", { class: "ar-sub" }, `${machine.machine}: ${machine.what}. Source: ${machine.source}, read ${machine.read}; ${machine.note}.`),
    );
    fit.models.forEach((model, index) => {
      this.fits[index]?.replaceChildren(`Least squares for ${model.title}: ${bestEfficiency(model, machine).toFixed(3)}`);
    });
    this.marks.replaceChildren(...fit.models.map((model, index) => {
      const mark = h("i", { class: `ar-model-${index}` });
      // the thumb is 18 wide, and its middle shows the value
      mark.style.left = `calc(9px + (100% - 18px) * ${(bestEfficiency(model, machine) - LOW) / (HIGH - LOW)})`;
      return mark;
    }));
    this.frameBox.replaceChildren(this.picture(fit, room));
    this.makeTable(fit);
  }

  /** @param {Fit} fit @param {number} room @returns {SVGSVGElement} */
  picture(fit, room) {
    const machine = machineOf(fit);
    const w = room - MARGIN.left - MARGIN.right;
    const hgt = HEIGHT - MARGIN.top - MARGIN.bottom;
    const [first, last] = fit.range;
    /** @param {number} n */
    const x = (n) => MARGIN.left + 14 + ((n - first) / (last - first)) * (w - 28);
    /** @param {number} value */
    const y = (value) => MARGIN.top + hgt - ((value - BOTTOM) / (TOP - BOTTOM)) * hgt;
    const svg = s("svg", { class: "ar-svg", width: room, height: HEIGHT, viewBox: `0 0 ${room} ${HEIGHT}`, role: "img", "aria-label": describe(fit) });
    svg.append(s("text", { x: 2, y: 14, class: "ar-axis" }, "gain over the ring, in busbw (all-reduce)"));
    for (const mark of range(7).map((index) => 0.6 + index * 0.2)) {
      svg.append(
        s("line", { x1: MARGIN.left, x2: MARGIN.left + w, y1: y(mark), y2: y(mark), class: "ar-rule" }),
        s("text", { x: MARGIN.left - 8, y: y(mark) + 4, class: "ar-axis", "text-anchor": "end" }, mark.toFixed(1)),
      );
    }
    svg.append(
      s("line", { x1: MARGIN.left, x2: MARGIN.left + w, y1: y(1), y2: y(1), class: "ar-tie" }),
      s("text", { x: MARGIN.left + w, y: y(1) + 15, class: "ar-axis", "text-anchor": "end" }, "1: as fast as the ring"),
    );
    for (const n of range(last - first + 1).map((index) => first + index)) {
      svg.append(s("text", { x: x(n), y: MARGIN.top + hgt + 19, class: "ar-axis", "text-anchor": "middle" }, String(n)));
    }
    svg.append(s("text", { x: MARGIN.left + w, y: HEIGHT - 6, class: "ar-axis", "text-anchor": "end" }, "number of GPUs n"));
    /** @param {Model} model @param {number} efficiency @returns {string} */
    const path = (model, efficiency) =>
      range(121).map((index) => {
        const n = first + ((last - first) * index) / 120;
        return `${index ? "L" : "M"}${x(n).toFixed(1)} ${y(efficiency * ratio(model, n)).toFixed(1)}`;
      }).join("");
    fit.models.forEach((model, index) => {
      svg.append(s("path", { d: path(model, fit.efficiency), class: `ar-curve ar-model-${index}` }));
    });
    for (const point of used(machine)) {
      fit.models.forEach((model, index) => {
        const shift = index ? 3 : -3;
        svg.append(s("line", { x1: x(point.n) + shift, x2: x(point.n) + shift, y1: y(point.gain), y2: y(fit.efficiency * ratio(model, point.n)), class: `ar-residual ar-model-${index}` }));
      });
    }
    for (const point of machine.points) {
      if (point.gain === null) {
        svg.append(s("rect", { x: x(point.n) - 5, y: y(point.free / point.ring) - 5, width: 10, height: 10, class: "ar-not-used" }));
      } else {
        svg.append(s("circle", { cx: x(point.n), cy: y(point.gain), r: 5.5, class: "ar-measured-point" }));
      }
    }
    svg.append(this.legend(fit, room));
    return svg;
  }

  /** Stands in the empty corner below the curves. @param {Fit} fit @param {number} room @returns {SVGGElement} */
  legend(fit, room) {
    const left = room - MARGIN.right - 172;
    const top = HEIGHT - MARGIN.bottom - 18 * (fit.models.length + 2) + 6;
    const group = s("g");
    fit.models.forEach((model, index) => {
      const at = top + 18 * index;
      group.append(
        s("line", { x1: left, x2: left + 26, y1: at, y2: at, class: `ar-curve ar-model-${index}` }),
        s("text", { x: left + 33, y: at + 4, class: "ar-key" }, `e · ${model.title}`),
      );
    });
    const at = top + 18 * fit.models.length;
    group.append(
      s("circle", { cx: left + 13, cy: at, r: 5.5, class: "ar-measured-point" }),
      s("text", { x: left + 33, y: at + 4, class: "ar-key" }, "published, NVLS"),
      s("rect", { x: left + 8, y: at + 13, width: 10, height: 10, class: "ar-not-used" }),
      s("text", { x: left + 33, y: at + 22, class: "ar-key" }, "published, Ring taken"),
    );
    return group;
  }

  /** What the picture shows, in words and numbers. @param {Fit} fit */
  makeTable(fit) {
    const machine = machineOf(fit);
    const rows = fit.models.map((model) => ({ model, now: residuals(model, machine, fit.efficiency), best: bestEfficiency(model, machine) }));
    const head = ["n", "published gain", ...rows.flatMap(({ model }) => [`e · ${model.title}`, "off by", "needs e ="])];
    const body = machine.points.map((point) => {
      const cells = rows.flatMap(({ model, now }) => {
        const row = now.find((one) => one.n === point.n);
        const predicted = significant(fit.efficiency * ratio(model, point.n), 4);
        return row ? [predicted, signed(row.off), row.needed.toFixed(3)] : [predicted, "–", "–"];
      });
      const gain = point.gain === null ? say(`${point.chosen} taken`) : significant(point.gain, 4);
      return h("tr", {}, h("th", { scope: "row" }, String(point.n)), ...[gain, ...cells].map((text) => h("td", {}, text)));
    });
    /** @param {string} title @param {string[]} cells */
    const sum = (title, cells) => h("tr", { class: "ar-sum" }, h("th", { scope: "row", colspan: 2 }, title), ...cells.map((text) => h("td", {}, text)));
    body.push(
      sum("root mean square", rows.flatMap(({ now }) => ["", percent(rms(now)), ""])),
      sum("least squares", rows.flatMap(({ model, best }) => [`e = ${best.toFixed(3)}`, percent(rms(residuals(model, machine, best))), say(`spread ${percent(spread(residuals(model, machine, best)))}`)])),
    );
    this.table.replaceChildren(h("div", { class: "ar-table ar-fit-table", tabindex: 0, role: "group", "aria-label": "Published gains and both models" }, h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...body))));
  }
}
