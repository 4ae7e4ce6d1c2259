"""Chapter 02 agrees with the engine: one message, ports and steps, units, three broadcasts."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from book_pages import assert_says

import allranks as ar
from allranks.view import messages
from allranks.view.asked import parse_controls

PAGE = "02-cost-of-a-message.md"
STATIC = Path(messages.__file__).parent / "static"
SAYS = (
    "4 µs|25 GB/s|4.04 µs|4.4 µs|404 µs|4004 µs|100,000 B|50 GB/s|46.566 GiB/s|370 GB/s|7.37 %|"
    "240 MB|48 MB|144 MB|9620 µs|5772 µs|1692 µs|3"
)


def bench(n: int) -> ar.Topology:
    return ar.Topology.preset("bench", n)


def test_the_page_says_every_number_of_its_plan() -> None:
    assert_says(PAGE, SAYS)


@pytest.mark.parametrize(
    ("nbytes", "microseconds", "reached"),
    [(1_000, 4.04, 0.01), (100_000, 8, 0.5), (10_000_000, 404, 0.99)],
)
def test_a_message_costs_what_the_course_says(
    nbytes: int, microseconds: float, reached: float
) -> None:
    message = ar.schedule("broadcast", "chain", world_size=2)
    seconds = ar.cost(message, nbytes=nbytes, topology=bench(2)).seconds
    assert seconds * 1e6 == pytest.approx(microseconds)
    assert nbytes / seconds / bench(2).bandwidth == pytest.approx(reached, abs=0.005)


def test_three_messages_into_one_port_take_as_long_together_as_in_turn() -> None:
    steps = [[ar.Transfer(src, 0, 0, ar.Op.REDUCE)] for src in (1, 2, 3)]
    turns = ar.Schedule("reduce", "in_turn", 4, 1, steps, root=0)
    once = ar.Schedule(
        "reduce", "together", 4, 1, [[transfer for step in steps for transfer in step]], root=0
    )
    prices = [ar.cost(each, nbytes=1e6, topology=bench(4)) for each in (turns, once)]
    assert prices[0].seconds == pytest.approx(prices[1].seconds)
    assert [each.steps for each in prices] == [3, 1]
    assert [each.latency_terms for each in prices] == [3, 3]


def test_three_broadcasts_move_the_same_bytes_and_take_different_times() -> None:
    plans = [ar.schedule("broadcast", name, world_size=6) for name in ("flat", "chain", "binomial")]
    prices = [ar.cost(plan, nbytes=48e6, topology=bench(6)) for plan in plans]
    assert [each.bytes_total for each in prices] == [240e6] * 3
    assert [each.bytes_sent_max for each in prices] == [240e6, 48e6, 144e6]
    assert [each.seconds * 1e6 for each in prices] == pytest.approx([9620, 9620, 5772])


def test_the_steps_of_the_scatter_move_a_half_a_quarter_and_an_eighth() -> None:
    scatter = ar.schedule("scatter", "binomial", world_size=8)
    sent = [max(sum(t.src == rank for t in step) for rank in range(8)) for step in scatter.steps]
    assert sent == [4, 2, 1]
    assert [len({t.src for t in step}) for step in scatter.steps] == [1, 2, 4]


@pytest.mark.parametrize("nbytes", [0, 0.5])
def test_a_message_figure_needs_a_byte(nbytes: float) -> None:
    with pytest.raises(ValueError, match="at least"):
        messages.message(nbytes=nbytes)


def test_a_message_figure_refuses_a_machine_whose_links_differ() -> None:
    with pytest.raises(ValueError, match="choose a uniform machine"):
        messages.message(nbytes=1e3, topology=ar.Topology.preset("fabric", 16))


def test_the_page_prices_a_message_as_the_engine_does(tmp_path: Path) -> None:
    controls = parse_controls("nbytes=1-1e9", element="chunk-message")
    made = [messages.message(nbytes=size, controls=controls) for size in (1, 1e3, 1e5, 1e9)]
    script = tmp_path / "twin.mjs"
    script.write_text(
        f'import {{ halfSize, messageSeconds, share }} from "{(STATIC / "message.js").as_uri()}";\n'
        f"const all = {json.dumps(made)};\n"
        "console.log(JSON.stringify(all.map((m) => [m.points.map((p) => "
        "messageSeconds(m, p.nbytes)), halfSize(m), share(m)])));\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [shutil.which("node") or "node", str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for ours, (seconds, half, share) in zip(made, json.loads(done.stdout), strict=True):
        assert seconds == pytest.approx([point["seconds"] for point in ours["points"]], rel=1e-12)
        assert half == pytest.approx(100_000)
        whole = next(p["seconds"] for p in ours["points"] if p["nbytes"] == ours["nbytes"])
        assert share == pytest.approx(ours["nbytes"] / whole / 25e9, rel=1e-12)
