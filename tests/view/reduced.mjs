// Reads figures made by Python on standard input and prints what the page would show of them.
import { readFileSync } from "node:fs";

import { bestEfficiency, machineOf, residuals, rms, spread } from "../../src/allranks/view/static/fit.js";
import { counters, plans } from "../../src/allranks/view/static/ports.js";

const { ports, fits } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({
  ports: ports.map((figure) => plans(figure).map((plan) => ({ title: plan.title, steps: plan.ends.length, seconds: plan.total, ...counters(plan, plan.total) }))),
  fits: fits.map((fit) => fit.models.map((model) => {
    const efficiency = bestEfficiency(model, machineOf(fit));
    const rows = residuals(model, machineOf(fit), efficiency);
    return { efficiency, rms: rms(rows), spread: spread(rows) };
  })),
}));
