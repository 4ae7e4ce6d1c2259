"""Wrong on purpose: a tie counts as a gain."""


def bound(n, model):
    return 2 * (n - 1) / (n + 1 if model == "nvls" else n)


def fit(points, model):
    ratios = [gain / bound(n, model) for n, gain in points]
    efficiency = sum(ratios) / len(ratios)
    return efficiency, (max(ratios) - min(ratios)) / efficiency


def crossover(efficiency, n_range):
    return next((n for n in n_range if efficiency * bound(n, "nvls") >= 1), None)
