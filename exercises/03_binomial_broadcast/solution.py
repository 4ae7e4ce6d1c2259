"""Exercise 03a, solved: the tree that the library uses."""

from allranks.algorithms.tree import binomial_broadcast

__all__ = ["binomial_broadcast"]
