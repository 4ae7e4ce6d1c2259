// @ts-check
// <chunk-trees>: the two trees of a double binary tree over one row of ranks, and what each sends.

import { slider } from "./controls.js";
import { colorOf, h, inkOn, s } from "./dom.js";
import { plural, significant } from "./format.js";
import { inner, innerTwice, members, parentsText, tellMember, tellTrees } from "./trees.js";
import { StillFigure } from "./still.js";

/** @typedef {import("./trees.js").Trees} Trees */
/** @typedef {import("./trees.js").Member} Member */

const LEVEL = 42;
const BARS = 74;
const LEFT = 12;

export class ChunkTrees extends StillFigure {
  constructor() {
    super();
    /** @type {Trees | null} */
    this.trees = null;
    /** @type {Member[]} */
    this.members = [];
    this.chosen = 0;
    this.detail = h("p", { class: "ar-detail" });
    /** @type {(value: number) => void} */
    this.put = () => {};
  }

  /** @param {unknown} data */
  setUp(data) {
    this.trees = /** @type {Trees} */ (data);
    const n = this.trees.controls["n"];
    if (Array.isArray(n)) {
      const made = slider("ranks n", { min: Number(n[0]), max: Number(n[1]), step: 1, value: this.trees.n, show: String }, (value) => this.change(value, null, 300));
      this.controls.append(made.node);
      this.put = made.put;
    }
  }

  parts() {
    return [this.frameBox, this.detail, this.say];
  }

  /** @param {number} n @param {number | null} rank @param {number} [delay] */
  change(n, rank, delay = 0) {
    if (!this.trees) return;
    this.trees = { ...this.trees, n: Math.min(Math.max(Math.round(n), 2), 32) };
    this.chosen = Math.min(Math.max(Math.round(rank ?? this.chosen), 0), this.trees.n - 1);
    this.put(this.trees.n);
    this.draw(true);
    this.speakSoon(delay);
  }

  /** @param {URLSearchParams} state */
  apply(state) {
    const n = Number(state.get("n") ?? this.trees?.n);
    const rank = state.get("rank");
    this.change(Number.isFinite(n) ? n : 2, rank === null || !Number.isFinite(Number(rank)) ? null : Number(rank));
  }

  speak() {
    this.say.textContent = tellTrees(this.members);
  }

  /** @param {boolean} afresh */
  draw(afresh) {
    const { trees } = this;
    if (!trees) return;
    const room = this.measure(afresh);
    if (room === null) return;
    this.members = members(trees.n);
    this.heading.replaceChildren(
      h("span", { class: "ar-badge" }, trees.label),
      h("strong", {}, trees.title),
      h("span", { class: "ar-sub" }, `${plural(trees.n, "rank")} · tree 0 above the row of ranks, tree 1 below it · each tree carries S/2`),
    );
    const { svg, width } = this.drawing(room);
    this.frameBox.replaceChildren(svg);
    this.frameBox.classList.toggle("ar-scrolls", width > room + 1);
    this.makeTable();
    this.tellChosen();
  }

  /** @param {number} room @returns {{svg: SVGSVGElement, width: number}} */
  drawing(room) {
    const all = this.members;
    const n = all.length;
    const each = Math.min(Math.max((room - 2 * LEFT) / n, 30), 104);
    const width = Math.max(LEFT * 2 + each * n, 280);
    const deepest = Math.max(...all.flatMap((member) => member.trees.map((place) => place.depth)));
    const row = 56 + deepest * LEVEL;
    const foot = row + 40 + deepest * LEVEL;
    const height = foot + BARS + 38;
    const twice = innerTwice(all);
    /** @param {number} rank */
    const x = (rank) => LEFT + each * (rank + 0.5);
    /** The root stands farthest from the row, a leaf beside it. @param {number} tree @param {number} rank */
    const y = (tree, rank) => {
      const place = all[rank]?.trees[tree === 0 ? 0 : 1];
      const away = (deepest - (place?.depth ?? 0)) * LEVEL;
      return tree === 0 ? row - away - 6 : row + away + 6;
    };
    const svg = s("svg", { class: "ar-svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${this.trees?.title ?? ""}. Ranks can be chosen with the arrow keys; the lists below have all parents.` });
    const shades = s("g", {});
    for (const { rank } of all) shades.append(s("rect", { x: x(rank) - each / 2, y: 20, width: each, height: height - 22, rx: 6, class: "ar-column", "data-column": rank }));
    svg.append(shades, s("text", { x: 2, y: 13, class: "ar-axis" }, "tree 0, first half of the vector"), s("text", { x: 2, y: foot, class: "ar-axis" }, "tree 1, second half of the vector"));
    for (const tree of [0, 1]) {
      for (const { rank, trees } of all) {
        const { parent } = trees[tree === 0 ? 0 : 1];
        if (parent < 0) continue;
        svg.append(s("line", { x1: x(rank), y1: y(tree, rank), x2: x(parent), y2: y(tree, parent), class: "ar-branch", "data-link": `${tree} ${rank} ${parent}` }));
      }
    }
    for (const { rank } of all) svg.append(s("line", { x1: x(rank), x2: x(rank), y1: y(0, rank), y2: y(1, rank), class: "ar-thread" }));
    const top = Math.max(...all.map((member) => member.bytes));
    const base = foot + BARS + 14;
    svg.append(s("text", { x: 2, y: foot + 20, class: "ar-axis" }, "sent by each rank, in S"));
    // the words lie above the ranks, and let the pointer through: each rank has its own sentence
    const words = s("g", { class: "ar-words", "aria-hidden": "true" });
    all.forEach((member) => {
      const { rank } = member;
      const roles = inner(member);
      const tall = (member.bytes / top) * (BARS - 38);
      const both = roles.every(Boolean);
      const group = s("g", { class: `ar-member${rank === this.chosen ? " ar-chosen" : ""}`, tabindex: rank === this.chosen ? 0 : -1, role: "button", "aria-pressed": String(rank === this.chosen), "aria-label": tellMember(member), "data-rank": rank });
      group.append(s("rect", { x: x(rank) - each / 2, y: 20, width: each, height: height - 22, class: "ar-touch" }));
      for (const tree of [0, 1]) {
        const r = Math.min(12.5, each / 2 - 2);
        const leaf = !roles[tree];
        group.append(s("circle", { cx: x(rank), cy: y(tree, rank), r, class: `ar-tile${leaf ? " ar-leaf" : ""}${both ? " ar-both" : ""}`, fill: leaf ? "var(--ar-card)" : colorOf(rank, n) }));
        words.append(
          s("text", { x: x(rank), y: y(tree, rank) + 4.5, class: "ar-rank ar-rank-small", fill: leaf ? "var(--ar-ink)" : inkOn(rank, n), "text-anchor": "middle" }, String(rank)),
        );
      }
      group.append(s("rect", { x: x(rank) - Math.min(each * 0.36, 16), y: base - tall, width: Math.min(each * 0.72, 32), height: tall, class: "ar-bytes", fill: colorOf(rank, n) }));
      words.append(
        s("text", { x: x(rank), y: base - tall - 5, class: "ar-count", "text-anchor": "middle" }, significant(member.bytes)),
        s("text", { x: x(rank), y: base + 15, class: "ar-axis", "text-anchor": "middle" }, String(rank)),
      );
      group.addEventListener("click", () => this.choose(rank));
      group.addEventListener("pointerenter", (event) => {
        if (event.pointerType === "mouse") this.choose(rank);
      });
      group.addEventListener("keydown", (event) => this.key(event));
      svg.append(group);
    });
    svg.append(words);
    svg.append(s("line", { x1: LEFT, x2: LEFT + each * n, y1: base + 0.5, y2: base + 0.5, class: "ar-floor" }));
    for (const rank of twice) svg.append(s("text", { x: x(rank) + 18, y: y(0, rank) - 12, class: "ar-twice" }, `rank ${rank}: inner in both`));
    this.light(svg);
    return { svg, width };
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.choose((this.chosen + by + this.members.length) % this.members.length, true);
  }

  /** @param {number} rank @param {boolean} [focus] */
  choose(rank, focus = false) {
    this.chosen = rank;
    for (const group of this.frameBox.querySelectorAll(".ar-member")) {
      const mine = group.getAttribute("data-rank") === String(rank);
      group.classList.toggle("ar-chosen", mine);
      group.setAttribute("tabindex", mine ? "0" : "-1");
      group.setAttribute("aria-pressed", String(mine));
      if (mine && focus) /** @type {SVGElement} */ (/** @type {unknown} */ (group)).focus();
    }
    this.light(this.frameBox);
    this.tellChosen();
  }

  /** The column and the links of the chosen rank stand out. @param {Element} within */
  light(within) {
    for (const shade of within.querySelectorAll(".ar-column")) shade.classList.toggle("ar-chosen", shade.getAttribute("data-column") === String(this.chosen));
    for (const line of within.querySelectorAll(".ar-branch")) {
      const [, child, parent] = (line.getAttribute("data-link") ?? "").split(" ");
      line.classList.toggle("ar-mine", child === String(this.chosen) || parent === String(this.chosen));
    }
  }

  tellChosen() {
    const member = this.members[this.chosen];
    this.detail.textContent = member ? tellMember(member) : "";
  }

  makeTable() {
    const open = this.table.querySelector("details")?.open ?? false;
    this.table.replaceChildren(
      h("details", { open }, h("summary", {}, "The trees as lists"), h("p", {}, parentsText(this.members, 0)), h("p", {}, parentsText(this.members, 1)), h("p", {}, `Sent by ranks 0 to ${this.members.length - 1}, in S: ${this.members.map((member) => significant(member.bytes)).join(", ")}.`)),
    );
  }
}
