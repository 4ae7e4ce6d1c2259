// @ts-check
// What every moving figure shares: a clock that the reader holds in the hand.

import { dataOf, h, icon, reducedMotion, uniqueId, whenParsed } from "./dom.js";
import { say } from "./format.js";
import { makeGate } from "./gate.js";
import { recall } from "./memory.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SCRUB = 1000;

export const ANSWERED = "allranks:answered";
export const STOP = "allranks:stop";

/**
 * A figure with a time axis. Subclasses make `total` and `stops`, and draw.
 * @abstract
 */
export class PlayerElement extends HTMLElement {
  constructor() {
    super();
    /** Time on the figure's own axis. */
    this.time = 0;
    this.playing = false;
    this.speed = 1;
    this.locked = false;
    /** @type {number} */
    this.frame = 0;
    /** @type {number} */
    this.last = 0;
    this.upgraded = false;
    this.told = 0;
    /** @type {HTMLButtonElement[]} */
    this.buttons = [];
    this.playButton = h("button");
    this.scrub = h("input");
    this.scrubPlace = h("span", { class: "ar-scrub-place" });
    this.say = h("p");
    this.gate = h("div");
    /** @type {IntersectionObserver | null} */
    this.watcher = null;
    /** @type {ResizeObserver | null} */
    this.resizer = null;
    this.onAnswered = () => this.checkGate();
    /** Where the figure stood before it was printed. @type {number | null} */
    this.unprinted = null;
    this.onPrint = () => this.toPaper();
    this.onScreen = () => this.fromPaper();
    /** @param {MediaQueryListEvent} event */
    this.onMedium = (event) => (event.matches ? this.toPaper() : this.fromPaper());
    this.reservedFor = "";
  }

  /** @returns {number} @abstract */
  get total() {
    return 0;
  }

  /** @returns {number[]} @abstract */
  get stops() {
    return [0];
  }

  /** @returns {number} seconds of real time that the whole takes at speed 1 */
  get duration() {
    return Math.min(Math.max(1.4 * (this.stops.length - 1), 4), 18);
  }

  /** @param {unknown} _data @abstract */
  setUp(_data) {}

  /** @abstract */
  draw() {}

  /** @returns {string} @abstract */
  sentence() {
    return "";
  }

  /** @returns {string} two times with one moment have one sentence */
  moment() {
    return String(this.stop);
  }

  /** @returns {string[]} what the figure will say, or enough of it to know how long it can be */
  sentences() {
    return [this.sentence()];
  }

  /** @returns {string} @abstract */
  timeText() {
    return "";
  }

  /** @param {URLSearchParams} _state @abstract */
  apply(_state) {}

  connectedCallback() {
    document.addEventListener(ANSWERED, this.onAnswered);
    window.addEventListener("beforeprint", this.onPrint);
    window.addEventListener("afterprint", this.onScreen);
    window.matchMedia("print").addEventListener("change", this.onMedium);
    whenParsed(() => {
      if (!this.upgraded) this.upgrade();
      this.watch();
    });
  }

  disconnectedCallback() {
    document.removeEventListener(ANSWERED, this.onAnswered);
    window.removeEventListener("beforeprint", this.onPrint);
    window.removeEventListener("afterprint", this.onScreen);
    window.matchMedia("print").removeEventListener("change", this.onMedium);
    this.pause();
    this.watcher?.disconnect();
    this.resizer?.disconnect();
  }

  /** @param {unknown} [given] data from a kernel instead of the page */
  upgrade(given) {
    const data = given ?? dataOf(this);
    if (!data) return;
    this.upgraded = true;
    this.classList.add("ar-figure", "ar-live");
    this.querySelector(":scope > .ar-fallback")?.remove();
    this.setUp(data);
    this.addEventListener("keydown", (event) => this.onKey(event));
    this.checkGate();
    this.go(0);
    this.speak();
  }

  watch() {
    this.watcher = new IntersectionObserver((entries) => {
      if (entries.some((entry) => !entry.isIntersecting)) this.pause();
    });
    this.watcher.observe(this);
    this.resizer = new ResizeObserver(() => this.resized());
    this.resizer.observe(this);
  }

  resized() {
    this.draw();
    this.reserve();
  }

  /** Nobody can play on paper: a figure is printed as it ends, or as it begins if its prediction is
   *  still open, so that paper does not give the answer away. */
  toPaper() {
    if (!this.upgraded || this.unprinted !== null) return;
    this.pause();
    this.unprinted = this.time;
    this.go(this.locked ? 0 : this.total);
    this.speak();
  }

  fromPaper() {
    const before = this.unprinted;
    if (before === null) return;
    this.unprinted = null;
    this.go(before);
    this.speak();
  }

  /** Makes room for the longest sentence, so that nothing moves while the figure plays. */
  reserve() {
    const room = this.say.clientWidth;
    if (!room) return;
    const texts = this.sentences().sort((a, b) => b.length - a.length).slice(0, 4);
    const wanted = `${room} ${texts.join("")}`;
    if (wanted === this.reservedFor) return;
    this.reservedFor = wanted;
    const ruler = h("p", { class: "ar-say ar-ruler", "aria-hidden": "true" });
    ruler.style.width = `${room}px`;
    this.say.after(ruler);
    const heights = texts.map((text) => {
      ruler.textContent = text;
      return ruler.offsetHeight;
    });
    ruler.remove();
    this.say.style.minHeight = `${Math.max(0, ...heights)}px`;
  }

  /** @returns {HTMLElement} the row of buttons, the scrub bar and the speed */
  makeBar() {
    /** @param {string} name @param {string} label @param {() => void} act */
    const button = (name, label, act) => {
      const made = h("button", { type: "button", class: "ar-button", "aria-label": label, title: label }, icon(name));
      made.addEventListener("click", act);
      this.buttons.push(made);
      return made;
    };
    const bar = h("div", { class: "ar-bar", role: "group", "aria-label": "Play" });
    const toStart = button("start", "To the start", () => this.jump(0));
    const back = button("back", "Back one step", () => this.stepBy(-1));
    this.playButton = button("play", "Play", () => this.toggle());
    this.playButton.classList.add("ar-primary");
    const step = button("step", "Forward one step", () => this.stepBy(1));
    const toEnd = button("end", "To the end", () => this.jump(this.total));
    this.scrub = h("input", { type: "range", class: "ar-scrub", min: 0, max: SCRUB, step: 1, "aria-label": "Time" });
    this.scrub.addEventListener("input", () => {
      this.pause();
      this.go((Number(this.scrub.value) / SCRUB) * this.total);
      this.speak();
    });
    this.scrubPlace.replaceChildren(this.scrub);
    const speedId = uniqueId("ar-speed");
    const speed = h("select", { id: speedId, class: "ar-select" });
    for (const value of SPEEDS) {
      speed.append(h("option", { value, selected: value === 1 }, `${value}×`));
    }
    speed.addEventListener("change", () => {
      this.speed = Number(speed.value);
    });
    bar.append(
      h("span", { class: "ar-buttons" }, toStart, back, this.playButton, step, toEnd),
      this.scrubPlace,
      h("span", { class: "ar-speed" }, h("label", { for: speedId }, "speed"), speed),
      h("span", { class: "ar-back-place" }),
    );
    this.gate = h("div", { class: "ar-gate", hidden: true });
    return h("div", { class: "ar-transport" }, this.gate, bar);
  }

  /** @returns {HTMLElement} the sentence of the moment, spoken when it changes */
  makeSay() {
    this.say = h("p", { class: "ar-say", "aria-live": "polite", "aria-atomic": "true" });
    return this.say;
  }

  speak() {
    const text = this.sentence();
    if (this.say.textContent !== text) this.say.textContent = text;
  }

  /** @param {number} time */
  go(time) {
    this.time = Math.min(Math.max(time, 0), this.total);
    this.scrub.value = String(this.total ? Math.round((this.time / this.total) * SCRUB) : 0);
    this.scrub.setAttribute("aria-valuetext", this.timeText());
    this.scrub.style.setProperty("--ar-done", `${this.total ? (this.time / this.total) * 100 : 0}%`);
    this.draw();
    if (this.stop !== this.told && this.unprinted === null) {
      this.told = this.stop;
      this.dispatchEvent(new CustomEvent(STOP, { bubbles: true }));
    }
  }

  /** @param {number} time */
  jump(time) {
    if (this.locked) return;
    this.pause();
    this.go(time);
    this.speak();
  }

  /** @returns {number} the stop at or before the present */
  get stop() {
    const slack = this.total * 1e-9;
    let index = 0;
    while (index + 1 < this.stops.length && (this.stops[index + 1] ?? 0) <= this.time + slack) index += 1;
    return index;
  }

  /** @param {number} by 1 or -1 */
  stepBy(by) {
    const here = this.stop;
    const between = this.time > (this.stops[here] ?? 0) + this.total * 1e-9;
    const target = by > 0 ? here + 1 : between ? here : here - 1;
    this.jump(this.stops[Math.min(Math.max(target, 0), this.stops.length - 1)] ?? 0);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.locked || this.total === 0) return;
    if (this.time >= this.total * (1 - 1e-9)) this.go(0);
    this.setPlaying(true);
    this.last = performance.now();
    const still = reducedMotion();
    let seen = this.moment();
    let waited = 0;
    /** @param {number} now */
    const tick = (now) => {
      if (!this.playing) return;
      const passed = Math.min((now - this.last) / 1000, 0.25) * this.speed;
      this.last = now;
      if (still) {
        waited += passed;
        if (waited >= 1.2) {
          waited = 0;
          this.go(this.stops[this.stop + 1] ?? this.total);
        }
      } else {
        this.go(this.time + (passed / this.duration) * this.total);
      }
      const moment = this.moment();
      if (moment !== seen) {
        seen = moment;
        this.speak();
      }
      if (this.time >= this.total * (1 - 1e-9)) {
        this.pause();
        this.speak();
        return;
      }
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  pause() {
    cancelAnimationFrame(this.frame);
    if (this.playing) this.setPlaying(false);
  }

  /** @param {boolean} playing */
  setPlaying(playing) {
    this.playing = playing;
    this.playButton.replaceChildren(icon(playing ? "pause" : "play"));
    const word = playing ? say("Pause") : say("Play");
    this.playButton.setAttribute("aria-label", word);
    this.playButton.title = word;
    this.classList.toggle("ar-playing", playing);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("select, textarea, input:not([type=range]), summary") || (target.matches("input[type=range]") && target !== this.scrub);
    if (typing) return;
    const pressing = target.matches("button");
    /** @type {Record<string, () => void>} */
    const keys = {
      k: () => this.toggle(),
      ArrowRight: () => this.stepBy(1),
      ArrowLeft: () => this.stepBy(-1),
      Home: () => this.jump(0),
      End: () => this.jump(this.total),
    };
    if (!pressing) keys[" "] = () => this.toggle();
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
    if (!act || this.locked) return;
    event.preventDefault();
    act();
  }

  /** Play opens when the prediction has been made or skipped. */
  checkGate() {
    if (!this.upgraded) return;
    const id = this.getAttribute("predict");
    const target = id ? document.getElementById(`quiz-${id}`) : null;
    const wait = Boolean(id && target && !recall(id));
    const opened = this.locked && !wait;
    this.locked = wait;
    for (const button of this.buttons) button.disabled = wait;
    this.scrub.disabled = wait;
    this.gate.hidden = !wait;
    this.classList.toggle("ar-locked", wait);
    if (wait && id && !this.gate.hasChildNodes()) {
      this.gate.append(...makeGate(id, () => this.playButton.focus()));
    }
    if (opened) this.speak();
  }
}
