"""Exercise 04b, solved: Bruck's algorithm as the library uses it."""

from allranks.algorithms.bruck import bruck_all_gather

__all__ = ["bruck_all_gather"]
