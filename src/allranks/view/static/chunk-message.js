// @ts-check
// <chunk-message>: one message between two ranks, and the share of the bandwidth that it reaches.

import { range } from "./algorithms/base.js";
import { slider } from "./controls.js";
import { h, s } from "./dom.js";
import { bytes, rate, say, significant, ticks, time as seconds, timeUnit } from "./format.js";
import { makeGate } from "./gate.js";
import { describe, halfSize, messageSeconds, packets, percent, share } from "./message.js";
import { recall } from "./memory.js";
import { ANSWERED } from "./player.js";
import { StillFigure } from "./still.js";

/** @typedef {import("./message.js").Message} Message */

const SENDER = 40;
const RECEIVER = 112;
const LINE = 210;
const TOP = 262;
const HEIGHT = 470;
const LEFT = 76;
const RIGHT = 20;

export class ChunkMessage extends StillFigure {
  constructor() {
    super();
    /** @type {Message | null} */
    this.message = null;
    /** @type {Message | null} */
    this.original = null;
    this.locked = false;
    this.gate = h("div", { class: "ar-gate", hidden: true });
    /** @type {Record<string, {put: (value: number) => void, input: HTMLInputElement}>} */
    this.sliders = {};
    this.onAnswered = () => this.checkGate();
  }

  connectedCallback() {
    document.addEventListener(ANSWERED, this.onAnswered);
    super.connectedCallback();
  }

  disconnectedCallback() {
    document.removeEventListener(ANSWERED, this.onAnswered);
    super.disconnectedCallback();
  }

  /** @param {unknown} data */
  setUp(data) {
    this.message = /** @type {Message} */ (data);
    this.original = this.message;
    this.makeControls(this.message);
    this.checkGate();
  }

  parts() {
    return [this.gate, ...super.parts()];
  }

  /** @param {Message} message */
  makeControls(message) {
    /** @param {"alpha" | "bandwidth" | "nbytes"} name @param {string} text @param {(value: number) => string} show */
    const slide = (name, text, show) => {
      const asked = message.controls[name];
      if (!Array.isArray(asked)) return;
      const made = slider(text, { min: Number(asked[0]), max: Number(asked[1]), step: 1, value: message[name], log: true, show }, (value) => this.change({ [name]: value }));
      this.controls.append(made.node);
      this.sliders[name] = made;
    };
    slide("nbytes", "size S", (value) => bytes(Math.round(value)));
    slide("alpha", "α", seconds);
    slide("bandwidth", "bandwidth", rate);
    const reset = h("button", { type: "button", class: "ar-text-button" }, "Reset");
    reset.addEventListener("click", () => {
      if (this.original) this.change(this.original);
    });
    if (this.controls.hasChildNodes()) this.controls.append(reset);
  }

  /** The sliders open when the prediction has been made or skipped. */
  checkGate() {
    const id = this.getAttribute("predict");
    const asks = Boolean(id && document.getElementById(`quiz-${id}`));
    this.locked = asks && !recall(id ?? "");
    this.gate.hidden = !this.locked;
    this.classList.toggle("ar-locked", this.locked);
    for (const one of this.controls.querySelectorAll("input, button")) one.toggleAttribute("disabled", this.locked);
    if (this.locked && id && !this.gate.hasChildNodes()) this.gate.append(...makeGate(id, () => this.sliders["nbytes"]?.input.focus()));
  }

  /** @param {{alpha?: number | undefined, bandwidth?: number | undefined, nbytes?: number | undefined}} wanted */
  change(wanted) {
    if (!this.message) return;
    const { alpha, bandwidth, nbytes } = wanted;
    this.message = {
      ...this.message,
      alpha: alpha ?? this.message.alpha,
      bandwidth: bandwidth ?? this.message.bandwidth,
      nbytes: nbytes === undefined ? this.message.nbytes : Math.max(1, Math.round(nbytes)),
    };
    for (const [name, made] of Object.entries(this.sliders)) made.put(this.message[/** @type {"alpha"} */ (name)]);
    this.draw(true);
    this.speakSoon();
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    if (this.locked) return;
    /** @param {...string} names */
    const number = (...names) => {
      const text = names.map((name) => state.get(name)).find((each) => each !== null);
      const value = Number(text ?? Number.NaN);
      return Number.isFinite(value) && value > 0 ? value : undefined;
    };
    this.change({ alpha: number("alpha"), bandwidth: number("bandwidth"), nbytes: number("nbytes", "S") });
    this.speak();
  }

  speak() {
    if (this.message) this.say.textContent = describe(this.message);
  }

  /** @param {boolean} afresh */
  draw(afresh) {
    const { message } = this;
    if (!message) return;
    const room = this.measure(afresh);
    if (room === null) return;
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, message.label),
      h("strong", {}, message.title),
      h("span", { class: "ar-sub" }, `S = ${bytes(message.nbytes)} · α ${seconds(message.alpha)}, ${rate(message.bandwidth)} per direction`),
    );
    const svg = s("svg", { class: "ar-svg", width: room, height: HEIGHT, viewBox: `0 0 ${room} ${HEIGHT}`, role: "img", "aria-label": describe(message) });
    this.drawJourney(svg, message, room);
    this.drawReached(svg, message, room);
    this.frameBox.replaceChildren(svg);
    this.makeTable(message);
  }

  /** Sender above, receiver below, time to the right: a packet is a slanted band.
   *  @param {SVGSVGElement} svg @param {Message} message @param {number} room */
  drawJourney(svg, message, room) {
    const total = messageSeconds(message);
    const w = room - LEFT - RIGHT;
    /** @param {number} at seconds */
    const x = (at) => LEFT + (at / total) * w;
    const { factor, unit } = timeUnit(total);
    const bottom = RECEIVER + 24;
    for (const mark of ticks(total * factor, w / 90)) {
      const at = x(mark / factor);
      svg.append(
        s("line", { x1: at, x2: at, y1: SENDER - 14, y2: bottom, class: "ar-rule" }),
        s("text", { x: at, y: 14, class: "ar-axis", "text-anchor": at > LEFT + w - 14 ? "end" : "middle" }, significant(mark)),
      );
    }
    svg.append(s("text", { x: 0, y: 14, class: "ar-axis" }, `time, ${unit}`));
    for (const [name, y] of /** @type {[string, number][]} */ ([[say("sender"), SENDER], [say("receiver"), RECEIVER]])) {
      svg.append(s("line", { x1: LEFT, x2: LEFT + w, y1: y, y2: y, class: "ar-floor" }), s("text", { x: 0, y: y + 4, class: "ar-axis" }, name));
    }
    packets(message).forEach((packet, index) => {
      const [a, b] = [x(packet.leaves), x(packet.left)];
      const [c, d] = [x(packet.leaves + message.alpha), x(packet.left + message.alpha)];
      svg.append(s("path", { d: `M${a} ${SENDER}L${b} ${SENDER}L${d} ${RECEIVER}L${c} ${RECEIVER}Z`, class: `ar-packet${index % 2 ? " ar-second" : ""}` }));
    });
    this.brace(svg, x(0), x(message.alpha), bottom + 8, `α ${seconds(message.alpha)}`, "ar-of-alpha", room);
    this.brace(svg, x(message.alpha), x(total), bottom + 38, `bytes ${seconds(total - message.alpha)}`, "ar-of-bytes", room);
  }

  /** @param {SVGSVGElement} svg @param {number} from @param {number} to @param {number} y @param {string} text @param {string} kind @param {number} room */
  brace(svg, from, to, y, text, kind, room) {
    const width = Math.max(to - from, 1.5);
    const middle = Math.min(Math.max(from + width / 2, LEFT + 4), room - RIGHT - 4);
    const anchor = middle < LEFT + 70 ? "start" : middle > room - RIGHT - 70 ? "end" : "middle";
    svg.append(
      s("rect", { x: from, y, width, height: 6, rx: 2, class: kind }),
      s("text", { x: middle, y: y + 20, class: "ar-name", "text-anchor": anchor }, text),
    );
  }

  /** The share of the bandwidth against the size, on a logarithmic axis.
   *  @param {SVGSVGElement} svg @param {Message} message @param {number} room */
  drawReached(svg, message, room) {
    const w = room - LEFT - RIGHT;
    const bottom = HEIGHT - 46;
    /** @param {number} nbytes */
    const x = (nbytes) => LEFT + (Math.log10(Math.max(nbytes, 1)) / 9) * w;
    /** @param {number} part */
    const y = (part) => bottom - part * (bottom - TOP);
    svg.append(s("text", { x: 0, y: LINE + 24, class: "ar-name" }, room < 480 ? "share of the bandwidth reached" : "share of the bandwidth that a message of each size reaches"));
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(s("line", { x1: LEFT, x2: LEFT + w, y1: y(part), y2: y(part), class: "ar-rule" }), s("text", { x: LEFT - 8, y: y(part) + 4, class: "ar-axis", "text-anchor": "end" }, percent(part)));
    }
    for (const power of range(10)) {
      if (power % (room < 480 ? 3 : 1)) continue;
      svg.append(s("text", { x: x(10 ** power), y: bottom + 18, class: "ar-axis", "text-anchor": power === 9 ? "end" : "middle" }, bytes(10 ** power)));
    }
    svg.append(s("text", { x: LEFT + w, y: HEIGHT - 8, class: "ar-axis", "text-anchor": "end" }, "size of the message, on a log scale"));
    const line = range(181).map((index) => 10 ** (index / 20));
    svg.append(s("path", { d: line.map((size, index) => `${index ? "L" : "M"}${x(size).toFixed(1)} ${y(share(message, size)).toFixed(1)}`).join(""), class: "ar-curve" }));
    const half = halfSize(message);
    if (half >= 1 && half <= 1e9) {
      const right = x(half) > LEFT + w / 2;
      svg.append(
        s("line", { x1: x(half), x2: x(half), y1: y(0), y2: TOP - 4, class: "ar-drop" }),
        s("text", { x: x(half) + (right ? -6 : 6), y: TOP + 8, class: "ar-axis", "text-anchor": right ? "end" : "start" }, `n½ = ${bytes(half)}`),
      );
    }
    const here = { x: x(message.nbytes), y: y(share(message)) };
    svg.append(
      s("circle", { cx: here.x, cy: here.y, r: 6, class: "ar-best" }),
      s("text", { ...this.beside(here, share(message), LEFT + w), class: "ar-name ar-won" }, `${bytes(message.nbytes)}: ${percent(share(message))}`),
    );
  }

  /** Where the curve is not: above it on the left, below it on the right.
   *  @param {{x: number, y: number}} point @param {number} part @param {number} end @returns {{x: number, y: number, "text-anchor": string}} */
  beside(point, part, end) {
    if (part > 0.5) return { x: Math.min(point.x + 12, end - 110), y: point.y + 28, "text-anchor": "start" };
    const early = point.x < LEFT + 120;
    return { x: early ? Math.max(point.x, LEFT + 6) : point.x - 10, y: point.y - 12, "text-anchor": early ? "start" : "end" };
  }

  /** @param {Message} message */
  makeTable(message) {
    const open = this.table.querySelector("details")?.open ?? false;
    const sizes = [...new Set([...[0, 3, 5, 7, 9].map((power) => 10 ** power), Math.round(halfSize(message)), message.nbytes])].filter((size) => size >= 1).sort((a, b) => a - b);
    const body = sizes.map((size) => h("tr", { class: size === message.nbytes ? "ar-first" : null }, h("th", { scope: "row" }, `${bytes(size)}${size === message.nbytes ? " (chosen)" : ""}`), h("td", {}, seconds(messageSeconds(message, size))), h("td", {}, percent(share(message, size)))));
    const head = ["size", "time", "share of the bandwidth"].map((text) => h("th", { scope: "col" }, text));
    this.table.replaceChildren(h("details", { open }, h("summary", {}, "Sizes as a table"), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "Sizes" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)))));
  }
}
