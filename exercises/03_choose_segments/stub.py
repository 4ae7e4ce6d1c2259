"""Exercise 03c: the best number of segments. Check it with: allranks check 03_choose_segments."""


def best_k(world_size: int, nbytes: float, alpha: float, beta: float) -> int:
    """Return the number k of segments that makes the pipelined chain fastest.

    With n = world_size and S = nbytes its time is T(k) = (n - 2 + k)(alpha + S beta / k); alpha is
    in seconds per message, beta in seconds per byte.

    Target: within 0.5 % of the best time, for any n of at least 2 and any S.
    For n = 6, S = 48 MB, alpha = 4 µs and beta = 1 / (25 GB/s), k = 44.
    """
    # TODO: where is the derivative of T zero, and which whole number near it is best?
    raise NotImplementedError
