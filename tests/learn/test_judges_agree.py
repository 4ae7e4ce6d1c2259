"""The page's judge and the terminal's judge say the same about the same answers."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import permutations
from pathlib import Path

import allranks.view
from allranks.learn.quiz import ITEMS, judge, practice

JUDGE = Path(allranks.view.__file__).parent / "static" / "judge.js"
SCRIPT = """
import { readFileSync } from "node:fs";
import * as page from %r;
const rows = JSON.parse(readFileSync(0, "utf8"));
const judged = rows.map(([item, answer]) => {
  switch (item.type) {
    case "choice": return page.judgeChoice(item.options, answer);
    case "multi": return page.judgeMulti(item.options, answer);
    case "num": return page.judgeNumber(item.num, answer);
    case "order": return page.judgeOrder(item.order, answer);
    case "next": return page.judgeNext(item.next, answer);
    case "spot": return page.judgeSpot(item.spot, answer);
    default: return page.judgeState(item.state, (r, c) => answer[`${r},${c}`] ?? []);
  }
});
console.log(JSON.stringify(judged));
"""
NUMBERS = [
    "1.5",
    "1,5",
    "-0,25",
    "1,5e3",
    "7/4",
    "175 %",
    "12 us",
    "12 \u00b5s",
    "12 \u03bcs",
    "",
    "abc",
    "1.500",
    "3 Mb",
    "1/0",
]


def by_page(rows):
    node = shutil.which("node")
    assert node, "Node.js is missing; `make setup-dev` says how to get it"
    script = SCRIPT % JUDGE.as_uri()
    done = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def answers(item):
    kind = item["type"]
    if kind in ("choice", "multi"):
        ids = [each["id"] for each in item["options"]]
        good = [each["id"] for each in item["options"] if each["right"]]
        return ids if kind == "choice" else [[each] for each in ids] + [good, ids]
    key = item[kind]
    if kind == "num":
        values = [key["value"], *(each["value"] for each in key["distractors"])]
        slips = [f"{key['value']:.12g} {prefix}" for prefix in ("kB", "MB", "MiB", "ms", "steps")]
        return [f"{value:.12g}" for value in values] + NUMBERS + slips
    if kind == "state":
        good = {f"{c['rank']},{c['chunk']}": c["answer"] for c in key["cells"] if not c["given"]}
        bad = [{**good, f"{t['rank']},{t['chunk']}": t["parts"]} for t in key["distractors"]]
        return [good, *bad]
    if kind == "spot":
        return list(range(len(key["lines"])))
    if kind == "order":
        return list(map(list, permutations(each["id"] for each in key["entries"])))
    return [
        *key["answers"],
        *(each["transfer"] for each in key["distractors"]),
        [0, 1, 0, "reduce"],
    ]


def in_terminal(item, answer):
    if item["type"] == "state":
        answer = {tuple(map(int, cell.split(","))): parts for cell, parts in answer.items()}
    return judge(item, answer)


def test_both_judges_say_the_same_about_every_known_answer():
    items = [practice(item_id, seed=seed) for item_id in ITEMS for seed in range(4)]
    rows = [(item, answer) for item in items for answer in answers(item)]
    for (item, answer), page in zip(rows, by_page(rows), strict=True):
        ours = in_terminal(item, answer)
        where = (item["id"], answer, page, ours)
        assert (ours.right, ours.counts) == (page["right"], page["counts"]), where
        if ours.misconception and item["type"] != "multi":
            assert ours.text in page["text"], where
        if not ours.right and ours.counts:
            assert ours.misconception == page.get("misconception"), where
