"""Wrong on purpose: the bytes of a ring."""


def nvls_bytes(collective, n, nbytes):
    share = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1}
    if collective not in share:
        raise ValueError(f"NVLS has no {collective}")
    return (share[collective] * (n - 1) * nbytes / n,) * 2
