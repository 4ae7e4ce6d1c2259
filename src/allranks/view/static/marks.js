// @ts-check
// The small signs that the matrix and the lanes share.

import { colorOf, inkOn, s } from "./dom.js";

/**
 * A rank is a disc, a switch a square; where rows are low, only the number stands.
 * @param {number} endpoint @param {number} ranks @param {number} x @param {number} y @param {number} r
 * @returns {SVGGElement}
 */
export function badge(endpoint, ranks, x, y, r) {
  const name = endpoint < ranks ? String(endpoint) : `S${endpoint - ranks}`;
  const group = s("g", { transform: `translate(${x} ${y})` });
  if (r < 9) {
    group.append(s("text", { y: 4, class: "ar-axis", "text-anchor": "middle" }, name));
    return group;
  }
  group.append(
    endpoint < ranks
      ? s("circle", { r, fill: colorOf(endpoint, ranks), class: "ar-tile" })
      : s("rect", { x: -r, y: -r, width: 2 * r, height: 2 * r, rx: 4, fill: colorOf(endpoint, ranks), class: "ar-tile" }),
    s("text", { y: 4.5, class: r < 12 ? "ar-rank ar-rank-small" : "ar-rank", fill: inkOn(endpoint, ranks), "text-anchor": "middle" }, name),
  );
  return group;
}

/** @param {number} x @param {number} y @param {number} r @param {"kept" | "broken"} kind @returns {SVGGElement} a check or a cross */
export function mark(x, y, r, kind) {
  const d = kind === "kept" ? "M-3.4 .2l2.4 2.6 4.6-5.4" : "M-3 -3l6 6M3 -3l-6 6";
  return s("g", { transform: `translate(${x} ${y}) scale(${r / 7})`, class: `ar-mark ar-${kind}` }, s("circle", { r: 7 }), s("path", { d }));
}
