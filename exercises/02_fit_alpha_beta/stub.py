"""Exercise 02a: fit alpha and beta. Check it with: allranks check 02_fit_alpha_beta."""


def fit(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """Return the pair (alpha, beta) of T = alpha + beta S that explains measured times.

    `seconds[i]` is the time of one message of `sizes[i]` bytes; sizes rise from 256 B to 64 MiB.
    Every time is off by up to 1 %, and one of them, nobody knows which, was disturbed and took
    several times as long. alpha is in seconds per message, beta in seconds per byte.

    Target: alpha within 10 % and beta within 3 % of the machine's, on ten machines.
    For sizes 1000 and 2000 and times 5 us and 6 us, the line through both has alpha = 4 us and
    beta = 1 ns per byte.
    """
    # TODO: which line fits small and large sizes alike, and does not follow the disturbed time?
    raise NotImplementedError
