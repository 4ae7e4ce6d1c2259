"""The misconceptions the course knows by name, each with the sentence that answers it.

Every wrong option of a quiz and every known wrong solution belongs to one id. The sentence here is
true without numbers; an item adds those of its own instance.
"""

from __future__ import annotations

from allranks.errors import unknown_name

MISCONCEPTIONS: dict[str, str] = {
    # used everywhere
    "M-STEPS-NOT-TIME": (
        "Fewer steps are not always less time: a step lasts α + β times the bytes through "
        "its busiest port."
    ),
    "M-COUNT-N": "A rank already has its own part; only n - 1 parts are missing.",
    "M-COUNT-ROOT": "The root has the vector already; only the other n - 1 ranks lack it.",
    "M-FLOOR-LG": (
        "Doublings have to reach all n ranks, so a started doubling counts as a whole one."
    ),
    "M-BITS-BYTES": "Links are sold in Gb/s, data are counted in bytes: the factor is 8.",
    "M-GIB": "1 GB is 10^9 bytes, 1 GiB is 2^30: the factor is 1.074.",
    "M-DUPLEX": "Bandwidth is given per direction; adding both directions doubles it.",
    "M-NO-ALPHA": "Every message pays α, however short it is.",
    "M-ALL-ALPHA": "Every byte pays β; only tiny messages cost α alone.",
    "M-S-PER-RANK": "S is the whole vector; each rank contributes S/n.",
    "M-TOTAL-VS-BUSIEST": (
        "The total over all ranks is the load of no single one: ranks send side by side, and the "
        "busiest of them decides how long it takes."
    ),
    "M-BARRIER": (
        "Only data dependence orders ranks: a rank may return while others still wait for data."
    ),
    "M-ONLY-SENDER-CALLS": (
        "All ranks call the collective, with the same operation, size, type and order; else it "
        "hangs or corrupts data."
    ),
    "M-SCALAR": "A collective works element by element: the result is a vector, not one number.",
    # chapter 00
    "M-CPU-IS-GPU": (
        "Result, steps and bytes carry over from CPU processes to GPUs that play the same "
        "schedule; seconds do not."
    ),
    "M-ONE-RUN-IS-PROOF": "A run tries one input; a proof holds for every input.",
    "M-ONLY-OWN-PART": (
        "A rank adds what it receives to its own part, and later passes on the whole sum."
    ),
    "M-NCCL-IS-COLLECTIVES": (
        "Collectives are operations; NCCL, the NVIDIA Collective Communications Library, is one "
        "implementation of them."
    ),
    "M-ALLREDUCE-CONCAT": (
        "All-reduce adds and its size stays S; all-gather collects and grows n-fold."
    ),
    "M-REDUCE-ONE-RANK": "Reduce leaves the sum on one rank; all-reduce leaves it on every rank.",
    "M-DOUBLE-COUNT": "A part that is added to a sum which contains it already is counted twice.",
    "M-SWAP-IS-SUM": "COPY replaces what the receiver holds; only REDUCE adds to it.",
    "M-SEQUENTIAL-STEP": (
        "Every send reads the state before the step, so nothing moves on within it."
    ),
    "M-HALF-WAY": (
        "A ring all-reduce is a reduce-scatter and then an all-gather: both take n - 1 steps and "
        "move (n - 1)/n S out of every rank."
    ),
    "M-WHERE-NOTICED": (
        "The step in which a fault is noticed is not always the one in which it entered; the first "
        "wrong event is where to look."
    ),
    # chapter 01
    # chapter 02
    "M-LATENCY-IS-BANDWIDTH": (
        "More bandwidth does not lower α: it moves the bytes faster, and the first one no sooner."
    ),
    "M-PORT-IN-TURN": (
        "Messages through one port in one step pass one after the other, and each pays its own α."
    ),
    "M-HALF-DUPLEX": (
        "A port sends and receives at the same time: one message out and one in take as long as "
        "one alone."
    ),
    "M-FIT-ONE-POINT": ("One time has α and the bytes in it; two numbers need at least two sizes."),
    # chapter 03
    "M-SCATTER-IS-BROADCAST": (
        "Scatter gives part r to rank r; broadcast gives everything to everybody."
    ),
    "M-ONE-AT-A-TIME": (
        "Every rank that has the data can send it on, so the number of ranks that have it doubles "
        "in each step."
    ),
    "M-TREE-ALWAYS-BEST": (
        "The root of a binomial tree sends the whole vector ceil(lg n) times: that is cheap for a "
        "small vector, and dear for a large one."
    ),
    "M-FLAT-IS-ONE-STEP": (
        "A rank has one port, so n - 1 sends from the root go out one after another."
    ),
    "M-ROOT-ZERO": "Any rank can be the root; count ranks from it, v = (rank - root) mod n.",
    "M-MORE-SEGMENTS-BETTER": ("Every further segment pays one more α: α is paid n - 2 + k times."),
    "M-CHAIN-SLOW": (
        "An uncut chain takes (n - 1)(α + Sβ); cut into segments, all its hops work at once."
    ),
    "M-NCCL-BCAST-TREE": "NCCL v2.30.7 broadcasts on a ring: a pipelined chain from the root.",
    "M-POWER-OF-TWO": "n need not be a power of two: in the last step some partners do not exist.",
    "M-SEND-BACK": (
        "In a broadcast only the rank that has the vector sends; the other has nothing yet."
    ),
    "M-STORE-AND-FORWARD": "A rank can pass on the first segment before the last one has arrived.",
    "M-WINDOW-OFF-BY-ONE": (
        "Hop v carries segment s - v in step s, for all k segments: 0 <= s - v < k."
    ),
    "M-PIPE-LENGTH": (
        "The first segment makes n - 1 hops, and each of the other k - 1 arrives one step after "
        "the one before it: n - 2 + k steps."
    ),
    "M-REAL-K": "A number of segments is whole and at least 1.",
    "M-SEND-BEFORE-HAVE": "A rank can only send what has reached it in an earlier step.",
    "M-BROADCAST-ADDS": "Broadcast copies the root's data; nothing is added to anything.",
    "M-REDUCE-ROOT-SENDS": "In a reduce the root only receives; every other rank sends S once.",
    "M-OTHER-REGION": "Which algorithm wins depends on the size: price each one, then compare.",
    # chapter 04
    "M-GROWS-WITH-N": (
        "With S fixed, more ranks mean shorter blocks: the bytes per rank tend to S, and only the "
        "number of αs grows."
    ),
    "M-AG-IS-N-BCASTS": (
        "n broadcasts in turn end with the same result and move the same bytes in all; but they "
        "run one after another, where an all-gather lets every rank send in every step."
    ),
    "M-BRUCK-POW2": "Bruck works for any n; recursive doubling does not.",
    "M-DOUBLING-ANY-N": (
        "Recursive doubling needs a power of two, because its partners are rank XOR 1, 2, 4, ...; "
        "for other n some of them do not exist."
    ),
    "M-LOG-STEPS-LESS-BYTES": (
        "Fewer steps do not mean fewer bytes: every rank has to take in the n - 1 blocks that it "
        "lacks."
    ),
    "M-BIDIR-FREE": (
        "On one port the second direction is a second message through the same door: it pays its "
        "own α and its own bytes, and nothing is gained."
    ),
    "M-OWN-BLOCK-AGAIN": (
        "In a ring a rank sends its own block once; after that it passes on what it got last."
    ),
    "M-RING-AHEAD": (
        "In a ring that sends to the right, blocks come from the left: in step s rank r passes on "
        "block r - s, not r + s."
    ),
    "M-ONE-BLOCK": (
        "A rank can send everything it holds in one message; then what everybody holds doubles in "
        "each step."
    ),
    "M-BRUCK-LAST-FULL": (
        "Bruck's last message carries only what is still missing, n - 2^(L-1) blocks."
    ),
    "M-BRUCK-DIRECTION": (
        "A rank that sends its blocks r, r + 1, ... to rank r - d collects a run of blocks that "
        "begins with its own; sent to rank r + d, the run has a hole."
    ),
    "M-ROTATION": (
        "In Bruck's plain buffer the blocks lie in the order r, r + 1, ..., so rank r has to turn "
        "it by r places at the end; only rank 0 need not."
    ),
    "M-SKIP-PARTNER": (
        "A rank whose partner does not exist misses what that partner would have brought; refuse "
        "such an n, or use Bruck."
    ),
    "M-PAT-CEIL": (
        "PAT takes ceil(lg n) sends, but for n = 2^k + 1 with k of at least 2 one more, k + 2."
    ),
    "M-OWN-BLOCK-ONLY": (
        "In a ring a rank sends its own block and passes on n - 2 others, so what it sends in all "
        "does not shrink with n."
    ),
    "M-NCCL-AG-TREE": (
        "NCCL v2.30.7 has Ring, PAT, NVLS and CollNetDirect for all-gather; its Tree serves "
        "all-reduce alone."
    ),
    # chapter 05
    "M-OWNER-SHIFT": (
        "A ring that starts with chunk r leaves chunk r + 1 on rank r; the contract wants chunk r "
        "there, so start one chunk earlier."
    ),
    "M-TAIL-DROPPED": (
        "If n does not divide the length, the first chunks are one element longer; every element "
        "belongs to a chunk and travels."
    ),
    "M-IN-PLACE": (
        "A collective that is not called in place only reads its input, and returns memory of its "
        "own."
    ),
    "M-EMPTY-BLOCK": (
        "An empty block still has its place: both sides send and receive it, or both leave it out."
    ),
    # chapter 06
    "M-FORWARD-THE-SUM": (
        "Where whole vectors go round, a rank passes on what arrived; if it passes on its own sum, "
        "parts are added again in every step."
    ),
    # chapter 07
    # chapter 09
}


def meaning(misconception: str) -> str:
    """Return the sentence that answers a misconception.

    Raises:
        ValueError: no such id; the message suggests the nearest one.
    """
    if misconception not in MISCONCEPTIONS:
        raise ValueError(unknown_name("misconception", misconception, MISCONCEPTIONS))
    return MISCONCEPTIONS[misconception]
