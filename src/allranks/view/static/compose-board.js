// @ts-check
// The board of the composer: ranks as rows, chunks as columns, and a hand that carries a chunk.

import { range } from "./algorithms/base.js";
import { cellText, elementsText, ownerOf, tileText } from "./compose.js";
import { colorOf, h, inkOn, s } from "./dom.js";
import { holds } from "./engine.js";
import { badge } from "./marks.js";

/** @typedef {import("./compose.js").Mark} Mark */
/** @typedef {import("./compose.js").Parts} Parts */
/** @typedef {import("./compose.js").Schedule} Schedule */
/** @typedef {import("./compose.js").State} State */
/** @typedef {import("./compose.js").Transfer} Transfer */
/**
 * @typedef {object} Hand what stands on the board, and what a reader can ask of it
 * @property {number} room in CSS pixels
 * @property {Schedule} schedule
 * @property {State} state
 * @property {State | null} after what the step leaves, if one is shown
 * @property {Transfer[]} transfers of the step that is shown
 * @property {Set<number>} unplayable which of them cannot be played
 * @property {Mark[][] | null} marks
 * @property {{rank: number, chunk: number} | null} picked
 * @property {"copy" | "reduce"} op
 * @property {(rank: number, chunk: number) => void} pick
 * @property {(rank: number, chunk: number, awaited: boolean) => void} empty
 * @property {(src: number, dst: number, chunk: number) => void} send
 */

const FAR = 6; // pixels from a press to a drag
const HEAD = 44;
const WIDEST = 176;
const NARROWEST = 42;
const ROOMY = 74;

/** @param {number} room @returns {number} between two columns, where arrows pass */
function gapOf(room) {
  return room < 480 ? 18 : 32;
}

/** @param {number} columns @param {number} cell @param {number} [room] @returns {number} of a board with cells so wide */
export function widthOf(columns, cell, room = 1000) {
  return HEAD + columns * (cell + gapOf(room)) + gapOf(room);
}
const SIGNS = { done: "✓", missing: "?", double: "×2", place: "✗", free: "" };

/** @param {HTMLElement} box @param {Hand} hand */
export function board(box, hand) {
  const { schedule } = hand;
  const columns = range(schedule.num_chunks);
  const grid = h("div", { class: "ar-board", role: "group", "aria-label": "Who holds what. Press Enter on a chunk to pick it up, and on a cell of another rank to send it there; arrow keys move between cells." });
  const fits = Math.floor((hand.room - widthOf(columns.length, 0, hand.room)) / columns.length);
  const wide = Math.min(Math.max(fits, NARROWEST), WIDEST);
  grid.style.gridTemplateColumns = `${HEAD - gapOf(hand.room) / 2}px repeat(${columns.length}, ${wide}px)`;
  grid.style.columnGap = `${gapOf(hand.room)}px`;
  grid.style.paddingRight = `${gapOf(hand.room)}px`;
  const roomy = wide >= ROOMY;
  grid.append(h("span", { class: "ar-board-corner" }), ...columns.map((chunk) => columnHead(schedule, chunk, roomy)));
  const cells = range(schedule.world_size).map((rank) => columns.map((chunk) => cellOf(hand, rank, chunk)));
  cells.forEach((row, rank) => grid.append(rowHead(schedule, rank), ...row));
  grid.addEventListener("keydown", (event) => walk(event, cells));
  box.replaceChildren(grid);
  cells.forEach((row, rank) => row.forEach((cell, chunk) => fill(cell, hand, rank, chunk, roomy)));
  grid.append(arrows(grid, cells, hand));
  carry(box, grid, cells, hand);
}

/** @param {Schedule} schedule @param {number} chunk @param {boolean} roomy */
function columnHead(schedule, chunk, roomy) {
  const owner = ownerOf(schedule, chunk);
  const what = owner === null ? elementsText(schedule, chunk) : `block of rank ${owner}`;
  return h("span", { class: "ar-board-head" }, h("b", {}, `chunk ${chunk}`), roomy ? h("small", {}, what) : null);
}

/** @param {Schedule} schedule @param {number} rank */
function rowHead(schedule, rank) {
  const disc = s("svg", { width: 32, height: 32, viewBox: "-16 -16 32 32", "aria-hidden": "true" }, badge(rank, schedule.world_size, 0, 0, 15));
  return h("span", { class: "ar-board-rank" }, h("span", { class: "ar-hidden" }, `rank ${rank}`), disc, schedule.root === rank ? h("small", {}, "root") : null);
}

/** @param {Hand} hand @param {number} rank @param {number} chunk */
function cellOf(hand, rank, chunk) {
  const { picked, state, transfers } = hand;
  const held = holds(state[rank]?.[chunk]);
  const mine = picked?.rank === rank && picked.chunk === chunk;
  const target = picked !== null && picked.chunk === chunk && picked.rank !== rank;
  const awaited = transfers.some(([, dst, one]) => dst === rank && one === chunk);
  const cell = h("button", {
    type: "button", class: `ar-board-cell${held ? " ar-full" : ""}${mine ? " ar-picked" : ""}${target ? " ar-target" : ""}${awaited ? " ar-awaited-cell" : ""}`,
    "data-key": `cell-${rank}-${chunk}`, "data-rank": rank, "data-chunk": chunk, tabindex: rank === 0 && chunk === 0 ? 0 : -1, "aria-pressed": held ? String(mine) : null,
  });
  cell.addEventListener("click", () => {
    if (cell.dataset["dragged"]) return;
    if (target && picked) hand.send(picked.rank, rank, chunk);
    else if (held || mine) hand.pick(rank, chunk);
    else hand.empty(rank, chunk, awaited);
  });
  const mark = hand.marks?.[rank]?.[chunk];
  if (mark) cell.classList.add(`ar-is-${mark.kind}`);
  return cell;
}

/** @param {Hand} hand @param {number} rank @param {number} chunk @returns {string} */
function cellLabel(hand, rank, chunk) {
  const { schedule } = hand;
  const text = cellText(hand.state[rank]?.[chunk] ?? []);
  const { picked } = hand;
  const owner = schedule.root === rank ? `rank ${rank}, the root` : `rank ${rank}`;
  const now = `${owner}, chunk ${chunk}: ${text}`;
  if (picked && picked.chunk === chunk && picked.rank !== rank) return `${now}. Send chunk ${chunk} of rank ${picked.rank} here, ${hand.op.toUpperCase()}`;
  const mark = hand.marks?.[rank]?.[chunk];
  return mark?.text ? `${now}. ${mark.text}` : now;
}

/** @param {HTMLElement} cell @param {Hand} hand @param {number} rank @param {number} chunk @param {boolean} roomy */
function fill(cell, hand, rank, chunk, roomy) {
  const { schedule, state, after, transfers } = hand;
  const parts = state[rank]?.[chunk] ?? [];
  const held = parts.filter((count) => count > 0).length;
  const tiles = parts.flatMap((count, part) => (count > 0 ? [tile(schedule, part, chunk, count, roomy && held <= 2)] : []));
  const line = h("span", { class: "ar-board-tiles", "aria-hidden": "true" }, ...tiles);
  cell.replaceChildren(h("span", { class: "ar-hidden" }, cellLabel(hand, rank, chunk)), line);
  if (after && transfers.some(([, dst, one], index) => dst === rank && one === chunk && !hand.unplayable.has(index))) {
    cell.append(h("small", { class: "ar-board-then", "aria-hidden": "true" }, `then ${cellText(after[rank]?.[chunk] ?? []).replaceAll(" ", "")}`));
  }
  const mark = hand.marks?.[rank]?.[chunk];
  if (mark?.text) cell.append(h("small", { class: "ar-board-mark", "aria-hidden": "true" }, h("b", {}, SIGNS[mark.kind]), ` ${mark.text}`));
}

/** @param {Schedule} schedule @param {number} part @param {number} chunk @param {number} count @param {boolean} roomy */
function tile(schedule, part, chunk, count, roomy) {
  const node = h("span", { class: `ar-board-tile${count > 1 ? " ar-doubled" : ""}` }, tileText(schedule, part, chunk, roomy), count > 1 ? h("b", { class: "ar-board-times" }, `×${count}`) : null);
  node.style.background = colorOf(part, schedule.world_size);
  node.style.color = inkOn(part, schedule.world_size);
  return node;
}

/** @param {KeyboardEvent} event @param {HTMLElement[][]} cells arrow keys move the focus over the board */
function walk(event, cells) {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const here = event.target instanceof HTMLElement ? event.target : null;
  if (!by || !here?.dataset["rank"]) return;
  const next = cells[Number(here.dataset["rank"]) + (by[0] ?? 0)]?.[Number(here.dataset["chunk"]) + (by[1] ?? 0)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/** @param {HTMLElement} grid @param {HTMLElement[][]} cells @param {Hand} hand @returns {SVGSVGElement} the transfers of the step */
function arrows(grid, cells, hand) {
  const svg = s("svg", { class: "ar-board-arrows", width: grid.clientWidth, height: grid.clientHeight, "aria-hidden": "true" });
  const ranks = hand.schedule.world_size;
  hand.transfers.forEach(([src, dst, chunk, op], index) => {
    const from = cells[src]?.[chunk];
    const to = cells[dst]?.[chunk];
    if (!from || !to || src === dst) return;
    const x = from.offsetLeft + from.offsetWidth + 1;
    const lean = dst > src ? 7 : -7;
    const y0 = from.offsetTop + from.offsetHeight / 2 + lean;
    const y1 = to.offsetTop + to.offsetHeight / 2 - lean;
    const far = x + Math.min(14 + 5 * (Math.abs(dst - src) - 1), gapOf(hand.room) - 2);
    const bad = hand.unplayable.has(index);
    const middle = (y0 + y1) / 2;
    const bow = x + (far - x) * 0.75;
    svg.append(s("g", { class: bad ? "ar-bad-arrow" : null, style: `--ar-of: ${colorOf(src, ranks)}` },
      s("path", { d: `M${x} ${y0}C${far} ${y0} ${far} ${y1} ${x + 2} ${y1}`, class: "ar-arrow" }),
      s("path", { d: `M${x + 8} ${y1 - 5}l-7 5l7 5`, class: "ar-arrow" }),
      s("circle", { cx: bow, cy: middle, r: 8, class: "ar-op" }),
      s("path", { d: bad ? `M${bow - 3} ${middle - 3}l6 6m-6 0l6 -6` : op === "reduce" ? `M${bow - 4} ${middle}h8m-4 -4v8` : `M${bow - 4} ${middle - 2}h8m-8 4h8`, class: "ar-op-sign" })));
  });
  return svg;
}

/** @param {HTMLElement} box @param {HTMLElement} grid @param {HTMLElement[][]} cells @param {Hand} hand dragging with mouse, pen or finger */
function carry(box, grid, cells, hand) {
  /** @type {{cell: HTMLElement, rank: number, chunk: number, x: number, y: number, ghost: HTMLElement | null, over: HTMLElement | null} | null} */
  let held = null;
  const drop = () => {
    held?.ghost?.remove();
    held?.over?.classList.remove("ar-over");
    grid.classList.remove("ar-dragging");
    held = null;
  };
  grid.addEventListener("pointerdown", (event) => {
    const cell = event.target instanceof Element ? event.target.closest(".ar-board-cell.ar-full") : null;
    if (!(cell instanceof HTMLElement) || event.button !== 0) return;
    held = { cell, rank: Number(cell.dataset["rank"]), chunk: Number(cell.dataset["chunk"]), x: event.clientX, y: event.clientY, ghost: null, over: null };
    delete cell.dataset["dragged"];
    cell.setPointerCapture(event.pointerId);
  });
  grid.addEventListener("pointermove", (event) => {
    if (!held) return;
    if (!held.ghost && Math.hypot(event.clientX - held.x, event.clientY - held.y) < FAR) return;
    if (!held.ghost) {
      held.ghost = h("div", { class: "ar-board-ghost", "aria-hidden": "true" }, held.cell.querySelector(".ar-board-tiles")?.cloneNode(true));
      held.cell.dataset["dragged"] = "1";
      grid.classList.add("ar-dragging");
      box.append(held.ghost);
    }
    const frame = box.getBoundingClientRect();
    held.ghost.style.transform = `translate(${event.clientX - frame.left + box.scrollLeft + 8}px, ${event.clientY - frame.top + 8}px)`;
    const row = cells.findIndex((one) => {
      const bounds = one[0]?.getBoundingClientRect();
      return bounds !== undefined && event.clientY >= bounds.top && event.clientY <= bounds.bottom;
    });
    const over = row >= 0 && row !== held.rank ? (cells[row]?.[held.chunk] ?? null) : null;
    if (over !== held.over) {
      held.over?.classList.remove("ar-over");
      over?.classList.add("ar-over");
      held.over = over;
    }
  });
  grid.addEventListener("pointerup", () => {
    if (!held) return;
    const { cell, rank, chunk, over } = held;
    drop();
    window.setTimeout(() => delete cell.dataset["dragged"], 0);
    if (over) hand.send(rank, Number(over.dataset["rank"]), chunk);
  });
  grid.addEventListener("pointercancel", drop);
}
