"""Wrong on purpose: k is no whole number."""

from math import sqrt


def best_k(world_size, nbytes, alpha, beta):
    return max(1.0, sqrt((world_size - 2) * nbytes * beta / alpha))
