"""Exercise 06c, solved: count what one port sends, and how much each time."""

from fractions import Fraction


def busiest(world_size: int, algorithm: str) -> Fraction:
    """Return what the busiest of n ranks moves, out or in, whichever is more, as a share of S."""
    n = world_size
    sends, each = {
        "star": (n - 1, Fraction(1)),
        "unchunked": (n - 1, Fraction(1)),
        "ring": (2 * (n - 1), Fraction(1, n)),
    }[algorithm]
    return sends * each
