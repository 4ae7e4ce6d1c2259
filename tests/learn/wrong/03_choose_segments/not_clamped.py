"""Wrong on purpose: k can become 0."""

from math import sqrt


def best_k(world_size, nbytes, alpha, beta):
    return round(sqrt((world_size - 2) * nbytes * beta / alpha))
