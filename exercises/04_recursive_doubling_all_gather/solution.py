"""Exercise 04c, solved: the library's swaps, behind a refusal of all other n."""

from collections.abc import Iterator

from allranks import Step
from allranks.algorithms.doubling import needs_a_power_of_two
from allranks.algorithms.doubling import recursive_doubling_all_gather as swaps


def recursive_doubling_all_gather(world_size: int) -> Iterator[Step]:
    """Swap all that one has with ever farther partners; refuse what is no power of two."""
    if reason := needs_a_power_of_two(world_size):
        raise ValueError(reason)
    yield from swaps(world_size)
