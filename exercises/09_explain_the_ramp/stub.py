"""Exercise 09c: explain the ramp. Check it with: allranks check 09_explain_the_ramp."""


def fit(points: list[tuple[int, float]], model: str) -> tuple[float, float]:
    """Return (efficiency, spread) of a model of the gain, for measured points (n, gain).

    The gain is how many times faster the all-reduce in the switch is than the ring. A model gives a
    bound for it: the ring's busiest bytes, 2(n - 1)/n S, over its own. "nvls" moves S + S/n each
    way, "tree" moves S each way. The efficiency is the one factor that makes efficiency * bound(n)
    the gain, on average over the points; the spread is the largest ratio gain / bound(n) minus the
    smallest, divided by the efficiency.

    Target: the efficiency and the spread for both models, on published points and on others.
    For n = 3 and 5 with gains 0.9 and 1.2, "nvls" has the bounds 1 and 4/3: the efficiency is 0.9,
    the spread 0.
    """
    # TODO: what is the ratio of gain and bound at every point, and how far do they lie apart?
    raise NotImplementedError


def crossover(efficiency: float, n_range: list[int]) -> int | None:
    """Return the first n in `n_range` at which NVLS beats the ring, None if there is none.

    Take the model that fits: the gain is efficiency * bound(n) of "nvls". `n_range` rises.

    Target: the first n with a gain above 1. A tie is no gain, and floats are rounded: ask whether
    it is above 1 + 1e-9.
    For an efficiency of 0.9 it is 4, if 4 is in the range: at 2 and 3 the bound is at most 1.
    """
    # TODO: at which n does the gain pass 1?
    raise NotImplementedError
