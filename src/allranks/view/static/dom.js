// @ts-check
// Small tools for drawing. Text only ever enters the page as text nodes.

import { spans } from "./judge.js";

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */
/** @typedef {Node | string | null | undefined} Child */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Attributes} [attributes] @param {Child[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  set(node, attributes);
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Attributes} [attributes] @param {Child[]} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(node, attributes);
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/** @param {Element} node @param {Attributes} attributes */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {string} text @returns {DocumentFragment} text with the spans between backticks as code */
export function prose(text) {
  const fragment = document.createDocumentFragment();
  for (const piece of spans(text)) fragment.append(piece.code ? h("code", {}, piece.text) : piece.text);
  return fragment;
}

/** @type {Record<string, string>} paths in a box of 16 by 16 */
const ICONS = {
  play: "M4 2.2v11.6L13.5 8z",
  pause: "M3.5 2h3v12h-3zM9.5 2h3v12h-3z",
  step: "M3 2.2v11.6L10.5 8zM11 2h2.4v12H11z",
  back: "M13 2.2v11.6L5.5 8zM2.6 2H5v12H2.6z",
  start: "M14.4 2.4v11.2L8.6 8zM8.4 2.4v11.2L2.6 8zM.6 2h2v12h-2z",
  end: "M1.6 2.4v11.2L7.4 8zM7.6 2.4v11.2L13.4 8zM13.4 2h2v12h-2z",
};

/** @param {string} name @returns {SVGSVGElement} */
export function icon(name) {
  return s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, s("path", { d: ICONS[name] ?? "" }));
}

/** @returns {boolean} */
export function reducedMotion() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

let counter = 0;

/** @param {string} stem @returns {string} an id that no other element of the page has */
export function uniqueId(stem) {
  counter += 1;
  return `${stem}-${counter}`;
}

/** @param {number} rank @param {number} ranks @returns {string} */
export function colorOf(rank, ranks) {
  return rank < ranks ? `var(--ar-rank-${rank % 8})` : "var(--ar-soft)";
}

/** @param {number} rank @param {number} ranks @returns {string} the color of text on colorOf */
export function inkOn(rank, ranks) {
  if (rank >= ranks) return "var(--ar-card)";
  return rank % 8 === 0 ? "var(--ar-on-rank-0)" : "var(--ar-on-rank)";
}

/**
 * The plain JSON inside a custom element.
 * @param {Element} element @returns {unknown}
 */
export function dataOf(element) {
  const script = element.querySelector(':scope > script[type="application/json"]');
  return script?.textContent ? JSON.parse(script.textContent) : null;
}

/**
 * Calls back when the element's children are there: at once, or when the page has been read.
 * @param {() => void} ready
 */
export function whenParsed(ready) {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready, { once: true });
  else ready();
}
