"""The elements in a real Chromium, on pages opened from a folder: no server, no kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from allranks.algorithms import ALGORITHMS, build
from allranks.cost import cost
from allranks.schedule import MEASURED_CPU, Op, Schedule, Trace, TransferRecord
from allranks.topology import Topology
from allranks.view import fit, frames, messages, ports, races
from allranks.view.asked import parse_controls
from allranks.view.bundle import widget_module, write
from allranks.view.html import (
    curve_html,
    fit_html,
    flow_html,
    message_html,
    ports_html,
    quiz_html,
    race_html,
    self_contained,
)

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
NASTY = 'a<b & "c" `x<y` $2(n-1)/n$ <img src=x onerror=alert(1)>'
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>test</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="stylesheet" href="allranks.css"><script src="allranks.js" defer></script>
<style>body {{ background: var(--ar-paper); color: var(--ar-ink); }}</style></head>
<body><main><h1>Test</h1>{}</main></body></html>"""

pytestmark = pytest.mark.browser

RING = build("all_reduce", "ring", world_size=4)
CHOICE = {
    "id": "q-choice",
    "type": "choice",
    "stem": NASTY,
    "options": [
        {"id": "a", "text": NASTY, "right": False, "feedback": "The slip has a name."},
        {"id": "b", "text": "the other", "right": True, "feedback": "Indeed."},
    ],
    "explanation": "So it is.",
    "figure": {"target": "fig-ring", "state": "step=2"},
}
NUMBER = {
    "id": "q-num",
    "type": "num",
    "stem": "How long?",
    "num": {
        "value": 1.5,
        "unit": "µs",
        "tolerance": 0.01,
        "exact": False,
        "distractors": [{"value": 12, "feedback": "Bits are no bytes."}],
        "feedback_right": "Yes.",
        "feedback_else": "Add alpha.",
    },
}
OTHERS = [
    {
        "id": "q-multi",
        "type": "multi",
        "stem": "Which?",
        "options": [
            {"id": "a", "text": "one", "right": True, "feedback": "One."},
            {"id": "b", "text": "two", "right": True, "feedback": "Two."},
            {"id": "c", "text": "three", "right": False, "feedback": "Not three."},
        ],
    },
    {
        "id": "q-order",
        "type": "order",
        "stem": "Which order?",
        "order": {
            "entries": [{"id": "x", "text": "second"}, {"id": "y", "text": "first"}],
            "answers": [["y", "x"]],
            "distractors": [],
            "feedback_right": "In order.",
            "feedback_else": "Not in order.",
        },
    },
    {
        "id": "q-state",
        "type": "state",
        "stem": "Who holds what?",
        "state": {
            "world_size": 2,
            "num_chunks": 1,
            "cells": [
                {"rank": 0, "chunk": 0, "given": True, "answer": [0]},
                {"rank": 1, "chunk": 0, "given": False, "answer": [0, 1]},
            ],
            "distractors": [],
            "feedback_right": "Both parts.",
            "feedback_else": "Look again.",
        },
    },
    {
        "id": "q-next",
        "type": "next",
        "stem": "What is next?",
        "next": {
            "world_size": 2,
            "num_chunks": 1,
            "answers": [[0, 1, 0, "copy"]],
            "distractors": [],
            "feedback_right": "Next.",
            "feedback_else": "No.",
        },
    },
    {
        "id": "q-spot",
        "type": "spot",
        "stem": "Which line?",
        "spot": {
            "lines": ["0 -> 1", "1 -> 0"],
            "answer": 1,
            "distractors": [],
            "feedback_right": "That line.",
            "feedback_else": "Not that one.",
        },
    },
]
PREDICT = {**CHOICE, "id": "p-race", "predict": True, "figure": None}


def broken():
    steps = [list(step) for step in RING.steps]
    steps[3] = [each._replace(op=Op.REDUCE) for each in steps[3]]
    return Schedule("all_reduce", "custom", 4, 4, tuple(map(tuple, steps[:5])))


def measured():
    records = tuple(
        TransferRecord(step, *transfer, step * 1e-5, (step + 0.7) * 1e-5, 16, "shm", "cpu")
        for step, transfer in RING.transfers()
    )
    return Trace(RING, records, {"label": MEASURED_CPU, "devices": ["a CPU"]})


def everything():
    controls = parse_controls("n=2-8 algorithm=ring,sharp nbytes=1-1e9")
    names = ["flat", "chain", "binomial", "chain:k", "scatter_all_gather"]
    race = races.race(
        names,
        collective="broadcast",
        world_size=6,
        controls=parse_controls("n=2-64 root nbytes=1-1e9 k count", element="chunk-race"),
    )
    curve = races.curve(world_size=6, controls=parse_controls("alpha", element="chunk-curve"))
    link = '<p>Then <button class="ar-show" data-show="fig-ring?n=5&amp;step=3">see</button>.</p>'
    return [
        flow_html(frames.flow(RING, controls=controls), id="fig-ring", caption_html="<p>Cap.</p>"),
        link,
        quiz_html([PREDICT], total=8),
        race_html(race, id="fig-race", predict="p-race"),
        curve_html(curve, id="fig-k"),
        flow_html(frames.flow(broken()), id="fig-bad"),
        flow_html(frames.flow_of_trace(measured()), id="fig-run"),
        flow_html(frames.flow(build("all_reduce", "ring", world_size=1)), id="fig-one"),
        quiz_html([CHOICE, NUMBER, *OTHERS], first=2, total=8),
        message_html(
            messages.message(
                nbytes=1e3, controls=parse_controls("nbytes=1-1e9", element="chunk-message")
            ),
            id="fig-message",
            predict="p-race",
        ),
        ports_html(
            ports.ports(
                world_size=6,
                controls=parse_controls("n=2-72 nbytes=1e3-1e9 k", element="chunk-ports"),
            ),
            id="fig-ports",
            predict="p-race",
        ),
        fit_html(fit.fit(), id="fig-fit"),
    ]


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that opens fragments as a page and watches console and requests."""
    write(tmp_path)
    contexts = []
    complaints = []

    def watch(page):
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda r: complaints.append(r.url) if not r.url.startswith(("file:", "data:")) else 0,
        )

    def start(fragments, *, script="", text=None, **options):
        (tmp_path / "page.html").write_text(
            text if text is not None else PAGE.format("\n".join(fragments)), encoding="utf-8"
        )
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        watch(page)
        if script:
            page.add_init_script(script)
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def figure(page, name):
    return page.locator(f"#{name}")


def now(page, name):
    return page.evaluate(f"document.getElementById('{name}').stop")


def time_of(page, name):
    return page.evaluate(f"document.getElementById('{name}').time")


def press(page, name, label):
    figure(page, name).get_by_role("button", name=label, exact=True).click()


def test_nothing_moves_by_itself(open_page):
    page = open_page(everything(), reduced_motion="reduce")
    before = figure(page, "fig-ring").locator("svg.ar-svg").first.inner_html()
    page.wait_for_timeout(600)
    assert figure(page, "fig-ring").locator("svg.ar-svg").first.inner_html() == before
    assert time_of(page, "fig-ring") == 0


def test_play_pause_step_back_and_scrub(open_page):
    page = open_page(everything())
    press(page, "fig-ring", "Play")
    page.wait_for_function("document.getElementById('fig-ring').time > 0")
    press(page, "fig-ring", "Pause")
    stopped = time_of(page, "fig-ring")
    page.wait_for_timeout(200)
    assert time_of(page, "fig-ring") == stopped
    press(page, "fig-ring", "To the end")
    assert now(page, "fig-ring") == 6
    press(page, "fig-ring", "Back one step")
    assert now(page, "fig-ring") == 5
    press(page, "fig-ring", "To the start")
    press(page, "fig-ring", "Forward one step")
    expect(figure(page, "fig-ring").locator(".ar-say")).to_contain_text(
        "In step 0, rank 0 sent chunk 3 to rank 1, which added it (now a+b)"
    )
    figure(page, "fig-ring").get_by_label("Time", exact=True).fill("500")
    assert now(page, "fig-ring") == 3


def test_it_plays_to_the_end_and_says_that_it_is_right(open_page):
    page = open_page(everything())
    figure(page, "fig-ring").get_by_label("speed").select_option("4")
    press(page, "fig-ring", "Play")
    expect(figure(page, "fig-ring").locator(".ar-say")).to_contain_text(
        "Finished: every promised chunk is in place, each part once."
    )
    assert figure(page, "fig-ring").locator(".ar-kept").count() == 16


def test_the_keyboard_alone_is_enough(open_page):
    page = open_page(everything())
    figure(page, "fig-ring").locator(".ar-frame").focus()
    for key, wanted in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 6)):
        page.keyboard.press(key)
        assert now(page, "fig-ring") == wanted
    page.keyboard.press("Home")
    page.keyboard.press("k")
    assert page.evaluate("document.getElementById('fig-ring').playing")
    page.keyboard.press(" ")
    assert not page.evaluate("document.getElementById('fig-ring').playing")


def test_reduced_motion_jumps_from_step_to_step(open_page):
    page = open_page(everything(), reduced_motion="reduce")
    page.evaluate(
        """() => { const f = document.getElementById('fig-ring'); window.seen = new Set();
        const go = f.go.bind(f); f.go = (t) => { go(t); window.seen.add(f.time); }; }"""
    )
    figure(page, "fig-ring").get_by_label("speed").select_option("4")
    press(page, "fig-ring", "Play")
    page.wait_for_function("document.getElementById('fig-ring').stop === 3")
    press(page, "fig-ring", "Pause")
    stops = page.evaluate("document.getElementById('fig-ring').stops")
    assert set(page.evaluate("[...window.seen]")) <= set(stops)


def test_a_figure_off_the_screen_stops(open_page):
    page = open_page([*everything(), "<div style='height: 3000px'></div>"])
    press(page, "fig-ring", "Play")
    page.wait_for_function("document.getElementById('fig-ring').playing")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("!document.getElementById('fig-ring').playing")
    assert now(page, "fig-ring") < 6


def test_other_numbers_are_computed_without_a_kernel(open_page):
    page = open_page(everything())
    ring = figure(page, "fig-ring")
    ring.get_by_label("ranks n").select_option("7")
    expect(ring.locator("strong")).to_have_text("Ring all-reduce on 7 ranks, 7 chunks")
    ring.locator("summary").first.click()
    assert ring.locator(".ar-tables table").first.locator("tbody tr").count() == 12 * 7
    ring.get_by_label("algorithm").select_option("sharp")
    expect(ring.locator("strong")).to_have_text("SHARP all-reduce on 7 ranks")
    press(page, "fig-ring", "To the end")
    expect(ring.locator(".ar-say")).to_contain_text("Finished")
    ring.get_by_label("steps", exact=True).check()
    expect(ring.locator(".ar-read")).to_contain_text("2 of 2 steps")


def test_a_double_count_and_a_missing_part_are_seen(open_page):
    page = open_page(everything())
    bad = figure(page, "fig-bad")
    expect(bad.locator(".ar-note")).to_contain_text("Not a correct schedule.")
    bad.get_by_role("button", name="Show that step").click()
    assert bad.locator(".ar-times-text", has_text="×2").count() == 4
    press(page, "fig-bad", "To the end")
    expect(bad.locator(".ar-say")).to_contain_text("The promise is broken")
    assert bad.locator(".ar-missing").count() > 0
    assert bad.locator(".ar-broken").count() > 0


def test_a_run_shows_its_own_label_and_times(open_page):
    page = open_page(everything())
    run = figure(page, "fig-run")
    expect(run.locator(".ar-badge")).to_have_text(MEASURED_CPU)
    expect(run.locator(".ar-sub")).to_contain_text("a CPU")
    press(page, "fig-run", "To the end")
    expect(run.locator(".ar-read")).to_contain_text("57 µs")
    for other in ("fig-ring", "fig-race", "fig-k"):
        expect(figure(page, other).locator(".ar-badge")).to_have_text("SIMULATED")


def test_a_phrase_of_the_prose_sets_the_figure_and_keeps_the_focus(open_page):
    page = open_page(everything())
    page.get_by_role("button", name="see").click()
    expect(figure(page, "fig-ring").locator("strong")).to_have_text(
        "Ring all-reduce on 5 ranks, 5 chunks"
    )
    assert now(page, "fig-ring") == 3
    assert page.evaluate("document.activeElement.dataset.show") == "fig-ring?n=5&step=3"


def test_play_is_locked_until_the_prediction_is_made(open_page):
    page = open_page(everything())
    race = figure(page, "fig-race")
    expect(race.get_by_role("button", name="Play", exact=True)).to_be_disabled()
    expect(race.locator(".ar-gate")).to_contain_text("Predict first")
    expect(race.locator("details")).to_be_hidden()
    race.locator(".ar-frame").focus()
    for key in ("k", "ArrowRight", "End"):
        page.keyboard.press(key)
    assert time_of(page, "fig-race") == 0
    page.locator("#quiz-p-race input").nth(1).check()
    expect(race.get_by_role("button", name="Play", exact=True)).to_be_enabled()
    press(page, "fig-race", "To the end")
    expect(race.locator(".ar-say")).to_contain_text("chain, 44 chunks wins with 2286.5 µs")


def test_a_locked_race_does_not_say_who_wins(open_page):
    page = open_page(everything())
    race = figure(page, "fig-race")
    page.evaluate("document.getElementById('fig-race').apply(new URLSearchParams('S=3000'))")
    for choice in ("count steps", "count time"):
        race.get_by_label(choice).check()
        expect(race.locator(".ar-say")).to_contain_text("at the start line")
        expect(race).not_to_contain_text("wins")
        assert time_of(page, "fig-race") == 0


def test_a_phrase_brings_the_drawing_into_view(open_page):
    page = open_page([*everything(), '<div style="height: 3000px"></div>'])
    page.set_viewport_size({"width": 1280, "height": 600})
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.evaluate("document.querySelector('.ar-show').click()")
    drawing = figure(page, "fig-ring").locator(".ar-frame")
    expect(drawing).to_be_in_viewport(ratio=1)


def test_a_prediction_can_be_skipped_from_the_figure(open_page):
    page = open_page(everything())
    figure(page, "fig-race").get_by_role("button", name="Skip the prediction").click()
    expect(figure(page, "fig-race").locator(".ar-gate")).to_be_hidden()
    expect(page.locator("#quiz-p-race")).to_contain_text("Skipped.")


def test_a_gate_without_its_question_opens(open_page):
    race = races.race(["flat"], collective="broadcast", world_size=3)
    page = open_page([race_html(race, id="r", predict="gone")])
    expect(figure(page, "r").get_by_role("button", name="Play", exact=True)).to_be_enabled()


def test_the_winner_of_the_race_changes_with_the_size_and_the_count(open_page):
    page = open_page(everything())
    figure(page, "fig-race").get_by_role("button", name="Skip the prediction").click()
    say = figure(page, "fig-race").locator(".ar-say")
    for state, winner in (
        ("S=3000", "binomial wins with 12.36 µs"),
        ("S=1e6", "scatter + all-gather wins"),
        ("S=48e6&count=steps", "Counted in steps: binomial wins with 3 steps"),
        ("count=time&k=16", "chain, 16 chunks wins with 2480 µs"),
    ):
        page.evaluate(
            "(s) => document.getElementById('fig-race').apply(new URLSearchParams(s))", state
        )
        expect(say).to_contain_text(winner)


def test_alpha_moves_the_best_number_of_chunks(open_page):
    page = open_page(everything())
    curve = figure(page, "fig-k")
    expect(curve.locator(".ar-say")).to_contain_text("the best number of chunks is 44: 2286.5 µs")
    curve.get_by_role("slider", name="α").focus()
    page.keyboard.press("PageDown")
    expect(curve.locator(".ar-say")).not_to_contain_text("is 44")
    curve.get_by_role("button", name="Reset").click()
    expect(curve.locator(".ar-say")).to_contain_text("is 44")


def test_the_size_moves_a_message_once_the_prediction_is_made(open_page):
    page = open_page(everything())
    figure_ = figure(page, "fig-message")
    size = figure_.get_by_role("slider", name="size S")
    expect(size).to_be_disabled()
    expect(figure_).to_contain_text("Predict first")
    figure_.get_by_role("button", name="Skip the prediction").click()
    expect(size).to_be_focused()
    page.keyboard.press("End")
    expect(figure_.locator(".ar-say")).to_contain_text("1 GB take 40.004 ms")
    page.evaluate(
        "document.getElementById('fig-message').apply(new URLSearchParams('nbytes=100000'))"
    )
    expect(figure_.locator(".ar-say")).to_contain_text("100 kB take 8 µs")
    expect(size).to_have_attribute("aria-valuetext", "100 kB")
    figure_.get_by_role("button", name="Reset").click()
    expect(figure_.locator(".ar-say")).to_contain_text("1 kB take 4.04 µs")


def test_a_choice_answers_every_answer_and_typesets_only_code(open_page):
    page = open_page(everything())
    card = page.locator("#quiz-q-choice")
    assert card.locator("img").count() == 0
    assert card.locator(".ar-feedback").get_attribute("aria-live") == "polite"
    assert figure(page, "fig-ring").locator(".ar-say").get_attribute("aria-live") == "polite"
    expect(card.locator("code").first).to_have_text("x<y")
    card.locator("input").first.check()
    expect(card.locator(".ar-feedback")).to_contain_text("Not yet. The slip has a name.")
    card.get_by_role("button", name="Show it in the figure").click()
    assert now(page, "fig-ring") == 2
    card.get_by_role("button", name="Try again").click()
    expect(card.locator(".ar-feedback")).to_be_empty()
    card.locator("input").nth(1).check()
    expect(card.locator(".ar-feedback")).to_contain_text("Right. Indeed.")
    expect(card.locator(".ar-feedback")).to_contain_text("So it is.")


def test_a_number_is_read_aloud_and_judged(open_page):
    page = open_page(everything())
    card = page.locator("#quiz-q-num")
    for typed, said in (
        ("", "Not counted. Type a number first."),
        ("12", "Not yet. Bits are no bytes. Read as 12 µs."),
        ("1.500", "Not counted. “1.500” can be read in two ways; write 1.5 or 1500."),
        ("1.5 ms", "Not counted. The digits are right, the prefix of the unit is not"),
        ("3/2", "Right. Yes. Read as 3/2 = 1.5 µs."),
        (" 1,5 ", "Right. Yes. Read as 1.5 µs."),
    ):
        card.get_by_label("Your number").fill(typed)
        card.get_by_label("Your number").press("Enter")
        expect(card.locator(".ar-feedback")).to_contain_text(said)


def test_the_other_kinds_are_answered_by_keyboard(open_page):
    page = open_page(everything())
    multi = page.locator("#quiz-q-multi")
    multi.get_by_label("one").press(" ")
    multi.get_by_label("one").press("Enter")
    expect(multi.locator(".ar-feedback")).to_contain_text("One right answer is still missing.")
    multi.get_by_label("two").press(" ")
    multi.get_by_label("one").press("Enter")
    expect(multi.locator(".ar-feedback")).to_contain_text("Right. One. Two.")
    order = page.locator("#quiz-q-order")
    order.get_by_role("button", name="Move up: first").press("Enter")
    order.get_by_role("button", name="Check").press("Enter")
    expect(order.locator(".ar-feedback")).to_contain_text("Right. In order.")
    state = page.locator("#quiz-q-state")
    for part in ("a", "b"):
        state.get_by_role("button", name=part, exact=True).press(" ")
    state.get_by_role("button", name="Check").press("Enter")
    expect(state.locator(".ar-feedback")).to_contain_text("Right. Both parts.")
    following = page.locator("#quiz-q-next")
    for label, option in (("from", "0"), ("to", "1"), ("what", "0"), ("the receiver", "copy")):
        following.get_by_label(label, exact=True).select_option(option)
    following.get_by_role("button", name="Check").press("Enter")
    expect(following.locator(".ar-feedback")).to_contain_text("Right. Next.")
    spot = page.locator("#quiz-q-spot")
    spot.locator("input").first.press(" ")
    expect(spot.locator(".ar-feedback")).to_contain_text("Not yet. Not that one.")
    spot.locator("input").first.press("ArrowDown")
    expect(spot.locator(".ar-feedback")).to_contain_text("Right. That line.")


def test_answers_are_remembered_on_the_next_visit(open_page):
    page = open_page(everything())
    page.locator("#quiz-p-race input").first.check()
    page.locator("#quiz-q-num").get_by_label("Your number").fill("12")
    page.locator("#quiz-q-num").get_by_role("button", name="Check").click()
    page.reload()
    expect(page.locator("#quiz-q-num .ar-feedback")).to_contain_text("Bits are no bytes.")
    play = figure(page, "fig-race").get_by_role("button", name="Play", exact=True)
    expect(play).to_be_enabled()


def test_the_page_works_where_storage_is_blocked(open_page):
    block = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } });"
    page = open_page(everything(), script=block)
    page.locator("#quiz-p-race input").nth(1).check()
    expect(page.locator("#quiz-p-race .ar-feedback")).to_contain_text("Right. Indeed.")
    expect(figure(page, "fig-race").locator(".ar-gate")).to_be_hidden()


def test_a_notebook_output_without_a_kernel_plays(open_page):
    fragment = self_contained(flow_html(frames.flow(RING), id="alone"))
    page = open_page([], text=f"<!doctype html><meta charset=utf-8><body>{fragment}{fragment}")
    press(page, "alone >> nth=0", "To the end")
    assert now(page, "alone") == 6


def test_a_kernel_sets_and_hears_the_step(open_page):
    module = widget_module().replace("export default", "window.widget =")
    body = f"<meta charset=utf-8><div id=el></div><script>{module}</script>"
    page = open_page([], text=f"<!doctype html>{body}")
    page.evaluate(
        """(data) => { const heard = {}; const state = { data, step: 0, element: 'chunk-flow' };
        window.model = { get: (k) => state[k], set: (k, v) => { state[k] = v; },
          save_changes() { window.saved = state.step; }, on: (e, f) => { heard[e] = f; }, off() {},
          fire: (k, v) => { state[k] = v; heard['change:' + k](); } };
        widget.render({ model, el: document.getElementById('el') }); }""",
        frames.flow(RING),
    )
    page.evaluate("model.fire('step', 4)")
    assert page.evaluate("document.querySelector('chunk-flow').stop") == 4
    page.get_by_role("button", name="Forward one step").click()
    assert page.evaluate("window.saved") == 5
    assert page.evaluate("document.querySelector('chunk-flow').stop") == 5


def say(page, name):
    return figure(page, name).locator(".ar-say")


def test_while_a_step_goes_on_the_figure_tells_that_step(open_page):
    page = open_page(everything())
    page.evaluate("document.getElementById('fig-ring').apply(new URLSearchParams('step=2.5'))")
    expect(say(page, "fig-ring")).to_contain_text(
        "Now, in step 2, rank 0 sends chunk 1 to rank 1, which adds it; rank 1 sends"
    )
    scrub = figure(page, "fig-ring").get_by_label("Time", exact=True)
    assert "now in step 2" in scrub.get_attribute("aria-valuetext")
    press(page, "fig-ring", "Forward one step")
    expect(say(page, "fig-ring")).to_contain_text("3 of 6 steps done. In step 2, rank 0 sent chunk")
    assert "now" not in scrub.get_attribute("aria-valuetext")
    press(page, "fig-ring", "To the start")
    press(page, "fig-ring", "Play")
    for step, chunk in ((0, 3), (1, 2)):
        expect(say(page, "fig-ring")).to_contain_text(
            f"Now, in step {step}, rank 0 sends chunk {chunk}"
        )
    press(page, "fig-ring", "Pause")
    scrub.fill("100")
    expect(say(page, "fig-ring")).to_contain_text("Now, in step 0, rank 0 sends chunk 3")
    page.evaluate("document.getElementById('fig-run').apply(new URLSearchParams('step=0'))")
    page.evaluate("document.getElementById('fig-run').go(3e-6)")
    page.evaluate("document.getElementById('fig-run').speak()")
    expect(say(page, "fig-run")).to_contain_text("Now rank 0 sends chunk 3 to rank 1")


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_grows_while_a_figure_plays(open_page, width):
    page = open_page(everything(), viewport={"width": width, "height": 800})
    figure(page, "fig-bad").get_by_label("steps", exact=True).check()
    for name in ("fig-ring", "fig-bad", "fig-run", "fig-race"):
        skip = figure(page, name).get_by_role("button", name="Skip the prediction")
        if skip.is_visible():
            skip.click()
        heights = page.evaluate(
            """(name) => { const f = document.getElementById(name); const seen = new Set();
            for (let i = 0; i <= 60; i += 1) { f.go(f.total * i / 60); f.speak();
              seen.add(f.offsetHeight); }
            return [...seen]; }""",
            name,
        )
        assert len(heights) == 1, name


@pytest.mark.parametrize("n", [2, 4, 6, 8])
@pytest.mark.parametrize("algorithm", ["binomial", "scatter_all_gather"])
def test_drawing_buttons_and_sentence_fit_a_low_window(open_page, n, algorithm):
    controls = parse_controls("n=2-8 root algorithm=binomial,scatter_all_gather")
    made = build("broadcast", algorithm, world_size=n)
    page = open_page([flow_html(frames.flow(made, controls=controls), id="f")])
    page.set_viewport_size({"width": 1000, "height": 720})
    top = figure(page, "f").locator(".ar-frame").bounding_box()
    last = say(page, "f").bounding_box()
    assert last["y"] + last["height"] - top["y"] < 560


def test_a_printed_figure_stands_at_its_end_and_comes_back(open_page):
    page = open_page(everything())
    press(page, "fig-ring", "Forward one step")
    page.emulate_media(media="print")
    page.wait_for_function(
        "['fig-ring', 'fig-run'].every((id) => { const f = document.getElementById(id);"
        " return f.time === f.total && f.total > 0; })"
    )
    expect(say(page, "fig-ring")).to_contain_text("Finished")
    expect(figure(page, "fig-ring").locator(".ar-transport")).to_be_hidden()
    page.emulate_media(media="screen")
    page.wait_for_function("document.getElementById('fig-ring').stop === 1")
    assert time_of(page, "fig-race") == 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert now(page, "fig-ring") == 6
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert now(page, "fig-ring") == 1


@pytest.mark.parametrize("answered", [False, True])
def test_paper_tells_the_end_of_a_race_only_after_the_prediction(open_page, answered):
    page = open_page(everything())
    if answered:
        figure(page, "fig-race").get_by_role("button", name="Skip").click()
    page.emulate_media(media="print")
    page.wait_for_function("document.getElementById('fig-ring').time > 0")
    bars = page.evaluate(
        "[...document.querySelectorAll('#fig-race .ar-race-fill')]"
        ".map((bar) => bar.width.baseVal.value)"
    )
    if answered:
        expect(say(page, "fig-race")).to_contain_text("with")
        assert all(width > 0 for width in bars)
    else:
        expect(say(page, "fig-race")).to_contain_text("at the start line")
        assert set(bars) == {0}


def test_long_lines_of_code_and_wide_figures_stay_on_a4_paper(open_page):
    line = (
        "    yield [Transfer(rank, (rank + distance) % world_size, chunk, Op.COPY)]  # " + "x" * 90
    )
    wide = frames.flow(build("all_reduce", "ring", world_size=16))
    page = open_page(
        [f'<div class="highlight"><pre>{line}</pre></div>', flow_html(wide, id="f"), *everything()]
    )
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})
    beyond = page.evaluate(
        """() => [...document.querySelectorAll('pre, pre *, .ar-figure, .ar-figure *')]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.matches('pre, .ar-frame')
          || e.getBoundingClientRect().right > 795).map((e) => e.tagName + e.className)"""
    )
    assert beyond == []


def test_a_reader_who_was_led_to_a_figure_finds_the_way_back(open_page):
    far = '<div style="height: 3000px"></div>'
    link = '<p>End <button class="ar-show" data-show="fig-ring?step=2">look</button></p>'
    page = open_page([*everything(), far, link, far])
    page.get_by_role("button", name="look").scroll_into_view_if_needed()
    page.get_by_role("button", name="look").focus()
    page.keyboard.press("Enter")
    back = figure(page, "fig-ring").get_by_role("button", name="Back to the text")
    expect(back).to_be_in_viewport()
    back.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="look")).to_be_in_viewport()
    expect(page.get_by_role("button", name="look")).to_be_focused()
    expect(back).to_have_count(0)


def test_no_way_back_is_offered_where_nobody_has_left(open_page):
    link = '<p>Here <button class="ar-show" data-show="f?step=2">look</button></p>'
    page = open_page([link, flow_html(frames.flow(RING), id="f")])
    page.get_by_role("button", name="look").click()
    assert now(page, "f") == 2
    expect(figure(page, "f").locator(".ar-back")).to_have_count(0)


def test_another_axis_keeps_the_state_of_a_measured_run(open_page):
    page = open_page(everything())
    cells = (
        "[...document.querySelectorAll('#fig-run .ar-cell-group')].map((g) => g.innerHTML).join()"
    )
    for share in (0, 0.3, 0.55, 1):
        figure(page, "fig-run").evaluate("(f, share) => f.go(f.total * share)", share)
        before = page.evaluate(cells)
        for choice in ("steps", "measured time"):
            figure(page, "fig-run").get_by_label(choice, exact=True).check()
            assert page.evaluate(cells) == before
            assert time_of(page, "fig-run") == pytest.approx(share * 57e-6)
    assert figure(page, "fig-run").locator(".ar-now line").count() == 1
    figure(page, "fig-run").get_by_label("steps", exact=True).check()
    assert figure(page, "fig-run").locator(".ar-now line").count() == 0


def test_a_simulated_state_is_kept_too_where_both_clocks_know_it(open_page):
    page = open_page(everything())
    page.evaluate("document.getElementById('fig-ring').apply(new URLSearchParams('step=2.5'))")
    figure(page, "fig-ring").get_by_label("steps", exact=True).check()
    assert time_of(page, "fig-ring") == pytest.approx(2.5)
    press(page, "fig-ring", "To the end")
    figure(page, "fig-ring").get_by_label("time, data-driven").check()
    expect(say(page, "fig-ring")).to_contain_text("Finished")


def test_a_machine_that_holds_few_ranks_bounds_them(open_page):
    controls = parse_controls("n=2-16 machine", element="chunk-race")
    race = races.race(["ring", "sharp"], collective="all_reduce", world_size=6, controls=controls)
    flow = frames.flow(RING, controls=parse_controls("n=2-16 machine"))
    page = open_page([race_html(race, id="r"), flow_html(flow, id="f")])
    for name in ("r", "f"):
        page.evaluate(f"document.getElementById('{name}').apply(new URLSearchParams('n=16'))")
        expect(figure(page, name).locator(".ar-title")).to_contain_text("16 ranks")
        figure(page, name).get_by_label("machine").select_option("island")
        expect(figure(page, name).locator(".ar-title")).to_contain_text("8 ranks")
    figure(page, "r").get_by_label("machine").select_option("pcie-workstation")
    expect(figure(page, "r").locator(".ar-sub")).to_contain_text(
        "not for 4 ranks of this machine: SHARP"
    )


def test_what_the_page_cannot_make_leaves_the_figure_and_says_so(open_page):
    made = build("all_gather", "recursive_doubling", world_size=4)
    page = open_page([flow_html(frames.flow(made, controls=parse_controls("n=2-8")), id="f")])
    figure(page, "f").get_by_label("ranks n").select_option("6")
    expect(say(page, "f")).to_contain_text("There is no such schedule for these numbers")
    expect(figure(page, "f").get_by_label("ranks n")).to_have_value("4")


def test_a_machine_that_only_python_prices_is_drawn_with_its_times(open_page):
    ring = build("all_reduce", "ring", world_size=16)
    machine = Topology.preset("fabric", 16)
    page = open_page([flow_html(frames.flow(ring, topology=machine), id="f")])
    whole = cost(ring, nbytes=48e6, topology=machine).seconds * 1e6
    expect(figure(page, "f").locator(".ar-read")).to_contain_text(f"{whole:.5g} µs")
    expect(figure(page, "f").locator(".ar-sub")).to_contain_text("islands of 8")
    for choice in ("steps", "time, data-driven", "time, lock-step"):
        figure(page, "f").get_by_label(choice, exact=True).check()
        press(page, "f", "To the end")
        expect(say(page, "f")).to_contain_text("Finished")


def test_every_algorithm_of_the_library_is_drawn_and_finishes(open_page):
    made = []
    for collective, name in ALGORITHMS:
        n = 2 if name == "unchunked_ring" else 8
        extra = {"node_size": 4} if name == "hierarchical" else {}
        extra = {"radix": 4} if name == "sharp" else extra
        made.append(build(collective, name, world_size=n, **extra))
    page = open_page([flow_html(frames.flow(one), id=f"f{i}") for i, one in enumerate(made)])
    told = page.evaluate(
        """() => [...document.querySelectorAll('chunk-flow')].map((f) => {
        for (const share of [0.2, 0.5, 0.8]) f.go(f.total * share);
        f.jump(f.total); return f.say.textContent; })"""
    )
    assert len(told) == len(ALGORITHMS)
    assert [one.title() for one in told if "Finished" not in one] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize(
    ("collective", "algorithm", "given"),
    [
        ("all_reduce", "ring", {}),
        ("all_to_all", "direct", {}),
        ("all_reduce", "sharp", {"radix": 16, "num_chunks": 8}),
        ("all_reduce", "nvls", {}),
    ],
)
def test_sixty_four_ranks_break_no_layout(open_page, width, collective, algorithm, given):
    flow = frames.flow(build(collective, algorithm, world_size=64, **given))
    page = open_page([flow_html(flow, id="f")], viewport={"width": width, "height": 800})
    page.evaluate("document.getElementById('f').apply(new URLSearchParams('step=0.5'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    frame = figure(page, "f").locator(".ar-frame")
    assert frame.evaluate("(f) => f.scrollWidth <= f.clientWidth")
    press(page, "f", "To the end")
    expect(say(page, "f")).to_contain_text("Finished")


def test_predictions_have_their_number_among_the_others(open_page):
    page = open_page(everything())
    expect(page.locator("#quiz-p-race .ar-number")).to_have_text("Predict first, 1 of 8")
    expect(page.locator("#quiz-q-choice .ar-number")).to_have_text("Practice 2 of 8")


def test_figures_say_to_and_from_in_words(open_page):
    page = open_page(everything())
    drawn = page.evaluate(
        "[...document.querySelectorAll('svg text')].map((t) => t.textContent).join()"
    )
    assert "to 1" in drawn
    assert [sign for sign in ("→", "←", "->") if sign in drawn] == []


def small_text(page):
    return page.evaluate(
        """() => [...document.querySelectorAll('main *')].filter((e) => e.getClientRects().length &&
        [...e.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim()) &&
        parseFloat(getComputedStyle(e).fontSize) < 11).map((e) => e.className + e.textContent)"""
    )


def small_targets(page):
    return page.evaluate(
        """() => [...document.querySelectorAll(
        'main button:not(.ar-show), main select, main summary, main label.ar-option, ' +
        '.ar-scrub, .ar-segmented label')]
        .filter((e) => e.getClientRects().length && e.getBoundingClientRect().height < 43.9)
        .map((e) => `${e.tagName}.${e.className} ${e.getBoundingClientRect().height}`)"""
    )


def test_a_phone_has_room_for_the_page_and_for_thumbs(open_page):
    page = open_page(
        everything(), viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert small_targets(page) == []
    assert small_text(page) == []


def test_the_ports_count_while_three_plans_run_and_keep_their_secret_until_then(open_page):
    page = open_page(everything())
    shown = figure(page, "fig-ports")
    say = shown.locator(".ar-say:not(.ar-ruler)")
    expect(say).to_contain_text("Nothing has been sent yet.")
    page.evaluate("document.getElementById('fig-ports').apply(new URLSearchParams('n=8&t=end'))")
    assert time_of(page, "fig-ports") == 0
    page.locator("#quiz-p-race").get_by_role("button", name="Skip").click()
    page.evaluate("document.getElementById('fig-ports').apply(new URLSearchParams('n=6&t=end'))")
    expect(say).to_contain_text("the switch is 1.543× as fast and NVLS 1.272×")
    counts = shown.locator(".ar-plan").nth(1).locator(".ar-plan-count b").all_inner_texts()
    assert counts == ["48 MB", "48 MB", "288 MB", "288 MB"]
    ring = shown.locator(".ar-plan").first.locator(".ar-plan-count b").all_inner_texts()
    assert ring == ["80 MB", "80 MB", "no switch", "no switch"]
    shown.get_by_label("ranks n").fill("3")
    expect(shown.locator(".ar-plan").nth(2)).to_contain_text("64 MB")
    shown.get_by_label("pieces k").select_option("1")
    expect(shown.locator(".ar-plan-name").nth(1)).to_have_text("switch that adds (SHARP), 1 piece")
    press(page, "fig-ports", "To the start")
    assert shown.locator(".ar-plan-count b").first.inner_text() == "0 B"


def test_one_efficiency_fits_one_model_and_the_reader_can_try_both(open_page):
    page = open_page(everything())
    shown = figure(page, "fig-fit")
    say = shown.locator(".ar-say")
    expect(say).to_contain_text("Efficiency 1.000, H200 with n = 5, 6, 7 and 8")
    shown.get_by_role("button", name="Least squares for 2(n−1)/(n+1): 0.839").click()
    expect(say).to_contain_text("the model 2(n−1)/(n+1) is off by 0.93 %")
    table = shown.locator("table")
    expect(table).to_contain_text("Ring taken")
    expect(table.locator("tr.ar-sum").last).to_contain_text("spread 2.5 %")
    shown.get_by_label("B200", exact=True).check()
    expect(say).to_contain_text("B200 with n = 6, 7 and 8")
    assert shown.locator("circle.ar-measured-point").count() == 3 + 1
    shown.get_by_role("slider").press("ArrowLeft")
    expect(say).to_contain_text("Efficiency 0.835")
    shown.get_by_role("button", name="Reset").click()
    expect(say).to_contain_text("Efficiency 1.000, H200")
    page.evaluate(
        "document.getElementById('fig-fit').apply(new URLSearchParams('machine=H200&e=slide'))"
    )
    expect(say).to_contain_text("the model 2(n−1)/n by 1.7 %")


def test_a_flow_with_a_switch_counts_what_passes_it(open_page):
    made = build("all_reduce", "sharp", world_size=4, num_chunks=2)
    page = open_page([flow_html(frames.flow(made), id="fig-sum")])
    press(page, "fig-sum", "To the end")
    read = figure(page, "fig-sum").locator(".ar-read")
    for said in ("busiest rank received", "the switch took in", "the switch sent"):
        expect(read).to_contain_text(said)
    assert read.locator("b").all_inner_texts()[1:5] == ["48 MB", "48 MB", "192 MB", "192 MB"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_rest_in_motion_and_after_answers(open_page, scheme):
    page = open_page(everything(), color_scheme=scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))

    def violations():
        return page.evaluate(
            """async () => (await axe.run(document, { preload: false })).violations
            .map((v) => [v.id, v.impact, v.nodes.map((n) => n.html.slice(0, 120))])"""
        )

    assert violations() == []
    page.evaluate(
        "() => document.getElementById('fig-ring').apply(new URLSearchParams('step=2.5'))"
    )
    press(page, "fig-bad", "To the end")
    for summary in page.locator("#fig-ring summary").all():
        summary.click()
    page.locator("#quiz-p-race input").first.check()
    page.locator("#quiz-q-choice input").nth(1).check()
    for card in ("q-multi", "q-order", "q-state"):
        page.locator(f"#quiz-{card}").get_by_role("button", name="Check").click()
    press(page, "fig-race", "To the end")
    assert violations() == []
    assert small_text(page) == []
