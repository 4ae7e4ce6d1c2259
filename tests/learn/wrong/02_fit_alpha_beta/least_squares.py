"""Wrong on purpose: plain least squares, in which seconds count and not shares of them."""


def fit(sizes, seconds):
    n = len(sizes)
    mean_size, mean_time = sum(sizes) / n, sum(seconds) / n
    beta = sum(
        (s - mean_size) * (t - mean_time) for s, t in zip(sizes, seconds, strict=True)
    ) / sum((s - mean_size) ** 2 for s in sizes)
    return mean_time - beta * mean_size, beta
