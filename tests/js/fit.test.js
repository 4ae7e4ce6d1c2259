import assert from "node:assert/strict";
import { test } from "node:test";

import { bestEfficiency, describe, machineOf, ratio, residuals, rms, signed, spread, used } from "../../src/allranks/view/static/fit.js";

const MODELS = [
  { name: "head", title: "2(n−1)/(n+1)", says: "", ratio: "head" },
  { name: "slide", title: "2(n−1)/n", says: "", ratio: "slide" },
];

/** Points that an efficiency of 0.8 explains exactly in one of the models. */
function figure(model) {
  const points = [5, 6, 8].map((n) => ({ n, chosen: "NVLS", free: 1, ring: 1, gain: 0.8 * ratio(model, n) }));
  points.unshift({ n: 4, chosen: "Ring", free: 1, ring: 1, gain: null });
  const machine = { name: "H", machine: "H", what: "", source: "", read: "", note: "", points };
  return { format: "allranks.fit/1", title: "t", label: "PUBLISHED", efficiency: 0.8, machine: "H", machines: [machine], models: MODELS, range: [2, 8] };
}

test("both models say what they count", () => {
  assert.deepEqual([2, 3, 8].map((n) => ratio(MODELS[0], n)), [2 / 3, 1, 14 / 9]);
  assert.deepEqual([2, 3, 8].map((n) => ratio(MODELS[1], n)), [1, 4 / 3, 7 / 4]);
  assert.ok(Number.isNaN(ratio({ ...MODELS[0], ratio: "other" }, 3)));
});

test("a model that made the points is found with its efficiency, and the other one is not", () => {
  for (const [right, wrong] of [MODELS, [...MODELS].reverse()]) {
    const fit = figure(right);
    const machine = machineOf(fit);
    assert.ok(Math.abs(bestEfficiency(right, machine) - 0.8) < 1e-12);
    assert.ok(rms(residuals(right, machine, 0.8)) < 1e-12);
    assert.ok(spread(residuals(right, machine, 0.5)) < 1e-12, "the spread does not depend on the slider");
    assert.ok(rms(residuals(wrong, machine, bestEfficiency(wrong, machine))) > 0.01);
    assert.ok(spread(residuals(wrong, machine, 0.8)) > 0.05);
  }
});

test("a point at which the library took the ring says nothing about NVLS", () => {
  assert.deepEqual(used(machineOf(figure(MODELS[0]))).map(({ n }) => n), [5, 6, 8]);
});

test("a residual has its sign, and the sentence names both models", () => {
  assert.equal(signed(-0.0164), "−1.6 %");
  assert.equal(signed(0.18), "+18 %");
  assert.match(describe(figure(MODELS[0])), /^Efficiency 0\.800, H with n = 5, 6 and 8: the model 2\(n−1\)\/\(n\+1\) is off by 0 %/);
});
