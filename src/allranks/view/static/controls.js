// @ts-check
// Controls with a name: a row of choices, a picker, a slider with its value in words.

import { h, uniqueId } from "./dom.js";

/**
 * A row of choices of which one is taken.
 * @param {string} legend @param {[value: string, text: string][]} options @param {string} chosen
 * @param {(value: string) => void} act
 * @returns {HTMLFieldSetElement}
 */
export function segmented(legend, options, chosen, act) {
  const name = uniqueId("ar-choice");
  const group = h("fieldset", { class: "ar-segmented" }, h("legend", {}, legend));
  for (const [value, text] of options) {
    const input = h("input", { type: "radio", name, value, checked: value === chosen });
    input.addEventListener("change", () => act(value));
    group.append(h("label", {}, input, h("span", {}, text)));
  }
  return group;
}

/** @param {HTMLFieldSetElement} group @param {string} value */
export function chooseSegment(group, value) {
  for (const input of group.querySelectorAll("input")) input.checked = input.value === value;
}

/**
 * @param {string} text @param {[value: string, text: string][]} options @param {string} chosen
 * @param {(value: string) => void} act
 */
export function picker(text, options, chosen, act) {
  const id = uniqueId("ar-pick");
  const select = h("select", { id, class: "ar-select" });
  for (const [value, title] of options) select.append(h("option", { value, selected: value === chosen }, title));
  select.addEventListener("change", () => act(select.value));
  return { node: h("div", { class: "ar-control" }, h("label", { for: id }, text), select), select };
}

/**
 * A slider with its value in words.
 * @param {string} text
 * @param {{min: number, max: number, step: number | "any", value: number, log?: boolean, show: (value: number) => string}} scale
 * @param {(value: number) => void} act
 */
export function slider(text, scale, act) {
  const id = uniqueId("ar-slide");
  /** @param {number} value */
  const to = (value) => (scale.log ? Math.log10(value) : value);
  /** @param {number} raw */
  const from = (raw) => (scale.log ? 10 ** raw : raw);
  const input = h("input", { id, type: "range", min: to(scale.min), max: to(scale.max), step: scale.log ? "any" : scale.step, value: to(scale.value) });
  const output = h("output", { for: id });
  /** @param {number} value */
  const show = (value) => {
    output.textContent = scale.show(value);
    input.setAttribute("aria-valuetext", scale.show(value));
    input.style.setProperty("--ar-done", `${((to(value) - to(scale.min)) / (to(scale.max) - to(scale.min) || 1)) * 100}%`);
  };
  input.addEventListener("input", () => {
    const value = from(Number(input.value));
    show(value);
    act(value);
  });
  if (scale.log) {
    input.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 0.05, ArrowUp: 0.05, ArrowLeft: -0.05, ArrowDown: -0.05, PageUp: 0.5, PageDown: -0.5 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      input.value = String(Number(input.value) + by);
      input.dispatchEvent(new Event("input"));
    });
  }
  show(scale.value);
  return {
    node: h("div", { class: "ar-control ar-slider" }, h("label", { for: id }, text), input, output),
    /** @param {number} value */
    put: (value) => {
      input.value = String(to(value));
      show(value);
    },
    input,
  };
}
