"""Exercise 03b: a pipelined chain. Check it with: allranks check 03_pipelined_chain."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def chain_broadcast(world_size: int, root: int, num_segments: int) -> Iterator[Step]:
    """Pass the root's vector down a chain of all ranks, cut into `num_segments` chunks.

    Target for n ranks and k segments: n - 2 + k steps (0 for one rank), each as long as a message
    of S/k takes; S out of the busiest rank.
    For n = 3, root 0, k = 2 the steps are: chunk 0 on 0 > 1; then chunk 1 on 0 > 1 and chunk 0 on
    1 > 2; then chunk 1 on 1 > 2.
    """
    # TODO: which chunk does hop v of the chain carry in step s, and when does it rest?
    raise NotImplementedError
