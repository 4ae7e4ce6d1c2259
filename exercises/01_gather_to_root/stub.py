"""Exercise 01b: gather all blocks at one rank. Check it with: allranks check 01_gather_to_root."""

from collections.abc import Iterator

from allranks import Op, Step, Transfer


def gather(world_size: int, root: int) -> Iterator[Step]:
    """Bring block r from every rank r to the root; at the start rank r holds chunk r, its block.

    Target for n ranks: n - 1 steps (n - 1 times alpha at the busiest port), (n - 1)/n S into the
    root.
    For n = 3 and root 1, chunk 2 goes from rank 2 to rank 1, and chunk 0 from rank 0 to rank 1.
    """
    # TODO: which ranks have something that the root lacks?
    raise NotImplementedError
