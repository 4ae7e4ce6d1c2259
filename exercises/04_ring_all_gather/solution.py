"""Exercise 04a, solved: the ring that the library uses."""

from allranks.algorithms.ring import ring_all_gather

__all__ = ["ring_all_gather"]
