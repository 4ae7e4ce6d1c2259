// @ts-check
// The same figure as tables: the transfers, and what everybody holds now.

import { range } from "./algorithms/base.js";
import { h } from "./dom.js";
import { endpoints } from "./engine.js";
import { plural, say, time as seconds } from "./format.js";
import { arrived, stateAt } from "./scene.js";
import { nameOf, partsText, vectorText } from "./telling.js";

/** @typedef {import("./scene.js").Scene} Scene */

const MOST_ROWS = 1000;
const MOST_CHUNKS = 64;

export class FlowTables {
  constructor() {
    this.node = h("div", { class: "ar-tables" });
    /** @type {HTMLTableRowElement[]} */
    this.rows = [];
    this.held = h("tbody");
    /** @type {Scene | null} */
    this.scene = null;
    this.time = 0;
    /** @type {unknown} */
    this.shown = null;
  }

  /** @param {Scene} scene */
  make(scene) {
    this.scene = scene;
    this.shown = null;
    const open = [...this.node.querySelectorAll("details")].map((one) => one.open);
    const transfers = this.fold(`Transfers as a table (${scene.moves.length})`, "Table of transfers", this.transfers(scene), open[0]);
    const rest = scene.moves.length - MOST_ROWS;
    if (rest > 0) transfers.append(h("p", {}, `${plural(rest, "more row is", "more rows are")} not shown.`));
    const now = this.fold("What every rank holds now, as a table", "Table of what every rank holds", this.holders(scene), open[1]);
    const hidden = scene.schedule.num_chunks - MOST_CHUNKS;
    if (hidden > 0) now.append(h("p", {}, `${plural(hidden, "more chunk is", "more chunks are")} not shown.`));
    this.node.replaceChildren(transfers, now);
  }

  /** @param {string} title @param {string} name @param {HTMLTableElement} table @param {boolean | undefined} open @returns {HTMLDetailsElement} */
  fold(title, name, table, open) {
    const box = h("details", { open: open ?? false }, h("summary", {}, title), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": name }, table));
    box.addEventListener("toggle", () => this.update(this.time));
    return box;
  }

  /** @param {Scene} scene @returns {HTMLTableElement} */
  transfers(scene) {
    /** @param {number} at */
    const when = (at) => (scene.counted ? String(at) : seconds(at));
    this.rows = scene.moves.slice(0, MOST_ROWS).map((move) => {
      const from = nameOf(scene.schedule, move.src);
      const to = nameOf(scene.schedule, move.dst);
      const texts = [String(move.step), from, to, String(move.chunk), move.op, partsText(move.carried), when(move.start), when(move.end)];
      return h("tr", {}, ...texts.map((text) => h("td", {}, text)));
    });
    const head = [say("step"), say("from"), say("to"), say("chunk"), say("op"), say("carries parts"), say("starts"), say("ends")];
    return h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...this.rows));
  }

  /** @param {Scene} scene @returns {HTMLTableElement} */
  holders(scene) {
    this.held = h("tbody");
    const columns = range(Math.min(scene.schedule.num_chunks, MOST_CHUNKS)).map((chunk) => h("th", { scope: "col" }, `chunk ${chunk}`));
    return h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "holder"), ...columns)), this.held);
  }

  /** @param {number} time */
  update(time) {
    this.time = time;
    const { scene } = this;
    if (!scene) return;
    const [transfers, now] = this.node.querySelectorAll("details");
    if (transfers?.open) {
      this.rows.forEach((row, index) => {
        const move = scene.moves[index];
        if (move) row.classList.toggle("ar-done", arrived(scene, move, time));
      });
    }
    const state = now?.open ? stateAt(scene, time) : null;
    if (!state || state === this.shown) return;
    this.shown = state;
    this.held.replaceChildren(
      ...range(endpoints(scene.schedule)).map((endpoint) =>
        h("tr", {}, h("th", { scope: "row" }, nameOf(scene.schedule, endpoint)), ...(state[endpoint] ?? []).slice(0, MOST_CHUNKS).map((parts, chunk) =>
          h("td", {}, vectorText(parts, scene.elements[chunk] ?? { start: 0, length: 0 }, 2)))),
      ),
    );
  }
}
