// @ts-check
// The entry of a notebook: anywidget hands over the state that Python keeps, and a place to draw.

import { startAll } from "./main.js";
import { STOP } from "./player.js";

/**
 * @typedef {object} Model
 * @property {(name: string) => unknown} get
 * @property {(name: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, act: () => void) => void} on
 * @property {(event: string, act: () => void) => void} off
 */
/** @typedef {HTMLElement & {upgrade: (data: unknown) => void, pause?: () => void, go?: (time: number) => void, speak?: () => void, stop?: number, stops?: number[]}} Figure */

/** @param {{model: Model, el: HTMLElement}} place @returns {() => void} */
export function render({ model, el }) {
  startAll();
  const tag = String(model.get("element"));
  /** @type {Figure | null} */
  let figure = null;
  const draw = () => {
    figure?.remove();
    const made = /** @type {Figure} */ (document.createElement(tag));
    made.upgrade(model.get("data"));
    el.replaceChildren(made);
    figure = made;
    seek();
  };
  const seek = () => {
    const wanted = Number(model.get("step"));
    const stops = figure?.stops ?? [0];
    if (!figure?.go || figure.stop === wanted) return;
    figure.pause?.();
    figure.go(stops[Math.min(Math.max(wanted, 0), stops.length - 1)] ?? 0);
    figure.speak?.();
  };
  const report = () => {
    const now = figure?.stop;
    if (now === undefined || now === model.get("step")) return;
    model.set("step", now);
    model.save_changes();
  };
  model.on("change:data", draw);
  model.on("change:step", seek);
  el.addEventListener(STOP, report);
  draw();
  return () => {
    model.off("change:data", draw);
    model.off("change:step", seek);
    el.removeEventListener(STOP, report);
  };
}

export default { render };
