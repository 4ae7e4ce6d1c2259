// @ts-check
// "Show me" links: a phrase of the prose, or a button in a quiz, sets the state of a figure.

import { reducedMotion } from "./dom.js";

/** @param {string} link "fig-ring?step=2&n=6" @returns {{id: string, state: URLSearchParams}} */
export function parseShow(link) {
  const [id = "", state = ""] = link.split(/\?(.*)/s);
  return { id: id.replace(/^#/, ""), state: new URLSearchParams(state) };
}

/**
 * Scrolls as little as shows the whole drawing: to its top, unless it is in view already. The card
 * around it can be taller than the window.
 * @param {Element} drawing
 */
function bring(drawing) {
  const { top, bottom } = drawing.getBoundingClientRect();
  const header = parseFloat(getComputedStyle(drawing).scrollMarginTop) || 0;
  if (top >= header && bottom <= window.innerHeight) return;
  drawing.scrollIntoView({ behavior: reducedMotion() ? "auto" : "smooth", block: "start" });
}

/** @param {Event} event */
export function onShow(event) {
  const source = event.target instanceof Element ? event.target.closest("[data-show]") : null;
  const link = source?.getAttribute("data-show");
  if (!source || !link) return;
  const { id, state } = parseShow(link);
  const figure = document.getElementById(id);
  if (!figure || !("apply" in figure) || typeof figure.apply !== "function") {
    source.setAttribute("aria-disabled", "true");
    source.setAttribute("title", "This figure is not on the page.");
    return;
  }
  event.preventDefault();
  bring(figure.querySelector(".ar-frame") ?? figure);
  figure.apply(state);
  figure.classList.add("ar-shown");
  window.setTimeout(() => figure.classList.remove("ar-shown"), 1200);
}
