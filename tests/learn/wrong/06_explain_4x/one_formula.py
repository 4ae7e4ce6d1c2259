"""Wrong on purpose: the formula of the ring for all three."""

from fractions import Fraction


def busiest(n, algorithm):
    return Fraction(2 * (n - 1), n)
