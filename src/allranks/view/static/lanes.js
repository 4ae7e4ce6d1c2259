// @ts-check
// The lanes of a figure: a bar for every message, out of its sender and into its receiver.

import { range } from "./algorithms/base.js";
import { colorOf, inkOn, s } from "./dom.js";
import { endpoints } from "./engine.js";
import { say, ticks, timeUnit } from "./format.js";
import { laneCenter, tracks } from "./layout.js";
import { badge } from "./marks.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Message} Message */
/** @typedef {{x: number, y: number, width: number, height: number, color: string, ink: string, text: string, message: Message}} Bar */

const MOST_BARS = 1200;
const LEAST_TEXT = 13;

export class Lanes {
  /**
   * @param {Scene} scene @param {Layout} place
   * @param {{seek: (share: number) => void, release: () => void}} hand called with 0 to 1 of the axis
   */
  constructor(scene, place, hand) {
    this.scene = scene;
    this.place = place;
    this.scale = place.laneW / (scene.span || 1);
    this.top = laneCenter(0, place) - place.lane.pitch / 2;
    this.bottom = laneCenter(endpoints(scene.schedule) - 1, place) + place.lane.pitch / 2;
    /** One window over all finished bars, where the axis is the clock; else one for each bar.
     *  @type {{window: SVGElement, start: number, end: number, width: number}[]} */
    this.windows = [];
    this.cursor = s("g", { class: "ar-now" });
    this.group = s("g", { class: "ar-lanes" });
    this.drawAxis();
    this.drawTracks();
    this.drawBars(this.bars());
    this.group.append(this.handle(hand));
  }

  /** @returns {boolean} whether a place on the axis is a time */
  get timed() {
    return !this.scene.inSteps || this.scene.counted;
  }

  drawAxis() {
    const { scene, place, group, top, bottom, scale } = this;
    /** @param {number} at @param {string} text @param {number} mid */
    const tick = (at, text, mid) => {
      const x = place.laneX + at * scale;
      group.append(s("line", { x1: x, x2: x, y1: top, y2: bottom, class: "ar-rule" }));
      if (!text) return;
      const beside = place.laneX + mid * scale;
      group.append(s("text", { x: beside, y: top - 6, class: "ar-axis", "text-anchor": beside > place.laneX + place.laneW - 12 ? "end" : "middle" }, text));
    };
    const head = { x: place.laneX, y: top - 22, class: "ar-axis" };
    for (const { from } of scene.phases.slice(1)) {
      const x = place.laneX + (scene.inSteps ? from : (scene.stops[from] ?? 0)) * scale;
      group.append(s("line", { x1: x, x2: x, y1: top - 2, y2: bottom, class: "ar-border" }));
    }
    if (scene.inSteps) {
      const every = Math.max(1, Math.ceil(26 / scale));
      for (const step of range(scene.span)) tick(step, step % every === 0 ? String(step) : "", step + 0.5);
      group.append(s("text", head, "step"));
      return;
    }
    const { factor, unit } = timeUnit(scene.total);
    for (const one of ticks(scene.total * factor, place.laneW / 64)) tick(one / factor, String(one), one / factor);
    group.append(s("text", head, `time in ${unit}, true to ${scene.clock === "measured" ? "the clock" : "cost"}`));
  }

  drawTracks() {
    const { scene, place, group } = this;
    const { out, into } = place.lane;
    for (const endpoint of range(endpoints(scene.schedule))) {
      const y = laneCenter(endpoint, place);
      if (place.stacked && endpoint % place.row.every === 0) {
        group.append(badge(endpoint, scene.schedule.world_size, place.margins.badge, y, Math.min(11, place.lane.pitch / 2 - 1)));
      }
      for (const { dy, height } of [out, into]) {
        group.append(s("rect", { x: place.laneX, y: y + dy, width: place.laneW, height, rx: Math.min(3, height / 3), class: "ar-track" }));
      }
    }
  }

  /** @returns {Bar[]} two for every message */
  bars() {
    const { scene, place, scale } = this;
    const ranks = scene.schedule.world_size;
    /** @type {Bar[]} */
    const found = [];
    for (const [side, end] of /** @type {const} */ ([["out", "src"], ["into", "dst"]])) {
      const lane = place.lane[side];
      const places = tracks(scene.messages, end);
      for (const message of scene.messages) {
        const { track, tracks: count } = places.get(message) ?? { track: 0, tracks: 1 };
        const width = Math.max((message.right - message.left) * scale - (scale > 4 ? 1.5 : 0.3), 1);
        const height = (lane.height / count) * (count > 1 ? 0.85 : 1);
        found.push({
          x: place.laneX + message.left * scale,
          y: laneCenter(message[end], place) + lane.dy + (lane.height / count) * track,
          width,
          height,
          color: colorOf(message.src, ranks),
          ink: inkOn(message.src, ranks),
          text: height < LEAST_TEXT ? "" : barText(message, side, width, scene.schedule),
          message,
        });
      }
    }
    return found;
  }

  /** @param {Bar[]} bars */
  drawBars(bars) {
    const { place, group, top } = this;
    const many = bars.length > MOST_BARS;
    group.append(...(many ? paths(bars, "ar-slot", false) : bars.flatMap((bar) => [box(bar, { class: "ar-slot" }), ...label(bar, "ar-bar-text", null)])));
    /** @param {Bar[]} some */
    const filled = (some) =>
      many ? paths(some, "ar-fill", true) : some.flatMap((bar) => [box(bar, { class: "ar-fill", fill: bar.color }), ...label(bar, "ar-bar-text ar-on", bar.ink)]);
    if (this.timed) {
      // a window over the finished picture that opens with time, so that no text is ever half dark
      const height = this.bottom - top;
      const window = s("svg", { x: place.laneX, y: top, width: 0, height, class: "ar-window" });
      window.append(s("g", { transform: `translate(${-place.laneX} ${-top})` }, ...filled(bars)));
      group.append(window);
      this.windows.push({ window, start: 0, end: this.scene.total, width: place.laneW });
      return;
    }
    for (const bar of bars) {
      const window = s("svg", { x: bar.x, y: bar.y, width: 0, height: bar.height, class: "ar-window" });
      window.append(s("g", { transform: `translate(${-bar.x} ${-bar.y})` }, ...filled([bar])));
      group.append(window);
      this.windows.push({ window, start: bar.message.start, end: bar.message.end, width: bar.width });
    }
  }

  /** @param {{seek: (share: number) => void, release: () => void}} hand @returns {SVGRectElement} */
  handle({ seek, release }) {
    const hit = s("rect", { x: this.place.laneX, y: this.top, width: this.place.laneW, height: this.bottom - this.top, class: "ar-hit" });
    /** @param {PointerEvent} event */
    const move = (event) => {
      const { left, width } = hit.getBoundingClientRect();
      seek((event.clientX - left) / width);
    };
    hit.addEventListener("pointerdown", (event) => {
      hit.setPointerCapture(event.pointerId);
      move(event);
    });
    hit.addEventListener("pointermove", (event) => {
      if (hit.hasPointerCapture(event.pointerId)) move(event);
    });
    hit.addEventListener("pointerup", release);
    return hit;
  }

  /** @param {number} time */
  update(time) {
    for (const { window, start, end, width } of this.windows) {
      const share = end > start ? (time - start) / (end - start) : time >= end ? 1 : 0;
      window.setAttribute("width", String(Math.min(Math.max(share, 0), 1) * width));
    }
    if (!this.timed) return;
    const x = this.place.laneX + (this.scene.total ? time / this.scene.total : 0) * this.place.laneW;
    this.cursor.replaceChildren(
      s("line", { x1: x, x2: x, y1: this.top, y2: this.bottom }),
      s("path", { d: `M${x - 6} ${this.top - 3}h12l-6 8z` }),
    );
  }
}

/** @param {Bar} bar @param {Record<string, string>} look @returns {SVGRectElement} */
function box({ x, y, width, height }, look) {
  const thin = height < 5 ? " ar-thin" : "";
  return s("rect", { x, y, width, height, rx: Math.min(3, width / 3, height / 3), ...look, class: `${look["class"]}${thin}` });
}

/** @param {Bar} bar @param {string} kind @param {string | null} fill @returns {SVGTextElement[]} */
function label({ x, y, width, height, text }, kind, fill) {
  return text ? [s("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle", class: kind, fill }, text)] : [];
}

/** One path per color: thousands of bars would be slow as nodes of their own.
 *  @param {Bar[]} bars @param {string} kind @param {boolean} colored @returns {SVGPathElement[]} */
function paths(bars, kind, colored) {
  /** @type {Map<string, string[]>} */
  const byColor = new Map();
  for (const { x, y, width, height, color } of bars) {
    const key = colored ? color : "";
    const d = `M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
    const known = byColor.get(key);
    if (known) known.push(d);
    else byColor.set(key, [d]);
  }
  const thin = bars.some((bar) => bar.height < 2) ? "ar-bare" : "ar-thin";
  return [...byColor].map(([fill, d]) => s("path", { d: d.join(""), class: `${kind} ${thin}`, fill: fill || null }));
}

/** @param {Message} message @param {"out" | "into"} side @param {number} width @param {Scene["schedule"]} schedule @returns {string} */
function barText(message, side, width, schedule) {
  const peer = side === "out" ? message.dst : message.src;
  const name = peer < schedule.world_size ? String(peer) : `S${peer - schedule.world_size}`;
  const brief = side === "out" ? say(`to ${name}`) : say(`from ${name}`);
  const count = new Set(message.chunks).size;
  const one = message.chunks.length > 1 ? say(`chunk ${message.chunks[0]} again`) : say(`chunk ${message.chunks[0]}`);
  const what = count > 1 ? say(`${count} chunks`) : one;
  const choices = schedule.num_chunks > 1 ? [`${what} ${brief}`, brief] : [brief];
  return choices.find((text) => text.length * 6.1 + 8 <= width) ?? "";
}
