// @ts-check
// The line that stands before a figure whose prediction is still open.

import { h } from "./dom.js";

/**
 * @param {string} id of the quiz item that opens the figure
 * @param {() => void} skipped what follows once the reader has skipped
 * @returns {(Node | string)[]}
 */
export function makeGate(id, skipped) {
  const skip = h("button", { type: "button", class: "ar-text-button" }, "Skip the prediction");
  skip.addEventListener("click", () => {
    document.dispatchEvent(new CustomEvent("allranks:skip", { detail: id }));
    skipped();
  });
  return [
    h("span", {}, "Predict first: the figure moves once you have committed to an answer. "),
    h("a", { href: `#quiz-${id}` }, "Go to the question"),
    " ",
    skip,
  ];
}
