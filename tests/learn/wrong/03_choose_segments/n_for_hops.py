"""Wrong on purpose: n where n - 2 belongs."""

from math import floor, sqrt


def best_k(world_size, nbytes, alpha, beta):
    def seconds(k):
        return (world_size + k) * (alpha + nbytes * beta / k)

    below = max(1, floor(sqrt(world_size * nbytes * beta / alpha)))
    return min(below, below + 1, key=seconds)
