// @ts-check
// The row of badges under a matrix: whose each chunk must be in the end, and where it is complete.

import { colorOf, inkOn, s } from "./dom.js";
import { list } from "./format.js";
import { mark } from "./marks.js";
import { ownership } from "./owners.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./owners.js").Kind} Kind */
/** @typedef {import("./owners.js").Ownership} Ownership */

/** @type {Record<Kind, (one: Ownership) => string>} */
const BADGE_WORDS = {
  waiting: () => "",
  kept: () => "complete",
  away: ({ at }) => `now on ${list(at.map(String))}`,
  astray: ({ at, owner }) => `on ${list(at.map(String))}, not ${owner}`,
};
const HALF = 9;

export class OwnerBadges {
  /** @param {Scene} scene @param {Layout} place */
  constructor(scene, place) {
    this.scene = scene;
    this.place = place;
    this.group = s("g", { class: "ar-owners" });
    this.drawn = "";
  }

  /** @param {number} time */
  update(time) {
    if (!this.place.footY) return;
    const all = ownership(this.scene, time);
    const key = all.map(({ kind, at }) => `${kind}${at.join()}`).join(" ");
    if (key === this.drawn) return;
    this.drawn = key;
    const { place } = this;
    const y = place.footY;
    this.group.replaceChildren(
      s("text", { x: place.margins.head - 9, y: y + 4, class: "ar-axis", "text-anchor": "end" }, "owner"),
      ...all.map((one) => this.badge(one, y)),
    );
  }

  /** @param {Ownership} one @param {number} y @returns {SVGGElement} */
  badge(one, y) {
    const { scene, place } = this;
    const column = scene.columnOf[one.chunk] ?? 0;
    const width = place.w[column] ?? 0;
    const center = (place.x[column] ?? 0) + width / 2;
    const space = width + place.margins.gap;
    const broken = one.kind === "astray";
    const settled = broken || one.kind === "kept";
    const group = s("g", { transform: `translate(${center} ${y})`, class: `ar-owner ar-owner-${one.kind}` });
    // a column too narrow for its number says only whether all is well; the sentence says the rest
    if (space < 2 * HALF + 4) {
      if (settled) group.append(mark(0, 0, Math.min(5, space / 2), broken ? "broken" : "kept"));
      return group;
    }
    const text = BADGE_WORDS[one.kind](one);
    const room = text.length * 6.9 + 2 * HALF + 16;
    const words = room <= space - 4 ? text : "";
    const wide = words ? room : 2 * HALF + 4;
    const disc = words ? HALF + 2 - wide / 2 : 0;
    const ranks = scene.schedule.world_size;
    group.append(
      s("rect", { x: -wide / 2, y: -HALF - 2, width: wide, height: 2 * HALF + 4, rx: HALF + 2, class: "ar-owner-pill" }),
      s("circle", { cx: disc, r: HALF, fill: colorOf(one.owner, ranks), class: "ar-tile" }),
      s("text", { x: disc, y: 4, class: "ar-rank ar-rank-small", fill: inkOn(one.owner, ranks), "text-anchor": "middle" }, String(one.owner)),
    );
    if (words) group.append(s("text", { x: disc + HALF + 6, y: 4, class: "ar-owner-words" }, words));
    else if (settled) group.append(mark(HALF, HALF - 2, 5, broken ? "broken" : "kept"));
    return group;
  }
}
