"""In-switch collectives as NVLS (NVLink SHARP) does them: every GPU is the head of S/n.

An NVSwitch can do two things for a GPU: read an address on all GPUs and give it the sum
(`multimem.ld_reduce`), and write a value to an address on all GPUs (`multimem.st`). Both count the
GPU itself: its own operand goes up and its own copy comes down. So one of the two directions
always carries all of S, and only an all-reduce gains on a ring: S + S/n against 2(n - 1)/n S each
way, by the factor 2(n - 1)/(n + 1): 2/3 for two ranks, 1 for three, 14/9 for eight. Source: the
maintainers' answers in NVIDIA/nccl#828, NVIDIA/nccl#1083 and NVIDIA/nccl-tests#239.

The switch is endpoint n. Head r owns the chunks of block r. The k chunks, a multiple of n, make
k/n slices of one chunk from every block; a slice follows the one before by one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from allranks.schedule import Op, Step, Transfer

Stage = Callable[[int, int, int], Step]


def nvls_all_reduce(world_size: int, num_chunks: int | None = None) -> Iterator[Step]:
    """Let each head read the sum of its chunk, then write it to all: k/n + 3 steps.

    Four stages for every slice: all ranks send all its chunks to the switch, which adds them; each
    head takes its own sum; sends it back to the switch; and the switch copies all sums to all
    ranks, the heads included. S(1 + 1/n) out of every rank and as much in.
    """
    yield from _pipeline(world_size, num_chunks, [_add_up, _give_heads, _store, _copy_to_all])


def nvls_all_gather(world_size: int, num_chunks: int | None = None) -> Iterator[Step]:
    """Let each rank write its block once and the switch copy it to all: k/n + 1 steps.

    S/n out of every rank, but S into it, its own copy included: more than the (n - 1)/n S of a
    ring, which takes n - 1 steps.
    """
    yield from _pipeline(world_size, num_chunks, [_store, _copy_to_all])


def nvls_reduce_scatter(world_size: int, num_chunks: int | None = None) -> Iterator[Step]:
    """Let each rank read the sum of its block through the switch: k/n + 1 steps.

    S out of every rank, its own operand included, and S/n into it: the all-gather backwards.
    """
    yield from _pipeline(world_size, num_chunks, [_add_up, _give_heads])


def one_chunk_per_head(world_size: int, num_chunks: int | None = None) -> int:
    """Return the number of chunks that is used if nobody asks for another."""
    return num_chunks or world_size


def uneven_heads(world_size: int, num_chunks: int | None = None) -> str:
    """Return why the heads could not share so many chunks; "" where they can."""
    if num_chunks is None or num_chunks % world_size == 0:
        return ""
    return (
        f"num_chunks is {num_chunks}; every one of the {world_size} ranks is head of as many "
        f"chunks as the others, so nvls needs a multiple of {world_size}"
    )


def _pipeline(world_size: int, num_chunks: int | None, stages: list[Stage]) -> Iterator[Step]:
    """Play all stages in every step, each on the slice behind the one of the stage before."""
    slices = one_chunk_per_head(world_size, num_chunks) // world_size
    for step in range(slices + len(stages) - 1 if world_size > 1 else 0):
        yield [
            transfer
            for number, stage in enumerate(stages)
            if 0 <= step - number < slices
            for transfer in stage(world_size, slices, step - number)
        ]


def _add_up(world_size: int, slices: int, part: int) -> Step:
    """Send all chunks of a slice from all ranks to the switch."""
    return [
        Transfer(src=rank, dst=world_size, chunk=head * slices + part, op=Op.REDUCE)
        for rank in range(world_size)
        for head in range(world_size)
    ]


def _give_heads(world_size: int, slices: int, part: int) -> Step:
    """Send every head its chunk of a slice from the switch."""
    return [
        Transfer(src=world_size, dst=head, chunk=head * slices + part, op=Op.COPY)
        for head in range(world_size)
    ]


def _store(world_size: int, slices: int, part: int) -> Step:
    """Send every head's chunk of a slice to the switch."""
    return [
        Transfer(src=head, dst=world_size, chunk=head * slices + part, op=Op.COPY)
        for head in range(world_size)
    ]


def _copy_to_all(world_size: int, slices: int, part: int) -> Step:
    """Send all chunks of a slice from the switch to all ranks."""
    return [
        Transfer(src=world_size, dst=rank, chunk=head * slices + part, op=Op.COPY)
        for rank in range(world_size)
        for head in range(world_size)
    ]
