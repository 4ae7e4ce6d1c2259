"""Wrong on purpose: more segments are not always better."""


def best_k(world_size, nbytes, alpha, beta):
    return 4096
