import assert from "node:assert/strict";
import { test } from "node:test";

import { bestPieces, bytesGain, counters, gain, loads, plans, result } from "../../src/allranks/view/static/ports.js";

const BENCH = { alpha: 4e-6, bandwidth: 25e9, gamma: 0, ports: 1, in_flight: 1 };

function figure(n, more = {}) {
  return { format: "allranks.ports/1", title: "t", label: "SIMULATED", n, nbytes: 48e6, pieces: null, machine: "bench", costs: BENCH, controls: {}, ...more };
}

test("in one piece everything goes up before anything comes down", () => {
  assert.deepEqual(loads("sharp", 6, 48, 1), [{ out: 48, into: 0 }, { out: 0, into: 48 }]);
  assert.deepEqual(loads("nvls", 6, 48, 1), [{ out: 48, into: 0 }, { out: 0, into: 8 }, { out: 8, into: 0 }, { out: 0, into: 48 }]);
});

test("six ranks, 48 MB: the numbers that the chapter derives", () => {
  const all = plans(figure(6));
  assert.deepEqual(all.map((plan) => Math.round(plan.total * 1e7)), [32400, 20993, 25470]);
  assert.deepEqual(all.map((plan) => plan.pieces), [null, 22, 37]);
  const last = all.map((plan) => counters(plan, plan.total));
  assert.deepEqual(last.map(({ out, into }) => [out, into].map((x) => Math.round(x / 1e5))), [[800, 800], [480, 480], [560, 560]]);
  assert.deepEqual(last.map(({ switchIn, switchOut }) => [switchIn, switchOut].map((x) => Math.round(x / 1e6))), [[0, 0], [288, 288], [336, 336]]);
});

test("by bytes NVLS loses at two ranks, ties at three, and gains 2(n - 1)/(n + 1)", () => {
  for (const n of [2, 3, 4, 6, 12, 72]) {
    const all = plans(figure(n));
    assert.ok(Math.abs(bytesGain(all, all[2]) - (2 * (n - 1)) / (n + 1)) < 1e-9);
    assert.ok(Math.abs(bytesGain(all, all[1]) - (2 * (n - 1)) / n) < 1e-9);
  }
  const [, , nvls] = plans(figure(3));
  assert.ok(gain(plans(figure(3)), nvls) < 1);
});

test("the best number of pieces is no worse than its neighbors", () => {
  for (const name of ["sharp", "nvls"]) {
    for (const nbytes of [1, 100, 3e3, 375e3, 48e6]) {
      const time = (pieces) => plans(figure(5, { nbytes, pieces })).find((plan) => plan.name === name).total;
      const best = bestPieces(name, 5, nbytes, BENCH);
      assert.ok(best >= 1);
      for (const other of [best - 1, best + 1, 1, 2, 3, 4]) if (other > 0 && other <= nbytes / 5) assert.ok(time(best) <= time(other) * (1 + 1e-12), `${name} ${nbytes} ${best} ${other}`);
    }
  }
});

test("half way through its first step a rank has sent half of what the step moves", () => {
  const [, sharp] = plans(figure(4, { pieces: 1 }));
  const now = counters(sharp, sharp.ends[0] / 2);
  assert.ok(Math.abs(now.out - 24e6) < 1);
  assert.ok(Math.abs(now.switchIn - 96e6) < 4);
  assert.equal(now.into, 0);
});

test("the end is told in one sentence with both gains", () => {
  const said = result(figure(6), plans(figure(6)));
  assert.match(said, /the switch is 1\.543× as fast and NVLS 1\.272×; by bytes alone it would be 1\.667× and 1\.429×/);
});
