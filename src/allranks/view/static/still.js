// @ts-check
// What every figure without a clock shares: its parts, its place on the page, and when it is drawn.

import { dataOf, h, whenParsed } from "./dom.js";

/**
 * A figure that shows one state, which controls and links change. Subclasses take the data and draw.
 * @abstract
 */
export class StillFigure extends HTMLElement {
  constructor() {
    super();
    this.upgraded = false;
    this.heading = h("p", { class: "ar-title" });
    this.controls = h("div", { class: "ar-controls" });
    this.frameBox = h("div", { class: "ar-frame" });
    this.say = h("p", { class: "ar-say", "aria-live": "polite", "aria-atomic": "true" });
    this.table = h("div");
    this.talk = 0;
    this.room = 0;
    /** @type {ResizeObserver | null} */
    this.resizer = null;
  }

  connectedCallback() {
    whenParsed(() => {
      if (!this.upgraded) this.upgrade();
      this.resizer = new ResizeObserver(() => this.draw(false));
      this.resizer.observe(this);
    });
  }

  disconnectedCallback() {
    this.resizer?.disconnect();
  }

  /** @param {unknown} [given] data from a kernel instead of the page */
  upgrade(given) {
    const data = given ?? dataOf(this);
    if (!data) return;
    this.upgraded = true;
    this.classList.add("ar-figure", "ar-live");
    this.querySelector(":scope > .ar-fallback")?.remove();
    this.setUp(data);
    const caption = this.querySelector(":scope > .ar-caption");
    const above = [h("div", { class: "ar-top" }, this.heading, this.controls), ...this.parts(), h("p", { class: "ar-back-place" })];
    for (const part of above) this.insertBefore(part, caption);
    this.append(...this.below());
    this.draw(true);
    this.speak();
  }

  /** @param {unknown} _data @abstract */
  setUp(_data) {}

  /** @returns {HTMLElement[]} what stands between the heading and the caption */
  parts() {
    return [this.frameBox, this.say];
  }

  /** @returns {HTMLElement[]} what stands below the caption */
  below() {
    return [this.table];
  }

  /** @param {boolean} _afresh even if the room is the same @abstract */
  draw(_afresh) {}

  /** @abstract */
  speak() {}

  /** A slider moves faster than a voice: says the state once the hand rests, without delay at once.
   *  @param {number} [delay] */
  speakSoon(delay = 300) {
    window.clearTimeout(this.talk);
    if (delay) this.talk = window.setTimeout(() => this.speak(), delay);
    else this.speak();
  }

  /** Measures the room. @param {boolean} afresh @returns {number | null} null: nothing has changed */
  measure(afresh) {
    const room = Math.max(Math.floor(this.frameBox.clientWidth || 720), 280);
    if (room === this.room && !afresh) return null;
    this.room = room;
    return room;
  }
}
