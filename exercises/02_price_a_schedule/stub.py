"""Exercise 02b: the price of a schedule. Check it with: allranks check 02_price_a_schedule."""

from allranks import Step


def price(schedule: list[Step], chunk_bytes: int, alpha: float, beta: float) -> float:
    """Return the seconds that a schedule takes in lock-step, with chunks of `chunk_bytes` each.

    A step is a list of Transfer(src, dst, chunk, op). All chunks that one rank sends to one other
    in a step are one message. A rank has one port out and one port in; a port that passes m
    messages with b bytes in a step is busy for m alpha + b beta. A step lasts as long as its
    busiest port, and steps follow one another.

    Target: the price of any schedule, to twelve digits.
    With alpha = 4 us, beta = 1 / (25 GB/s) and chunks of 100 kB, the steps [0 > 1, 0 > 2] and
    [1 > 3, 2 > 4] take 2 (4 + 4) us and 4 + 4 us: 24 us.
    """
    # TODO: what passes each port in a step, and which port keeps the others waiting?
    raise NotImplementedError
