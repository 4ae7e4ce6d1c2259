"""Exercise 09a: a switch that adds. Check it with: allranks check 09_switch_all_reduce."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def switch_all_reduce(world_size: int, num_pieces: int) -> Iterator[Step]:
    """Give every rank the sum of all vectors, cut into `num_pieces` chunks, with a switch's help.

    The switch is endpoint `world_size`. It holds nothing at first: a REDUCE into an empty place
    stores what comes, later ones add to it. One rank needs no switch: yield no step.
    Target for n ranks and k pieces: k + 1 steps, each as long as a message of S/k takes; S out of
    every rank and S into it.
    For n = 2 and k = 2 the steps are: chunk 0 on 0 > 2 and on 1 > 2; then chunk 1 on the same two,
    and chunk 0 on 2 > 0 and on 2 > 1; then chunk 1 on 2 > 0 and on 2 > 1.
    """
    # TODO: which piece goes up in step s, which comes down, and with which op each?
    raise NotImplementedError
