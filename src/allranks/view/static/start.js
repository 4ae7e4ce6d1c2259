// @ts-check
// Defines the elements of a script once, however often it is loaded, and listens to links.

import { onShow, showAsked } from "./show.js";

/** @param {[string, CustomElementConstructor][]} elements those that the page may have */
export function start(elements) {
  if (elements.some(([name]) => customElements.get(name))) return;
  for (const [name, element] of elements) customElements.define(name, element);
  document.addEventListener("click", onShow);
  showAsked();
}
