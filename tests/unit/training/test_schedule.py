"""The learning rate against its closed forms."""

import itertools
import math

import pytest

from headstart.errors import RecipeError
from headstart.training.config import LearningConfig
from headstart.training.schedule import FLOOR, SCHEDULES, learning_rate

NUM_STEPS, NUM_WARM_UP = 200, 20


def rates(schedule: str, num_steps: int = NUM_STEPS, share: float = 0.1) -> list[float]:
    config = LearningConfig(peak_rate=0.5, schedule=schedule, warm_up_share=share)
    return [learning_rate(step, num_steps, config) for step in range(num_steps)]


every_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


@every_schedule
def test_the_rate_rises_in_a_straight_line_to_its_peak(schedule):
    for step, rate in enumerate(rates(schedule)[:NUM_WARM_UP], start=1):
        assert rate == pytest.approx(0.5 * step / NUM_WARM_UP)


@every_schedule
def test_from_the_peak_on_the_rate_only_falls_and_is_never_zero(schedule):
    falling = rates(schedule)[NUM_WARM_UP - 1 :]
    assert falling[0] == pytest.approx(0.5)
    assert all(later < earlier for earlier, later in itertools.pairwise(falling))
    assert falling[-1] > 0


def test_cosine_is_half_a_cosine_from_peak_to_floor():
    for number, rate in enumerate(rates("cosine")[NUM_WARM_UP:], start=1):
        angle = math.pi * number / (NUM_STEPS - NUM_WARM_UP)
        assert rate == pytest.approx(0.5 * (FLOOR + (1 - FLOOR) * (1 + math.cos(angle)) / 2))
    assert rates("cosine")[-1] == pytest.approx(0.5 * FLOOR)


def test_linear_is_a_straight_line_from_peak_to_floor():
    falling = rates("linear")[NUM_WARM_UP - 1 :]
    drops = [one - other for one, other in itertools.pairwise(falling)]
    assert drops == pytest.approx([drops[0]] * len(drops))
    assert falling[-1] == pytest.approx(0.5 * FLOOR)


def test_inverse_sqrt_is_the_papers_formula_up_to_its_constant():
    def paper(step: int, width: int = 512) -> float:
        """Vaswani et al. 2017, equation 3."""
        return width**-0.5 * min(step**-0.5, step * NUM_WARM_UP**-1.5)

    constant = 0.5 / paper(NUM_WARM_UP)
    ours = rates("inverse-sqrt")
    assert ours == pytest.approx([constant * paper(step) for step in range(1, NUM_STEPS + 1)])


@every_schedule
@pytest.mark.parametrize("num_steps", [1, 2, 3, 7])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.99])
def test_runs_of_any_length_have_rates_above_zero_and_at_most_the_peak(schedule, num_steps, share):
    assert all(0 < rate <= 0.5 for rate in rates(schedule, num_steps, share))


@pytest.mark.parametrize(
    "wrong",
    [
        {"schedule": "sine"},
        {"head": "guessed"},
        {"accumulation": 0},
        {"peak_rate": 0.0},
        {"peak_rate": math.nan},
        {"weight_decay": -1.0},
        {"max_norm": 0.0},
        {"warm_up_share": 1.0},
        {"beta1": 1.0},
        {"beta2": -0.1},
        {"average_decay": math.nan},
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_name(wrong):
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        LearningConfig(**wrong)
