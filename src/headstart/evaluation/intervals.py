"""How sure a share is: the interval in which it lies with 95 % confidence."""

import math

# The normal distribution has 95 % of its mass within so many deviations.
DEVIATIONS = 1.959964


def share_interval(num_right: int, num_asked: int) -> tuple[float, float]:
    """Returns Wilson's interval for a share (1927): sound for few answers and near 0 and 1 too."""
    if num_asked == 0:
        return 0.0, 1.0
    share, square = num_right / num_asked, DEVIATIONS**2
    middle = (share + square / (2 * num_asked)) / (1 + square / num_asked)
    spread = math.sqrt(share * (1 - share) / num_asked + square / (4 * num_asked**2))
    half = DEVIATIONS * spread / (1 + square / num_asked)
    return max(0.0, middle - half), min(1.0, middle + half)
