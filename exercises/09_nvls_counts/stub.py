"""Exercise 09b: the bytes of NVLS. Check it with: allranks check 09_nvls_counts."""


def nvls_bytes(collective: str, world_size: int, nbytes: int) -> tuple[float, float]:
    """Return the bytes (out, in) that every GPU moves over its link when NVLS does a collective.

    With n = world_size and S = nbytes, GPU r is the head of block r, S/n bytes. The switch can read
    an address on all n GPUs and give the sum to the one that asks (`multimem.ld_reduce`), and it
    can write a value to an address on all n GPUs (`multimem.st`). Both include the GPU that asks.
    NVLS has "all_reduce", "reduce_scatter" and "all_gather" (NCCL v2.30.7); raise ValueError, with
    a sentence, for others.

    Target: the bytes of all three, for any n of at least 2 and any S.
    For n = 8 and S = 64 MB an all-reduce moves 72 MB out of every GPU and 72 MB into it.
    """
    # TODO: which of the two does a head do for its block, and whose links does that use?
    raise NotImplementedError
