import assert from "node:assert/strict";
import { test } from "node:test";

import {
  added, arrays, asJson, asPython, changed, counts, fewest, marks, moved, promises, promiseText, remade, removed, tileText,
} from "../../src/allranks/view/static/compose.js";
import { verify } from "../../src/allranks/view/static/verify.js";

function fresh(collective, n, { root = 0, chunks = 1, steps = [] } = {}) {
  const none = { collective: "", algorithm: "mine", world_size: n, num_chunks: 1, num_switches: 0, root: null, steps: [] };
  return { ...remade(none, { collective, n, root, chunks }), steps };
}

function kinds(schedule) {
  return marks(schedule).map((row) => row.map((mark) => mark.kind));
}

const BEGUN = fresh("broadcast", 4, { steps: [[[0, 1, 0, "copy"]]] });

test("a row goes into its step, and a step without rows is none", () => {
  let plan = added(BEGUN, 1, [0, 2, 0, "copy"]);
  plan = added(plan, 1, [1, 3, 0, "copy"]);
  assert.deepEqual(plan.steps, [[[0, 1, 0, "copy"]], [[0, 2, 0, "copy"], [1, 3, 0, "copy"]]]);
  assert.equal(verify(plan), null);
  assert.deepEqual(removed(plan, 0, 0).steps, [plan.steps[1]]);
  assert.deepEqual(changed(plan, 1, 0, [0, 3, 0, "reduce"]).steps[1], [[0, 3, 0, "reduce"], [1, 3, 0, "copy"]]);
  assert.deepEqual(moved(plan, 1, 0, 2).steps, [plan.steps[0], [[1, 3, 0, "copy"]], [[0, 2, 0, "copy"]]]);
  assert.deepEqual(moved(plan, 0, 0, 1).steps, [[[0, 2, 0, "copy"], [1, 3, 0, "copy"], [0, 1, 0, "copy"]]]);
  assert.equal(moved(plan, 0, 0, 0), plan);
});

test("other numbers keep the rows that still name a rank and a chunk", () => {
  const plan = added(BEGUN, 1, [0, 3, 0, "copy"]);
  assert.deepEqual(remade(plan, { collective: "broadcast", n: 3, root: 2, chunks: 1 }).steps, [[[0, 1, 0, "copy"]]]);
  assert.deepEqual(remade(plan, { collective: "reduce", n: 4, root: 2, chunks: 1 }).steps, []);
  const gather = remade(plan, { collective: "gather", n: 5, root: 9, chunks: 2 });
  assert.deepEqual([gather.num_chunks, gather.root], [5, 4]);
  assert.equal(remade(plan, { collective: "all_gather", n: 5, root: 1, chunks: 2 }).root, null);
});

test("a port sends its messages one after another, and the busiest rank is named", () => {
  const atOnce = fresh("broadcast", 4, { steps: [[[0, 1, 0, "copy"], [0, 2, 0, "copy"], [0, 3, 0, "copy"]]] });
  const now = counts(atOnce, 8);
  assert.deepEqual([now.steps, now.transfers, now.inTurn, now.busiest, now.who], [1, 3, 3, 192, { rank: 0, sends: true }]);
  const into = counts(fresh("gather", 3, { root: 2, steps: [[[0, 2, 0, "copy"], [1, 2, 1, "copy"]]] }), 8);
  assert.deepEqual([into.inTurn, into.busiest, into.who], [2, (3 + 3) * 8, { rank: 2, sends: false }]);
  assert.deepEqual(["broadcast", "gather", "all_gather", "reduce", "reduce_scatter", "all_reduce"].map((name) => fewest(fresh(name, 5))), [3, 3, 3, 3, null, null]);
});

test("every promised place is done, missing, double or wrong", () => {
  assert.deepEqual(kinds(BEGUN), [["done"], ["done"], ["missing"], ["missing"]]);
  const twice = fresh("all_reduce", 2, { steps: [[[0, 1, 0, "reduce"]], [[1, 0, 0, "reduce"]]] });
  assert.deepEqual(marks(twice), [[{ kind: "double", text: "double a" }], [{ kind: "done", text: "done" }]]);
  const astray = fresh("reduce", 3, { root: 2, steps: [[[1, 0, 0, "reduce"]], [[2, 0, 0, "reduce"]]] });
  assert.deepEqual(kinds(astray), [["place"], ["free"], ["missing"]]);
  assert.equal(marks(astray)[2][0].text, "missing a, b");
  const gather = fresh("gather", 3, { root: 0, steps: [[[2, 1, 2, "copy"]]] });
  assert.deepEqual(kinds(gather), [["done", "missing", "missing"], ["free", "free", "place"], ["free", "free", "free"]]);
  assert.equal(promises(gather), 3);
  const foreign = fresh("all_gather", 2, { steps: [[[0, 1, 0, "copy"], [1, 0, 1, "copy"]]] });
  assert.deepEqual(kinds(foreign), [["done", "done"], ["done", "done"]]);
});

test("the numbers at the end follow the fill 100 (rank + 1) + index", () => {
  const sum = fresh("all_reduce", 2, { steps: [[[0, 1, 0, "reduce"], [1, 0, 0, "reduce"]]] });
  assert.deepEqual(arrays(sum)[1][0], [300, 302, 304, 306, 308, 310, 312, 314]);
  assert.equal(arrays(BEGUN)[3][0], null);
});

test("the text is what a person would type", () => {
  assert.equal(asJson(fresh("all_gather", 2)), '{"format": "allranks.schedule/1", "collective": "all_gather",\n "algorithm": "mine", "world_size": 2, "root": null, "num_chunks": 2,\n "steps": []}');
  assert.deepEqual(JSON.parse(asJson(BEGUN)).steps, BEGUN.steps);
  assert.match(asPython(BEGUN), /root=0,\n {4}steps=\[\n {8}\[\n {12}ar\.Transfer\(0, 1, 0, ar\.Op\.COPY\),\n/);
  assert.equal(tileText(BEGUN, 0, 0, true), "a0…a7");
  assert.equal(tileText(fresh("all_gather", 5), 1, 1, true), "b2 b3");
  assert.match(promiseText(fresh("scatter", 3, { root: 1 })), /Rank 1 starts .* Rank r must/);
});
