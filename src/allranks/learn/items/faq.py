"""Check items of the frequent questions: one for each answer that can be checked."""

from __future__ import annotations

from allranks.algorithms import build
from allranks.cost import cost, price
from allranks.learn.items.priced import priced
from allranks.learn.templates import (
    ClashError,
    Data,
    Draw,
    Template,
    choice,
    listing,
    num,
    right,
    size,
    trap,
    wrong,
)
from allranks.simulate import simulate
from allranks.topology import Topology


def what_is_collective(draw: Draw) -> Data:
    """Ask what makes a call a collective."""
    n = draw.choice([4, 8, 16])
    return choice(
        draw,
        f"A program runs on {n} ranks. Which of these is a collective?",
        [
            right(
                f"All {n} ranks call, and afterwards each has the sum of all vectors.",
                "All ranks of a group take part, and the result depends on what all of them gave.",
            ),
            wrong(
                f"Rank 0 sends {n - 1} messages, one to each other rank; only rank 0 calls.",
                "M-ONLY-SENDER-CALLS",
            ),
            wrong(
                "A function of the library NCCL, whatever it does.",
                "M-NCCL-IS-COLLECTIVES",
            ),
        ],
    )


def sum_of_gradients(draw: Draw) -> Data:
    """Ask for one element after an all-reduce."""
    n = draw.choice([3, 4])
    vectors = [[draw.randint(1, 9) for _ in range(3)] for _ in range(n)]
    place = draw.randrange(3)
    plan = build("all_reduce", "ring", world_size=n)
    sums = simulate(plan, vectors)[0]
    if sums is None:
        raise ClashError(n)
    key = int(sums[place])
    return num(
        f"{n} ranks hold the gradients {listing(vectors)}. They all-reduce with sum. What is the "
        f"element at index {place} on rank {draw.randrange(n)} afterwards?",
        key,
        [
            trap(
                sum(map(sum, vectors)),
                "M-SCALAR",
                f"Only the elements at index {place} are added to one another.",
            ),
            trap(
                vectors[0][place],
                "M-ALLREDUCE-CONCAT",
                f"At index {place} stands the sum over all {n} ranks.",
            ),
        ],
        feedback_right=f"The elements at index {place} of all {n} ranks, added.",
        feedback_else="Add the elements at this index over all ranks.",
    )


def what_nccl_stands_for(draw: Draw) -> Data:
    """Ask for the name behind the letters."""
    return choice(
        draw,
        "What does NCCL stand for?",
        [
            right(
                "NVIDIA Collective Communications Library.",
                "A library: one implementation of the collectives, for NVIDIA's GPUs.",
            ),
            wrong(
                "Native CUDA Collective Layer.",
                "M-NCCL-IS-COLLECTIVES",
                "The N is for NVIDIA, which makes it.",
            ),
            wrong(
                "Network Collective Communication Language.",
                "M-NCCL-IS-COLLECTIVES",
                "It is a library, no language.",
            ),
        ],
    )


def ring_bytes(draw: Draw) -> Data:
    """Ask what one rank sends in a ring all-reduce."""
    n = draw.choice([4, 5, 8, 10, 16])
    nbytes = n * draw.randint(2, 9) * 1e6
    paid = priced("all_reduce", "ring", n=n, nbytes=nbytes)
    return num(
        f"{n} ranks all-reduce {size(nbytes)} with a ring. How much does each rank send?",
        paid.bytes_sent_max / 1e6,
        [
            trap(
                paid.bytes_total / 1e6,
                "M-TOTAL-VS-BUSIEST",
                f"{size(paid.bytes_total)} is what all {n} ranks send together.",
            ),
            trap(
                (n - 1) * nbytes / 1e6,
                "M-UNCHUNKED-IS-RING",
                f"In each of {paid.steps} steps one n-th of it is sent.",
            ),
            trap(
                2 * nbytes / 1e6,
                "M-COUNT-N",
                f"Each half of a ring takes {n - 1} steps, not {n}.",
            ),
        ],
        unit="MB",
        tolerance=0.005,
        feedback_right=f"{paid.steps} steps of {size(nbytes / n)}: 2(n - 1)/n S.",
        feedback_else="Two halves of n - 1 steps, and S/n in each step.",
    )


def which_collective(draw: Draw) -> Data:
    """Ask which collective gives everybody all parts."""
    n = draw.choice([4, 6, 8])
    return choice(
        draw,
        f"Each of {n} ranks has one part of a vector. Afterwards every rank is to have all {n} "
        "parts, unchanged. Which collective is that?",
        [
            right("All-gather.", "The parts are collected, on every rank, and nothing is added."),
            wrong("All-reduce.", "M-ALLREDUCE-CONCAT"),
            wrong("Broadcast.", "M-AG-IS-N-BCASTS", f"It would take {n} of them."),
            wrong("Scatter.", "M-SCATTER-IS-BROADCAST"),
        ],
    )


def switch_bytes(draw: Draw) -> Data:
    """Ask what a rank sends if the switch adds."""
    n = draw.choice([4, 8, 16])
    nbytes = n * draw.randint(2, 8) * 1e6
    ring = priced("all_reduce", "ring", n=n, nbytes=nbytes)
    tree = build("all_reduce", "sharp", world_size=n)
    paid = cost(tree, nbytes=nbytes, topology=Topology.preset("bench", n))
    return num(
        f"{n} ranks all-reduce {size(nbytes)} through a switch that adds, as SHARP on InfiniBand "
        "does. How much does each rank send?",
        paid.bytes_sent_max / 1e6,
        [
            trap(
                ring.bytes_sent_max / 1e6,
                "M-ANY-ALGO-2N",
                "Here the switch adds: the vector goes up once.",
            ),
            trap(
                nbytes / n / 1e6,
                "M-S-PER-RANK",
                "Every rank has a whole vector to give.",
            ),
        ],
        unit="MB",
        tolerance=0.005,
        feedback_right=f"Once up, once down; a ring would send {size(ring.bytes_sent_max)}.",
        feedback_else="The vector goes up to the switch; how often?",
    )


def slow_rank(draw: Draw) -> Data:
    """Ask what a slow rank does to a ring."""
    n = draw.choice([4, 8, 64])
    return choice(
        draw,
        f"One of {n} ranks in a ring all-reduce is ten times slower than the others. What happens?",
        [
            right(
                "The result is right; all ranks get it late.",
                "Each rank waits for the data it needs, so all of them wait for the slowest.",
            ),
            wrong(
                "The others go on without its part.",
                "M-BARRIER",
                "A rank cannot go on without the data that it waits for.",
            ),
            wrong(
                "Only the two neighbors of the slow rank are late.",
                "M-BARRIER",
                "What its neighbors have not got, theirs do not get either.",
            ),
        ],
    )


def above_the_link(draw: Draw) -> Data:
    """Ask how a bus bandwidth can be above the link."""
    return choice(
        draw,
        "nccl-tests reports an all-reduce of 480 GB/s bus bandwidth on 8 GPUs whose links have "
        "450 GB/s per direction. What is the most likely reason?",
        [
            right(
                "The switch adds, and the formula assumes that ranks send and receive.",
                "Bus bandwidth is a convention: size / time times 2(n - 1)/n. With NVLS a GPU "
                "sends less than that.",
            ),
            wrong(
                "A fault of the clock: no link is faster than its bandwidth.",
                "M-ANY-ALGO-2N",
                "With NVLS fewer bytes pass than the formula of the bus bandwidth assumes.",
            ),
            wrong(
                "Both directions were added up.",
                "M-DUPLEX",
                "Then it could be up to 900 GB/s; but nccl-tests adds no directions.",
            ),
        ],
    )


def which_tree(draw: Draw) -> Data:
    """Ask what NCCL's tree joins."""
    nodes = draw.choice([4, 16, 64])
    return choice(
        draw,
        f"On {nodes} nodes with 8 GPUs each, NCCL v2.30.7 chooses Tree for an all-reduce. What "
        "does the tree join?",
        [
            right(
                f"The {nodes} nodes, as a double tree; inside each node the GPUs form a chain.",
                "Each of the two trees carries half of the data.",
            ),
            wrong(
                f"All {nodes * 8} GPUs, as one binary tree.",
                "M-NCCL-TREE-GPUS",
                f"Here {nodes} nodes are joined, not {nodes * 8} GPUs.",
            ),
            wrong(
                "The GPUs inside each node; between nodes there is a ring.",
                "M-NCCL-TREE-GPUS",
                "It is the other way: the tree is between the nodes.",
            ),
        ],
    )


def without_gpu(draw: Draw) -> Data:
    """Ask what carries over from CPU processes."""
    n = draw.choice([4, 6, 8])
    plan = price(
        "all_reduce", "ring", world_size=n, nbytes=48e6, topology=Topology.preset("bench", n)
    )
    return choice(
        draw,
        f"You run a ring all-reduce on {n} processes of a laptop without a GPU. Which of these "
        "holds for the same schedule on GPUs?",
        [
            right(
                f"It takes {plan.steps} steps, and every rank sends the same bytes.",
                "Steps and bytes belong to the schedule.",
            ),
            wrong(
                "It takes the same time.",
                "M-CPU-IS-GPU",
                "A GPU's links have another α and another β.",
            ),
            wrong(
                "It reaches the same bandwidth.",
                "M-CPU-IS-GPU",
                "Bandwidth is bytes over time, and the time is another.",
            ),
        ],
    )


ITEMS: dict[str, Template] = {
    "faq-what-is-collective": Template("choice", what_is_collective),
    "faq-sum-of-gradients": Template("num", sum_of_gradients),
    "faq-what-nccl-stands-for": Template("choice", what_nccl_stands_for),
    "faq-ring-bytes": Template("num", ring_bytes),
    "faq-which-collective": Template("choice", which_collective),
    "faq-switch-bytes": Template("num", switch_bytes),
    "faq-slow-rank": Template("choice", slow_rank),
    "faq-above-the-link": Template("choice", above_the_link),
    "faq-which-tree": Template("choice", which_tree),
    "faq-without-gpu": Template("choice", without_gpu),
}
