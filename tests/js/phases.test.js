import assert from "node:assert/strict";
import { test } from "node:test";

import { build } from "../../src/allranks/view/static/algorithms.js";
import { phaseAt, phaseSentence, phasesOf } from "../../src/allranks/view/static/phases.js";
import { lanes, result, sentText, sentTexts } from "../../src/allranks/view/static/race.js";
import { makeScene } from "../../src/allranks/view/static/scene.js";
import { sentence } from "../../src/allranks/view/static/telling.js";

const BENCH = { alpha: 4e-6, bandwidth: 25e9, gamma: 0, ports: 1, in_flight: 1 };

function scene(algorithm, n, clock = "lockstep", more = {}) {
  const schedule = build("all_reduce", algorithm, { n });
  assert.ok(schedule);
  return makeScene({
    format: "allranks.flow/1", title: "", label: "SIMULATED", schedule, nbytes: 48e6, machine: "bench", machines: { bench: BENCH },
    clock, elements: null, records: null, measured: "", error: null, controls: {}, phases: true, ...more,
  });
}

function race(n, more = {}) {
  return {
    format: "allranks.race/1", title: "", label: "SIMULATED", collective: "all_reduce", n, root: null, nbytes: 48e6, machine: "bench", machines: { bench: BENCH }, count: "time", meter: "S", controls: {},
    entrants: [
      { algorithm: "unchunked_ring", chunks: null, piped: false, parameters: {}, stands_in: ["reduce_scatter", "ring"] },
      { algorithm: "ring", chunks: null, piped: false, parameters: {} },
    ],
    ...more,
  };
}

test("a ring all-reduce has two phases of n - 1 steps, with the names of their collectives", () => {
  for (const n of [2, 4, 6, 9]) {
    assert.deepEqual(phasesOf(scene("ring", n).schedule), [
      { name: "reduce-scatter", from: 0, to: n - 1 },
      { name: "all-gather", from: n - 1, to: 2 * (n - 1) },
    ]);
  }
});

test("a star reduces to one rank and broadcasts from there", () => {
  const names = (algorithm) => phasesOf(scene(algorithm, 4).schedule).map((phase) => phase.name);
  assert.deepEqual(names("flat"), ["reduce", "broadcast"]);
  assert.deepEqual(names("binomial"), ["reduce", "broadcast"]);
  assert.deepEqual(names("rabenseifner"), ["reduce-scatter", "all-gather"]);
});

test("nothing is marked where adding and copying are mixed, a switch adds, or nobody asked", () => {
  const none = [scene("recursive_doubling", 4), scene("sharp", 4), scene("ring", 1), scene("ring", 4, "data_driven"), scene("ring", 4, "lockstep", { phases: false })];
  for (const one of none) {
    assert.deepEqual(one.phases, []);
    assert.equal(phaseSentence(one, 0), "");
  }
  const steps = scene("ring", 4).schedule.steps.map((step) => step.map((t) => [...t]));
  steps[4][1][3] = "reduce";
  assert.deepEqual(phasesOf({ ...scene("ring", 4).schedule, steps }), []);
  assert.deepEqual(phasesOf(build("broadcast", "scatter_all_gather", { n: 4 })), []);
});

test("the sentence names the phase, and the border between the two", () => {
  const ring = scene("ring", 4);
  const [, , , border = 0] = ring.stops;
  assert.match(sentence(ring, 0), /^Phase 1 of 2, reduce-scatter: receivers add\. Nothing has arrived yet\./);
  assert.match(sentence(ring, border), /^The reduce-scatter is done, the all-gather comes next\. 3 of 6 steps done\./);
  assert.match(sentence(ring, ring.total), /^Phase 2 of 2, all-gather: receivers copy\. 6 of 6 steps done\./);
  assert.deepEqual([0, border / 2, border, ring.total].map((time) => phaseAt(ring, time)), [0, 0, 1, 1]);
});

test("whole vectors round a ring send (n - 1) S per rank, chunks 2(n - 1)/n S, equal at n = 2", () => {
  const sent = (n) => lanes(race(n)).map((lane) => Math.max(...lane.cost.sent) / 48e6);
  assert.deepEqual(sent(2), [1, 1]);
  assert.deepEqual(sent(8), [7, 1.75]);
  const [unchunked, ring] = lanes(race(6));
  assert.equal(unchunked?.cost.steps, 5);
  assert.ok(Math.abs((unchunked?.cost.seconds ?? 0) - 9620e-6) < 1e-12);
  assert.ok(Math.abs((ring?.cost.seconds ?? 0) - 3240e-6) < 1e-12);
});

test("with two ranks the bytes are equal and one alpha is left, which the result still tells", () => {
  assert.match(result(race(2), lanes(race(2))), /unchunked ring wins with 1924 µs .* Next is ring, 1\.002 times as long/);
});

test("the meters count bytes, or vectors of S bytes for the busiest rank and for all", () => {
  assert.equal(sentText(race(8), [0, 0]), "");
  assert.equal(sentText(race(8), [84e6, 48e6]), "most: 1.75 S, all: 2.75 S");
  assert.equal(sentText(race(8, { meter: "bytes" }), [84e6, 48e6]), "most: 84 MB");
  const [first] = lanes(race(6));
  assert.ok(first);
  assert.deepEqual(sentTexts(race(6), first), ["240 MB (5 S)", "1.44 GB (30 S)"]);
  assert.deepEqual(sentTexts(race(6, { meter: "bytes" }), first), ["240 MB"]);
});
