import assert from "node:assert/strict";
import { test } from "node:test";

import { build } from "../../src/allranks/view/static/algorithms.js";
import { columns } from "../../src/allranks/view/static/columns.js";
import { describe as describeCurve } from "../../src/allranks/view/static/curve.js";
import { layout, rowOf, tracks } from "../../src/allranks/view/static/layout.js";
import { absent, lanes, result, winners } from "../../src/allranks/view/static/race.js";
import {
  makeScene, readOuts, sameState, stateAt, stopAt, timeOfStep, travelling, upcoming,
} from "../../src/allranks/view/static/scene.js";
import { rebuild, titleOf } from "../../src/allranks/view/static/rebuild.js";
import { chunksText, moment, partsText, sentence, vectorText, verdict } from "../../src/allranks/view/static/telling.js";
import { parseShow } from "../../src/allranks/view/static/show.js";

const BENCH = { alpha: 4e-6, bandwidth: 25e9, gamma: 0, ports: 1, in_flight: 1 };

function flow(collective, algorithm, n, more = {}) {
  const { chunks, root, ...rest } = more;
  const schedule = build(collective, algorithm, { n, chunks, root });
  assert.ok(schedule);
  return {
    format: "allranks.flow/1", title: titleOf(schedule), label: "SIMULATED", schedule, nbytes: 48e6, machine: "bench",
    machines: { bench: BENCH, slow: { ...BENCH, alpha: 1e-3 } }, clock: "lockstep", elements: null, records: null, measured: "", error: null, controls: {}, ...rest,
  };
}

const ring = flow("all_reduce", "ring", 4);

test("a ring all-reduce on four ranks stops after each of its six steps", () => {
  const scene = makeScene(ring);
  assert.equal(scene.stops.length, 7);
  assert.equal(stopAt(scene, 0), 0);
  assert.equal(stopAt(scene, scene.total), 6);
  assert.equal(stopAt(scene, (scene.stops[3] ?? 0) * 0.999), 2);
});

test("half way through a step its transfers travel and nothing has changed hands", () => {
  const scene = makeScene(ring, "steps");
  assert.equal(travelling(scene, 2.5).length, 4);
  assert.ok(travelling(scene, 2.5).every(({ progress }) => Math.abs(progress - 0.5) < 1e-9));
  assert.deepEqual(stateAt(scene, 2.5), stateAt(scene, 2));
  assert.equal(travelling(scene, 2).length, 0);
  assert.deepEqual(upcoming(scene, 2).map((move) => move.step), [2, 2, 2, 2]);
});

test("every clock ends in the same state", () => {
  for (const clock of ["steps", "lockstep", "data_driven"]) {
    const scene = makeScene(ring, clock);
    assert.equal(verdict(scene), "Finished: every promised chunk is in place, each part once.");
  }
});

test("a cell says its vector element by element, with letters and indices", () => {
  const scene = makeScene(ring);
  const state = stateAt(scene, scene.total);
  assert.equal(vectorText(state[0]?.[1] ?? [], scene.elements[1] ?? { start: 0, length: 0 }), "a2+b2+c2+d2, a3+b3+c3+d3");
  assert.equal(vectorText([2, 1], { start: 0, length: 2 }), "2·a0+b0, 2·a1+b1");
  assert.equal(vectorText([1], { start: 0, length: 8 }), "a0, a1, … a7");
  assert.equal(vectorText([0, 0], { start: 0, length: 2 }), "nothing");
  assert.equal(partsText([2, 0, 1]), "2a+c");
});

test("figures have at least two elements for every rank and chunk", () => {
  for (const [collective, algorithm] of [["broadcast", "chain"], ["all_reduce", "ring"], ["reduce", "flat"]]) {
    for (let n = 1; n <= 8; n += 1) {
      const scene = makeScene(flow(collective, algorithm, n));
      assert.ok(scene.elements.every((span) => span.length >= 2), `${collective} ${n}`);
    }
  }
});

test("a double count and a missing part are told, never hidden", () => {
  const steps = ring.schedule.steps.map((step) => step.map((t) => [...t]));
  steps[3][0][3] = "reduce";
  const broken = { ...ring, schedule: { ...ring.schedule, algorithm: "custom", steps } };
  const scene = makeScene(broken);
  assert.match(verdict(scene), /more than once/);
  assert.match(sentence(scene, scene.total), /The promise is broken/);
  const short = { ...ring, schedule: { ...ring.schedule, steps: ring.schedule.steps.slice(0, 4) } };
  assert.match(verdict(makeScene(short)), /lacks/);
});

test("the sentence names the step, the ranks, the chunk and what the receiver did", () => {
  const scene = makeScene(ring);
  assert.match(sentence(scene, 0), /^Nothing has arrived yet\. In step 0, rank 0, rank 1, rank 2 and rank 3 send 4 chunks at once\./);
  const said = sentence(scene, scene.stops[1] ?? 0);
  assert.match(said, /^1 of 6 steps done\. In step 0, rank 0 sent chunk 3 to rank 1, which added it \(now a\+b\)/);
  assert.match(sentence(makeScene(flow("all_reduce", "ring", 1)), 0), /One rank/);
});

test("while a step goes on, the sentence tells that step and what will become of it", () => {
  const scene = makeScene(ring);
  const [, one = 0, two = 0] = scene.stops;
  assert.match(sentence(scene, (one + two) / 2), /^Now, in step 1, rank 0 sends chunk 2 to rank 1, which adds it; rank 1 sends/);
  assert.match(sentence(scene, two), /^2 of 6 steps done\. In step 1, rank 0 sent chunk 2 to rank 1, which added it \(now a\+b\+d\)/);
  assert.match(sentence(makeScene(ring, "data_driven"), two / 4), /^Now rank 0 sends chunk 3 to rank 1, which adds it/);
  assert.equal(moment(scene, one * 1.2), moment(scene, one * 1.9));
  assert.notEqual(moment(scene, one), moment(scene, one * 1.2));
  assert.notEqual(moment(scene, one * 1.9), moment(scene, two));
});

test("several chunks of one message are told together", () => {
  assert.equal(chunksText([3]), "chunk 3");
  assert.equal(chunksText([2, 1]), "chunks 1 and 2");
  assert.equal(chunksText([0, 1, 2, 3]), "chunks 0 to 3");
  assert.equal(chunksText([1, 4, 6]), "chunks 1, 4 and 6");
  assert.equal(chunksText([1, 3, 5, 7, 9, 11]), "6 chunks");
  const scene = makeScene(flow("all_gather", "bruck", 4));
  assert.match(sentence(scene, scene.stops[2] ?? 0), /rank 0 sent chunks 0 and 1 to rank 2, which kept them;/);
  assert.equal(partsText([1, 1, 1, 1, 0, 1, 1, 1, 1, 1]), "a to d+f to j");
  assert.equal(partsText([2, 1, 1, 1, 1, 1, 1, 1, 1, 1]), "2a+b+c+d+e+f+g+h+i+j");
});

test("another axis shows the state that was shown", () => {
  const steps = makeScene(ring, "steps");
  const lock = makeScene(ring, "lockstep");
  const free = makeScene(ring, "data_driven");
  assert.ok(Math.abs(sameState(steps, 2.5, lock) - ((lock.stops[2] ?? 0) + (lock.stops[3] ?? 0)) / 2) < 1e-12);
  for (let stop = 0; stop < lock.stops.length; stop += 1) {
    const time = lock.stops[stop] ?? 0;
    assert.equal(sameState(lock, time, steps), stop);
    assert.deepEqual(stateAt(free, sameState(lock, time, free)), stateAt(lock, time));
    assert.equal(sameState(free, timeOfStep(free, stop), steps), stop);
  }
});

test("a measured run keeps its clock on both axes, and only its bars move", () => {
  const records = ring.schedule.steps.flatMap((step, number) => step.map((t, i) => [number, ...t, number * 1e-3 + i * 1e-4, number * 1e-3 + 5e-4 + i * 1e-4, 16, "shm", "cpu"]));
  const run = { ...ring, label: "MEASURED: CPU processes", clock: "measured", records };
  const timed = makeScene(run, "measured");
  const stepped = makeScene(run, "steps");
  assert.equal(stepped.total, timed.total);
  assert.equal(stepped.span, 6);
  assert.ok(stepped.messages.every((message) => message.left === message.step && message.right === message.step + 1));
  for (const share of [0, 0.1, 0.35, 0.8, 1]) {
    const time = share * timed.total;
    assert.equal(sameState(timed, time, stepped), time);
    assert.deepEqual(stateAt(stepped, time), stateAt(timed, time));
    assert.equal(sentence(stepped, time), sentence(timed, time));
  }
});

test("the chunks of an all-to-all stand in one column for each receiver", () => {
  const { schedule } = flow("all_to_all", "bruck", 4);
  const all = columns(schedule);
  assert.deepEqual(all.map((column) => [column.title, column.home]), [["for rank 0", 0], ["for rank 1", 1], ["for rank 2", 2], ["for rank 3", 3]]);
  assert.deepEqual(all[1]?.slots, [0, 1, 2, 3].map((part) => ({ part, chunks: [4 * part + 1] })));
  assert.equal(columns(flow("all_to_all", "direct", 1).schedule)[0]?.title, "chunk 0");
});

test("more chunks than columns share them, and none is lost", () => {
  const { schedule } = flow("broadcast", "chain", 3, { chunks: 1000 });
  const all = columns(schedule);
  assert.ok(all.length <= 64);
  assert.deepEqual(all.flatMap((column) => column.chunks), Array.from({ length: 1000 }, (_, index) => index));
  assert.equal(all[1]?.title, "chunks 16 to 31");
});

test("times that come from Python are drawn as they are", () => {
  const scene = makeScene(ring);
  const lock = scene.messages.map((m) => [m.step, m.src, m.dst, m.chunks, m.start * 2, m.end * 2, m.nbytes]);
  const priced = { note: "", bound: null, step_ends: scene.stops.slice(1).map((stop) => 2 * stop), lockstep: lock, data_driven: lock };
  const other = makeScene({ ...ring, priced });
  assert.equal(other.total, 2 * scene.total);
  assert.equal(readOuts(other, other.total).whole, "5808 µs");
  assert.ok(Number.isNaN(other.bound));
  assert.equal(makeScene({ ...ring, priced }, "steps").seconds, 2 * scene.total);
  assert.match(verdict(other), /Finished/);
  assert.equal(rebuild({ ...ring, priced }, { n: 5 }), null);
});

test("a machine of few ranks bounds n, one without adding switches has no SHARP", () => {
  const small = { ...ring, machines: { ...ring.machines, small: { ...BENCH, in_flight: null, most: 8, adds: false } } };
  assert.equal(rebuild(small, { machine: "small" })?.schedule.world_size, 4);
  assert.equal(rebuild({ ...small, schedule: build("all_reduce", "ring", { n: 16 }) }, { machine: "small" })?.schedule.world_size, 8);
  assert.equal(rebuild({ ...small, machine: "small" }, { algorithm: "sharp" }), null);
  assert.equal(rebuild(small, { algorithm: "sharp" })?.schedule.num_switches, 1);
});

test("a number of chunks that somebody chose stays, and the usual one follows n", () => {
  assert.equal(rebuild(ring, { n: 6 })?.schedule.num_chunks, 6);
  assert.equal(rebuild(flow("broadcast", "chain", 4, { chunks: 5 }), { n: 6 })?.schedule.num_chunks, 5);
  assert.equal(rebuild(flow("all_reduce", "nvls", 8), { n: 4 })?.schedule.num_chunks, 4);
  assert.equal(rebuild(flow("all_reduce", "nvls", 8, { chunks: 16 }), { n: 4 })?.schedule.num_chunks, 16);
  assert.equal(rebuild(flow("all_reduce", "nvls", 4, { chunks: 8 }), { n: 6 })?.schedule.num_chunks, 6);
  const nodes = { ...flow("all_reduce", "hierarchical", 8), parameters: { node_size: 4 } };
  const eight = rebuild({ ...nodes, schedule: build("all_reduce", "hierarchical", { n: 8, nodeSize: 4 }) }, { n: 16 });
  assert.equal(eight?.title, "Hierarchical all-reduce on 16 ranks, 16 chunks, nodes of 4");
  assert.equal(rebuild(nodes, { node_size: 2 })?.parameters?.node_size, 2);
});

test("the read-outs count bytes and messages that have arrived", () => {
  const scene = makeScene(flow("broadcast", "flat", 6));
  const half = readOuts(scene, scene.stops[3] ?? 0);
  assert.equal(half.sent, "144 MB");
  assert.equal(half.busiest, "rank 0");
  assert.equal(half.messages, "3 of 5");
  assert.equal(half.kept, "4 of 6");
  assert.equal(readOuts(scene, 0).whole, "9620 µs");
  assert.equal(readOuts(scene, 0).bound, "4.98 times the lower bound");
  assert.equal(readOuts(makeScene(flow("all_reduce", "sharp", 4)), 0).bound, "");
});

test("a measured trace plays at its own times and offers no other clock than steps", () => {
  const records = ring.schedule.steps.flatMap((step, number) => step.map((t, i) => [number, ...t, number * 1e-3 + i * 1e-5, number * 1e-3 + 5e-4 + i * 1e-5, 16, "shm", "cpu"]));
  const measured = { ...ring, label: "MEASURED: CPU processes", clock: "measured", records };
  const scene = makeScene(measured);
  assert.equal(scene.clock, "measured");
  assert.equal(scene.total, records.at(-1)?.[6]);
  assert.equal(verdict(scene), "Finished: every promised chunk is in place, each part once.");
  assert.equal(makeScene(measured, "data_driven").clock, "measured");
  assert.equal(rebuild(measured, { n: 5 }), null);
  assert.equal(readOuts(scene, 0).bound, "");
});

test("other numbers make another schedule of the same collective; nonsense makes none", () => {
  const next = rebuild(flow("broadcast", "binomial", 6), { algorithm: "chain", chunks: 4, n: 5, root: 9 });
  assert.equal(next?.title, "Chain broadcast on 5 ranks, root 4, 4 chunks");
  assert.equal(rebuild(ring, { algorithm: "no_such" }), null);
  assert.equal(rebuild(ring, { machine: "toString" }), null);
  assert.equal(rebuild(ring, { machine: "slow" })?.machine, "slow");
});

test("a chunk has a home where the contract wants it on one rank alone", () => {
  const homes = (flow_) => columns(flow_.schedule).map((column) => column.home);
  assert.deepEqual(homes(flow("reduce_scatter", "ring", 3)), [0, 1, 2]);
  assert.deepEqual(homes(flow("reduce", "flat", 3, { root: 2 })), [2]);
  assert.deepEqual(homes(ring), [null, null, null, null]);
});

test("the drawing fits wide and narrow rooms, and puts the lanes below where it must", () => {
  const scene = makeScene(ring);
  assert.equal(layout(scene, 950).stacked, false);
  assert.ok(layout(scene, 950).width <= 950);
  assert.equal(layout(scene, 346).stacked, true);
  assert.ok(layout(scene, 346).width <= 346);
  assert.ok(layout(scene, 950).indices);
});

test("rows get lower as they get more, so that a figure fits its window, up to 64 ranks", () => {
  for (const n of [2, 5, 6, 7, 8]) assert.ok(layout(makeScene(flow("broadcast", "binomial", n)), 886).height <= 400, String(n));
  for (const [collective, algorithm] of [["all_reduce", "ring"], ["all_to_all", "pairwise"], ["broadcast", "binomial"]]) {
    for (const n of [16, 31, 64]) {
      const scene = makeScene(flow(collective, algorithm, n));
      for (const room of [340, 700, 886, 1100]) {
        const place = layout(scene, room);
        assert.ok(place.width <= room, `${algorithm} ${n} ${room}: ${place.width}`);
        assert.ok(place.row.cell >= 5 && place.lane.into.height > 0);
      }
    }
  }
  assert.equal(rowOf(4).pitch, 66);
  assert.equal(rowOf(64).every, 2);
});

test("messages that overlap at a switch get tracks of their own", () => {
  const scene = makeScene(flow("all_reduce", "sharp", 4));
  const into = tracks(scene.messages, "dst");
  const atSwitch = scene.messages.filter((message) => message.dst === 4).map((message) => into.get(message));
  assert.deepEqual(atSwitch.map((place) => place?.track).sort(), [0, 1, 2, 3]);
  assert.ok(atSwitch.every((place) => place?.tracks === 4));
  assert.ok([...tracks(makeScene(ring).messages, "src").values()].every((place) => place.tracks === 1));
});

const race = {
  format: "allranks.race/1", title: "", label: "SIMULATED", collective: "broadcast", n: 6, root: 0, nbytes: 48e6, machine: "bench", machines: { bench: BENCH }, count: "time", controls: {},
  entrants: [["flat", null, false], ["chain", null, false], ["binomial", null, false], ["chain", null, true], ["scatter_all_gather", null, false]].map(([algorithm, chunks, piped]) => ({ algorithm, chunks, piped })),
};

test("the race has other winners for steps, for 48 MB, for 1 MB and for 3 kB", () => {
  const first = (change) => winners(lanes({ ...race, ...change })).map((lane) => lane.title);
  assert.deepEqual(first({}), ["chain, 44 chunks"]);
  assert.deepEqual(first({ nbytes: 1e6 }), ["scatter + all-gather"]);
  assert.deepEqual(first({ nbytes: 3000 }), ["binomial"]);
  assert.deepEqual(first({ count: "steps" }), ["binomial"]);
  assert.match(result(race, lanes(race)), /chain, 44 chunks wins with 2286.5 µs \(6 ranks, S = 48 MB\)\. Next is scatter \+ all-gather, 1\.41 times as long/);
});

test("who cannot run with these numbers is named, and has no lane", () => {
  const gather = { ...race, collective: "all_gather", root: null, entrants: ["ring", "recursive_doubling"].map((algorithm) => ({ algorithm, chunks: null, piped: false })) };
  assert.deepEqual(absent(gather), ["recursive doubling"]);
  assert.equal(lanes(gather).length, 1);
  assert.deepEqual(absent({ ...gather, n: 8 }), []);
});

test("equal times finish together", () => {
  const tie = { ...race, entrants: race.entrants.slice(0, 2) };
  assert.match(result(tie, lanes(tie)), /flat and chain finish together/);
});

test("the curve tells its minimum in words", () => {
  const curve = { format: "", title: "", label: "SIMULATED", collective: "broadcast", n: 6, nbytes: 48e6, machine: "bench", costs: BENCH, controls: {} };
  assert.match(describeCurve(curve), /best number of chunks is 44: 2286.5 µs, against 9620 µs in one piece/);
});

test("a link names a figure and its state", () => {
  const { id, state } = parseShow("fig-ring?step=2&n=6");
  assert.equal(id, "fig-ring");
  assert.equal(state.get("step"), "2");
  assert.equal(parseShow("fig-k").id, "fig-k");
});
