"""How a transfer is done by default, and that few labels still make enough steps."""

import pytest

from headstart.errors import RecipeError
from headstart.transfers.config import TransferConfig
from headstart.transfers.settings import (
    COLD,
    FEWEST_STEPS,
    FROZEN,
    GRADUAL,
    WARM,
    TransferSettings,
    default_settings,
)


def test_each_mode_has_its_own_settings():
    assert default_settings("full", is_warm=True) is WARM
    assert default_settings("full", is_warm=False) is COLD
    assert default_settings("frozen", is_warm=True) is FROZEN
    assert default_settings("gradual", is_warm=True) is GRADUAL
    for mode in ("full", "frozen", "gradual"):
        assert default_settings(mode, is_warm=True).transfer.mode == mode


@pytest.mark.parametrize("steps_per_epoch", [1, 2, 7, 15, 16, 500])
def test_short_epochs_are_more_and_long_ones_are_not(steps_per_epoch):
    epochs = WARM.epochs_for(steps_per_epoch)
    assert epochs * steps_per_epoch >= FEWEST_STEPS
    assert epochs == 10 or (epochs - 1) * steps_per_epoch < FEWEST_STEPS


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"examples_per_step": 0}, "examples_per_step is 0"),
        ({"fewest_steps": -1}, "fewest_steps is -1"),
        ({"dropout": 1.0}, r"dropout is 1\.0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(wrong, said):
    with pytest.raises(RecipeError, match=said):
        TransferSettings(**wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mode": "half"}, "mode"),
        ({"layer_decay": 0.0}, r"layer_decay is 0\.0"),
        ({"layer_decay": 1.1}, r"layer_decay is 1\.1"),
        ({"patience": -1}, "patience is -1"),
        ({"num_averaged": 0}, "num_averaged is 0"),
        ({"mode": "frozen", "num_fresh_layers": 2}, "layers to begin anew are 2"),
        ({"best_by": "luck"}, "best_by"),
        ({"labelled_weight": 0.0}, r"labelled_weight is 0\.0"),
        ({"long_texts": "drop"}, "long_texts"),
    ],
)
def test_a_transfer_that_cannot_be_is_refused_with_its_value(wrong, said):
    with pytest.raises(RecipeError, match=said):
        TransferConfig(**wrong)
