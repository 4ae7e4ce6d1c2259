"""Practice items of chapter 09: what a switch that adds saves, where it loses, what busbw means."""

from __future__ import annotations

from allranks.algorithms import build
from allranks.cost import Cost, bytes_per_rank
from allranks.learn.items.priced import MACHINE, priced
from allranks.learn.templates import (
    LETTERS,
    ClashError,
    Data,
    Draw,
    Template,
    choice,
    keyed,
    listing,
    multi,
    num,
    right,
    size,
    told,
    trap,
    us,
    wrong,
)
from allranks.verify import states

WORDS = {"all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter"}


def _price(
    algorithm: str, n: int, nbytes: float, *, k: int | None = None, collective: str = "all_reduce"
) -> Cost:
    return priced(collective, algorithm, n=n, nbytes=nbytes, k=k)


def _ring(collective: str, n: int, nbytes: float) -> float:
    return _price("ring", n, nbytes, collective=collective).bytes_sent_max


def _gain(n: int, algorithm: str = "nvls") -> float:
    """Return by how much less passes a rank's port than in a ring."""
    nbytes = 1e6 * n
    return _ring("all_reduce", n, nbytes) / _price(algorithm, n, nbytes).bytes_sent_max


def _x(ratio: float) -> str:
    return f"{ratio:.4g}"


def predict_gain(draw: Draw) -> Data:
    """Ask for the gain at three sizes before the figure shows it."""
    few = [2, 3]
    many = draw.choice([8, 12, 16])
    gains = [_gain(n) for n in (*few, many)]
    slide = [_gain(n, "sharp") for n in (*few, many)]
    truth = f"By bytes it is {listing(map(_x, gains))} times."
    return choice(
        draw,
        "A switch joins all GPUs of a node. With NVLS it can read a value on every GPU and add, "
        "and it can write to every GPU. An all-reduce may use it in place of a ring. How large is "
        f"the gain of NVLS with 2, 3 and {many} GPUs, for a large vector?",
        [
            right(
                f"2 GPUs lose, 3 gain nothing, {many} gain.",
                f"{truth} The switch reads a GPU's own operand as well, and that costs most where "
                "there are few.",
            ),
            wrong(
                f"2 GPUs gain nothing, 3 gain {_x(slide[1])}, {many} gain {_x(slide[2])}.",
                "M-SLIDE-MODEL",
                truth,
            ),
            wrong("All three become 2 times as fast.", "M-SHARP-DOUBLES", truth),
            wrong(
                "All three gain nothing: every GPU still sends its whole vector.",
                "M-SWITCH-NO-GAIN",
                f"With {many} GPUs it is {_x(gains[2])} times.",
            ),
        ],
    )


def uncut(draw: Draw) -> Data:
    """Ask who wins if the switch gets the whole vector at once."""
    n, nbytes = draw.choice([4, 6, 8, 12]), draw.choice([12e6, 48e6, 96e6])
    ring, switch = _price("ring", n, nbytes), _price("sharp", n, nbytes, k=1)
    if switch.seconds <= ring.seconds:
        raise ClashError(n)
    times = f"{us(switch.seconds)} against {us(ring.seconds)} of the ring"
    return choice(
        draw,
        f"{n} ranks all-reduce {size(nbytes)} ({MACHINE}). One switch adds; every rank sends it "
        "its vector in one message and gets the sum in one. Who is faster, this or a ring?",
        [
            right(
                "The ring.",
                f"{times}: in the first step nothing comes in at a rank, in the second nothing "
                "goes out.",
            ),
            wrong(
                f"The switch: {switch.steps} steps against {ring.steps}.",
                "M-STEPS-NOT-TIME",
                f"Here {times}.",
            ),
            wrong(
                f"The switch: {size(switch.bytes_sent_max)} out of a rank against "
                f"{size(ring.bytes_sent_max)}.",
                "M-SWITCH-UNCUT",
                f"Here {times}.",
            ),
        ],
    )


def pieces(draw: Draw) -> Data:
    """Ask for the steps of a switch that works on pieces."""
    n, k = draw.randint(3, 16), draw.randint(4, 24)
    key = _price("sharp", n, 1e6 * k, k=k).steps
    return num(
        f"{n} ranks all-reduce through one switch that adds, in {k} pieces. How many steps does it "
        "take?",
        key,
        [
            trap(2 * k, "M-SWITCH-WAITS", f"Here k + 1 = {key}."),
            trap(2, "M-SWITCH-UNCUT", f"But here there are {k} pieces, not one."),
        ],
        unit="steps",
        feedback_right=f"In step s piece s goes up and piece s - 1 comes down: {k} + 1.",
        feedback_else="When does the last piece leave the ranks, and when does it come back?",
    )


def switch_state(draw: Draw) -> Data:
    """Ask what the switch holds after some steps."""
    n, k = draw.choice([3, 4]), draw.choice([3, 4])
    done = draw.randint(1, k - 1)
    schedule = build("all_reduce", "sharp", world_size=n, num_chunks=k)
    held = list(states(schedule))[done][n]
    everybody = list(range(n))
    traps = [_cell_trap(n, done - 1, [0], "M-SWITCH-PARTIAL", "All ranks send in the same step.")]
    traps += [
        _cell_trap(
            n,
            chunk,
            everybody,
            "M-SWITCH-UNCUT",
            f"Chunk {chunk} goes up in step {chunk}.",
        )
        for chunk in range(done, k)
    ]
    cells = [
        {"rank": n, "chunk": chunk, "given": False, "answer": sorted(held[chunk].elements())}
        for chunk in range(k)
    ]
    word = "step" if done == 1 else "steps"
    return keyed(
        "state",
        f"{n} ranks all-reduce through one switch that adds, in {k} chunks. What does the "
        f"switch hold after {done} {word}? In each cell, choose the ranks whose part is in it.",
        {"world_size": n, "num_switches": 1, "num_chunks": k, "cells": cells},
        traps,
        feedback_right="One chunk more in every step, complete at once, because all ranks send it "
        "in the same step. A send is a copy, so what went down is still there.",
        feedback_else="In step s every rank sends chunk s up; the first step is step 0.",
    )


def _cell_trap(rank: int, chunk: int, parts: list[int], name: str, extra: str) -> Data:
    return {
        "rank": rank,
        "chunk": chunk,
        "parts": parts,
        "feedback": told(name, extra),
        "misconception": name,
    }


def port_bytes(draw: Draw) -> Data:
    """Ask for what NVLS sends out of a GPU, or brings in, for one of three collectives."""
    n = draw.randint(5, 16)
    collective = draw.choice(["all_reduce", "reduce_scatter", "all_gather"])
    out = draw.random() < 0.5  # noqa: PLR2004 - one of two directions
    whole = n * draw.randint(1, 6)
    price = _price("nvls", n, whole * 1e6, collective=collective)
    key = round((price.bytes_sent_max if out else price.bytes_received_max) / 1e6)
    ring = round(_ring(collective, n, whole * 1e6) / 1e6)
    own = whole // n
    if collective == "all_reduce":
        traps = [
            trap(whole, "M-SLIDE-MODEL", f"Here {whole} MB and {own} MB."),
            trap(2 * whole, "M-SHARP-DOUBLES", f"Here it is {whole} MB and {own} MB more."),
        ]
    else:
        dear = key == whole
        traps = [
            trap(ring, "M-SHARP-HELPS-AG", f"{ring} MB is what a ring moves here."),
            trap(
                own if dear else whole,
                "M-SLIDE-MODEL",
                "That is the other direction of this collective."
                if dear
                else f"Here only {own} MB go this way, the other way all {whole} MB.",
            ),
        ]
    traps.append(trap(n * key, "M-TOTAL-VS-BUSIEST", f"{n * key} MB is what all {n} ports carry."))
    way = "leave every GPU" if out else "come into every GPU"
    return num(
        f"{n} GPUs run an NVLS {WORDS[collective]} with S = {whole} MB (the whole vector). How "
        f"many MB {way}?",
        key,
        traps,
        unit="MB",
        feedback_right=_why_nvls(collective, whole, own, out=out),
        feedback_else="Who reads through the switch, who stores through it, and does a GPU's own "
        "part count?",
    )


def _why_nvls(collective: str, whole: int, own: int, *, out: bool) -> str:
    reads = f"The switch reads all of a GPU's operands, {whole} MB."
    gets = f"Every head gets its own sums, {own} MB."
    stores = f"Every head stores its own block, {own} MB."
    writes = f"The switch writes all blocks to every GPU, {whole} MB."
    leaves, comes = {
        "all_reduce": (f"{reads} {stores}", f"{gets} {writes}"),
        "reduce_scatter": (reads, gets),
        "all_gather": (stores, writes),
    }[collective]
    return leaves if out else comes


def gain(draw: Draw) -> Data:
    """Ask for the gain of NVLS over a ring by bytes."""
    n = draw.choice([2, 4, 5, 6, 7, 8, 12, 24, 36, 72])
    key, tree = _gain(n), _gain(n, "sharp")
    return num(
        f"By how much does NVLS shorten an all-reduce on {n} GPUs against a ring, if only the "
        "bytes through a GPU's port count? Give ring / NVLS.",
        key,
        [
            trap(2, "M-SHARP-DOUBLES", f"With n = {n} NVLS gives {_x(key)}, a tree {_x(tree)}."),
            trap(tree, "M-SLIDE-MODEL", f"Here it is {_x(key)}."),
        ],
        tolerance=0.005,
        feedback_right=f"2(n - 1)/n S against (1 + 1/n) S: 2({n} - 1)/({n} + 1).",
        feedback_else="Divide what a ring sends out of a rank by what NVLS sends out of a GPU.",
    )


def few_ranks(draw: Draw) -> Data:
    """Ask whether NVLS pays where there are hardly any GPUs."""
    n, nbytes = draw.choice([2, 3]), draw.choice([48e6, 96e6, 480e6, 960e6])
    ring, nvls = _ring("all_reduce", n, nbytes), _price("nvls", n, nbytes).bytes_sent_max
    counts = f"NVLS moves {size(nvls)} each way, a ring {size(ring)}"
    verdict = "No: a ring moves less." if n == 2 else "It makes no difference: the bytes tie."  # noqa: PLR2004
    slide = (
        "It makes no difference: both move S." if n == 2 else "Yes: S is less than a ring's 4/3 S."  # noqa: PLR2004
    )
    return choice(
        draw,
        f"{n} GPUs all-reduce {size(nbytes)} behind an NVSwitch that adds. Is NVLS worth it, by "
        "the bytes through a GPU's port?",
        [
            right(verdict, f"{counts}."),
            wrong(slide, "M-SLIDE-MODEL", f"{counts}."),
            wrong("Yes: it moves half of what a ring moves.", "M-SHARP-DOUBLES", f"{counts}."),
        ],
    )


def gather(draw: Draw) -> Data:
    """Ask what NVLS does to an all-gather or a reduce-scatter."""
    n = draw.choice([4, 6, 8, 16])
    nbytes = n * draw.choice([6e6, 12e6])
    collective = draw.choice(["all_gather", "reduce_scatter"])
    nvls = _price("nvls", n, nbytes, collective=collective)
    ring = _ring(collective, n, nbytes)
    busy = max(nvls.bytes_sent_max, nvls.bytes_received_max)
    idle = min(nvls.bytes_sent_max, nvls.bytes_received_max)
    way = "in" if collective == "all_gather" else "out"
    other = "out" if way == "in" else "in"
    return choice(
        draw,
        f"{n} GPUs run the {WORDS[collective]} of {size(nbytes)} with NVLS in place of a ring. "
        "What becomes of its time, by bytes?",
        [
            right(
                "It gets no shorter.",
                f"{size(busy)} {way} at every GPU; with a ring it is {size(ring)} each way.",
            ),
            wrong(
                f"It shrinks: only {size(idle)} go {other} of a GPU."
                if other == "out"
                else f"It shrinks: only {size(idle)} come into a GPU.",
                "M-SHARP-HELPS-AG",
                f"The other direction carries {size(busy)}, and the two are not shared.",
            ),
            wrong(
                f"It shrinks {_x(_gain(n))}-fold, as for an all-reduce.",
                "M-SLIDE-MODEL",
                f"That is a count for all-reduce; here one direction carries all {size(busy)}.",
            ),
            wrong(
                "The question has no answer: NVLS is for all-reduce alone.",
                "M-NVLS-ONLY-AR",
                f"Here it brings {size(busy)} {way}, and a ring {size(ring)}.",
            ),
        ],
    )


def wire(draw: Draw) -> Data:
    """Ask for the rate on the wire behind a busbw that NVLS printed."""
    n = draw.choice([5, 6, 7, 8])
    algbw = draw.randrange(220, 300, 5)
    nbytes = 1e6 * n
    moved = _price("nvls", n, nbytes).bytes_sent_max / nbytes
    busbw = round(algbw * _ring("all_reduce", n, nbytes) / nbytes, 1)
    key = algbw * moved
    return num(
        f"nccl-tests prints a busbw of {busbw:g} GB/s for an all-reduce on {n} GPUs, done by NVLS. "
        "At which rate, per direction, does a GPU's link carry data? In GB/s.",
        key,
        [
            trap(busbw, "M-BUSBW-IS-WIRE", f"Here algbw is {algbw} GB/s."),
            trap(algbw, "M-SLIDE-MODEL", f"{algbw} GB/s is algbw: S over time."),
        ],
        unit="GB/s",
        tolerance=0.005,
        feedback_right=f"algbw is busbw n/(2(n - 1)) = {algbw} GB/s; NVLS moves (n + 1)/n S in "
        "that time.",
        feedback_else="First algbw from busbw; then what NVLS moves per byte of the vector.",
    )


def bits(draw: Draw) -> Data:
    """Ask how the results of a ring and of NVLS compare."""
    n = draw.choice([4, 8, 16])
    kind = draw.choice(["fp16", "bf16"])
    return choice(
        draw,
        f"The same {kind} vectors on {n} GPUs are summed by a ring, and once more by NVLS. How do "
        "the results compare?",
        [
            right(
                "The last bits can differ between the two; within each, all ranks agree.",
                f"A ring has up to {n - 1} roundings in an order of its own, NVLS one. One head "
                "owns each element, so all ranks get the same.",
            ),
            wrong(
                "They are equal bit for bit: it is the same sum.",
                "M-SHARP-SAME-BITS",
                f"With {n} ranks a ring has up to {n - 1} roundings.",
            ),
            wrong(
                "With NVLS, different ranks can get different bits.",
                "M-SHARP-SAME-BITS",
                "But all ranks get the one result that the head of the element stored.",
            ),
            wrong(
                "With integers they can differ as well.",
                "M-SHARP-SAME-BITS",
                "That is rounding; integers are not rounded, and any order gives the same sum.",
            ),
        ],
    )


def switch_bytes(draw: Draw) -> Data:
    """Ask what a switch takes in."""
    n, each = draw.randint(4, 32), draw.choice([8, 12, 16, 24, 48])
    schedule = build("all_reduce", "sharp", world_size=n, num_chunks=1)
    key = round(bytes_per_rank(schedule, each * 1e6)[n].received / 1e6)
    return num(
        f"{n} ranks all-reduce {each} MB through one switch that adds. How many MB does the switch "
        "take in?",
        key,
        [
            trap(each, "M-SWITCH-FREE", f"Here {n} times {each} MB."),
            trap(2 * key, "M-DUPLEX", f"{key} MB come in, and as many go out."),
        ],
        unit="MB",
        feedback_right=f"{n} ranks send S each. Every port carries only {each} MB.",
        feedback_else="Every rank sends its whole vector, through a port of its own.",
    )


NAMES = {
    "CollNet": "what a network plugin offers NCCL as a reduction on the way",
    "IB SHARP": "InfiniBand switches that add, as a tree over the fabric",
    "NVLS": "the NVSwitch of one NVLink domain adds and copies",
    "NVLSTree": "the NVSwitch inside each node, a tree of sends between nodes",
}


def names(draw: Draw) -> Data:
    """Ask which of four names means what."""
    asked = draw.sample(list(NAMES), 4)
    shown = draw.sample(list(NAMES), 4)
    if shown == asked:
        raise ClashError(shown)
    ids = {name: LETTERS[place] for place, name in enumerate(shown)}
    key = [ids[name] for name in asked]

    def swapped(one: str, other: str) -> list[str]:
        change = {one: other, other: one}
        return [ids[change.get(name, name)] for name in asked]

    traps = [
        ("IB SHARP", "NVLS", "M-SHARP-IS-NVLS", "You swapped IB SHARP and NVLS."),
        ("CollNet", "IB SHARP", "M-COLLNET-IS-SHARP", "You swapped CollNet and IB SHARP."),
        ("CollNet", "NVLS", "M-SHARP-IS-NVLS", "CollNet leaves the node, NVLS does not."),
    ]
    return keyed(
        "order",
        f"Bring the descriptions into the order of the names: {listing(asked, 'then')}.",
        {
            "entries": [{"id": ids[name], "text": NAMES[name]} for name in shown],
            "answers": [key],
        },
        [
            {"answer": swapped(one, other), "feedback": told(name, extra), "misconception": name}
            for one, other, name, extra in traps
        ],
        feedback_right="Two kinds of hardware, IB SHARP and NVLS; CollNet and NVLSTree are how "
        "NCCL uses them between nodes.",
        feedback_else="NV stands for NVLink, IB for InfiniBand, Coll Net for the network's "
        "collectives.",
    )


def hardware(draw: Draw) -> Data:
    """Ask which algorithms need a switch that adds."""
    wanted = draw.sample(
        [
            ("NVLS", "The NVSwitch reads and adds."),
            ("NVLSTree", "Inside every node it is NVLS."),
            ("CollNet with the SHARP plugin", "The InfiniBand switches add."),
        ],
        2,
    )
    others = draw.sample(
        [
            ("Ring, inside a node with NVSwitch", "In a ring the GPUs add; the switch forwards."),
            ("Tree, between nodes", "In NCCL's Tree the GPUs add; the network forwards."),
            ("PAT, between nodes", "PAT is made of sends and receives between GPUs."),
        ],
        2,
    )
    return multi(
        draw,
        "Which of these need a switch that adds?",
        [
            *(right(text, why) for text, why in wanted),
            *(wrong(text, "M-ANY-SWITCH-ADDS", why) for text, why in others),
        ],
    )


def operations(draw: Draw) -> Data:
    """Ask which sums NVLS can take."""
    able = draw.sample(["f16, sum", "bf16, max", "f32, sum", "i32, min", "f64, sum"], 2)
    unable = draw.sample(["f32, max", "fp8 (e4m3), sum", "f64, min", "f32, min"], 2)
    return multi(
        draw,
        "Which all-reduces can NVLS take in NCCL v2.30.7 (read 2026-11)?",
        [
            *(right(each, f"{each}: yes.") for each in able),
            *(wrong(each, "M-SHARP-ANY-OP", f"So {each} stays with the ring.") for each in unable),
        ],
    )


def emulated(draw: Draw) -> Data:
    """Ask what follows from the seconds of an emulated switch."""
    n = draw.choice([4, 6, 8])
    slower = draw.choice(["1.3", "1.6", "2.1"])
    return choice(
        draw,
        f"A switch schedule runs on {n + 1} actors of this course, one of them plays the "
        f"switch. It takes {slower} times as long as the ring. What follows for a switch chip?",
        [
            right(
                "Nothing about its seconds; its bytes and steps are counted rightly.",
                f"Here one process adds the vectors of {n} ranks, on the cores that they use too.",
            ),
            wrong(
                "A switch that adds is slower than a ring.",
                "M-EMULATED-TIME",
                f"Here one process adds for {n} ranks.",
            ),
            wrong(
                f"On GPUs it will be {slower} times as slow as the ring, too.",
                "M-EMULATED-TIME",
                "A ratio of such seconds says no more than the seconds.",
            ),
            wrong(
                "Nothing at all: no number of such a run carries over.",
                "M-CPU-IS-GPU",
                "A switch chip moves the same bytes for the same schedule.",
            ),
        ],
    )


ITEMS: dict[str, Template] = {
    "09-predict-gain": Template("choice", predict_gain, predict=True),
    "09-uncut": Template("choice", uncut),
    "09-pieces": Template("num", pieces),
    "09-switch-state": Template("state", switch_state),
    "09-switch-bytes": Template("num", switch_bytes),
    "09-port-bytes": Template("num", port_bytes),
    "09-gain": Template("num", gain),
    "09-few-ranks": Template("choice", few_ranks),
    "09-gather": Template("choice", gather),
    "09-wire": Template("num", wire),
    "09-bits": Template("choice", bits),
    "09-names": Template("order", names),
    "09-hardware": Template("multi", hardware),
    "09-operations": Template("multi", operations),
    "09-emulated": Template("choice", emulated),
}
