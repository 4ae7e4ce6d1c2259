"""Wrong on purpose: n sends where n - 1 are due."""

from fractions import Fraction


def busiest(n, algorithm):
    return Fraction(2 * n, n) if algorithm == "ring" else Fraction(n)
