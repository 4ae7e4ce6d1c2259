"""Exercise 09a, solved: the switch that the library uses; its num_chunks are the pieces."""

from allranks.algorithms.sharp import sharp_all_reduce as switch_all_reduce

__all__ = ["switch_all_reduce"]
