// @ts-check
// Controls for the variants of a schedule: where rank r starts, a planted fault, the film backwards.

import { chooseSegment, segmented } from "./controls.js";
import { h } from "./dom.js";
import { BUGS } from "./variants.js";
import { say } from "./format.js";

/** @typedef {import("./scene.js").Flow} Flow */

/** @type {Record<string, string>} */
const BUG_NAMES = { twice: "one transfer twice", dropped: "one left out", swapped: "wrong owner" };

/**
 * @param {Flow} flow @param {(asked: URLSearchParams) => void} change called with the variants that were chosen
 * @param {() => string[]} now the variants that are shown
 * @returns {{nodes: Node[], put: (variants: string[]) => void}} `put` sets the controls without acting
 */
export function variantControls(flow, change, now) {
  const asked = flow.controls;
  /** @type {{legend: string, group: HTMLFieldSetElement, of: string[], none: string}[]} */
  const groups = [];
  /** @param {string} legend @param {string} none @param {[value: string, text: string][]} options */
  const group = (legend, none, options) => {
    const of = options.map(([value]) => value).filter((value) => value !== none);
    const made = segmented(legend, options, none, (value) => {
      const others = now().filter((name) => !of.includes(name));
      // a planted fault comes after what shapes the whole plan
      const chosen = [...others, ...(value === none ? [] : [value])].sort((a, b) => Number(BUGS.includes(a)) - Number(BUGS.includes(b)));
      change(new URLSearchParams([["variant", chosen.join(",") || "none"]]));
    });
    groups.push({ legend, group: made, of, none });
  };
  if (asked["reverse"]) group(say("Film"), "forward", [["forward", say("forwards")], ["reversed", say("backwards")]]);
  if (asked["start"]) group("Rank r starts with chunk", "r-1", [["r-1", "r − 1"], ["shifted", "r"]]);
  if (asked["bugs"]) {
    const offered = Array.isArray(asked["bugs"]) ? BUGS.filter((name) => /** @type {unknown[]} */ (asked["bugs"]).includes(name)) : BUGS;
    group("Plant a bug", "no-bug", [["no-bug", say("none")], ...offered.map((name) => /** @type {[string, string]} */ ([name, BUG_NAMES[name] ?? name]))]);
  }
  /** @param {string[]} variants */
  const put = (variants) => {
    for (const { group: made, of, none } of groups) chooseSegment(made, variants.find((name) => of.includes(name)) ?? none);
  };
  return { nodes: groups.map((each) => h("div", { class: "ar-control" }, h("span", { class: "ar-control-name", "aria-hidden": "true" }, each.legend), each.group)), put };
}

/** @param {string | null} text of a link or a control: "twice", "shifted,twice", "none" @returns {string[] | undefined} */
export function readVariants(text) {
  if (text === null) return undefined;
  return text === "none" ? [] : text.split(",").filter(Boolean);
}
