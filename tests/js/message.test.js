import assert from "node:assert/strict";
import { test } from "node:test";

import { describe, halfSize, messageSeconds, packets, share } from "../../src/allranks/view/static/message.js";

const BENCH = { format: "allranks.message/1", title: "t", label: "SIMULATED", machine: "bench", alpha: 4e-6, bandwidth: 25e9, nbytes: 1e5, controls: {} };

test("a message takes alpha and its bytes, and half of the bandwidth at alpha over beta", () => {
  assert.equal(messageSeconds(BENCH, 0), 4e-6);
  assert.ok(Math.abs(messageSeconds(BENCH) - 8e-6) < 1e-18);
  assert.ok(Math.abs(halfSize(BENCH) - 1e5) < 1e-9);
  assert.ok(Math.abs(share(BENCH) - 0.5) < 1e-12);
});

test("packets follow one another without a gap and end with the last byte", () => {
  const all = packets(BENCH);
  assert.equal(all.length, 8);
  assert.equal(all[0]?.leaves, 0);
  all.slice(1).forEach((packet, index) => assert.ok(Math.abs(packet.leaves - (all[index]?.left ?? 0)) < 1e-18));
  assert.ok(Math.abs((all.at(-1)?.left ?? 0) + BENCH.alpha - messageSeconds(BENCH)) < 1e-15);
  assert.equal(packets({ ...BENCH, nbytes: 3 }).length, 3);
});

test("the sentence says on which side of the half-performance size a message lies", () => {
  assert.match(describe({ ...BENCH, nbytes: 1e3 }), /1 kB take 4\.04 µs: 4 µs of α and 40 ns for the bytes\. That is 0\.99 % of 25 GB\/s\. The size is below n½ = 100 kB/);
  assert.match(describe(BENCH), /The size is at n½/);
  assert.match(describe({ ...BENCH, nbytes: 1e7 }), /404 µs.*99 %.*above n½/);
});
