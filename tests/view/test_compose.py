"""The schedule composer: its data, its text in both languages, and a reader's hands on it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

import allranks as ar
from allranks.cli.app import app
from allranks.errors import ScheduleError
from allranks.view.bundle import write
from allranks.view.compose import EXAMPLES, compose, json_text
from allranks.view.html import compose_html, quiz_html

NODE = shutil.which("node")
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
STATIC = Path(__file__).parents[2] / "src" / "allranks" / "view" / "static"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>test</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="stylesheet" href="allranks.css"><script src="allranks.js" defer></script>
<style>body {{ background: var(--ar-paper); color: var(--ar-ink); }}</style></head>
<body><main><h1>Test</h1>{}</main></body></html>"""
RIGHT = {"one-after-another", "all-at-once", "two-step-broadcast", "sum-of-two"}
QUIZ = {
    "id": "p-gate",
    "type": "choice",
    "stem": "How many?",
    "predict": True,
    "options": [
        {"id": "a", "text": "two", "right": True, "feedback": "Yes."},
        {"id": "b", "text": "three", "right": False, "feedback": "No."},
    ],
}


def proved(schedule):
    try:
        ar.verify(schedule)
    except ScheduleError:
        return False
    return True


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_right_or_wrong_as_its_name_says(name):
    assert proved(EXAMPLES[name][1]) == (name in RIGHT)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_text_of_a_schedule_is_read_back(name):
    schedule = EXAMPLES[name][1]
    assert ar.Schedule.from_json(json_text(schedule)) == schedule


def test_an_unknown_example_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'swap-two-ranks'"):
        compose("swap-2-ranks")


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed; it is a development tool")
def test_the_page_writes_the_text_numbers_and_counts_that_python_has():
    script = f"""
      import {{ readFileSync }} from "node:fs";
      import {{ asJson, asPython, arrays, counts, elementsOf }} from "{STATIC / "compose.js"}";
      const all = JSON.parse(readFileSync(0, "utf8")).map((schedule) => ({{
        json: asJson(schedule), python: asPython(schedule), arrays: arrays(schedule),
        counts: counts(schedule, 8), elements: elementsOf(schedule) }}));
      process.stdout.write(JSON.stringify(all));"""
    made = [schedule for _, schedule in EXAMPLES.values()]
    made += [
        ar.schedule("all_reduce", "ring", world_size=3),
        ar.schedule("gather", "binomial", world_size=5, root=2),
        ar.schedule("all_gather", "direct", world_size=6),
        ar.schedule("broadcast", "chain", world_size=4, root=1, num_chunks=3),
    ]
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", script],
        input=json.dumps([schedule.to_dict() for schedule in made]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    for schedule, page in zip(made, json.loads(done.stdout), strict=True):
        mine = ar.Schedule.from_json(page["json"])
        assert mine.steps == schedule.steps
        assert page["json"] == json_text(mine)
        names: dict[str, object] = {}
        exec(page["python"], names)  # noqa: S102 - the text that a reader would run
        assert names["plan"] == mine
        if proved(schedule):
            agree(schedule, page)


def agree(schedule, page):
    n, count = schedule.world_size, page["elements"]
    machine = ar.Topology.uniform(n, alpha=1, bandwidth=1)
    price = ar.cost(schedule, count=count, itemsize=8, topology=machine)
    counts = page["counts"]
    assert (counts["steps"], counts["inTurn"]) == (price.steps, price.latency_terms)
    assert counts["busiest"] == max(price.bytes_sent_max, price.bytes_received_max)
    ends = np.array_split(np.arange(count), schedule.num_chunks)
    for rank, row in enumerate(ar.final_state(schedule)[:n]):
        for chunk, parts in enumerate(row):
            fill = [100 * (part + 1) + ends[chunk] for part in parts.elements()]
            wanted = None if not fill else np.sum(fill, axis=0).tolist()
            assert page["arrays"][rank][chunk] == wanted


def test_verify_on_the_command_line_reads_the_copied_text(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json_text(EXAMPLES["two-step-broadcast"][1]), encoding="utf-8")
    result = CliRunner().invoke(app, ["verify", str(file), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["steps"] == 2


def test_without_scripts_a_reader_sees_the_schedule():
    page = compose_html(compose("unfinished-broadcast"), id="fig", caption_html="<p>Cap.</p>")
    assert "<td>0</td><td>0</td><td>1</td><td>0</td><td>copy</td>" in page
    assert "allranks.schedule/1" in page.partition("ar-fallback")[2]


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens fragments as a page and watches its console."""
    write(tmp_path)
    contexts, complaints = [], []

    def start(*fragments, **options):
        figure = compose_html(
            compose("unfinished-broadcast"), id="fig", predict=options.pop("predict", None)
        )
        (tmp_path / "page.html").write_text(PAGE.format(figure + "".join(fragments)), "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 1100}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def cell(page, rank, chunk=0):
    return page.locator(f'.ar-board-cell[data-rank="{rank}"][data-chunk="{chunk}"]')


def steps(page):
    return page.evaluate("document.getElementById('fig').schedule.steps")


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def drag(page, src, dst, chunk=0):
    start, end = cell(page, src, chunk).bounding_box(), cell(page, dst, chunk).bounding_box()
    page.mouse.move(start["x"] + 20, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(end["x"] + 30, end["y"] + 10, steps=4)
    page.mouse.move(end["x"] + 30, end["y"] + 25)
    page.mouse.up()


BEGUN = [[[0, 1, 0, "copy"]]]
DONE = [*BEGUN, [[0, 2, 0, "copy"], [1, 3, 0, "copy"]]]

pytestmark_browser = pytest.mark.browser


@pytestmark_browser
def test_two_drags_finish_the_broadcast_in_two_steps(open_page):
    page = open_page()
    assert steps(page) == BEGUN
    drag(page, 0, 2)
    expect(page.locator(".ar-say")).to_contain_text("Step 1: rank 0 sends chunk 0 to rank 2, COPY.")
    drag(page, 1, 3)
    assert steps(page) == DONE
    assert page.locator(".ar-rows-table tbody tr").count() == 4
    press(page, "Check")
    verdict = page.locator(".ar-verdict")
    expect(verdict).to_contain_text("Proved.")
    expect(verdict).to_contain_text("2 steps, 2 messages one after another")
    assert page.locator(".ar-is-done").count() == 4
    expect(page.locator(".ar-compose-read")).to_contain_text("128 B")
    expect(page.locator(".ar-compose-read")).to_contain_text("4 of 4")


@pytestmark_browser
def test_the_keyboard_alone_composes_and_escape_lets_go(open_page):
    page = open_page()
    cell(page, 0).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ar-say")).to_contain_text("picked up")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".ar-say")).to_contain_text("Rank 2 holds nothing of chunk 0")
    assert steps(page) == BEGUN
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert steps(page) == [*BEGUN, [[1, 2, 0, "copy"]]]


@pytestmark_browser
def test_a_finger_taps_and_drags(open_page):
    page = open_page(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 900})
    cell(page, 0).tap()
    cell(page, 2).tap()
    assert steps(page)[1] == [[0, 2, 0, "copy"]]
    start, end = cell(page, 1).bounding_box(), cell(page, 3).bounding_box()
    client = page.context.new_cdp_session(page)
    x, top, low = start["x"] + 30, start["y"] + 20, end["y"] + 20
    for kind, y in [("touchStart", top), ("touchMove", top + 30), ("touchMove", low)]:
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert steps(page) == DONE
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytestmark_browser
def test_the_table_adds_edits_moves_deletes_and_undoes(open_page):
    page = open_page()
    page.get_by_label("receiver of a new transfer").select_option("3")
    press(page, "Add")
    assert steps(page) == [*BEGUN, [[0, 3, 0, "copy"]]]
    page.get_by_label("receiver of step 1, rank 0 to rank 3, chunk 0").select_option("2")
    page.get_by_label("op of step 1, rank 0 to rank 2, chunk 0").select_option("reduce")
    assert steps(page)[1] == [[0, 2, 0, "reduce"]]
    page.get_by_label("step of step 1, rank 0 to rank 2, chunk 0").select_option("0")
    assert steps(page) == [[[0, 1, 0, "copy"], [0, 2, 0, "reduce"]]]
    page.get_by_role("button", name="Delete step 0, rank 0 to rank 1, chunk 0").click()
    assert steps(page) == [[[0, 2, 0, "reduce"]]]
    for _ in range(5):
        press(page, "Undo")
    assert steps(page) == BEGUN
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    drag(page, 0, 3)
    press(page, "Reset")
    assert steps(page) == BEGUN


@pytestmark_browser
def test_check_says_the_sentence_of_the_verifier_and_shows_its_step(open_page):
    page = open_page()
    page.evaluate(
        "document.getElementById('fig').apply(new URLSearchParams('example=double-count&check=1'))"
    )
    with pytest.raises(ScheduleError) as caught:
        ar.verify(EXAMPLES["double-count"][1])
    expect(page.locator(".ar-first")).to_have_text(str(caught.value))
    expect(page.locator(".ar-is-double")).to_contain_text("double a")
    assert page.locator(".ar-blamed").count() == 1
    press(page, "Show that step")
    expect(page.locator(".ar-say")).to_contain_text("In step 1")
    page.get_by_label("op of step 1, rank 1 to rank 0, chunk 0").select_option("copy")
    assert page.locator(".ar-first").count() == 0
    press(page, "Check")
    expect(page.locator(".ar-verdict")).to_contain_text("Proved.")


@pytestmark_browser
def test_another_contract_begins_anew_and_undo_brings_the_old_one_back(open_page):
    page = open_page()
    page.get_by_label("contract").select_option("gather")
    page.get_by_label("ranks n").select_option("3")
    page.get_by_label("root", exact=True).select_option("2")
    expect(page.get_by_label("chunks", exact=True)).to_be_hidden()
    expect(page.locator(".ar-sub")).to_contain_text("Rank 2 must end with all blocks")
    drag(page, 0, 2, 0)
    drag(page, 1, 2, 1)
    assert steps(page) == [[[0, 2, 0, "copy"], [1, 2, 1, "copy"]]]
    press(page, "Check")
    expect(page.locator(".ar-verdict")).to_contain_text("2 messages one after another")
    for _ in range(5):
        press(page, "Undo")
    assert steps(page) == BEGUN
    expect(page.get_by_label("contract")).to_have_value("broadcast")


@pytestmark_browser
def test_what_cannot_be_played_is_marked_at_once(open_page):
    page = open_page()
    page.evaluate(
        "document.getElementById('fig').apply(new URLSearchParams('example=send-too-early&step=0'))"
    )
    assert page.locator(".ar-bad-arrow").count() == 1
    expect(page.locator(".ar-say")).to_contain_text("cannot be played")
    assert page.get_by_role("img", name="cannot be played").count() == 1


@pytestmark_browser
def test_the_text_to_copy_is_that_of_the_schedule(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.locator("summary").first.click()
    press(page, "Copy as JSON")
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert ar.Schedule.from_json(copied) == EXAMPLES["unfinished-broadcast"][1]


@pytestmark_browser
def test_the_board_waits_for_the_prediction(open_page):
    page = open_page(quiz_html([QUIZ]), predict="p-gate")
    drag(page, 0, 2)
    assert steps(page) == BEGUN
    press(page, "Skip the prediction")
    drag(page, 0, 2)
    assert steps(page) == [*BEGUN, [[0, 2, 0, "copy"]]]


@pytestmark_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", ["example=double-count&check=1", "contract=scatter&n=6&root=2"])
def test_nothing_keeps_anybody_out(open_page, scheme, state):
    page = open_page(color_scheme=scheme)
    page.evaluate("(q) => document.getElementById('fig').apply(new URLSearchParams(q))", state)
    page.locator("summary").first.click()
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, { preload: false })")["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
