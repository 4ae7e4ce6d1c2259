"""Wrong on purpose: the own operand does not count."""


def nvls_bytes(collective, n, nbytes):
    others = (n - 1) / n * nbytes
    if collective == "all_reduce":
        return others + nbytes / n, nbytes / n + others
    if collective == "reduce_scatter":
        return others, nbytes / n
    if collective == "all_gather":
        return nbytes / n, others
    raise ValueError(f"NVLS has no {collective}")
