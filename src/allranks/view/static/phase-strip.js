// @ts-check
// The phases of a schedule over the scrub bar: what goes on, and a way to the start of each.

import { h } from "./dom.js";
import { phaseAt } from "./phases.js";

/** @typedef {import("./scene.js").Scene} Scene */

export class PhaseStrip {
  /** @param {(time: number) => void} jump called with the time at which the chosen phase begins */
  constructor(jump) {
    this.jump = jump;
    this.node = h("span", { class: "ar-phases", role: "group", "aria-label": "Phases", hidden: true });
    /** @type {HTMLButtonElement[]} */
    this.buttons = [];
    /** @type {Scene | null} */
    this.scene = null;
  }

  /** @param {Scene} scene @param {HTMLElement} scrub the bar that gets a mark between the phases */
  make(scene, scrub) {
    this.scene = scene;
    const { phases, stops, total } = scene;
    this.node.hidden = !phases.length;
    scrub.style.removeProperty("--ar-border");
    this.buttons = phases.map(({ name, from, to }, index) => {
      const start = stops[from] ?? 0;
      const share = ((stops[to] ?? total) - start) / (total || 1);
      const button = h("button", { type: "button", class: "ar-phase", title: `To the start of the ${name}` }, name);
      button.style.width = `calc(${share * 100}% - 1px)`;
      button.addEventListener("click", () => this.jump(start));
      if (index) scrub.style.setProperty("--ar-border", String(start / (total || 1)));
      return button;
    });
    this.node.replaceChildren(...this.buttons);
  }

  /** @param {number} time @param {boolean} locked */
  update(time, locked) {
    if (!this.scene?.phases.length) return;
    const now = phaseAt(this.scene, time);
    this.buttons.forEach((button, index) => {
      button.disabled = locked;
      if (index === now) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
  }
}
