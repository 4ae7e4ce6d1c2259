import assert from "node:assert/strict";
import { test } from "node:test";

import {
  judgeChoice, judgeMulti, judgeNext, judgeNumber, judgeOrder, judgeSpot, judgeState, parseNumber, spans,
} from "../../src/allranks/view/static/judge.js";

function value(text) {
  const read = parseNumber(text);
  return read.ok ? read.value : read.why;
}

test("numbers are read as people write them", () => {
  for (const [text, wanted] of [
    ["1.5", 1.5], ["1,5", 1.5], [" 1,5 ", 1.5], ["-0,25", -0.25], ["−0.25", -0.25], ["1,5e3", 1500], ["1.5E-3", 0.0015],
    ["7/4", 1.75], ["7 / 4", 1.75], [".5", 0.5], [",5", 0.5], ["5e-1", 0.5], ["12 us", 12], ["12µs", 12], ["48 MB", 48],
    ["0.125", 0.125], ["0,125", 0.125], ["12.3456", 12.3456], ["2.", 2], ["+3", 3],
  ]) {
    assert.equal(value(text), wanted, text);
  }
});

test("what can be read in two ways is asked about, and what is no number is refused", () => {
  const key = { value: 1.5, unit: "us", tolerance: 0.05, exact: false };
  for (const text of ["1.500", "1,500", "12.345", "1.500 us"]) {
    const verdict = judgeNumber(key, text);
    assert.match(verdict.text, /two ways/, text);
    assert.equal(verdict.counts, false, text);
  }
  assert.equal(judgeNumber(key, "1.515").right, true);
  for (const text of ["", "  ", "abc", "1.2.3", "1,234.5", "1 2", "1 234", "one", "1/0", "5 parsecs", "NaN", "Infinity"]) {
    assert.equal(parseNumber(text).ok, false, text);
  }
});

const speed = { value: 1.5, unit: "GB/s", tolerance: 0.01, exact: false, distractors: [{ value: 12, feedback: "That is bits." }], feedback_right: "Yes.", feedback_else: "No." };

test("a unit is optional, but checked", () => {
  for (const text of ["1.5", "1,5", "1.5 GB/s", "1500 MB/s", "1,5GB/s", "1.5e9 B/s", "3/2 GB/s", "1.515", "1.485"]) {
    assert.equal(judgeNumber(speed, text).right, true, text);
  }
  const bits = judgeNumber(speed, "1.5 Gb/s");
  assert.equal(bits.right, false);
  assert.equal(bits.counts, false);
  assert.match(bits.text, /bits/);
  const gbps = judgeNumber(speed, "1.5 Gbps");
  assert.equal(gbps.counts, false);
});

test("a wrong prefix of the unit gets a note and costs no attempt", () => {
  const slip = judgeNumber(speed, "1.5 MB/s");
  assert.equal(slip.counts, false);
  assert.match(slip.text, /prefix/);
  const kind = judgeNumber(speed, "1.5 ms");
  assert.equal(kind.counts, false);
  const plainly = judgeNumber(speed, "1500");
  assert.equal(plainly.counts, true);
  assert.equal(plainly.right, false);
});

test("a named wrong number gets its own feedback, another one the general one", () => {
  assert.equal(judgeNumber(speed, "12").text, "That is bits.");
  assert.equal(judgeNumber(speed, "7").text, "No.");
  assert.equal(judgeNumber(speed, "7").counts, true);
  assert.match(judgeNumber(speed, "7").read ?? "", /Read as 7 GB\/s/);
  assert.match(judgeNumber(speed, "3/2").read ?? "", /Read as 3\/2 = 1\.5 GB\/s/);
});

test("empty is never right and never an attempt", () => {
  const zero = { value: 0, unit: null, exact: true };
  assert.deepEqual([judgeNumber(zero, "").right, judgeNumber(zero, "").counts], [false, false]);
  assert.equal(judgeNumber(zero, "0").right, true);
});

test("counts are exact, tolerances are inclusive at both ends", () => {
  const steps = { value: 6, unit: "steps", exact: true };
  assert.equal(judgeNumber(steps, "6 steps").right, true);
  assert.equal(judgeNumber(steps, "6").right, true);
  assert.equal(judgeNumber(steps, "6.01").right, false);
  const key = { value: 2 * (7 / 8) * 3.3, unit: null, tolerance: 0.005, exact: false };
  for (const text of ["5.775", "5.77"]) assert.equal(judgeNumber(key, text).right, true, text);
  const round = { value: 100, unit: null, tolerance: 0.01, exact: false };
  assert.deepEqual(["99", "101", "98.9", "101.1"].map((text) => judgeNumber(round, text).right), [true, true, false, false]);
});

test("a percentage is a ratio, whichever of the two is asked for", () => {
  assert.equal(judgeNumber({ value: 1.75, exact: true }, "175 %").right, true);
  assert.equal(judgeNumber({ value: 1.75, exact: true }, "7/4").right, true);
  assert.equal(judgeNumber({ value: 175, unit: "%", exact: true }, "175").right, true);
  assert.equal(judgeNumber({ value: 175, unit: "%", exact: true }, "1.75x").right, true);
  assert.equal(judgeNumber({ value: 0.5 }, "50 %").right, true);
});

const options = [
  { id: "a", text: "yes", right: true, feedback: "Right, because." },
  { id: "b", text: "no", right: false, feedback: "Wrong, because." },
  { id: "c", text: "also", right: true },
];

test("each choice has its own feedback", () => {
  assert.deepEqual([judgeChoice(options, "b").right, judgeChoice(options, "b").text], [false, "Wrong, because."]);
  assert.equal(judgeChoice(options, "a").right, true);
  assert.equal(judgeChoice(options, null).counts, false);
});

test("several choices are right only together", () => {
  assert.equal(judgeMulti(options, ["a", "c"]).right, true);
  assert.match(judgeMulti(options, ["a"]).text, /One right answer is still missing/);
  assert.match(judgeMulti(options, ["a", "b", "c"]).text, /Wrong, because/);
  assert.equal(judgeMulti(options, []).counts, false);
});

test("an order, a state, a transfer and a line are judged, with the known slips named", () => {
  const order = { entries: [], answers: [["x", "y", "z"], ["y", "x", "z"]], distractors: [{ answer: ["z", "y", "x"], feedback: "Backwards." }] };
  assert.equal(judgeOrder(order, ["x", "y", "z"]).right, true);
  assert.equal(judgeOrder(order, ["y", "x", "z"]).right, true, "every order that holds is right");
  assert.equal(judgeOrder(order, ["z", "y", "x"]).text, "Backwards.");
  assert.match(judgeOrder(order, ["x", "z", "y"]).text, /Place 2/);
  assert.match(judgeOrder(order, ["y", "z", "x"]).text, /Place 2/);
  assert.equal(judgeOrder(order, ["x", "z", "y"]).right, false);

  const state = { world_size: 2, num_chunks: 1, cells: [{ rank: 0, chunk: 0, answer: [0, 1] }, { rank: 1, chunk: 0, answer: [1], given: true }], distractors: [{ rank: 0, chunk: 0, parts: [0], feedback: "Nothing was added." }] };
  assert.equal(judgeState(state, () => [1, 0]).right, true);
  assert.equal(judgeState(state, () => [0]).text, "Nothing was added.");
  assert.equal(judgeState(state, () => []).counts, false);

  const next = { world_size: 2, num_chunks: 1, answers: [[0, 1, 0, "copy"]], distractors: [{ transfer: [1, 0, 0, "copy"], feedback: "The root has it." }] };
  assert.equal(judgeNext(next, [0, 1, 0, "copy"]).right, true);
  assert.equal(judgeNext(next, [1, 0, 0, "copy"]).text, "The root has it.");
  assert.match(judgeNext(next, [1, 1, 0, "copy"]).text, /never sends to itself/);
  assert.equal(judgeNext(next, null).counts, false);

  const spot = { lines: ["a", "b"], answer: 1, distractors: [{ line: 0, feedback: "Fine." }] };
  assert.equal(judgeSpot(spot, 1).right, true);
  assert.equal(judgeSpot(spot, 0).text, "Fine.");
  assert.equal(judgeSpot(spot, null).counts, false);
});

test("code spans are cut out of text, everything else stays text", () => {
  assert.deepEqual(spans("a<b `x<y` $2(n-1)/n$ & ö"), [
    { code: false, text: "a<b " }, { code: true, text: "x<y" }, { code: false, text: " $2(n-1)/n$ & ö" },
  ]);
  assert.deepEqual(spans("one ` alone"), [{ code: false, text: "one ` alone" }]);
});
