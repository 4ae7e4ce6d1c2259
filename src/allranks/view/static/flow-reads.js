// @ts-check
// The numbers under a figure, and the vector of the cell that the reader points at.

import { h } from "./dom.js";
import { say, time as seconds } from "./format.js";
import { readOuts, stateAt } from "./scene.js";
import { countText, nameOf, vectorText } from "./telling.js";

/** @typedef {import("./scene.js").Scene} Scene */

/** @param {HTMLElement} list @param {Scene} scene @param {number} time */
export function drawReads(list, scene, time) {
  const read = readOuts(scene, time);
  /** @type {[string, string, string][]} */
  const entries = [
    [scene.counted ? "steps so far" : "time so far", read.time, scene.counted ? "" : `of ${seconds(scene.total)}`],
    ["busiest rank sent", read.sent, read.busiest],
    ...portEntries(scene, read),
    [say("messages"), read.messages, ""],
    ["chunks in place", read.kept, ""],
    [scene.flow.records ? "measured in all" : "the whole run takes", read.whole, read.bound],
  ];
  if (list.children.length !== entries.length) {
    list.replaceChildren(...entries.map(() => h("div", {}, h("dt"), h("dd", {}, h("b"), h("small")))));
  }
  entries.forEach((texts, index) => {
    ["dt", "b", "small"].forEach((selector, order) => {
      const node = list.children[index]?.querySelector(selector);
      if (node && node.textContent !== texts[order]) node.textContent = texts[order] ?? "";
    });
  });
}

/**
 * Where a switch adds, more than one kind of port counts.
 * @param {Scene} scene @param {ReturnType<typeof readOuts>} read @returns {[string, string, string][]}
 */
function portEntries(scene, read) {
  const count = scene.schedule.num_switches;
  if (!count) return [];
  const where = count === 1 ? "all its ports" : `${count} switches, all ports`;
  return [["busiest rank received", read.received, ""], ["the switch took in", read.switchIn, where], ["the switch sent", read.switchOut, where]];
}

/** @param {HTMLElement} lens @param {Scene} scene @param {number} time @param {[rank: number, column: number]} watched */
export function drawLens(lens, scene, time, [rank, index]) {
  const column = scene.columns[index];
  if (!column) return;
  const state = stateAt(scene, time);
  const held = column.chunks.filter((chunk) => (state[rank]?.[chunk] ?? []).some((count) => count > 0));
  const texts = held.slice(0, 3).map((chunk) => vectorText(state[rank]?.[chunk] ?? [], scene.elements[chunk] ?? { start: 0, length: 0 }, 4));
  const more = held.length > texts.length ? ` and ${held.length - texts.length} more` : "";
  const [only] = column.chunks;
  const count = column.chunks.length === 1 && only !== undefined ? countText(scene, rank, only, time) : "";
  const key = `${rank},${index},${texts.join("|")}${more}${count}`;
  if (lens.dataset["key"] === key) return;
  lens.dataset["key"] = key;
  lens.replaceChildren(
    h("span", { class: "ar-lens-where" }, `${nameOf(scene.schedule, rank)}, ${column.title}`),
    ...(texts.length ? texts.map((text) => h("code", {}, `[ ${text} ]`)) : [" holds nothing yet"]),
    more,
    count ? h("span", { class: "ar-lens-count" }, count) : "",
  );
}
