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
    "M-SEND-MOVES": "A send leaves the sender's data where they are: what travels is a copy.",
    "M-GATHER-IS-SCATTER": (
        "Gather brings block r from rank r to the root; scatter deals the blocks out from it."
    ),
    "M-ROOT-EVERYWHERE": (
        "Only broadcast, reduce, gather and scatter have a root; in the other collectives all "
        "ranks have the same part to play."
    ),
    "M-RANK-IS-NODE": (
        "A node is a machine, and holds many ranks; a rank is one participant, usually with one "
        "GPU."
    ),
    "M-LOCAL-RANK": (
        "A local rank counts the ranks of one node; the rank counts those of the whole group."
    ),
    "M-OP-CONFUSED": (
        "REDUCE says that the receiver combines; the reduce_op, SUM or MAX or another, says how."
    ),
    "M-ROOT-IS-GLOBAL": (
        "Every group counts its ranks afresh from 0, and the root is a rank in the group."
    ),
    "M-EVERYTHING-AGREES": (
        "Every rank brings values of its own, from a buffer of its own; only the call must agree."
    ),
    "M-TAIL-LOST": (
        "Where the length does not divide, the first chunks are one element longer; no element is "
        "left out."
    ),
    "M-REST-AT-END": (
        "The elements that are left over go one by one to the first chunks, not all to the last."
    ),
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
    "M-BETA-IS-RATE": "β is seconds per byte, the inverse of the bandwidth W.",
    "M-UNWEIGHTED": (
        "Plain least squares counts seconds, so the longest times decide; weigh relative errors, "
        "and every size counts."
    ),
    "M-OUTLIER": (
        "One disturbed time pulls on a mean; a median, or leaving it out, does not follow it."
    ),
    "M-STEPS-ADD-UP": (
        "Steps follow one another, so their times add up; the longest is only one of them."
    ),
    "M-ALPHA-PER-CHUNK": (
        "All that goes from one rank to one other in one step is one message, and pays one α."
    ),
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
    "M-CHAIN-DOUBLES": (
        "In a chain only the last rank that was told has somebody to tell, so one more rank knows "
        "after each step, not twice as many."
    ),
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
    "M-RING-DOUBLES": (
        "In a ring every step brings a rank one block: what it holds grows by one, and does not "
        "double."
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
    "M-RS-ROOTED": (
        "A reduce-scatter has no root: every rank is the root of its own block, so no port has to "
        "carry the whole vector twice."
    ),
    "M-OWNER-SHIFT": (
        "Block r must end on rank r. A chunk comes to rest one place before the rank where it sets "
        "out, so rank r starts with chunk r - 1."
    ),
    "M-LOST-PART": (
        "A part that is not sent on in its step never reaches the owner: the sum lacks it."
    ),
    "M-RS-IS-AR-SLICE": (
        "An all-reduce also brings each rank the blocks of all others, and so moves twice the "
        "bytes of a reduce-scatter."
    ),
    "M-AVG-SUM": "AVG is the sum divided by the number of ranks; SUM divides by nothing.",
    "M-AVG-BY-LEN": (
        "An average over ranks is divided by the number of ranks, whatever the length of a vector."
    ),
    "M-ANY-OP": (
        "The parts meet in another order and grouping on every chunk, so the operation must be "
        "commutative and associative."
    ),
    "M-PARTIALS-CLEARED": (
        "Nobody erases a partial sum: a reduce-scatter leaves it where it is, and in an all-reduce "
        "the complete chunk is copied over it."
    ),
    "M-RANK-ORDER": (
        "A ring adds chunk c in the order c + 1, c + 2, ..., c, so every chunk has an order of its "
        "own."
    ),
    "M-NEAR-FIRST": (
        "Recursive halving that keeps runs of neighboring chunks begins with the farthest partner "
        "and half of the vector; near partners come last, with the least."
    ),
    "M-HALVING-ANY-N": (
        "Recursive halving pairs ranks that differ in one bit, so for other n than powers of two "
        "some partners do not exist."
    ),
    "M-FILM-FORWARD": (
        "Backwards means both: the last transfer comes first, and its arrow points the other way."
    ),
    "M-PREDIVIDE-SAFE": (
        "To divide last lets large sums overflow, to divide first lets small values vanish; "
        "neither is safe for all inputs."
    ),
    "M-NCCL-AVG": (
        "Outside symmetric windows NCCL v2.30.7 multiplies floats by 1/n before it adds them; only "
        "integers are divided after the sum."
    ),
    "M-IN-PLACE": (
        "A collective that is not called in place only reads its input, and returns memory of its "
        "own."
    ),
    "M-EMPTY-BLOCK": (
        "An empty block still has its place: both sides send and receive it, or both leave it out."
    ),
    # chapter 06
    "M-RING-LESS-TOTAL": (
        "In all, a ring moves as many bytes as a reduce and a broadcast, 2(n - 1) S; it spreads "
        "them over the ranks, where a star puts them on one."
    ),
    "M-MESSAGES-ARE-BYTES": (
        "More messages are not more bytes: each message of a ring is only S/n long."
    ),
    "M-STEP-IS-MESSAGE": "A step is not one message: in a ring all n ranks send in every step.",
    "M-UNCHUNKED-IS-RING": (
        "A ring that passes whole vectors on sends (n - 1) S out of every rank; cut into n chunks "
        "whose sums travel, it is 2(n - 1)/n S."
    ),
    "M-2N-STEPS": (
        "2n - 1 counts the calls of a rank's loop, most of which receive and send; its sends are "
        "2(n - 1), and so are its receives."
    ),
    "M-ANY-ALGO-2N": (
        "2(n - 1)/n S is the least for plans of sends and receives, not what every plan takes: the "
        "root of a star sends more, and a switch that adds is another machine."
    ),
    "M-INDEPENDENT-OF-N": (
        "Of a ring, only the bytes per rank hardly depend on n: they stay below 2S. It pays "
        "2(n - 1) αs, and moves 2(n - 1) S in all."
    ),
    "M-AR-EQUALS-CALLS": (
        "An all-reduce moves the bytes of a reduce-scatter and an all-gather, but it is one call "
        "and one launch."
    ),
    "M-UNFINISHED-CHUNK": (
        "The second phase may pass on a chunk only where it is complete: it starts with chunk r on "
        "rank r."
    ),
    "M-FORWARD-THE-SUM": (
        "Where whole vectors go around, a rank passes on what arrived; if it passes on its own "
        "sum, parts are added again in every step."
    ),
    "M-EVEN-SHARE": (
        "With chunks of unequal length ranks send unequal amounts: each leaves out its own chunk "
        "in the first phase and its right neighbor's in the second."
    ),
    "M-MEAN-OF-MEANS": (
        "The mean of the ranks' means is the mean of the batch only if all ranks have equally many "
        "samples; else weigh each by its number."
    ),
    # chapter 07
    "M-TREE-HALF-BW": (
        "One binary tree leaves half of its ranks as leaves, which send only upward; two trees, "
        "half of the data each, share the work: nobody sends more than 2S, and all together 2(n "
        "- 1)S, as in a ring."
    ),
    "M-TREE-SAME-COST": (
        "Plans with few steps do not cost the same: recursive doubling pays lg n αs and S lg n, "
        "a reduce and a broadcast along a binomial tree twice that, Rabenseifner 2 lg n αs and "
        "the bytes of a ring."
    ),
    "M-INNER-ONCE": (
        "For even n every rank is inner in exactly one of the two trees; for odd n, rank 0 is "
        "inner in both."
    ),
    "M-RABENSEIFNER-DIST": (
        "In MPICH the vector is halved while the distance doubles: the largest messages go to "
        "the nearest partner."
    ),
    "M-XOR-ANY-N": (
        "The partner rank XOR d exists for every rank only if n is a power of two; other n fold "
        "the extra ranks first."
    ),
    "M-ONE-CROSSOVER": (
        "A crossover lies between two named plans on a named machine; another tree has another one."
    ),
    "M-NCCL-TREE-GPUS": (
        "NCCL's tree is a double binary tree over nodes, with a chain of GPUs inside each node; "
        "on one node it is a chain."
    ),
    "M-WHOLE-VECTOR": (
        "Recursive doubling swaps the whole vector in every step, S lg n in all; halving sends "
        "a partner only the half that it keeps."
    ),
    "M-NOT-MIRRORED": (
        "The way back meets the partners in reverse: the last one met on the way in is the "
        "first to swap finished chunks with."
    ),
    "M-NEVER-UNFOLDED": (
        "Ranks that were folded away have given their vectors and get the sum in one last step."
    ),
    "M-FOLD-ONE-STEP": (
        "To fold costs two steps: one in which the extra ranks hand over their vectors, and one "
        "in which they get the sum."
    ),
    "M-SAME-TREE-TWICE": (
        "The second tree is the first one mirrored (even n) or shifted by one rank (odd n), so "
        "most ranks have another parent in it."
    ),
    "M-HEAP-PARENT": (
        "These trees follow the lowest set bit b of a rank: in tree 0 the parent of rank r is r "
        "- b or r + b."
    ),
    "M-ONE-HOP-ONE-ALPHA": (
        "One step to n - 1 peers is one α only where all messages are in flight at once; "
        "through one port, one after another, it is n - 1 αs."
    ),
    # chapter 09
    "M-SHARP-DOUBLES": (
        "A switch that adds does not halve the bytes of an all-reduce: against a ring it gains "
        "2(n-1)/(n+1) with NVLS and 2(n-1)/n with a tree of switches; 2 is only the limit for n to "
        "infinity."
    ),
    "M-SHARP-IS-NVLS": (
        "IB SHARP adds in InfiniBand switches between nodes; NVLS (NVLink SHARP) adds in the "
        "NVSwitch that joins the GPUs of one NVLink domain: other hardware, other counts."
    ),
    "M-COLLNET-IS-SHARP": (
        "CollNet is NCCL's name for reductions that a network plugin offers; IB SHARP is the "
        "hardware behind one such plugin."
    ),
    "M-ANY-SWITCH-ADDS": (
        "Most switches only forward. Adding needs an NVSwitch of generation 3 or newer, or an "
        "InfiniBand switch with SHARP and what manages it."
    ),
    "M-NVLS-ONLY-AR": (
        "All-gather and reduce-scatter exist for NVLS in NCCL's source; they gain no bandwidth."
    ),
    "M-SHARP-HELPS-AG": (
        "In an all-gather NVLS brings S into every rank, its own copy included, and in a "
        "reduce-scatter it takes S out; a ring moves (n-1)/n S, so nothing is gained."
    ),
    "M-SLIDE-MODEL": (
        "The switch reads the operands of all n GPUs, the head's own too, and the head stores its "
        "result: S + S/n each way, so the gain is 2(n-1)/(n+1), not 2(n-1)/n."
    ),
    "M-BUSBW-IS-WIRE": (
        "busbw is algbw times 2(n-1)/n, which is what a ring sends; NVLS moves S(1 + 1/n) each "
        "way, so its wire rate is algbw (n+1)/n."
    ),
    "M-SHARP-SAME-BITS": (
        "A switch adds in an order that nobody specifies, and in NVLS with one rounding; a ring "
        "has its own order and a rounding at every hop: the last bits can differ."
    ),
    "M-SHARP-ANY-OP": (
        "The hardware knows few operations: NCCL's SHARP plugin takes sum, min and max; NVLS in "
        "NCCL v2.30.7 takes f32 and f64 for sum only, and no fp8."
    ),
    "M-SWITCH-FREE": (
        "Every rank sends S to the switch, so a switch of n ranks takes in n S; what is small is "
        "the load of each port."
    ),
    "M-EMULATED-TIME": (
        "The switch actor is an ordinary process that adds: its bytes and steps are those of the "
        "schedule, its seconds say nothing about a switch chip."
    ),
    "M-SWITCH-UNCUT": (
        "In one piece, everything goes up before anything comes down: 2(α + Sβ), which is more "
        "than a ring takes for a large S; cut into pieces, both directions work at once."
    ),
    "M-SWITCH-WAITS": (
        "Earlier pieces come down while later ones go up: k pieces take k + 1 steps."
    ),
    "M-SWITCH-PARTIAL": "A piece may come down only after all ranks have sent it up.",
    "M-SWITCH-BYPASS": (
        "The switch has a port to every rank and copies the sum to all of them at once; what "
        "ranks pass on among themselves is sent twice."
    ),
    "M-SWITCH-NO-GAIN": (
        "The gain depends on n, because a ring sends 2(n-1)/n S and the plans with a switch do "
        "not: by bytes NVLS loses to a ring of 2 ranks, ties with one of 3, and gains from 4 on."
    ),
    "M-FREE-FACTOR": (
        "A free factor for every point fits any model, so it tells nothing about one."
    ),
    "M-MEAN-ONLY": (
        "A mean hides how far the points lie apart; the spread is what separates two models."
    ),
}


def meaning(misconception: str) -> str:
    """Return the sentence that answers a misconception.

    Raises:
        ValueError: no such id; the message suggests the nearest one.
    """
    if misconception not in MISCONCEPTIONS:
        raise ValueError(unknown_name("misconception", misconception, MISCONCEPTIONS))
    return MISCONCEPTIONS[misconception]
