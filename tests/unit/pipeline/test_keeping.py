"""A run saves often enough to lose little and seldom enough to cost little, and no step twice."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from headstart.pipeline import keeping
from headstart.pipeline.keeping import (
    FEWEST_SECONDS_BETWEEN,
    LARGEST_SHARE,
    MOST_SECONDS_AT_RISK,
    Keeper,
)

NUM_SECONDS = 7_200
# What the documentation promises.
PROMISED_SHARE, PROMISED_SECONDS_AT_RISK = 0.02, 300.0


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(keeping, "time", clock)
    return clock


def trained(clock: Clock, step_seconds: float, save_seconds: float) -> list[float]:
    """Trains for two hours on a clock; returns when each save was begun."""
    saved_at: list[float] = []
    began_at = clock.now

    def save(_state) -> None:
        saved_at.append(clock.now - began_at)
        clock.now += save_seconds

    keeper, state = Keeper(save), SimpleNamespace(step=0)
    while clock.now - began_at < NUM_SECONDS:
        clock.now += step_seconds
        state.step += 1
        keeper.after_step(state)
    return saved_at


@pytest.mark.parametrize("save_seconds", [0.01, 0.5, 2.0, 4.0])
@pytest.mark.parametrize("step_seconds", [0.05, 1.0, 20.0])
def test_saving_takes_at_most_its_share_and_little_is_ever_at_risk(
    clock, step_seconds, save_seconds
):
    saved_at = trained(clock, step_seconds, save_seconds)
    assert saved_at[0] <= FEWEST_SECONDS_BETWEEN + step_seconds
    # The first save comes early, before anyone knows what one costs.
    share = (len(saved_at) - 1) * save_seconds / (NUM_SECONDS - saved_at[0])
    assert share <= LARGEST_SHARE + 1e-9
    gaps = [late - early for early, late in pairwise([0.0, *saved_at])]
    assert max(gaps) <= MOST_SECONDS_AT_RISK + step_seconds + save_seconds
    assert max(gaps) <= PROMISED_SECONDS_AT_RISK
    assert LARGEST_SHARE <= PROMISED_SHARE


def test_where_both_cannot_be_had_the_work_is_what_counts(clock):
    saved_at = trained(clock, step_seconds=1.0, save_seconds=30.0)
    gaps = [late - early for early, late in pairwise(saved_at)]
    assert max(gaps) <= PROMISED_SECONDS_AT_RISK


def test_steps_between_saves_can_be_told(clock):
    saved = []
    keeper = Keeper(lambda state: saved.append(state.step), steps_between=4)
    for step in range(1, 14):
        clock.now += 1_000
        keeper.after_step(SimpleNamespace(step=step))
    assert saved == [4, 8, 12]


def test_a_step_that_is_saved_is_not_saved_again(clock):
    saved = []
    keeper = Keeper(lambda state: saved.append(state.step), steps_between=2)
    for step in (2, 2, 3, 3, 4):
        keeper.keep(SimpleNamespace(step=step))
    keeper.after_step(SimpleNamespace(step=4))
    assert saved == [2, 3, 4]


def test_a_save_that_failed_does_not_count(clock):
    saved = []

    def save(state):
        if not saved:
            saved.append("failed")
            raise OSError
        saved.append(state.step)

    keeper, state = Keeper(save), SimpleNamespace(step=5)
    with pytest.raises(OSError):  # noqa: PT011 - it has no words
        keeper.keep(state)
    keeper.keep(state)
    assert saved == ["failed", 5]


def test_the_work_at_risk_is_counted_from_the_end_of_the_last_save(clock):
    keeper = Keeper(lambda _state: None)
    clock.now += 7
    assert keeper.seconds_since == 7
    keeper.keep(SimpleNamespace(step=1))
    assert keeper.seconds_since == 0
    clock.now += 3
    assert keeper.seconds_since == 3
