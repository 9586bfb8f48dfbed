"""Tests that an option refuses what its config would refuse, with the same limits."""

import click
import pytest

from headstart.apps.cli.compare import Several
from headstart.apps.cli.values import (
    AVERAGED_TYPE,
    COUNT_TYPE,
    RATE_TYPE,
    SIZE_TYPE,
    AtMost,
    Count,
)
from headstart.errors import RecipeError
from headstart.training.config import LearningConfig
from headstart.transfers.config import TransferConfig
from headstart.transfers.settings import TransferSettings


@pytest.mark.parametrize(
    ("kind", "typed", "limits"),
    [
        (COUNT_TYPE, "0", "from 1 to 10^15, such as 2500, 300M or 2.5e9"),
        (SIZE_TYPE, "1e9", "from 1 to 100,000,000"),
        (AVERAGED_TYPE, "0", "from 1 to 100"),
        (AVERAGED_TYPE, "101", "from 1 to 100"),
        (RATE_TYPE, "0", "above 0 and at most 1"),
        (RATE_TYPE, "5", "above 0 and at most 1"),
        (RATE_TYPE, "nan", "above 0 and at most 1"),
        (RATE_TYPE, "much", "above 0 and at most 1"),
        (AtMost(1e6), "inf", "above 0 and at most 1,000,000"),
        (Several(AtMost(1_000)), "1,2000", "above 0 and at most 1,000"),
    ],
)
def test_what_is_outside_is_answered_with_the_limits(kind, typed, limits):
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(typed, None, None)
    assert refused.value.message.endswith(f"{limits}.")


@pytest.mark.parametrize(
    ("kind", "typed", "number"),
    [
        (RATE_TYPE, "1e-7", 1e-7),
        (RATE_TYPE, "1", 1.0),
        (AVERAGED_TYPE, "100", 100),
        (SIZE_TYPE, "100M", 100_000_000),
        (Count(20), "20", 20),
    ],
)
def test_what_is_within_is_taken(kind, typed, number):
    assert kind.convert(typed, None, None) == number


@pytest.mark.parametrize(
    ("kind", "config", "field"),
    [
        (RATE_TYPE, LearningConfig, "peak_rate"),
        (RATE_TYPE, TransferConfig, "layer_decay"),
        (AVERAGED_TYPE, TransferConfig, "num_averaged"),
        (SIZE_TYPE, TransferSettings, "epochs"),
        (SIZE_TYPE, TransferSettings, "examples_per_step"),
    ],
)
def test_an_option_takes_as_much_as_its_config(kind, config, field):
    config(**{field: kind.most})
    with pytest.raises(RecipeError, match=f"at most|to {kind.most:,}"):
        config(**{field: kind.most + 1})
