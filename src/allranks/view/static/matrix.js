// @ts-check
// The matrix of a figure: who holds what, and what is on its way.

import { range } from "./algorithms/base.js";
import { heldIn } from "./columns.js";
import { colorOf, inkOn, s } from "./dom.js";
import { endpoints, holds, standing } from "./engine.js";
import { letter, say } from "./format.js";
import { labelled, TOP } from "./layout.js";
import { badge, mark } from "./marks.js";
import { OwnerBadges } from "./owner-badges.js";
import { stateAt, travelling, upcoming } from "./scene.js";
import { partsText } from "./telling.js";

/** @typedef {import("./columns.js").Column} Column */
/** @typedef {import("./columns.js").Slot} Slot */
/** @typedef {import("./engine.js").Parts} Parts */
/** @typedef {import("./engine.js").State} State */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Move} Move */
/** @typedef {(chunk: number) => Parts | undefined} Cell what is in each chunk of one cell */
/** How a cell is marked. @typedef {{home?: boolean, awaited?: boolean, watched?: boolean, kind?: string}} Look */
/** Moves between two endpoints in one column. @typedef {{src: number, dst: number, column: number, op: string, moves: Move[], progress: number}} Packet */

const MOST_PACKETS = 256;
const MOST_ARROWS = 32;
const TIMES_ROOM = 24;

/** @param {number} p 0 to 1 @returns {number} */
function ease(p) {
  return p < 0.5 ? 2 * p * p : 1 - 2 * (1 - p) * (1 - p);
}

export class Matrix {
  /**
   * @param {Scene} scene @param {Layout} place @param {string} pattern id of the hatch
   * @param {(rank: number, column: number) => void} watch called when a reader points at a cell
   */
  constructor(scene, place, pattern, watch) {
    this.scene = scene;
    this.place = place;
    this.pattern = pattern;
    this.back = s("g");
    this.hints = s("g", { class: "ar-hints" });
    this.moving = s("g");
    this.front = s("g", {}, this.hints, this.moving);
    this.owners = new OwnerBadges(scene, place);
    this.back.append(this.owners.group);
    /** @type {SVGGElement[][]} */
    this.cells = [];
    /** What each cell was drawn for. @type {({flags: string, parts: (Parts | undefined)[]} | null)[][]} */
    this.looks = [];
    /** @type {State | null} */
    this.state = null;
    this.drawn = "";
    this.hinted = "";
    this.drawHead();
    this.drawRows(watch);
  }

  drawHead() {
    const { scene, place } = this;
    const narrow = Math.min(...place.w) < 54;
    const step = (place.w[0] ?? 0) + place.margins.gap;
    const every = narrow ? Math.max(1, Math.ceil(20 / step)) : 1;
    const [first] = scene.columns;
    if (narrow && first) {
      const word = scene.schedule.collective === "all_to_all" ? say("for") : say("chunk");
      this.back.append(s("text", { x: place.margins.head - 9, y: 18, class: "ar-axis", "text-anchor": "end" }, word));
    }
    for (const index of labelled(scene.columns.length, every)) {
      const column = scene.columns[index];
      if (!column) continue;
      const center = (place.x[index] ?? 0) + (place.w[index] ?? 0) / 2;
      this.back.append(s("text", { x: center, y: 18, class: "ar-axis", "text-anchor": "middle" }, narrow ? column.brief : column.title));
      const span = scene.elements[column.chunks[0] ?? 0];
      if (!narrow || scene.columns.length === 1) {
        this.back.append(s("text", { x: center, y: 34, class: "ar-axis ar-faint", "text-anchor": "middle" }, elementsText(span)));
      }
    }
  }

  /** @param {(rank: number, column: number) => void} watch */
  drawRows(watch) {
    const { scene, place } = this;
    const ranks = scene.schedule.world_size;
    const { pitch, cell: tall, badge: radius, every } = place.row;
    for (const endpoint of range(endpoints(scene.schedule))) {
      const y = TOP + endpoint * pitch;
      const middle = y + tall / 2;
      if (endpoint % every === 0) this.back.append(badge(endpoint, ranks, place.margins.badge, middle, Math.min(radius, place.margins.head < 60 ? 13 : 15)));
      if (endpoint < ranks && pitch >= 20) this.back.append(s("text", { x: place.margins.letter, y: middle + 4.5, class: "ar-axis", "text-anchor": "middle" }, letter(endpoint)));
      this.cells.push(scene.columns.map((column, index) => {
        const group = s("g", { class: "ar-cell-group", transform: `translate(${place.x[index]} ${y})` });
        group.addEventListener("pointerenter", () => watch(endpoint, index));
        group.addEventListener("click", () => watch(endpoint, index));
        if (column.home === endpoint && !place.footY && (place.w[index] ?? 0) >= 34 && pitch - tall >= 14) {
          this.back.append(s("text", { x: (place.x[index] ?? 0) + 1, y: y - 4, class: "ar-axis ar-home" }, "home"));
        }
        return group;
      }));
      this.looks.push(scene.columns.map(() => null));
    }
    for (const row of this.cells) this.back.append(...row);
  }

  /** @param {number} time @param {[rank: number, column: number]} watched */
  update(time, watched) {
    const { scene } = this;
    const state = stateAt(scene, time);
    const over = time >= scene.total * (1 - 1e-9);
    const coming = packets(scene, travelling(scene, time));
    const awaited = new Set(coming.map(({ dst, column }) => `${dst},${column}`));
    const drawn = `${over} ${watched} ${[...awaited].join(" ")}`;
    if (state !== this.state || drawn !== this.drawn) {
      this.state = state;
      this.drawn = drawn;
      this.updateCells(state, over, awaited, watched);
    }
    // a crowd hides itself: then only the parts that move are drawn, not the cells around them
    const crowd = coming.length > 2 * this.cells.length;
    this.moving.replaceChildren(...coming.slice(0, MOST_PACKETS).map((packet, index) => this.traveller(packet, index, crowd)));
    this.updateHints(time, coming.length > 0 || over);
    this.owners.update(time);
  }

  /** @param {State} state @param {boolean} over @param {Set<string>} awaited @param {[number, number]} watched */
  updateCells(state, over, awaited, watched) {
    const { scene } = this;
    this.cells.forEach((row, endpoint) => row.forEach((group, index) => {
      const column = scene.columns[index];
      if (!column) return;
      /** @type {Cell} */
      const cell = (chunk) => state[endpoint]?.[chunk];
      const parts = column.chunks.map(cell);
      const known = this.looks[endpoint]?.[index];
      const flags = `${over} ${awaited.has(`${endpoint},${index}`)} ${watched[0] === endpoint && watched[1] === index}`;
      if (known?.flags === flags && known.parts.every((one, order) => one === parts[order])) return;
      this.looks[endpoint]?.splice(index, 1, { flags, parts });
      const kind = endpoint < scene.schedule.world_size ? standingOf(scene, endpoint, column, cell) : "";
      const shown = kind === "kept" || kind === "twice" || over ? kind : "";
      const look = { home: column.home === endpoint, awaited: awaited.has(`${endpoint},${index}`), watched: watched[0] === endpoint && watched[1] === index, kind: shown };
      group.replaceChildren(...this.cellNodes(index, cell, look));
    }));
  }

  /** @param {number} time @param {boolean} hidden */
  updateHints(time, hidden) {
    const { scene, place } = this;
    const next = hidden || place.row.pitch < 18 ? [] : packets(scene, upcoming(scene, time).map((move) => ({ move, progress: 0 })));
    const shown = next.length > MOST_ARROWS ? [] : next;
    const key = shown.map(({ src, dst, column }) => `${src}-${dst}-${column}`).join();
    if (key === this.hinted) return;
    this.hinted = key;
    this.hints.replaceChildren(...shown.map((packet) => arrow(place, packet, scene.schedule.world_size)));
  }

  /** @param {number} index of the column @param {Cell} cell @param {Look} look @returns {SVGElement[]} */
  cellNodes(index, cell, { home = false, awaited = false, watched = false, kind = "" }) {
    const { place } = this;
    const width = place.w[index] ?? 0;
    const tall = place.row.cell;
    const nodes = [
      s("rect", { width, height: tall, rx: Math.min(4, width / 4), class: `ar-cell${home ? " ar-cell-home" : ""}${awaited ? " ar-awaited" : ""}${watched ? " ar-watched" : ""}` }),
      ...(place.slot ? this.tiles(index, cell, kind) : this.share(index, cell, kind)),
    ];
    const radius = tall >= 26 && width >= 24 ? 7 : tall >= 18 && width >= 20 ? 5 : 0;
    if (radius && kind) nodes.push(mark(width - 1, tall - 1, radius, kind === "kept" ? "kept" : "broken"));
    return nodes;
  }

  /** @param {number} index @param {Cell} cell @param {string} kind @returns {SVGElement[]} a tile for every part */
  tiles(index, cell, kind) {
    const { scene, place } = this;
    const column = scene.columns[index];
    if (!column) return [];
    const width = place.w[index] ?? 0;
    const tall = place.row.cell;
    const slot = column.slots.length ? (width - 4) / column.slots.length : width - 4;
    /** @type {SVGElement[]} */
    const nodes = [];
    const whole = tall - (this.counts(index) ? 18 : 4);
    let held = 0;
    let often = 1;
    column.slots.forEach((one, order) => {
      const { share, most } = heldIn(one, cell);
      often = Math.max(often, most);
      const x = 2 + order * slot;
      if (share > 0) {
        held += 1;
        nodes.push(this.tile(one, x, slot, { share, most, whole }));
      } else if (kind === "missing" && tall >= 12) {
        nodes.push(s("rect", { x: x + 0.5, y: 3, width: Math.max(slot - 1, 1), height: tall - 6, rx: Math.min(3, slot / 3), class: "ar-missing" }));
        if (place.letters) nodes.push(s("text", { x: x + slot / 2, y: tall / 2 + 4, class: "ar-missing-text", "text-anchor": "middle" }, `${letter(one.part)}?`));
      }
    });
    // where a sign for every part would hide its neighbors, one speaks for the cell
    if (often > 1 && tall >= 24 && slot < TIMES_ROOM) nodes.push(...times(width / 2, -12, often));
    const foreign = foreignIn(column, cell);
    if (foreign) nodes.push(s("text", { x: width / 2, y: tall / 2 + 4, class: "ar-missing-text", "text-anchor": "middle" }, foreign));
    if (this.counts(index) && held) {
      nodes.push(s("text", { x: width / 2, y: tall - 4, class: "ar-count", "text-anchor": "middle" }, `${held} of ${column.slots.length}`));
    }
    return nodes;
  }

  /** @param {number} index @returns {boolean} whether the cells of a column say how many parts they hold */
  counts(index) {
    const { place, scene } = this;
    return !place.letters && place.row.cell >= 26 && (place.w[index] ?? 0) >= 40 && (scene.columns[index]?.slots.length ?? 0) > 1;
  }

  /** @param {number} index @param {Cell} cell @param {string} kind @returns {SVGElement[]} how full the cell is */
  share(index, cell, kind) {
    const column = this.scene.columns[index];
    const width = this.place.w[index] ?? 0;
    const height = this.place.row.cell;
    if (!column) return [];
    let full = 0;
    let most = 0;
    let part = -1;
    for (const slot of column.slots) {
      const held = heldIn(slot, cell);
      if (held.share > 0) part = full ? -1 : slot.part;
      full += held.share;
      most = Math.max(most, held.most);
    }
    if (!full) return kind === "missing" ? [s("rect", { width, height, class: "ar-missing" })] : [];
    const fill = part < 0 ? "var(--ar-soft)" : colorOf(part, this.scene.schedule.world_size);
    const drawn = { width: Math.max((width * full) / column.slots.length, 1.5), height, rx: Math.min(2, width / 4) };
    const nodes = [s("rect", { ...drawn, fill, class: "ar-share" })];
    if (most > 1) nodes.push(s("rect", { ...drawn, fill: `url(#${this.pattern})` }));
    if (kind === "missing") nodes.push(s("rect", { width, height, class: "ar-missing" }));
    return nodes;
  }

  /**
   * @param {Slot} one @param {number} x @param {number} slot its width
   * @param {{share: number, most: number, whole: number}} held how much, how often, and how high all of it stands
   * @returns {SVGGElement}
   */
  tile(one, x, slot, { share, most: count, whole }) {
    const { scene, place } = this;
    const ranks = scene.schedule.world_size;
    const group = s("g", { transform: `translate(${x} 2)` });
    const height = whole * share;
    const width = slot - (slot > 12 ? 2 : 0.6);
    const box = { x: (slot - width) / 2, y: whole - height, width, height, rx: Math.min(3, width / 3) };
    group.append(s("rect", { ...box, fill: colorOf(one.part, ranks), class: "ar-tile" }));
    if (count > 1) group.append(s("rect", { ...box, fill: `url(#${this.pattern})` }));
    if (place.letters) {
      const lines = tileText(one, scene, place);
      lines.forEach((text, index) => {
        group.append(s("text", { x: slot / 2, y: whole / 2 + 4.5 + (index - (lines.length - 1) / 2) * 13, class: "ar-part", fill: inkOn(one.part, ranks), "text-anchor": "middle" }, text));
      });
    }
    if (count > 1 && place.row.cell >= 24 && slot >= TIMES_ROOM) group.append(...times(slot / 2, -14, count));
    return group;
  }

  /** @param {number} index of the column @param {Cell} cell @param {number} y @returns {SVGGElement} the parts alone, on their way */
  parts(index, cell, y) {
    return s("g", { transform: `translate(${this.place.x[index]} ${y})`, class: "ar-crowd" }, ...this.tiles(index, cell, "").filter((node) => node.tagName !== "text"));
  }

  /** @param {Packet} packet @param {number} index @param {boolean} crowd @returns {SVGGElement} */
  traveller(packet, index, crowd) {
    const { place } = this;
    const { src, dst, column, op, moves } = packet;
    const p = ease(packet.progress);
    const tall = place.row.cell;
    const sway = Math.abs(dst - src) > 1 ? Math.sin(Math.PI * p) * Math.min(8 + 5 * (index % 3), place.margins.gap) : 0;
    const y = TOP + (src + (dst - src) * p) * place.row.pitch;
    const carried = new Map(moves.map((move) => [move.chunk, move.carried]));
    /** @type {Cell} */
    const cell = (chunk) => carried.get(chunk);
    if (crowd && place.slot) return this.parts(column, cell, y);
    const width = place.w[column] ?? 0;
    const group = s("g", { transform: `translate(${(place.x[column] ?? 0) + sway} ${y})`, class: tall >= 18 ? "ar-traveller" : null });
    const rim = tall >= 18 ? 3 : 1;
    group.append(s("rect", { x: -rim, y: -rim, width: width + 2 * rim, height: tall + 2 * rim, rx: Math.min(6, width / 3), class: "ar-envelope", stroke: colorOf(src, this.scene.schedule.world_size) }));
    group.append(...this.cellNodes(column, cell, {}));
    if (tall >= 18 && width >= 20) {
      group.append(
        s("circle", { cx: width + 3, cy: tall / 2, r: 8.5, class: "ar-op" }),
        s("path", { d: op === "reduce" ? `M${width - 1} ${tall / 2}h8m-4 -4v8` : `M${width - 1} ${tall / 2 - 2}h8m-8 4h8`, class: "ar-op-sign" }),
      );
    }
    return group;
  }
}

/** @param {number} x center @param {number} y @param {number} count @returns {SVGElement[]} how often a part is there */
function times(x, y, count) {
  return [
    s("rect", { x: x - 12, y, width: 24, height: 16, rx: 8, class: "ar-times" }),
    s("text", { x, y: y + 12, class: "ar-times-text", "text-anchor": "middle" }, `×${count}`),
  ];
}

/** @param {Scene} scene @param {{move: Move, progress: number}[]} all @returns {Packet[]} */
function packets(scene, all) {
  /** @type {Map<string, Packet>} */
  const found = new Map();
  for (const { move, progress } of all) {
    const column = scene.columnOf[move.chunk] ?? 0;
    const key = `${move.src} ${move.dst} ${column} ${move.op} ${move.start}`;
    const known = found.get(key);
    if (known) known.moves.push(move);
    else found.set(key, { src: move.src, dst: move.dst, column, op: move.op, moves: [move], progress });
  }
  return [...found.values()];
}

/**
 * How a cell of one or more chunks stands against the contract; "" where nothing is promised.
 * @param {Scene} scene @param {number} rank @param {Column} column @param {Cell} cell @returns {string}
 */
function standingOf(scene, rank, column, cell) {
  const kinds = new Set(column.chunks.map((chunk) => standing(scene.schedule, cell(chunk) ?? [], rank, chunk)));
  for (const kind of /** @type {const} */ (["twice", "wrong", "missing", "kept"])) if (kinds.has(kind)) return kind;
  return "";
}

/** @param {Column} column @param {Cell} cell @returns {string} parts that no rank began with in this column */
function foreignIn(column, cell) {
  const [only] = column.chunks;
  if (column.chunks.length !== 1 || only === undefined) return "";
  const parts = cell(only) ?? [];
  const known = new Set(column.slots.map((slot) => slot.part));
  return holds(parts) && parts.some((count, part) => count > 0 && !known.has(part)) ? partsText(parts) : "";
}

/** @param {Slot} slot @param {Scene} scene @param {Layout} place @returns {string[]} */
function tileText(slot, scene, place) {
  const name = letter(slot.part);
  const span = scene.elements[slot.chunks[0] ?? 0];
  if (!place.indices || !span || span.length === 0 || slot.chunks.length > 1) return [name];
  const first = span.start;
  const last = span.start + span.length - 1;
  if (span.length === 1) return [`${name}${first}`];
  if (place.row.cell < 32) return [name];
  if (span.length === 2) return [`${name}${first}`, `${name}${last}`];
  return place.slot >= 44 ? [`${name}${first} …`, `… ${name}${last}`] : [name];
}

/** @param {{start: number, length: number} | undefined} span @returns {string} */
function elementsText(span) {
  if (!span || span.length === 0) return "empty";
  const last = span.start + span.length - 1;
  return span.length === 1 ? `[${last}]` : `[${span.start}${span.length === 2 ? ", " : " … "}${last}]`;
}

/** @param {Layout} place @param {Packet} packet @param {number} ranks @returns {SVGGElement} */
function arrow(place, { src, dst, column }, ranks) {
  const { pitch, cell } = place.row;
  const x = (place.x[column] ?? 0) + (place.w[column] ?? 0) + 2;
  const y0 = TOP + src * pitch + cell / 2;
  const y1 = TOP + dst * pitch + cell / 2;
  const far = x + Math.min(12 + 4 * Math.abs(dst - src), Math.max(place.margins.gap, 8));
  return s(
    "g", { style: `--ar-of: ${colorOf(src, ranks)}` },
    s("path", { d: `M${x} ${y0}C${far} ${y0} ${far} ${y1} ${x + 1} ${y1}`, class: "ar-arrow" }),
    s("path", { d: `M${x + 8} ${y1 - 5}l-7.5 5l7.5 5`, class: "ar-arrow" }),
  );
}
