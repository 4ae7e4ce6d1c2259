"""Wrong on purpose: what all ranks move together."""

from fractions import Fraction


def busiest(n, algorithm):
    return Fraction(n * (n - 1) if algorithm == "unchunked" else 2 * (n - 1))
