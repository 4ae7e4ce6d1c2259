from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from allranks.algorithms import build
from allranks.schedule import Op, Schedule, Transfer
from allranks.view import frames, races
from allranks.view.html import curve_html, flow_html, quiz_html, race_html, self_contained, typeset

NASTY = "a<b & \"c\" 'd' `x<y` $2(n-1)/n$ </script><img src=x onerror=alert(1)> | ü"
VOID = {"img", "input", "br", "meta", "link"}


class Balance(HTMLParser):
    """Counts open tags and collects what is visible as text."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        """Remember what is open."""
        del attrs
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Keep what a reader sees."""
        if "script" not in self.open and "style" not in self.open:
            self.text += data


def parsed(text):
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def data_in(text):
    [inside] = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    return json.loads(inside)


def ring(n=4):
    return frames.flow(build("all_reduce", "ring", world_size=n))


def item(**more):
    options = [
        {"id": "a", "text": NASTY, "right": True, "feedback": NASTY, "misconception": None},
        {"id": "b", "text": "no", "right": False, "feedback": "no", "misconception": "M-SCALAR"},
    ]
    return {"id": "q-1", "type": "choice", "stem": NASTY, "options": options, **more}


def test_a_flow_carries_its_data_and_a_table_of_every_transfer():
    text = flow_html(ring(), id="fig-ring", caption_html="<p>A <em>caption</em>.</p>")
    assert data_in(text) == ring()
    page = parsed(text)
    assert page.tags.count("tr") == 1 + 24
    assert "SIMULATED" in page.text
    assert "rank 3" in page.text
    assert "<em>caption</em>" in text


def test_a_long_table_says_how_many_rows_it_leaves_out():
    long = frames.flow(build("broadcast", "chain", world_size=8, num_chunks=100))
    page = parsed(flow_html(long, id="f"))
    assert page.tags.count("tr") == 1 + 400
    assert "300 more rows are not shown" in page.text


def test_a_switch_is_named_as_one():
    flow = frames.flow(build("all_reduce", "sharp", world_size=2))
    assert "switch 0" in parsed(flow_html(flow, id="f")).text


def test_no_text_can_close_the_data_or_become_markup():
    flow = {**ring(), "title": NASTY, "label": NASTY}
    for text in (flow_html(flow, id="f"), quiz_html([item()])):
        page = parsed(text)
        assert "img" not in page.tags
        assert text.count("</script>") == 1
        assert "</script><img" in page.text
    assert data_in(quiz_html([item()]))["items"][0]["stem"] == NASTY


def test_code_spans_are_set_after_escaping():
    assert typeset(NASTY).count("<code>x&lt;y</code>") == 1
    assert "<code>x&lt;y</code>" in quiz_html([item()])


def test_the_gate_names_its_quiz_item():
    assert 'predict="p&quot;1"' in flow_html(ring(), id="f", predict='p"1')
    assert " predict=" not in flow_html(ring(), id="f")


@pytest.mark.parametrize("bad", ["", "1a", 'a"b', "a b", "<a>"])
def test_an_id_that_is_none_is_refused(bad):
    with pytest.raises(ValueError, match="figure id"):
        flow_html(ring(), id=bad)


def test_race_and_curve_read_without_a_script():
    race = races.race(["flat", "chain:k"], collective="broadcast", world_size=6)
    page = parsed(race_html(race, id="r", predict="p"))
    assert "9620 µs" in page.text
    assert "chain, 44 chunks" in page.text
    curve = races.curve(world_size=6)
    assert "44" in parsed(curve_html(curve, id="c")).text


def test_a_quiz_reads_without_a_script_and_numbers_its_cards_through_the_page():
    number = {"value": 1.5, "unit": "µs", "tolerance": 0.01, "exact": False, "distractors": []}
    text = quiz_html(
        [item(), {"id": "n", "type": "num", "stem": "How long?", "num": number}], first=3, total=9
    )
    page = parsed(text)
    assert "Practice 3 of 9" in page.text
    assert "Practice 4 of 9" in page.text
    assert "1.5 µs" in page.text
    assert data_in(text)["first"] == 3


def test_a_self_contained_figure_has_its_script_and_style_once():
    text = self_contained(flow_html(ring(), id="f"))
    assert text.count("<style>") == 1
    assert text.count("<script>") == 1
    parsed(text)


def test_a_schedule_without_steps_still_has_a_table():
    flow = frames.flow(build("all_reduce", "ring", world_size=1))
    assert parsed(flow_html(flow, id="f")).tags.count("tr") == 1


def test_an_endpoint_beyond_the_schedule_is_drawn_not_raised():
    stray = Schedule("broadcast", "custom", 2, 1, ((Transfer(0, 7, 0, Op.COPY),),), root=0)
    flow = frames.flow(stray)
    assert flow["error"] is not None
    parsed(flow_html(flow, id="f"))
