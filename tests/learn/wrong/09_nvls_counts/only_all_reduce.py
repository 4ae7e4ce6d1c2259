"""Wrong on purpose: reduce-scatter and all-gather are refused."""


def nvls_bytes(collective, n, nbytes):
    if collective != "all_reduce":
        raise ValueError(f"NVLS has no {collective}")
    return nbytes + nbytes / n, nbytes / n + nbytes
