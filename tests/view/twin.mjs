// Reads cases made by Python on standard input, does the same in JavaScript, prints what differs.
import { readFileSync } from "node:fs";

import { build, refusal } from "../../src/allranks/view/static/algorithms.js";
import { ends, starts, states } from "../../src/allranks/view/static/engine.js";
import { bestChunks, chainSeconds, cost, lowerBound, timeline } from "../../src/allranks/view/static/price.js";
import { asBuilt, titleOf } from "../../src/allranks/view/static/rebuild.js";
import { vary } from "../../src/allranks/view/static/variants.js";

const cases = JSON.parse(readFileSync(0, "utf8"));
const found = [];

function close(a, b) {
  return a === b || Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}

function equal(where, got, wanted) {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) {
    found.push(`${where}: got ${JSON.stringify(got)?.slice(0, 300)}, wanted ${JSON.stringify(wanted).slice(0, 300)}`);
  }
}

function near(where, got, wanted) {
  if (!close(got, wanted)) found.push(`${where}: got ${got}, wanted ${wanted}`);
}

const made = new Set();

for (const one of cases.schedules) {
  if (one.refused) {
    const [collective, algorithm, asked, given] = one.refused;
    if (build(collective, algorithm, { ...asked, ...asBuilt(given) }) !== null) found.push(`${one.name}: Python refuses it, the page does not`);
    if (one.restriction) equal(`${one.name} reason`, refusal(collective, algorithm, asked.n), one.restriction);
    continue;
  }
  if (one.unvaried) {
    if (vary(one.unvaried[0], one.unvaried[1]) !== null) found.push(`${one.name}: Python has no such variant, the page has`);
    continue;
  }
  const { schedule } = one;
  const name = one.name;
  if (one.varied) {
    const mine = vary(one.varied[0], one.varied[1]);
    equal(`${name} variant`, [mine?.collective, mine?.steps], [schedule.collective, schedule.steps]);
  }
  if (one.generated) {
    const mine = build(schedule.collective, schedule.algorithm, { ...one.asked, ...asBuilt(one.given) });
    equal(`${name} steps`, mine?.steps, schedule.steps);
    equal(`${name} chunks`, [mine?.num_chunks, mine?.root, mine?.num_switches], [schedule.num_chunks, schedule.root, schedule.num_switches]);
    equal(`${name} title`, titleOf(schedule, one.given), one.title);
    if (mine) made.add(`${schedule.collective} ${schedule.algorithm}`);
  }
  if (one.starts) {
    for (let rank = 0; rank < schedule.world_size; rank += 1) {
      for (let chunk = 0; chunk < schedule.num_chunks; chunk += 1) {
        const at = `${name} rank ${rank} chunk ${chunk}`;
        equal(`${at} starts`, starts(schedule, rank, chunk), one.starts[rank][chunk]);
        equal(`${at} ends`, ends(schedule, rank, chunk), one.ends[rank][chunk]);
      }
    }
  }
  if (one.states) equal(`${name} states`, states(schedule), one.states);
  for (const priced of one.costs) {
    const at = `${name} ${JSON.stringify(priced.machine)} S=${priced.nbytes} ${priced.clock}`;
    const got = cost(schedule, priced.nbytes, priced.machine, priced.clock);
    near(`${at} seconds`, got.seconds, priced.seconds);
    equal(`${at} counts`, [got.steps, got.latency_terms, got.messages], priced.counts);
    got.sent.forEach((bytes, rank) => near(`${at} sent by ${rank}`, bytes, priced.sent[rank]));
    got.received.forEach((bytes, rank) => near(`${at} received by ${rank}`, bytes, priced.received[rank]));
    const events = timeline(schedule, priced.nbytes, priced.machine, priced.clock);
    const key = (e) => `${e[0]} ${e[1]} ${e[2]}`.padStart(30);
    const mine = events.map((e) => [e.step, e.src, e.dst, e.chunks, e.start, e.end, e.nbytes]).sort((a, b) => (key(a) < key(b) ? -1 : 1));
    const theirs = [...priced.events].sort((a, b) => (key(a) < key(b) ? -1 : 1));
    equal(`${at} messages`, mine.map((e) => e.slice(0, 4)), theirs.map((e) => e.slice(0, 4)));
    theirs.forEach((event, index) => [4, 5, 6].forEach((field) => near(`${at} event ${event.slice(0, 4)} field ${field}`, mine[index]?.[field], event[field])));
  }
}
for (const [collective, n, nbytes, machine, seconds] of cases.bounds) {
  near(`bound of ${collective} n=${n}`, lowerBound(collective, n, nbytes, machine), seconds);
}
for (const [n, nbytes, machine, best] of cases.best) equal(`best chunks n=${n} S=${nbytes}`, bestChunks(n, nbytes, machine), best);
for (const [collective, n, nbytes, chunks, machine, seconds] of cases.chains) {
  near(`chain ${collective} n=${n} k=${chunks}`, chainSeconds(collective, n, nbytes, chunks, machine), seconds);
}
process.stdout.write(JSON.stringify({ made: [...made], compared: cases.schedules.length, found: found.slice(0, 20), count: found.length }));
