// @ts-check
// <chunk-curve>: the time of a pipelined chain against its number of chunks, and its minimum.

import { slider } from "./controls.js";
import { describe, lastChunks, points } from "./curve.js";
import { h, s } from "./dom.js";
import { bytes, plural, rate, significant, ticks, time as seconds, timeUnit } from "./format.js";
import { bestChunks, chainSeconds } from "./price.js";
import { StillFigure } from "./still.js";

/** @typedef {import("./curve.js").Curve} Curve */

const HEIGHT = 300;
const MARGIN = { left: 58, right: 18, top: 26, bottom: 44 };

export class ChunkCurve extends StillFigure {
  constructor() {
    super();
    /** @type {Curve | null} */
    this.curve = null;
    /** @type {Curve | null} */
    this.original = null;
    /** @type {Record<string, (value: number) => void>} */
    this.puts = {};
  }

  /** @param {unknown} data */
  setUp(data) {
    this.curve = /** @type {Curve} */ (data);
    this.original = this.curve;
    this.makeControls(this.curve);
  }

  /** @param {Curve} curve */
  makeControls(curve) {
    const asked = curve.controls;
    /** @param {string} name @param {string} text @param {{min: number, max: number, step: number, value: number, log?: boolean, show: (value: number) => string}} scale */
    const slide = (name, text, scale) => {
      const made = slider(text, scale, (value) => this.change({ [name]: value }));
      this.controls.append(made.node);
      this.puts[name] = made.put;
    };
    const alpha = asked["alpha"];
    if (alpha) {
      const [low, high] = Array.isArray(alpha) ? alpha.map(Number) : [0.1e-6, 100e-6];
      slide("alpha", "α", { min: low ?? 0.1e-6, max: high ?? 100e-6, step: 1, value: curve.costs.alpha, log: true, show: seconds });
    }
    const n = asked["n"];
    if (Array.isArray(n)) slide("n", "ranks n", { min: Number(n[0]), max: Number(n[1]), step: 1, value: curve.n, show: String });
    const size = asked["nbytes"];
    if (Array.isArray(size)) slide("nbytes", "size S", { min: Number(size[0]), max: Number(size[1]), step: 1, value: curve.nbytes, log: true, show: bytes });
    const reset = h("button", { type: "button", class: "ar-text-button" }, "Reset");
    reset.addEventListener("click", () => {
      this.curve = this.original;
      if (!this.curve) return;
      this.puts["alpha"]?.(this.curve.costs.alpha);
      this.puts["n"]?.(this.curve.n);
      this.puts["nbytes"]?.(this.curve.nbytes);
      this.draw(true);
      this.speak();
    });
    if (this.controls.hasChildNodes()) this.controls.append(reset);
  }

  /** @param {{alpha?: number | undefined, n?: number | undefined, nbytes?: number | undefined}} wanted */
  change(wanted) {
    if (!this.curve) return;
    this.curve = {
      ...this.curve,
      n: wanted.n === undefined ? this.curve.n : Math.round(Math.max(wanted.n, 1)),
      nbytes: wanted.nbytes === undefined ? this.curve.nbytes : Math.round(Math.max(wanted.nbytes, 0)),
      costs: { ...this.curve.costs, alpha: wanted.alpha ?? this.curve.costs.alpha },
    };
    this.draw(true);
    this.speakSoon();
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    /** @param {...string} names */
    const number = (...names) => {
      const value = Number(names.map((name) => state.get(name)).find((text) => text !== null) ?? Number.NaN);
      return Number.isFinite(value) ? value : undefined;
    };
    const wanted = { alpha: number("alpha"), n: number("n"), nbytes: number("nbytes", "S") };
    for (const [name, value] of Object.entries(wanted)) if (value !== undefined) this.puts[name]?.(value);
    this.change(wanted);
    this.speak();
  }

  speak() {
    if (this.curve) this.say.textContent = describe(this.curve);
  }

  /** @param {boolean} afresh */
  draw(afresh) {
    const { curve } = this;
    if (!curve || !this.original) return;
    const room = this.measure(afresh);
    if (room === null) return;
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, curve.label),
      h("strong", {}, curve.title),
      h("span", { class: "ar-sub" }, `${plural(curve.n, "rank")} · S = ${bytes(curve.nbytes)} · α ${seconds(curve.costs.alpha)}, ${rate(curve.costs.bandwidth)} per direction`),
    );
    const line = points(curve);
    const best = bestChunks(curve.n, curve.nbytes, curve.costs);
    const least = chainSeconds(curve.collective, curve.n, curve.nbytes, best, curve.costs);
    const top = Math.max(...line.filter((point) => point.k <= best).map((point) => point.seconds), least * 3) * 1.08;
    const w = room - MARGIN.left - MARGIN.right;
    const hgt = HEIGHT - MARGIN.top - MARGIN.bottom;
    const decades = Math.log10(Math.max(lastChunks(curve), 2));
    /** @param {number} k */
    const x = (k) => MARGIN.left + (Math.log10(k) / decades) * w;
    /** @param {number} value */
    const y = (value) => MARGIN.top + hgt - (value / top) * hgt;
    const svg = s("svg", { class: "ar-svg", width: room, height: HEIGHT, viewBox: `0 0 ${room} ${HEIGHT}`, role: "img", "aria-label": describe(curve) });
    const { factor, unit } = timeUnit(top);
    for (const mark of ticks(top * factor, 5)) {
      svg.append(
        s("line", { x1: MARGIN.left, x2: MARGIN.left + w, y1: y(mark / factor), y2: y(mark / factor), class: "ar-rule" }),
        s("text", { x: MARGIN.left - 8, y: y(mark / factor) + 4, class: "ar-axis", "text-anchor": "end" }, significant(mark)),
      );
    }
    svg.append(s("text", { x: MARGIN.left - 44, y: 14, class: "ar-axis" }, `time in ${unit}`));
    for (let k = 1; k <= lastChunks(curve); k *= room < 480 ? 8 : 4) {
      svg.append(
        s("line", { x1: x(k), x2: x(k), y1: MARGIN.top + hgt, y2: MARGIN.top + hgt + 5, class: "ar-rule" }),
        s("text", { x: x(k), y: MARGIN.top + hgt + 19, class: "ar-axis", "text-anchor": "middle" }, String(k)),
      );
    }
    svg.append(s("text", { x: MARGIN.left + w, y: HEIGHT - 8, class: "ar-axis", "text-anchor": "end" }, "number of chunks k, on a log scale"));
    const clip = MARGIN.top;
    /** @param {{k: number, seconds: number}[]} all */
    const path = (all) => all.map((point, index) => `${index ? "L" : "M"}${x(point.k).toFixed(1)} ${Math.max(y(point.seconds), clip - 20).toFixed(1)}`).join("");
    const id = "ar-clip-" + (this.id || "curve");
    svg.append(s("clipPath", { id }, s("rect", { x: MARGIN.left - 6, y: clip - 2, width: w + 12, height: hgt + 8 })));
    const drawing = s("g", { "clip-path": `url(#${id})` });
    const old = this.original.costs.alpha !== curve.costs.alpha;
    if (old) {
      const before = { ...curve, costs: this.original.costs };
      drawing.append(s("path", { d: path(points(before)), class: "ar-curve ar-ghost" }));
    }
    drawing.append(s("path", { d: path(line), class: "ar-curve" }));
    svg.append(drawing);
    svg.append(
      s("line", { x1: x(best), x2: x(best), y1: y(least), y2: MARGIN.top + hgt, class: "ar-drop" }),
      s("circle", { cx: x(best), cy: y(least), r: 6, class: "ar-best" }),
      s("text", { x: Math.min(Math.max(x(best), MARGIN.left + 70), MARGIN.left + w - 80), y: Math.max(y(least) - 14, 14), class: "ar-name ar-won", "text-anchor": "middle" }, `k = ${best}: ${seconds(least)}`),
    );
    this.frameBox.replaceChildren(svg);
    this.makeTable(curve, best);
  }

  /** @param {Curve} curve @param {number} best */
  makeTable(curve, best) {
    const open = this.table.querySelector("details")?.open ?? false;
    const ks = [...new Set([1, 2, 4, 16, best, 64, 256, 1024])].filter((k) => k <= lastChunks(curve)).sort((a, b) => a - b);
    const body = ks.map((k) => h("tr", { class: k === best ? "ar-first" : null }, h("th", { scope: "row" }, `${k}${k === best ? " (best)" : ""}`), h("td", {}, String(curve.n > 1 ? curve.n - 2 + k : 0)), h("td", {}, seconds(chainSeconds(curve.collective, curve.n, curve.nbytes, k, curve.costs)))));
    const head = ["chunks k", "steps n − 2 + k", "time"].map((text) => h("th", { scope: "col" }, text));
    this.table.replaceChildren(h("details", { open }, h("summary", {}, "Points of the curve as a table"), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "Points of the curve" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)))));
  }
}
