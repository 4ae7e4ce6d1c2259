"""Exercise 05c, solved: the library's halving, behind a refusal of the n that it would fold."""

from collections.abc import Iterator

from allranks import Step
from allranks.algorithms.doubling import power_of_two, recursive_halving_reduce_scatter


def recursive_halving(world_size: int) -> Iterator[Step]:
    """Send half of what one still works on to ever nearer partners; refuse other n."""
    if world_size != power_of_two(world_size):
        message = (
            f"{world_size} ranks are no power of two, so some would have no partner at some "
            "distance; take 1, 2, 4, 8, ... ranks"
        )
        raise ValueError(message)
    yield from recursive_halving_reduce_scatter(world_size)
