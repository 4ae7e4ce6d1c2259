"""Practice items of chapter 07: all-reduces with few steps, their bytes, and where they win."""

from __future__ import annotations

from typing import NamedTuple

from allranks.algorithms import build
from allranks.algorithms.double_tree import NOBODY, children, double_tree
from allranks.algorithms.doubling import power_of_two
from allranks.cost import Cost
from allranks.learn.items.priced import ALPHA, BENCH, MACHINE, priced
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
from allranks.schedule import counted

LARGE_S = 1e9
CLEARLY = 1.05


class Line(NamedTuple):
    """The time of an all-reduce as a straight line over S: seconds + S * slope."""

    seconds: float
    slope: float

    def meets(self, other: Line) -> float:
        """Return the S at which both take the same time."""
        return (other.seconds - self.seconds) / (self.slope - other.slope)


def _price(algorithm: str, n: int, nbytes: float) -> Cost:
    return priced("all_reduce", algorithm, n=n, nbytes=nbytes)


def _line(algorithm: str, n: int) -> Line:
    paid = _price(algorithm, n, LARGE_S)
    start = paid.latency_terms * ALPHA
    return Line(start, (paid.seconds - start) / LARGE_S)


def _ideal_tree(n: int) -> Line:
    return Line(2 * (n - 1).bit_length() * ALPHA, 2 * BENCH.beta)


def predict_small(draw: Draw) -> Data:
    """Ask which all-reduce of a small vector is first, before the race shows it."""
    n = draw.choice([8, 16, 32])
    nbytes = draw.choice([4e3, 8e3, 12e3])
    names = ("recursive_doubling", "ring", "rabenseifner", "binomial")
    paid = {name: _price(name, n, nbytes) for name in names}
    if min(paid, key=lambda name: paid[name].seconds) != "recursive_doubling":
        raise ClashError(n)

    def costs(name: str) -> str:
        return f"{paid[name].latency_terms} αs, {us(paid[name].seconds)}"

    first = costs("recursive_doubling")
    return choice(
        draw,
        f"{n} ranks all-reduce {size(nbytes)} ({MACHINE}). Which plan is first?",
        [
            right(
                "Every rank swaps its whole vector with a partner, then with another one, each "
                "time twice as far away.",
                f"Recursive doubling: {first}.",
            ),
            wrong(
                "A ring: no plan of sends and receives moves fewer bytes.",
                "M-NO-ALPHA",
                f"The ring pays {costs('ring')}; swapping whole vectors {first}.",
            ),
            wrong(
                "Swaps of ever smaller halves, and back again: the bytes of a ring in few steps.",
                "M-OTHER-REGION",
                f"That is {costs('rabenseifner')}, against {first} for whole vectors.",
            ),
            wrong(
                "A tree up to rank 0 and down again: it has as few steps as any plan.",
                "M-TREE-SAME-COST",
                f"Up and down, that is {costs('binomial')}, against {first} for swaps.",
            ),
        ],
    )


def steps(draw: Draw) -> Data:
    """Ask for the number of steps of one all-reduce where n is no power of two."""
    n = draw.choice([3, 5, 6, 7, 9, 11, 12, 13, 20, 24])
    algorithm, name = draw.choice(
        [
            ("recursive_doubling", "recursive doubling"),
            ("rabenseifner", "Rabenseifner's all-reduce"),
            ("binomial", "a reduce and a broadcast along a binomial tree"),
        ]
    )
    key = _price(algorithm, n, n * 1e6).steps
    p = power_of_two(n)
    low = p.bit_length() - 1
    reach = f"With n = {n}, {counted(low, 'doubling')} cannot reach more than {p} ranks"
    if algorithm == "binomial":
        traps = [
            trap(2 * low, "M-FLOOR-LG", f"{reach}."),
            trap(
                _price("recursive_doubling", n, n * 1e6).steps,
                "M-TREE-SAME-COST",
                "That many steps take recursive doubling with the fold.",
            ),
        ]
        reason = f"ceil(lg {n}) = {key // 2} steps up, and as many down."
        hint = "How many steps does the way up take, and how many the way down?"
    else:
        both = 2 if algorithm == "rabenseifner" else 1
        traps = [
            trap(both * low, "M-FLOOR-LG", f"{reach}; those from rank {p} on are folded."),
            trap(both * low + 1, "M-FOLD-ONE-STEP", f"Here that is {both * low} + 2 = {key}."),
        ]
        reason = (
            f"{counted(both * low, 'step')} among {p} ranks, one to fold {n - p} and one to unfold."
        )
        hint = f"Doubling works among {p} of the {n} ranks; what do the others need?"
    return num(
        f"How many steps does {name} take on {n} ranks? (Where it needs a power of two, the extra "
        "ranks are folded.)",
        key,
        traps,
        unit="steps",
        feedback_right=reason,
        feedback_else=hint,
    )


def bytes_sent(draw: Draw) -> Data:
    """Ask what the busiest rank of one all-reduce sends."""
    n = draw.choice([8, 16, 32])
    mega = n * draw.randint(1, 5)
    algorithm, name = draw.choice(
        [
            ("recursive_doubling", "recursive doubling"),
            ("rabenseifner", "Rabenseifner's all-reduce"),
            ("double_binary_tree", "a double binary tree"),
        ]
    )
    paid = _price(algorithm, n, mega * 1e6)
    key = round(paid.bytes_sent_max / 1e6)
    least = 2 * (n - 1) * mega // n
    doubling = (n.bit_length() - 1) * mega
    traps = [
        trap(
            round(paid.bytes_total / 1e6),
            "M-TOTAL-VS-BUSIEST",
            f"{size(paid.bytes_total)} is what all {n} ranks send together.",
        )
    ]
    if algorithm == "rabenseifner":
        traps.append(
            trap(doubling, "M-TREE-SAME-COST", f"{doubling} MB is lg {n} times S: whole vectors.")
        )
        reason = f"S/2, S/4, ... S/{n} on the way in, and the same back: {key} MB, as in a ring."
    else:
        traps.append(
            trap(least, "M-ANY-ALGO-2N", f"Here the busiest rank sends {key} MB, not {least} MB.")
        )
        reason = (
            f"lg {n} = {n.bit_length() - 1} swaps of {mega} MB."
            if algorithm == "recursive_doubling"
            else "S/2 to each of two children and a parent in one tree, S/2 to a parent in the "
            f"other: 2S = {key} MB."
        )
    return num(
        f"{n} ranks all-reduce S = {mega} MB by {name}. How much does the busiest rank send?",
        key,
        traps,
        unit="MB",
        feedback_right=reason,
        feedback_else="Follow one rank that works in every step, and add up its messages.",
    )


def crossover(draw: Draw) -> Data:
    """Ask at which size two named all-reduces take the same time."""
    n = draw.choice([8, 16, 32, 64])
    doubling, rabenseifner = _line("recursive_doubling", n), _line("rabenseifner", n)
    ring, binomial = _line("ring", n), _line("binomial", n)
    borders = {
        "recursive doubling and Rabenseifner": doubling.meets(rabenseifner) / 1e6,
        "a ring and a binomial tree up and down (not pipelined)": ring.meets(binomial) / 1e6,
        "a ring and recursive doubling": ring.meets(doubling) / 1e6,
        "a ring and an ideal pipelined double tree (2 ceil(lg n) α + 2 S β)": ring.meets(
            _ideal_tree(n)
        )
        / 1e6,
    }
    asked = draw.choice(list(borders))
    key = borders.pop(asked)
    return num(
        f"{n} ranks ({MACHINE}). At which S do {asked} take the same time for an all-reduce?",
        key,
        [
            trap(other, "M-ONE-CROSSOVER", f"At {other:.4g} MB {pair} take the same time.")
            for pair, other in borders.items()
        ],
        unit="MB",
        tolerance=0.01,
        feedback_right=f"S = {key:.4g} MB: there the αs that one saves cost as much as its bytes.",
        feedback_else="Write both as a α + b S β, and solve for S.",
    )


def parent(draw: Draw) -> Data:
    """Ask for the parent of a rank in one of the two trees."""
    n = draw.choice([6, 7, 8, 10, 12, 13])
    tree = draw.choice([0, 1])
    both = double_tree(n)
    rank = draw.choice([each for each in range(n) if NOBODY not in (both[0][each], both[1][each])])
    key, other = both[tree][rank], both[1 - tree][rank]
    heap = (rank - 1) // 2
    if len({key, other, heap}) < len((key, other, heap)):
        raise ClashError(rank)
    made = "mirrored: rank r becomes n - 1 - r" if n % 2 == 0 else "shifted: rank r becomes r + 1"
    bit = rank & -rank
    return num(
        f"NCCL's double binary tree on {n} ranks: which rank is the parent of rank {rank} in tree "
        f"{tree}? (Tree 1 is tree 0 {made}.)",
        key,
        [
            trap(other, "M-SAME-TREE-TWICE", f"Rank {other} is its parent in tree {1 - tree}."),
            trap(heap, "M-HEAP-PARENT", f"For rank {rank}, b = {bit}."),
        ],
        feedback_right=f"The parents in tree {tree}: "
        f"{listing('none' if up == NOBODY else up for up in both[tree])}.",
        feedback_else="Find the place of the rank in tree 0, and its lowest set bit.",
    )


def inner_twice(draw: Draw) -> Data:
    """Ask for which numbers of ranks some rank has children in both trees."""
    odd = sorted(draw.sample([5, 7, 9, 11, 13, 15], 2))
    even = sorted(draw.sample([4, 6, 8, 10, 12, 14, 16], 2))
    for n in (*odd, *even):
        inner = [{r for r, kids in enumerate(children(tree)) if kids} for tree in double_tree(n)]
        if sorted(inner[0] & inner[1]) != ([0] if n % 2 else []):
            raise ValueError(n)
    return multi(
        draw,
        "For which numbers of ranks does NCCL's double binary tree have a rank with children in "
        "both trees?",
        [
            *(right(f"{n} ranks", f"{n} is odd: rank 0 sends 1.5 S.") for n in odd),
            *(
                wrong(f"{n} ranks", "M-INNER-ONCE", f"{n} is even: nobody has children in both.")
                for n in even
            ),
            wrong(
                "None: every rank has children in exactly one tree.",
                "M-INNER-ONCE",
                f"With n = {odd[0]}, rank 0 is the root of tree 0 and has a child in tree 1 too.",
            ),
        ],
    )


def tree_bandwidth(draw: Draw) -> Data:
    """Ask what two trees do to the bytes of the busiest rank."""
    n = draw.choice([8, 16, 24, 32, 64])
    mega = draw.choice([8, 16, 64])
    tree = _price("double_binary_tree", n, mega * 1e6)
    ring = _price("ring", n, mega * 1e6)
    more = f"{size(tree.bytes_sent_max)} against {size(ring.bytes_sent_max)}"
    total = size(tree.bytes_total)
    return choice(
        draw,
        f"{n} ranks all-reduce {mega} MB by a double binary tree, and then by a ring. How do the "
        "bytes compare?",
        [
            right(
                "All ranks together send the same; the busiest rank a little more in the tree.",
                f"{total} in both; the busiest rank {more}.",
            ),
            wrong(
                "The tree halves the bandwidth: its inner ranks send twice what a ring's do.",
                "M-TREE-HALF-BW",
                f"Here the busiest rank sends {more}.",
            ),
            wrong(
                "Every rank sends the same in both: an all-reduce moves 2(n - 1)/n S.",
                "M-ANY-ALGO-2N",
                f"Here that is {more}.",
            ),
            wrong(
                "The tree moves less in all: it has far fewer steps.",
                "M-STEPS-NOT-TIME",
                f"And the bytes in all do not follow the steps: {total} in both.",
            ),
        ],
    )


def winner(draw: Draw) -> Data:
    """Ask which all-reduce is first where bytes decide."""
    n = draw.choice([8, 16, 32, 64])
    nbytes = draw.choice([4e6, 16e6, 64e6, 256e6])
    names = ("rabenseifner", "ring", "recursive_doubling", "binomial")
    paid = {name: _price(name, n, nbytes) for name in names}
    best, *others = sorted(paid, key=lambda name: paid[name].seconds)
    if best != "rabenseifner" or others[0] != "ring":
        raise ClashError(n)
    times = {name: us(each.seconds) for name, each in paid.items()}
    if len(set(times.values())) < len(times):
        raise ClashError(times)
    saved = paid["ring"].latency_terms - paid["rabenseifner"].latency_terms
    return choice(
        draw,
        f"{n} ranks all-reduce {size(nbytes)} ({MACHINE}). Which of these is first?",
        [
            right(
                "Rabenseifner.",
                f"{times['rabenseifner']}: the bytes of the ring, and {saved} αs less.",
            ),
            wrong(
                "Recursive doubling: it has the fewest steps.",
                "M-STEPS-NOT-TIME",
                f"It sends {size(paid['recursive_doubling'].bytes_sent_max)} through one port: "
                f"{times['recursive_doubling']}, against {times['rabenseifner']}.",
            ),
            wrong(
                "The ring: nothing else moves as few bytes.",
                "M-NO-ALPHA",
                f"Rabenseifner moves as few: {times['ring']} against {times['rabenseifner']}.",
            ),
            wrong(
                "A binomial tree up and down: it has as few steps as Rabenseifner.",
                "M-TREE-SAME-COST",
                f"It takes {times['binomial']}, against {times['rabenseifner']}.",
            ),
        ],
    )


def order_partners(draw: Draw) -> Data:
    """Ask in which order a rank meets its partners in Rabenseifner's all-reduce."""
    n = draw.choice([8, 16])
    rank = draw.randrange(n)
    made = build("all_reduce", "rabenseifner", world_size=n)
    half = len(made.steps) // 2
    met = [next(t.dst for t in step if t.src == rank) for step in made.steps[:half]]
    sent = [sum(t.src == rank for t in step) for step in made.steps[:half]]
    shown = sorted(met)
    if shown in (met, met[::-1]):
        draw.shuffle(shown)
    letter = {partner: LETTERS[place] for place, partner in enumerate(shown)}
    answer = [letter[partner] for partner in met]
    swapped = [answer[1], answer[0], *answer[2:]]
    sizes = listing(f"S/{n // count}" for count in sent)
    return keyed(
        "order",
        f"Rabenseifner's all-reduce on {n} ranks, as MPICH has it. Put the partners of rank {rank} "
        "on the way in into the order in which it meets them. The first message is the largest.",
        {
            "entries": [{"id": letter[partner], "text": f"rank {partner}"} for partner in shown],
            "answers": [answer],
        },
        [
            {
                "answer": wrong_order,
                "feedback": told(
                    "M-RABENSEIFNER-DIST",
                    f"Rank {rank} first meets rank {met[0]}, at distance 1.",
                ),
                "misconception": "M-RABENSEIFNER-DIST",
            }
            for wrong_order in (answer[::-1], swapped)
        ],
        feedback_right=f"Distances 1, 2, 4, ..., with messages of {sizes}.",
        feedback_else="The distance doubles from step to step, while the message halves.",
    )


def partner_missing(draw: Draw) -> Data:
    """Ask what recursive doubling does where a partner does not exist."""
    n = draw.choice([5, 6, 7, 9, 10, 12])
    p = power_of_two(n)
    lonely = next(rank for rank in range(n) if rank ^ p >= n)
    low = p.bit_length() - 1
    key = _price("recursive_doubling", n, 1e6).steps
    return choice(
        draw,
        f"{n} ranks all-reduce by recursive doubling. What happens?",
        [
            right(
                f"The ranks from {p} on ({n - p} of {n}) hand their vectors over, {p} ranks "
                f"double, and the sum goes back: {key} steps.",
                f"One step to fold, {low} to double, one to unfold.",
            ),
            wrong(
                f"At distance {p}, rank {lonely} swaps with rank {lonely ^ p}: {low + 1} steps.",
                "M-XOR-ANY-N",
                f"The last rank is rank {n - 1}; there is no rank {lonely ^ p}.",
            ),
            wrong(
                f"A rank without a partner rests: {low + 1} steps.",
                "M-XOR-ANY-N",
                f"If rank {lonely} rests at distance {p}, it never gets the parts that rank "
                f"{lonely ^ p} would have brought.",
            ),
            wrong(
                f"The ranks from {p} on ({n - p} of {n}) hand their vectors over, and {p} ranks "
                f"double: {low + 1} steps.",
                "M-FOLD-ONE-STEP",
                f"Without the second one, not all of the {n} ranks have the sum.",
            ),
        ],
    )


def all_pairs(draw: Draw) -> Data:
    """Ask how many alphas one step to all peers pays."""
    n = draw.choice([4, 6, 8, 12, 16])
    paid = _price("one_shot", n, 8e3)
    return num(
        f"In the one-shot all-reduce each of {n} ranks sends its whole vector to all others in a "
        "single step. A port sends one message at a time. How many αs are paid, one after another?",
        paid.latency_terms,
        [
            trap(1, "M-ONE-HOP-ONE-ALPHA", f"Here {n - 1} messages leave one port in turn."),
            trap(n, "M-COUNT-N", f"A rank sends to {n - 1} others, not to itself."),
        ],
        feedback_right=f"{n - 1} peers through one port. All in flight at once, it would be 1.",
        feedback_else="Count the messages that leave one port.",
    )


def nccl_tree(draw: Draw) -> Data:
    """Ask what NCCL's Tree is."""
    nodes, gpus = draw.choice([4, 8, 16]), draw.choice([4, 8])
    return choice(
        draw,
        f"NCCL v2.30.7 all-reduces on {nodes} nodes with {gpus} GPUs each, and chooses Tree. What "
        "moves?",
        [
            right(
                f"Two binary trees over the {nodes} nodes, half of the data each, and a chain of "
                f"{gpus} GPUs inside every node.",
                "The roots and the inner nodes of one tree are leaves of the other.",
            ),
            wrong(
                f"A binary tree over all {nodes * gpus} GPUs.",
                "M-NCCL-TREE-GPUS",
                f"Here: trees over {nodes} nodes, chains of {gpus} GPUs.",
            ),
            wrong(
                f"One binary tree over the {nodes} nodes, so half of them only send up.",
                "M-TREE-HALF-BW",
                "NCCL builds both (ncclGetDtree).",
            ),
            wrong(
                "The tree with which NCCL also broadcasts.",
                "M-NCCL-BCAST-TREE",
                "Its Tree serves all-reduce alone.",
            ),
        ],
    )


ITEMS: dict[str, Template] = {
    "07-predict-small": Template("choice", predict_small, predict=True),
    "07-steps": Template("num", steps),
    "07-bytes-sent": Template("num", bytes_sent),
    "07-crossover": Template("num", crossover),
    "07-parent": Template("num", parent),
    "07-inner-twice": Template("multi", inner_twice),
    "07-tree-bandwidth": Template("choice", tree_bandwidth),
    "07-winner": Template("choice", winner),
    "07-order-partners": Template("order", order_partners),
    "07-partner-missing": Template("choice", partner_missing),
    "07-all-pairs": Template("num", all_pairs),
    "07-nccl-tree": Template("choice", nccl_tree),
}
