// Reads cases made by Python on standard input, computes them in JavaScript, prints what differs.
import { readFileSync } from "node:fs";

import { bestTreeChunks, bounds, NAMES, points } from "../../src/allranks/view/static/plane.js";
import { members } from "../../src/allranks/view/static/trees.js";

const cases = JSON.parse(readFileSync(0, "utf8"));
const found = [];
let compared = 0;

function near(where, got, wanted) {
  compared += 1;
  if (Math.abs(got - wanted) > 1e-9 * Math.max(Math.abs(got), Math.abs(wanted))) found.push(`${where}: got ${got}, wanted ${wanted}`);
}

function equal(where, got, wanted) {
  compared += 1;
  if (JSON.stringify(got) !== JSON.stringify(wanted)) found.push(`${where}: got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

for (const { n, nbytes, costs, points: wanted, limits, chunks } of cases.planes) {
  const at = `n=${n} S=${nbytes} ${JSON.stringify(costs)}`;
  const got = points(n, nbytes, costs);
  equal(`${at} names`, got.map((point) => [point.key, point.title]), wanted.map((point) => [point.key, point.title]));
  got.forEach((point, index) => {
    for (const field of ["alphas", "bytes", "sent", "seconds"]) near(`${at} ${point.key} ${field}`, point[field], wanted[index][field]);
    equal(`${at} ${point.key}`, [point.chunks, point.ideal], [wanted[index].chunks, wanted[index].ideal]);
  });
  const limit = bounds(n, costs);
  equal(`${at} alphas`, limit.alphas, limits.alphas);
  near(`${at} bytes`, limit.bytes, limits.bytes);
  equal(`${at} chunks`, bestTreeChunks(n, nbytes, costs), chunks);
}
for (const { n, parents, sent } of cases.trees) {
  const all = members(n);
  equal(`trees of ${n}`, [0, 1].map((tree) => all.map((member) => member.trees[tree].parent)), parents);
  equal(`bytes of ${n}`, all.map((member) => member.bytes), sent);
}
equal("names", NAMES, cases.names);
process.stdout.write(JSON.stringify({ compared, found: found.slice(0, 20), count: found.length }));
