"""Wrong on purpose: both ranks copy, so the vectors change places."""

from allranks import Op, Transfer


def two_rank_exchange(world_size=2):
    yield [Transfer(0, 1, 0, Op.COPY), Transfer(1, 0, 0, Op.COPY)]
