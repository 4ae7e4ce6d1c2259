"""Wrong on purpose: beta from the largest size alone."""


def fit(sizes, seconds):
    return 0.0, seconds[-1] / sizes[-1]
