import assert from "node:assert/strict";
import { test } from "node:test";

import { build } from "../../src/allranks/view/static/algorithms.js";
import { isoTime, lasts, marks, nameOf, points, result, tell, treeTrail, winners } from "../../src/allranks/view/static/plane.js";
import { readPlan } from "../../src/allranks/view/static/read-plan.js";
import { innerTwice, members, parentsText, tellMember, tellTrees } from "../../src/allranks/view/static/trees.js";

const BENCH = { alpha: 4e-6, bandwidth: 25e9, gamma: 0, ports: 1, in_flight: 1 };
const FRAME = { x: [0.7, 70], y: [0.55, 70] };

function text(collective, algorithm, n, change = (data) => data) {
  const schedule = build(collective, algorithm, { n });
  return JSON.stringify(change({ format: "allranks.schedule/1", ...structuredClone(schedule) }));
}

test("a line of equal time only has points of that time, in the frame and in order", () => {
  for (const nbytes of [1, 8e3, 1e6, 1e9]) {
    const total = 100e-6 + (2 * nbytes) / 25e9;
    const line = isoTime(total, nbytes, BENCH, FRAME);
    line.forEach((point, index) => {
      assert.ok(Math.abs(lasts(point.alphas, point.bytes, nbytes, BENCH) / total - 1) < 1e-9);
      assert.ok(point.alphas <= 70.001 && point.bytes >= 0.5499 && point.bytes <= 70.001);
      assert.ok(index === 0 || point.alphas >= line[index - 1].alphas);
    });
    assert.ok(line.length > 20, String(nbytes));
  }
});

test("the best line touches the winner, and every other schedule lies beyond it", () => {
  for (const nbytes of [100, 8e3, 1e6, 64e6]) {
    const all = points(16, nbytes, BENCH);
    const [best] = winners(all);
    for (const point of all.filter((one) => !one.ideal)) assert.ok(point.seconds >= best.seconds);
  }
  assert.deepEqual(winners(points(16, 8e3, BENCH)).map((point) => point.key), ["recursive_doubling"]);
  assert.deepEqual(winners(points(16, 64e6, BENCH)).map((point) => point.key), ["rabenseifner"]);
});

test("with all messages at once the one-shot wins the smallest vectors", () => {
  const island = { ...BENCH, alpha: 2e-6, bandwidth: 370e9, in_flight: null };
  assert.deepEqual(winners(points(8, 8e3, island)).map((point) => point.key), ["one_shot"]);
  assert.deepEqual(winners(points(8, 1e6, island)).map((point) => point.key), ["direct"]);
});

test("points that lie on each other share a mark", () => {
  const shared = marks(points(16, 8e3, BENCH)).map((mark) => mark.points.map((point) => point.key).sort());
  assert.ok(shared.some((keys) => keys.join() === "direct,ring"));
  assert.ok(shared.some((keys) => keys.join() === "one_shot,unchunked_ring"));
  assert.equal(shared.flat().length, 10);
});

test("sentences name the plan, its numbers and the formula that is none", () => {
  const all = points(16, 8e3, BENCH);
  const plane = { format: "", title: "", label: "", n: 16, nbytes: 8e3, machine: "bench", machines: {}, points: [], controls: {} };
  assert.equal(result(plane, all), "First (16 ranks, S = 8 kB, bench): recursive doubling with 4 α and 4 S, 17.28 µs. Next: Rabenseifner, 32.6 µs.");
  const large = points(16, 8e6, BENCH);
  assert.match(result({ ...plane, nbytes: 8e6 }, large), /^First .*: Rabenseifner with 8 α and 1.875 S/);
  assert.match(tell(all.find((point) => point.ideal)), /formula .* not a schedule/);
  assert.equal(nameOf(all.find((point) => point.key === "double_binary_tree")), "double tree, 2 chunks");
});

test("the trail of the double tree trades alphas for bytes", () => {
  const trail = treeTrail(16);
  trail.forEach((point, index) => assert.ok(index === 0 || (point.alphas > trail[index - 1].alphas && point.bytes < trail[index - 1].bytes)));
  assert.deepEqual(trail[0], { alphas: 14, bytes: 7 });
  assert.deepEqual(treeTrail(2), []);
});

test("a schedule of the library is read and proved", () => {
  for (const name of ["ring", "rabenseifner", "recursive_doubling", "double_binary_tree", "flat"]) {
    const reading = readPlan(text("all_reduce", name, 6));
    assert.equal(reading.problem, null, name);
    assert.equal(reading.schedule?.world_size, 6);
  }
});

test("what is wrong with a pasted schedule is said in one sentence", () => {
  const cases = [
    ["", /^Nothing is pasted yet/],
    ["{", /^This is no JSON/],
    ["null", /^This is no schedule/],
    ["[]", /^This is no schedule/],
    [text("all_gather", "ring", 4), /^This plane is for all_reduce, and the schedule says "all_gather"\.$/],
    [text("all_reduce", "nvls", 4), /^This plane is for ranks alone/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, world_size: 4000 })), /"world_size" must be a whole number from 2 to 64/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, num_chunks: 0 })), /"num_chunks" must be/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: 3 })), /"steps" must be a list/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [[[0, 1]]] })), /^step 0: a transfer is a list/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [[[0, 9, 0, "copy"]]] })), /^step 0: src and dst must be ranks from 0 to 3\.$/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [[[0, 1, 7, "copy"]]] })), /^step 0: rank 0 sends chunk 7; chunks are 0 to 3\.$/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [[[0, 1, 0, "add"]]] })), /must be "copy" or "reduce"/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [[[2, 2, 0, "copy"]]] })), /^step 0: rank 2 sends chunk 0 to itself/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [[[0, 1, 0, "copy"], [2, 1, 0, "reduce"]]] })), /^step 0: two transfers write chunk 0 of rank 1/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: d.steps.slice(0, -1) })), /^After the last step rank \d lacks the part of rank \d in chunk \d\.$/],
    [text("all_reduce", "ring", 4, (d) => ({ ...d, steps: [d.steps[0], ...d.steps] })), /^After the last step rank \d has the part of rank \d in chunk \d 2 times\.$/],
  ];
  for (const [given, wanted] of cases) {
    const { schedule, problem } = readPlan(given);
    assert.equal(schedule, null);
    assert.match(problem ?? "", wanted);
  }
});

test("the trees of six and seven ranks are those of the chapter", () => {
  const six = members(6);
  assert.deepEqual(six.map((member) => member.bytes), [1, 2, 2, 2, 2, 1]);
  assert.deepEqual(six[3].trees.map((place) => place.parent), [2, 1]);
  assert.deepEqual(members(7).map((member) => member.bytes), [1.5, 1, 2, 2, 2, 2, 1.5]);
  assert.equal(parentsText(six, 0), "Tree 0, parents of ranks 0 to 5: none, 2, 4, 2, 0, 4.");
  assert.equal(tellMember(six[3]), "Rank 3 sends 2 S. In tree 0 it is a leaf, and its parent is 2. In tree 1 its parent is 1, with 2 and 4 below it.");
});

test("rank 0 is inner in both trees for odd n, nobody is for even n", () => {
  for (let n = 3; n <= 32; n += 1) {
    const all = members(n);
    assert.deepEqual(innerTwice(all), n % 2 ? [0] : []);
    assert.match(tellTrees(all), n % 2 ? /Rank 0 is inner in both trees\.$/ : /exactly one of the trees\.$/);
  }
  assert.match(tellTrees(members(2)), /all together 2 S/);
});
