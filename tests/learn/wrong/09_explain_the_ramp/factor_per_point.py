"""Wrong on purpose: a factor for every point."""


def bound(n, model):
    return 2 * (n - 1) / (n + 1 if model == "nvls" else n)


def fit(points, model):
    return [gain / bound(n, model) for n, gain in points], 0.0


def crossover(efficiency, n_range):
    return next((n for n in n_range if efficiency * bound(n, "nvls") > 1), None)
