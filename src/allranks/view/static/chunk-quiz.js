// @ts-check
// <chunk-quiz>: practice items with an answer to every answer.

import { range } from "./algorithms/base.js";
import { dataOf, h, prose, uniqueId, whenParsed } from "./dom.js";
import { letter, say } from "./format.js";
import { judgeChoice, judgeMulti, judgeNext, judgeNumber, judgeOrder, judgeSpot, judgeState } from "./judge.js";
import { recall, remember } from "./memory.js";
import { ANSWERED } from "./player.js";

/** @typedef {import("./judge.js").Item} Item */
/** @typedef {import("./judge.js").Verdict} Verdict */
/**
 * What one kind of item adds to a card: its inputs, and how to read, judge, mark and restore them.
 * @typedef {object} Form
 * @property {HTMLElement} node
 * @property {() => unknown} answer plain JSON, to be remembered
 * @property {(answer: unknown) => Verdict} judge
 * @property {(answer: unknown) => void} restore
 * @property {(verdict: Verdict | null) => void} mark
 * @property {boolean} [instant] a change of the input is the answer
 */

export class ChunkQuiz extends HTMLElement {
  constructor() {
    super();
    this.upgraded = false;
  }

  connectedCallback() {
    whenParsed(() => {
      if (!this.upgraded) this.upgrade();
    });
  }

  /** @param {unknown} [given] */
  upgrade(given) {
    const data = /** @type {{first: number, total: number, items: Item[]} | null} */ (given ?? dataOf(this));
    if (!data) return;
    this.upgraded = true;
    this.classList.add("ar-quiz");
    this.querySelector(":scope > .ar-fallback")?.remove();
    data.items.forEach((item, index) => this.append(card(item, data.first + index, data.total)));
  }
}

/** @param {Item} item @param {number} number @param {number} total @returns {HTMLElement} */
function card(item, number, total) {
  const form = formOf(item);
  const heading = item.predict ? `Predict first, ${number} of ${total}` : `Practice ${number} of ${total}`;
  const stem = h("p", { class: "ar-stem", id: uniqueId("ar-stem") }, prose(item.stem));
  const legend = h("legend", {}, h("span", { class: "ar-number" }, heading), stem);
  const feedback = h("div", { class: "ar-feedback", "aria-live": "polite", "aria-atomic": "true" });
  const box = h("section", { class: "ar-card", id: `quiz-${item.id}`, "aria-label": heading, tabindex: -1 });
  const check = h("button", { type: "submit", class: "ar-check" }, "Check");
  const again = h("button", { type: "button", class: "ar-text-button", hidden: true }, "Try again");
  const skip = h("button", { type: "button", class: "ar-text-button", hidden: !item.predict }, "Skip");
  const actions = h("div", { class: "ar-actions" }, form.instant ? null : check, again, skip);
  const body = h("form", { novalidate: true }, h("fieldset", {}, legend, form.node), feedback, actions);
  box.append(body);

  /** @param {Verdict} verdict */
  const show = (verdict) => {
    const kind = !verdict.counts ? "note" : verdict.right ? "right" : "wrong";
    box.dataset["state"] = kind;
    feedback.className = `ar-feedback ar-${kind}`;
    const word = { note: "Not counted.", right: "Right.", wrong: "Not yet." }[kind];
    const sign = { note: "…", right: "✓", wrong: "✗" }[kind];
    const lines = [
      h("p", {}, h("span", { class: "ar-sign", "aria-hidden": "true" }, sign), h("strong", {}, `${word} `), prose(verdict.text), verdict.read ? h("span", { class: "ar-reading" }, ` ${verdict.read}`) : null),
    ];
    if (verdict.right && item.explanation) lines.push(h("p", {}, prose(item.explanation)));
    if (item.figure && verdict.counts) {
      const link = `${item.figure.target}${item.figure.state ? `?${item.figure.state}` : ""}`;
      lines.push(h("p", {}, h("button", { type: "button", class: "ar-show", "data-show": link }, "Show it in the figure")));
    }
    const answered = verdict.misconception ? anchors()[verdict.misconception] : undefined;
    if (answered) lines.push(h("p", {}, h("a", { class: "ar-answer-link", href: answered }, "Read where the text answers this")));
    feedback.replaceChildren(...lines);
    form.mark(verdict);
    again.hidden = !verdict.counts || verdict.right;
    if (verdict.counts) skip.hidden = true;
  };

  const submit = () => {
    const answer = form.answer();
    const verdict = form.judge(answer);
    if (verdict.counts) {
      const before = recall(item.id);
      remember(item.id, { answer, right: verdict.right, skipped: false, attempts: (before?.attempts ?? 0) + 1 });
    }
    show(verdict);
    if (verdict.counts) document.dispatchEvent(new CustomEvent(ANSWERED, { detail: { id: item.id, right: verdict.right } }));
  };
  const doSkip = () => {
    if (recall(item.id)) return;
    remember(item.id, { answer: null, right: false, skipped: true, attempts: 0 });
    feedback.className = "ar-feedback ar-note";
    feedback.replaceChildren(h("p", {}, "Skipped. The figure is open; you can still answer."));
    skip.hidden = true;
    document.dispatchEvent(new CustomEvent(ANSWERED, { detail: { id: item.id, right: false } }));
  };
  body.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  if (form.instant) form.node.addEventListener("change", submit);
  again.addEventListener("click", () => {
    form.restore(null);
    form.mark(null);
    delete box.dataset["state"];
    feedback.replaceChildren();
    feedback.className = "ar-feedback";
    again.hidden = true;
    /** @type {HTMLElement | null} */ (form.node.querySelector("input, select, button"))?.focus();
  });
  skip.addEventListener("click", doSkip);
  document.addEventListener("allranks:skip", (event) => {
    if (/** @type {CustomEvent} */ (event).detail === item.id) doSkip();
  });

  const known = recall(item.id);
  if (known && !known.skipped) {
    try {
      form.restore(known.answer);
      const verdict = form.judge(known.answer);
      if (verdict.counts) show(verdict);
    } catch {
      form.restore(null); // the item has changed since it was answered
    }
  } else if (known) skip.hidden = true;
  return box;
}

/** @returns {Record<string, string>} where the book answers each misconception; nothing outside the book */
function anchors() {
  return JSON.parse(document.getElementById("ar-anchors")?.textContent ?? "{}");
}

/** @param {Item} item @returns {Form} */
function formOf(item) {
  switch (item.type) {
    case "choice":
      return optionsForm(item, false);
    case "multi":
      return optionsForm(item, true);
    case "num":
      return numberForm(item);
    case "order":
      return orderForm(item);
    case "state":
      return stateForm(item);
    case "next":
      return nextForm(item);
    case "spot":
      return spotForm(item);
    default:
      throw new Error(`quiz item ${item.id}: type ${item.type} is not known`);
  }
}

/** @param {string} kind @returns {HTMLElement} the sign in front of a marked line */
function signFor(kind) {
  const sign = { right: "✓", wrong: "✗", missed: "+" }[kind] ?? "";
  const word = { right: "right: ", wrong: "not right: ", missed: "missing: " }[kind] ?? "";
  return h("span", { class: "ar-option-sign" }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "ar-hidden" }, word));
}

/** @param {HTMLElement} label @param {string | undefined} kind */
function markLabel(label, kind) {
  label.querySelector(".ar-option-sign")?.remove();
  label.classList.remove("ar-right", "ar-wrong", "ar-missed");
  if (!kind) return;
  label.classList.add(`ar-${kind}`);
  label.querySelector("input")?.after(signFor(kind));
}

/** @param {Item} item @param {boolean} several @returns {Form} */
function optionsForm(item, several) {
  const options = item.options ?? [];
  const name = uniqueId("ar-option");
  const inputs = options.map((option) => h("input", { type: several ? "checkbox" : "radio", name, value: option.id }));
  const labels = options.map((option, index) => h("label", { class: "ar-option" }, inputs[index], h("span", {}, prose(option.text))));
  const chosen = () => inputs.filter((input) => input.checked).map((input) => input.value);
  return {
    node: h("div", { class: "ar-options" }, several ? h("p", { class: "ar-hint" }, "Choose every right one.") : null, ...labels),
    instant: !several,
    answer: () => (several ? chosen() : (chosen()[0] ?? null)),
    judge: (answer) =>
      several
        ? judgeMulti(options, Array.isArray(answer) ? answer.map(String) : [])
        : judgeChoice(options, answer === null ? null : String(answer)),
    restore: (answer) => {
      const wanted = (Array.isArray(answer) ? answer : [answer]).map(String);
      for (const input of inputs) input.checked = answer !== null && wanted.includes(input.value);
    },
    mark: (verdict) => options.forEach((option, index) => {
      const label = labels[index];
      if (label) markLabel(label, verdict?.marks?.[option.id]);
    }),
  };
}

/** @param {Item} item @returns {Form} */
function numberForm(item) {
  const key = item.num;
  if (!key) throw new Error(`quiz item ${item.id}: num is missing`);
  const id = uniqueId("ar-number");
  const input = h("input", { id, type: "text", inputmode: "text", autocomplete: "off", spellcheck: "false", class: "ar-input", "aria-describedby": `${id}-hint` });
  const room = `within ${Number(((key.tolerance ?? 0.01) * 100).toPrecision(3))} %; 1.5, 1,5, 7/4 and 2e3 can all be read`;
  const hint = h("span", { class: "ar-hint", id: `${id}-hint` }, `${key.unit ? `in ${key.unit}, ` : ""}${key.exact ? "exact" : room}`);
  return {
    node: h("div", { class: "ar-number-row" }, h("label", { for: id }, "Your number"), h("span", { class: "ar-input-box" }, input, key.unit ? h("span", { class: "ar-unit", "aria-hidden": "true" }, key.unit) : null), hint),
    answer: () => input.value,
    judge: (answer) => judgeNumber(key, String(answer ?? "")),
    restore: (answer) => {
      input.value = typeof answer === "string" ? answer : "";
    },
    mark: (verdict) => input.setAttribute("aria-invalid", String(verdict !== null && !verdict.right)),
  };
}

/** @param {Item} item @returns {Form} */
function orderForm(item) {
  const key = item.order;
  if (!key) throw new Error(`quiz item ${item.id}: order is missing`);
  let now = key.entries.map((entry) => entry.id);
  const listing = h("ol", { class: "ar-order" });
  const draw = () => {
    listing.replaceChildren(...now.map((id, place) => {
      const entry = key.entries.find((one) => one.id === id);
      /** @param {number} by @param {string} sign @param {string} word */
      const move = (by, sign, word) => {
        const button = h("button", { type: "button", class: "ar-button", "aria-label": `Move ${word}: ${entry?.text ?? id}`, disabled: place + by < 0 || place + by >= now.length }, sign);
        button.addEventListener("click", () => {
          const next = [...now];
          next.splice(place, 1);
          next.splice(place + by, 0, id);
          now = next;
          draw();
          const buttons = [...(listing.children[place + by]?.querySelectorAll("button") ?? [])];
          const same = buttons[by < 0 ? 0 : 1];
          (same?.disabled ? buttons.find((one) => !one.disabled) : same)?.focus();
        });
        return button;
      };
      return h("li", {}, h("span", {}, prose(entry?.text ?? id)), h("span", { class: "ar-moves" }, move(-1, "↑", "up"), move(1, "↓", "down")));
    }));
  };
  draw();
  return {
    node: listing,
    answer: () => now,
    judge: (answer) => judgeOrder(key, Array.isArray(answer) ? answer.map(String) : []),
    restore: (answer) => {
      const known = Array.isArray(answer) && answer.length === key.entries.length && key.entries.every((entry) => answer.includes(entry.id));
      if (known) now = /** @type {string[]} */ (answer);
      draw();
    },
    mark: () => {},
  };
}

/** @param {Item} item @returns {Form} */
function stateForm(item) {
  const key = item.state;
  if (!key) throw new Error(`quiz item ${item.id}: state is missing`);
  /** @type {Map<string, Set<number>>} */
  const chosen = new Map();
  /** @type {Map<string, HTMLElement>} */
  const boxes = new Map();
  const asked = range(key.world_size + (key.num_switches ?? 0)).filter((rank) => key.cells.some((one) => one.rank === rank));
  /** @param {number} rank */
  const nameOf = (rank) => (rank < key.world_size ? `rank ${rank}` : `switch S${rank - key.world_size}`);
  const body = asked.map((rank) =>
    h("tr", {}, h("th", { scope: "row" }, nameOf(rank)), ...range(key.num_chunks).map((chunk) => {
      const at = `${rank},${chunk}`;
      const cell = key.cells.find((one) => one.rank === rank && one.chunk === chunk);
      if (!cell) return h("td", { class: "ar-blank" }, "");
      if (cell.given) return h("td", {}, h("span", { class: "ar-given" }, cell.answer.length ? cell.answer.map(letter).join(" + ") : "nothing"));
      chosen.set(at, new Set());
      const group = h("td", { role: "group", "aria-label": `${nameOf(rank)}, chunk ${chunk}` });
      boxes.set(at, group);
      for (const part of range(key.world_size)) {
        const button = h("button", { type: "button", class: "ar-part-button", "aria-pressed": "false", "data-part": part, style: `--ar-part: var(--ar-rank-${part % 8})` }, letter(part));
        button.addEventListener("click", () => {
          const set = chosen.get(at);
          if (!set) return;
          if (set.has(part)) set.delete(part);
          else set.add(part);
          button.setAttribute("aria-pressed", String(set.has(part)));
        });
        group.append(button);
      }
      return group;
    })),
  );
  const head = range(key.num_chunks).map((chunk) => h("th", { scope: "col" }, `chunk ${chunk}`));
  const table = h("table", { class: "ar-state" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "holder"), ...head)), h("tbody", {}, ...body));
  /** @param {unknown} answer @returns {Record<string, number[]>} */
  const read = (answer) => (answer && typeof answer === "object" ? /** @type {Record<string, number[]>} */ (answer) : {});
  return {
    node: h("div", {}, h("p", { class: "ar-hint" }, "Press the letters of the parts that each cell holds."), h("div", { class: "ar-table", tabindex: 0, role: "group", "aria-label": "Cells to fill" }, table)),
    answer: () => Object.fromEntries([...chosen].map(([at, set]) => [at, [...set]])),
    judge: (answer) => judgeState(key, (rank, chunk) => read(answer)[`${rank},${chunk}`] ?? []),
    restore: (answer) => {
      for (const [at, set] of chosen) {
        set.clear();
        for (const part of read(answer)[at] ?? []) set.add(part);
        boxes.get(at)?.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(set.has(Number(button.dataset["part"])))));
      }
    },
    mark: (verdict) => {
      for (const [at, box] of boxes) {
        box.querySelector(".ar-option-sign")?.remove();
        box.classList.remove("ar-right", "ar-wrong");
        const kind = verdict?.marks?.[at];
        if (kind) {
          box.classList.add(`ar-${kind}`);
          box.prepend(signFor(kind));
        }
      }
    },
  };
}

/** @param {Item} item @returns {Form} */
function nextForm(item) {
  const key = item.next;
  if (!key) throw new Error(`quiz item ${item.id}: next is missing`);
  /** @param {string} text @param {[string, string][]} options */
  const pick = (text, options) => {
    const id = uniqueId("ar-next");
    const select = h("select", { id, class: "ar-select" }, h("option", { value: "" }, "choose"));
    for (const [value, title] of options) select.append(h("option", { value }, title));
    return { node: h("div", { class: "ar-control" }, h("label", { for: id }, text), select), select };
  };
  const ranks = range(key.world_size).map((rank) => /** @type {[string, string]} */ ([String(rank), `rank ${rank}`]));
  const chunks = range(key.num_chunks).map((chunk) => /** @type {[string, string]} */ ([String(chunk), `chunk ${chunk}`]));
  const picks = [pick(say("from"), ranks), pick(say("to"), ranks), pick(say("what"), chunks), pick(say("the receiver"), [["copy", "keeps it (COPY)"], ["reduce", "adds it (REDUCE)"]])];
  return {
    node: h("div", { class: "ar-next" }, ...picks.map((one) => one.node)),
    answer: () => picks.map((one) => one.select.value),
    judge: (answer) => {
      const [src, dst, chunk, op] = Array.isArray(answer) ? answer.map(String) : [];
      const whole = src && dst && chunk && op;
      return judgeNext(key, whole ? [Number(src), Number(dst), Number(chunk), op] : null);
    },
    restore: (answer) => picks.forEach((one, index) => {
      one.select.value = Array.isArray(answer) ? String(answer[index] ?? "") : "";
    }),
    mark: () => {},
  };
}

/** @param {Item} item @returns {Form} */
function spotForm(item) {
  const key = item.spot;
  if (!key) throw new Error(`quiz item ${item.id}: spot is missing`);
  const name = uniqueId("ar-line");
  const inputs = key.lines.map((_, line) => h("input", { type: "radio", name, value: line }));
  const labels = key.lines.map((text, line) => h("label", { class: "ar-option ar-line" }, inputs[line], h("code", {}, text)));
  return {
    node: h("div", { class: "ar-options ar-lines-to-spot" }, ...labels),
    instant: true,
    answer: () => {
      const index = inputs.findIndex((input) => input.checked);
      return index < 0 ? null : index;
    },
    judge: (answer) => judgeSpot(key, typeof answer === "number" ? answer : null),
    restore: (answer) => inputs.forEach((input, line) => {
      input.checked = line === answer;
    }),
    mark: (verdict) => labels.forEach((label, line) => markLabel(label, verdict?.marks?.[String(line)])),
  };
}
