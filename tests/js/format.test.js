import assert from "node:assert/strict";
import { test } from "node:test";

import { aboveBound, bytes, letter, list, plural, significant, ticks, time, words } from "../../src/allranks/view/static/format.js";

test("times and sizes have the unit a person would choose", () => {
  assert.deepEqual([0, 4e-6, 2.286545e-3, 9.62e-3, 12.3e-3, 1.5, 4e-10].map(time), ["0 µs", "4 µs", "2286.5 µs", "9620 µs", "12.3 ms", "1.5 s", "0.4 ns"]);
  assert.deepEqual([0, 64, 48e6, 3000, 1e9, 999999].map(bytes), ["0 B", "64 B", "48 MB", "3 kB", "1 GB", "1 MB"]);
  assert.equal(significant(4294967296, 15), "4,294,967,296");
});

test("a bound is met, passed by some percent, or by a factor", () => {
  assert.deepEqual([1, 1.19, 1.016, 4.979].map(aboveBound), ["equal to the lower bound", "19 % above the lower bound", "1.6 % above the lower bound", "4.98 times the lower bound"]);
});

test("names read as in prose", () => {
  assert.deepEqual(["all_reduce", "reduce_scatter", "scatter_all_gather", "all_to_all", "binomial", "sharp", "constructor"].map(words), [
    "all-reduce", "reduce-scatter", "scatter + all-gather", "all-to-all", "binomial", "SHARP", "constructor",
  ]);
  assert.deepEqual([0, 25, 26, 53].map(letter), ["a", "z", "a₁", "b₂"]);
  assert.equal(list(["a", "b", "c"]), "a, b and c");
  assert.equal(plural(1, "rank"), "1 rank");
});

test("axis marks are round and lie inside", () => {
  assert.deepEqual(ticks(24, 4), [0, 10, 20]);
  assert.deepEqual(ticks(9.62, 5), [0, 2, 4, 6, 8]);
  assert.deepEqual(ticks(0, 5), [0]);
});
