// @ts-check
// What a reader can change in a <chunk-flow>: pickers, sliders and the choice of the axis.

import { refusal, ROOTED } from "./algorithms.js";
import { range } from "./algorithms/base.js";
import { picker, slider } from "./controls.js";
import { h } from "./dom.js";
import { bytes, words } from "./format.js";

/** @typedef {import("./scene.js").Flow} Flow */
/** Sets a control to a value without acting. @typedef {Record<string, (value: string | number) => void>} Puts */

/**
 * @param {Flow} flow @param {(asked: URLSearchParams) => void} change called with what was chosen
 * @param {() => number} ranks of the present schedule: the roots there are
 * @returns {{nodes: Node[], puts: Puts}}
 */
export function flowControls(flow, change, ranks) {
  const asked = flow.controls;
  const { schedule } = flow;
  /** @type {Node[]} */
  const nodes = [];
  /** @type {Puts} */
  const puts = {};
  /** @param {string} name @param {string} text @param {[string, string][]} options @param {string} chosen */
  const pick = (name, text, options, chosen) => {
    const made = picker(text, options, chosen, (value) => change(new URLSearchParams([[name, value]])));
    nodes.push(made.node);
    puts[name] = (value) => {
      made.select.value = String(value);
    };
    return made.select;
  };
  /** @param {string} name @param {string} text @param {unknown} span @param {{value: number, log?: boolean, show: (value: number) => string}} scale */
  const slide = (name, text, span, scale) => {
    if (!Array.isArray(span)) return;
    const made = slider(text, { min: Number(span[0]), max: Number(span[1]), step: 1, ...scale }, (value) => change(new URLSearchParams([[name, String(value)]])));
    nodes.push(made.node);
    puts[name] = (value) => made.put(Number(value));
  };
  const algorithms = Array.isArray(asked["algorithm"]) ? asked["algorithm"].map(String) : [];
  if (algorithms.length) {
    const select = pick("algorithm", "algorithm", algorithms.map((name) => [name, words(name)]), schedule.algorithm);
    // what these ranks cannot run stays in the list, grey, with the reason
    puts["algorithm"] = (value) => {
      for (const option of select.options) {
        const reason = refusal(schedule.collective, option.value, ranks());
        option.disabled = reason !== "";
        option.textContent = words(option.value) + (reason ? `: ${reason}` : "");
      }
      select.value = String(value);
    };
    puts["algorithm"](schedule.algorithm);
  }
  /** @param {string} name @param {string} text @param {number | undefined} chosen */
  const count = (name, text, chosen) => {
    const ends = asked[name];
    if (!Array.isArray(ends)) return;
    const span = range(Number(ends[1]) - Number(ends[0]) + 1).map((index) => String(Number(ends[0]) + index));
    pick(name, text, span.map((value) => [value, value]), String(chosen ?? ""));
  };
  const made = flow.parameters ?? {};
  count("n", "ranks n", schedule.world_size);
  count("node_size", "ranks in a node", Number(made.node_size ?? 8));
  count("radix", "ports down a switch", made.radix);
  for (const [name, text, chosen] of /** @type {const} */ ([["inner", "inside nodes", made.inner], ["outer", "between nodes", made.outer]])) {
    const names = asked[name];
    if (Array.isArray(names)) pick(name, text, names.map((one) => [String(one), words(String(one))]), chosen ?? "");
  }
  if (asked["root"] && ROOTED.has(schedule.collective)) {
    const select = pick("root", "root", [], String(schedule.root));
    puts["root"] = (value) => {
      select.replaceChildren(...range(ranks()).map((rank) => h("option", { value: rank }, String(rank))));
      select.value = String(value);
    };
    puts["root"](schedule.root ?? 0);
  }
  slide("chunks", "chunks", asked["chunks"], { value: schedule.num_chunks, show: String });
  slide("nbytes", "size S", asked["nbytes"], { value: flow.nbytes, log: true, show: bytes });
  const machines = Object.keys(flow.machines);
  if (asked["machine"] && machines.length > 1) pick("machine", "machine", machines.map((name) => [name, name]), flow.machine);
  return { nodes, puts };
}
