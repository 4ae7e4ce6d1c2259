"""Wrong on purpose: an all-gather sends as much as a reduce-scatter."""


def nvls_bytes(collective, n, nbytes):
    if collective == "all_reduce":
        return nbytes + nbytes / n, nbytes / n + nbytes
    if collective in ("reduce_scatter", "all_gather"):
        return nbytes, nbytes / n
    raise ValueError(f"NVLS has no {collective}")
