"""Wrong on purpose: a line through the smallest and the largest size, disturbed or not."""


def fit(sizes, seconds):
    beta = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])
    return seconds[0] - beta * sizes[0], beta
