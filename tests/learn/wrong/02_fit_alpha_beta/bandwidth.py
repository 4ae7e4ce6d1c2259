"""Wrong on purpose: the bandwidth instead of beta."""

from statistics import median


def fit(sizes, seconds):
    alpha = median(seconds[:5])
    return alpha, median(s / (t - alpha) for s, t in list(zip(sizes, seconds, strict=True))[-5:])
