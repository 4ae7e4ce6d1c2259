"""Exercise 02a, solved: relative errors, and the size that fits worst left out."""


def fit(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """Return the pair (alpha, beta) of T = alpha + beta S that explains measured times."""
    points = list(zip(sizes, seconds, strict=True))
    without_one = (points[:i] + points[i + 1 :] for i in range(len(points)))
    return min((relative_fit(some) for some in without_one), key=lambda found: found[1])[0]


def relative_fit(points: list[tuple[int, float]]) -> tuple[tuple[float, float], float]:
    """Return (alpha, beta) with the least squares of relative errors, and their sum.

    An error counts as a share of its time: every equation alpha + beta S = T is divided by T.
    """
    one, size = [1 / t for _, t in points], [s / t for s, t in points]
    a, b, c = (sum(x * y for x, y in zip(u, v, strict=True)) for u, v in products(one, size))
    d, e = sum(one), sum(size)
    alpha, beta = (d * c - e * b) / (a * c - b * b), (a * e - b * d) / (a * c - b * b)
    return (alpha, beta), sum(((alpha + beta * s) / t - 1) ** 2 for s, t in points)


def products(one: list[float], size: list[float]) -> list[tuple[list[float], list[float]]]:
    """Return the pairs whose inner products make the two normal equations."""
    return [(one, one), (one, size), (size, size)]
