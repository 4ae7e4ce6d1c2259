import assert from "node:assert/strict";
import { test } from "node:test";

import { build } from "../../src/allranks/view/static/algorithms.js";
import { readVariants } from "../../src/allranks/view/static/flow-variants.js";
import { layout } from "../../src/allranks/view/static/layout.js";
import { ownership, strayWords } from "../../src/allranks/view/static/owners.js";
import { rebuild, titleOf } from "../../src/allranks/view/static/rebuild.js";
import { makeScene, stateAt } from "../../src/allranks/view/static/scene.js";
import { countText, sentence, verdict } from "../../src/allranks/view/static/telling.js";
import { BUGS, vary } from "../../src/allranks/view/static/variants.js";

const BENCH = { alpha: 4e-6, bandwidth: 25e9, gamma: 0, ports: 1, in_flight: 1 };

function flow(collective, algorithm, n, more = {}) {
  const schedule = build(collective, algorithm, { n });
  assert.ok(schedule);
  return {
    format: "allranks.flow/1", title: titleOf(schedule), label: "SIMULATED", schedule, nbytes: 48e6, machine: "bench",
    machines: { bench: BENCH }, clock: "steps", elements: null, records: null, measured: "", error: null, controls: {}, owners: true, ...more,
  };
}

const kinds = (scene, time) => ownership(scene, time).map(({ kind }) => kind).join(" ");

test("a chunk waits for its owner until the last step completes it there", () => {
  const scene = makeScene(flow("reduce_scatter", "ring", 4));
  assert.equal(kinds(scene, 2), "waiting waiting waiting waiting");
  assert.equal(kinds(scene, 3), "kept kept kept kept");
  assert.equal(strayWords(scene, 3), "");
});

test("the shifted ring sends every badge astray the moment its chunk is complete, and says so", () => {
  const shifted = rebuild(flow("reduce_scatter", "ring", 4), { variants: ["shifted"] });
  assert.ok(shifted);
  const scene = makeScene(shifted);
  assert.equal(kinds(scene, 2), "waiting waiting waiting waiting");
  assert.equal(kinds(scene, 3), "astray astray astray astray");
  assert.deepEqual(ownership(scene, 3)[0], { chunk: 0, owner: 0, at: [3], kind: "astray" });
  const said = "Chunk 0 is complete on rank 3, but rank 0 must own it; 3 more chunks lie on wrong ranks too.";
  assert.equal(verdict(scene), `The promise is broken. ${said}`);
  assert.ok(sentence(scene, 3).endsWith(said));
  assert.match(shifted.title, /4 chunks, rank r starts with chunk r$/);
});

test("a chunk that its owner still gets is away, not astray", () => {
  const scene = makeScene(flow("reduce_scatter", "recursive_halving", 6));
  assert.equal(kinds(scene, 3), "away kept away kept kept kept");
  assert.equal(strayWords(scene, 3), "");
  assert.equal(kinds(scene, 4), "kept kept kept kept kept kept");
});

test("each planted bug leaves a mark of its own", () => {
  const ends = Object.fromEntries(BUGS.map((bug) => {
    const broken = rebuild(flow("reduce_scatter", "ring", 4), { variants: [bug] });
    assert.ok(broken, bug);
    const scene = makeScene(broken);
    return [bug, { said: verdict(scene), held: stateAt(scene, scene.total), owners: kinds(scene, scene.total), scene }];
  }));
  assert.deepEqual(ends.twice.held[2][2], [2, 1, 1, 2]);
  assert.equal(countText(ends.twice.scene, 2, 2, 3), "4 of 4 parts, a 2 times and d 2 times");
  assert.match(sentence(ends.twice.scene, 1.5), /rank 0 sends chunk 2 2 times to rank 1, which adds it/);
  assert.deepEqual(ends.dropped.held[2][2], [0, 1, 1, 0]);
  assert.equal(countText(ends.dropped.scene, 2, 2, 3), "2 of 4 parts, each once");
  assert.match(ends.dropped.said, /rank 2 lacks a and d in chunk 2/);
  assert.equal(ends.swapped.owners, "astray astray kept kept");
});

test("an all-gather backwards is a reduce-scatter, and forwards again it is itself", () => {
  for (const [algorithm, n] of [["ring", 5], ["bruck", 6], ["recursive_doubling", 8], ["pat", 7]]) {
    const plain = flow("all_gather", algorithm, n);
    const back = rebuild(plain, { variants: ["reversed"] });
    assert.ok(back);
    assert.equal(back.schedule.collective, "reduce_scatter");
    assert.equal(verdict(makeScene(back)), "Finished: every promised chunk is in place, each part once.");
    assert.match(back.title, /, backwards: a reduce-scatter$/);
    assert.deepEqual(rebuild(back, { variants: [] })?.schedule, plain.schedule);
    assert.deepEqual(vary(back.schedule, ["reversed"])?.steps, plain.schedule.steps);
  }
});

test("a variant stays while n changes, and the verifier's sentence of the new one is looked up", () => {
  const verdicts = { "ring 5 shifted": { step: 3, message: "five" }, "ring 4 shifted,twice": { step: 2, message: "both" } };
  const first = rebuild(flow("reduce_scatter", "ring", 4, { verdicts }), { variants: ["shifted"] });
  assert.equal(first?.error, null);
  const five = rebuild(first, { n: 5 });
  assert.deepEqual(five?.variants, ["shifted"]);
  assert.equal(five?.error?.message, "five");
  assert.equal(rebuild(five, { n: 4, variants: ["shifted", "twice"] })?.error?.message, "both");
  assert.equal(rebuild(five, { nbytes: 1e6 })?.error?.message, "five");
  assert.deepEqual(rebuild(five, { n: 1 })?.variants, []);
});

test("what a schedule cannot be varied to changes nothing", () => {
  assert.equal(rebuild(flow("all_gather", "ring", 4), { variants: ["twice"] }), null);
  assert.equal(rebuild(flow("all_gather", "ring", 4), { variants: ["sideways"] }), null);
  assert.deepEqual([readVariants(null), readVariants("none"), readVariants("shifted,twice")], [undefined, [], ["shifted", "twice"]]);
});

test("owners get a row of their own under the matrix, in figures that ask for it", () => {
  const asked = layout(makeScene(flow("reduce_scatter", "ring", 8)), 820);
  const plain = layout(makeScene(flow("reduce_scatter", "ring", 8, { owners: false })), 820);
  assert.ok(asked.footY > 0);
  assert.equal(plain.footY, 0);
  assert.ok(asked.height > plain.height);
  assert.equal(layout(makeScene(flow("all_gather", "ring", 4)), 820).footY, 0, "an all-gather completes nothing");
});
