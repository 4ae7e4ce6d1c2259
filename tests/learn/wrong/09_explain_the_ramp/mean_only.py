"""Wrong on purpose: the mean alone."""


def bound(n, model):
    return 2 * (n - 1) / (n + 1 if model == "nvls" else n)


def fit(points, model):
    return sum(gain / bound(n, model) for n, gain in points) / len(points)


def crossover(efficiency, n_range):
    return next((n for n in n_range if efficiency * bound(n, "nvls") > 1), None)
