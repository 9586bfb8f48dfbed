"""Several questions asked at once: Holm's correction (1979)."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Returns p values such that asking them all finds something false in one of twenty cases."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        # A question cannot count as surer than one with a smaller p.
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return tuple(corrected)
