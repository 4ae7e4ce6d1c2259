"""Wrong on purpose: what comes in is added to what goes out."""

from fractions import Fraction


def busiest(n, algorithm):
    return Fraction(4 * (n - 1), n) if algorithm == "ring" else Fraction(2 * (n - 1))
