"""Exercise 09b, solved: count what is read and what is stored, the own copy included."""


def nvls_bytes(collective: str, world_size: int, nbytes: int) -> tuple[float, float]:
    """Return the bytes (out, in) that every GPU moves over its link when NVLS does a collective."""
    block = nbytes / world_size
    read = (nbytes, block)  # all n heads read from this GPU, and it reads the sum of its own block
    store = (block, nbytes)  # it stores its own block once, and all n heads write to it
    if collective == "reduce_scatter":
        return read
    if collective == "all_gather":
        return store
    if collective == "all_reduce":
        return read[0] + store[0], read[1] + store[1]
    message = f"NVLS has no {collective}: it reduces and gathers blocks"
    raise ValueError(message)
