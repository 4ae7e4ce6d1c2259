// @ts-check
// "Show me" links: a phrase of the prose, or a button in a quiz, sets the state of a figure.

import { h, reducedMotion, whenParsed } from "./dom.js";

/** @param {string} link "fig-ring?step=2&n=6" @returns {{id: string, state: URLSearchParams}} */
export function parseShow(link) {
  const [id = "", state = ""] = link.split(/\?(.*)/s);
  return { id: id.replace(/^#/, ""), state: new URLSearchParams(state) };
}

/**
 * Scrolls as little as shows the drawing with its buttons and its sentence. The card around it can
 * be taller than the window; then the top of the drawing counts.
 * @param {Element} figure @returns {boolean} whether it had to scroll
 */
function bring(figure) {
  const drawing = figure.querySelector(".ar-frame") ?? figure;
  const last = figure.querySelector(".ar-say") ?? drawing;
  const header = parseFloat(getComputedStyle(drawing).scrollMarginTop) || 0;
  const { top } = drawing.getBoundingClientRect();
  const { bottom } = last.getBoundingClientRect();
  if (top >= header && bottom <= window.innerHeight) return false;
  const fits = figure.getBoundingClientRect().height <= window.innerHeight - header;
  (fits ? figure : drawing).scrollIntoView({ behavior: reducedMotion() ? "auto" : "smooth", block: "start" });
  return true;
}

/**
 * Offers the way back to the phrase that led here.
 * @param {Element} figure @param {Element} source
 */
function offerBack(figure, source) {
  const place = figure.querySelector(".ar-back-place");
  if (!place) return;
  const card = source.closest(".ar-card");
  const back = h("button", { type: "button", class: "ar-back ar-text-button" }, card ? "Back to the question" : "Back to the text");
  back.addEventListener("click", () => {
    const target = /** @type {HTMLElement} */ (source.isConnected ? source : (card ?? source));
    target.scrollIntoView({ behavior: reducedMotion() ? "auto" : "smooth", block: "center" });
    target.focus({ preventScroll: true });
    back.remove();
  });
  place.replaceChildren(back);
}

/** Sets the figure that the page's address names to the state that it asks for: `?step=2#fig-ring`. */
export function showAsked() {
  const place = globalThis.location;
  if (!place?.hash) return;
  const figure = document.getElementById(place.hash.slice(1));
  const state = new URLSearchParams(place.search);
  if (!figure || ![...state].length || !("apply" in figure) || typeof figure.apply !== "function") return;
  const apply = figure.apply.bind(figure);
  whenParsed(() => {
    apply(state);
    bring(figure);
  });
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
  figure.apply(state);
  if (bring(figure)) offerBack(figure, source);
  figure.classList.add("ar-shown");
  window.setTimeout(() => figure.classList.remove("ar-shown"), 1200);
}
