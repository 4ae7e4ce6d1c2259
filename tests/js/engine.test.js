import assert from "node:assert/strict";
import { test } from "node:test";

import { modulo } from "../../src/allranks/view/static/algorithms/base.js";
import { build, refusal } from "../../src/allranks/view/static/algorithms.js";
import { play, split, standing, startState, states } from "../../src/allranks/view/static/engine.js";
import { bestChunks, chainSeconds, cost, timeline } from "../../src/allranks/view/static/price.js";

const BENCH = { alpha: 4e-6, bandwidth: 25e9, gamma: 0, ports: 1, in_flight: 1 };

function made(collective, algorithm, n, more = {}) {
  const schedule = build(collective, algorithm, { n, ...more });
  assert.ok(schedule);
  return schedule;
}

test("ring reduce-scatter on four ranks sends the chunks of the chapter's figure", () => {
  const sent = made("reduce_scatter", "ring", 4).steps.map((step) => step.map(([, , chunk]) => chunk));
  assert.deepEqual(sent, [[3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0]]);
});

test("binomial broadcast from root 2 on six ranks sends 2>3, then 2>4 3>5, then 2>0 3>1", () => {
  const pairs = made("broadcast", "binomial", 6, { root: 2 }).steps.map((step) => step.map(([src, dst]) => `${src}>${dst}`));
  assert.deepEqual(pairs, [["2>3"], ["2>4", "3>5"], ["2>0", "3>1"]]);
});

test("five broadcasts of 48 MB on six ranks cost what chapter 3 says", () => {
  const us = (algorithm, chunks) => cost(made("broadcast", algorithm, 6, { chunks }), 48e6, BENCH).seconds * 1e6;
  assert.equal(us("flat").toFixed(0), "9620");
  assert.equal(us("chain", 1).toFixed(0), "9620");
  assert.equal(us("binomial").toFixed(0), "5772");
  assert.equal(us("chain", 44).toFixed(1), "2286.5");
  assert.equal(us("scatter_all_gather").toFixed(0), "3232");
});

test("a flat broadcast in one step pays n - 1 alphas and all bytes at the root's port", () => {
  const one = { ...made("broadcast", "flat", 6), steps: [made("broadcast", "flat", 6).steps.flat()] };
  const paid = cost(one, 48e6, BENCH);
  assert.equal(paid.latency_terms, 5);
  assert.equal((paid.seconds * 1e6).toFixed(0), "9620");
  assert.equal(paid.sent[0], 240e6);
});

test("the data-driven clock lets a chain's second hop start before the step of the slowest ends", () => {
  const lock = timeline(made("broadcast", "chain", 4, { chunks: 3 }), 48e6, BENCH, "lockstep");
  const free = timeline(made("broadcast", "chain", 4, { chunks: 3 }), 48e6, BENCH, "data_driven");
  const end = (events) => Math.max(...events.map((event) => event.end));
  assert.ok(end(free) <= end(lock) * (1 + 1e-12));
});

test("the best number of chunks for 48 MB on six ranks is 44, and 1 where nothing can be won", () => {
  assert.equal(bestChunks(6, 48e6, BENCH), 44);
  assert.equal(bestChunks(2, 48e6, BENCH), 1);
  assert.equal(bestChunks(6, 3, { ...BENCH, alpha: 0 }), 3);
  assert.ok(chainSeconds("broadcast", 6, 48e6, 44, BENCH) < chainSeconds("broadcast", 6, 48e6, 43, BENCH));
  assert.ok(chainSeconds("broadcast", 6, 48e6, 44, BENCH) <= chainSeconds("broadcast", 6, 48e6, 45, BENCH));
});

test("a step reads every chunk before it writes any: two ranks swap", () => {
  const schedule = { ...made("all_reduce", "ring", 2), num_chunks: 1, steps: [] };
  const after = play(startState(schedule), [[0, 1, 0, "copy"], [1, 0, 0, "copy"]]);
  assert.deepEqual(after, [[[0, 1]], [[1, 0]]]);
});

test("a part that arrives twice counts two, and the cell stands as twice", () => {
  const schedule = { ...made("all_reduce", "ring", 2), num_chunks: 1, steps: [[[0, 1, 0, "reduce"]], [[0, 1, 0, "reduce"]]] };
  const [, , last] = states(schedule);
  assert.deepEqual(last?.[1]?.[0], [2, 1]);
  assert.equal(standing(schedule, last?.[1]?.[0] ?? [], 1, 0), "twice");
  assert.equal(standing(schedule, last?.[0]?.[0] ?? [], 0, 0), "missing");
});

test("a state is not changed by the step that follows it", () => {
  const all = states(made("all_reduce", "ring", 3));
  assert.deepEqual(all[0], startState(made("all_reduce", "ring", 3)));
});

test("an all-reduce through a switch leaves every part once on every rank", () => {
  const schedule = made("all_reduce", "sharp", 5, { chunks: 2 });
  const last = states(schedule).at(-1);
  for (let rank = 0; rank < 5; rank += 1) {
    for (let chunk = 0; chunk < 2; chunk += 1) assert.equal(standing(schedule, last?.[rank]?.[chunk] ?? [], rank, chunk), "kept");
  }
});

test("eleven elements fall on four chunks as 3, 3, 3, 2, and three on five as 1, 1, 1, 0, 0", () => {
  assert.deepEqual(split(11, 4).map((span) => span.length), [3, 3, 3, 2]);
  assert.deepEqual(split(3, 5).map((span) => span.length), [1, 1, 1, 0, 0]);
  assert.deepEqual(split(11, 4).map((span) => span.start), [0, 3, 6, 9]);
});

test("what a number of ranks cannot run says what it needs", () => {
  assert.equal(refusal("all_gather", "recursive_doubling", 6), "needs a power of two");
  assert.equal(refusal("all_gather", "recursive_doubling", 8), "");
  assert.equal(refusal("all_gather", "neighbor_exchange", 5), "needs an even number of ranks");
  assert.equal(refusal("all_gather", "ring", 6), "");
});

test("one rank needs no step, and what nobody can make is null", () => {
  assert.equal(made("all_reduce", "ring", 1).steps.length, 0);
  assert.equal(build("all_reduce", "toString", { n: 4 }), null);
  assert.equal(build("constructor", "ring", { n: 4 }), null);
  assert.equal(build("all_reduce", "ring", { n: 0 }), null);
  assert.equal(modulo(-1, 4), 3);
});
