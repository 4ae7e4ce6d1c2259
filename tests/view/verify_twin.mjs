// Reads schedules with Python's verdicts on standard input, judges them in JavaScript, prints what differs.
import { readFileSync } from "node:fs";

import { verify } from "../../src/allranks/view/static/verify.js";

const { cases } = JSON.parse(readFileSync(0, "utf8"));
const found = [];
const kinds = {};
for (const { name, schedule, verdict } of cases) {
  const got = verify(schedule);
  const kind = verdict?.kind ?? "proved";
  kinds[kind] = (kinds[kind] ?? 0) + 1;
  const fields = verdict ? Object.keys(verdict) : [];
  const same = verdict ? got !== null && fields.every((field) => got[field] === verdict[field]) : got === null;
  if (!same) found.push({ name, got, verdict, steps: schedule.steps });
}
process.stdout.write(JSON.stringify({ compared: cases.length, kinds, count: found.length, found: found.slice(0, 5) }));
