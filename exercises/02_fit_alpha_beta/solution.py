"""Exercise 02a, solved: the estimator of Theil and Sen, which is made of medians."""

from itertools import combinations
from statistics import median


def fit(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """Return the pair (alpha, beta) of T = alpha + beta S that explains measured times."""
    points = list(zip(sizes, seconds, strict=True))
    beta = median((t2 - t1) / (s2 - s1) for (s1, t1), (s2, t2) in combinations(points, 2))
    alpha = median(t - beta * s for s, t in points)
    return alpha, beta
