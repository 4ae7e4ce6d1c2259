"""Exercise 06b, solved: the ring that the library uses, one phase after the other."""

from allranks.algorithms.ring import ring_all_reduce

__all__ = ["ring_all_reduce"]
