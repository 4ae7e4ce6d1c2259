"""Exercise 09c, solved: one factor for all points, and how far they lie apart."""

from statistics import mean


def bound(n: int, model: str) -> float:
    """Return the ring's busiest bytes over the model's."""
    ring = 2 * (n - 1) / n
    return ring / (1 + 1 / n if model == "nvls" else 1)


def fit(points: list[tuple[int, float]], model: str) -> tuple[float, float]:
    """Return (efficiency, spread) of a model of the gain, for measured points (n, gain)."""
    ratios = [gain / bound(n, model) for n, gain in points]
    efficiency = mean(ratios)
    return efficiency, (max(ratios) - min(ratios)) / efficiency


def crossover(efficiency: float, n_range: list[int]) -> int | None:
    """Return the first n in `n_range` at which NVLS beats the ring, None if there is none."""
    return next((n for n in n_range if efficiency * bound(n, "nvls") > 1), None)
