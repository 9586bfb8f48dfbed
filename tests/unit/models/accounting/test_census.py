"""The built model is held against the formulas, and costs no memory to build."""

import dataclasses
import subprocess
import sys

import pytest
import torch
from torch import nn

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.apps.recipes.strong import strong
from headstart.errors import LedgerError
from headstart.models.accounting import census, parameters
from headstart.models.accounting.census import check_parameters, count_built
from headstart.models.accounting.parameters import count_parameters
from headstart.models.config import LayerConfig, TrunkConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.models.model import new_model
from headstart.pipeline.recipe import model_for

MODELS = {name: new().model for name, new in RECIPES.items()} | {
    "compact causal": compact("causal").model,
    "strong causal": strong("causal").model,
    "lab classifier": model_for(lab(), "classification", num_labels=2),
}
BASE_NUM_BYTES = 63_082_496 * 4

MEASURE_PEAK = """
import resource
from headstart.apps.recipes import RECIPES
from headstart.models.accounting.census import count_built
count_built(RECIPES["compact"]().model)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count_built(RECIPES["base"]().model)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def off_by(error: int, formula):
    """Returns a formula that is wrong by so many parameters."""
    return lambda *given: formula(*given) + error


def alter_built(monkeypatch, alter):
    """Lets the census see a model that was altered after it was built."""

    def altered(config):
        model = new_model(config)
        alter(model)
        return model

    monkeypatch.setattr(census, "new_model", altered)


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_formulas_and_modules_agree_for_every_recipe(config):
    assert check_parameters(config) == count_parameters(config) == sum(count_built(config).values())


@pytest.mark.parametrize("error", [1, -1])
@pytest.mark.parametrize(
    ("formula", "recipe", "part"),
    [
        ("attention_parameters", "lab", "layers"),
        ("feed_forward_parameters", "lab", "layers"),
        ("norm_parameters", "lab", "layers"),
        ("language_parameters", "lab", "language head"),
        ("norm_parameters", "bert", "embedding norm"),
        ("linear_parameters", "bert", "layers"),
        ("attention_parameters", "compact", "first layer"),
        ("attention_parameters", "base", "encoder layers"),
    ],
)
def test_a_formula_that_is_wrong_by_one_is_noticed_and_its_part_named(
    monkeypatch, formula, recipe, part, error
):
    monkeypatch.setattr(parameters, formula, off_by(error, getattr(parameters, formula)))
    with pytest.raises(LedgerError, match=rf" parameters for {part}, but the built model has "):
        check_parameters(RECIPES[recipe]().model)


def test_both_figures_and_the_formula_are_named(monkeypatch):
    monkeypatch.setattr(
        parameters, "language_parameters", off_by(1, parameters.language_parameters)
    )
    with pytest.raises(LedgerError) as caught:
        check_parameters(lab().model)
    text = str(caught.value)
    assert "V·d + V + 1" in text
    assert "10,050,202" in text
    assert "10,050,201" in text


def test_two_formulas_whose_errors_cancel_are_noticed_one_level_deeper(monkeypatch):
    for name, error in (("attention_parameters", 1), ("feed_forward_parameters", -1)):
        monkeypatch.setattr(parameters, name, off_by(error, getattr(parameters, name)))
    assert count_parameters(lab().model) == 21_018_401
    with pytest.raises(LedgerError, match="for attention, but"):
        check_parameters(lab().model)


@pytest.mark.parametrize("name", ["extra", "trunk.embedding.extra", "trunk.extra"])
def test_a_parameter_that_no_formula_counts_is_named(monkeypatch, name):
    owner, _, last = name.rpartition(".")

    def add_one(model):
        module = model.get_submodule(owner)
        module.register_parameter(last, nn.Parameter(torch.empty(3)))

    alter_built(monkeypatch, add_one)
    with pytest.raises(LedgerError, match=f"The parameter {name} is counted by 0 rows"):
        check_parameters(lab().model)


@pytest.mark.parametrize("name", ["trunk.layers.2.attention", "head"])
def test_a_parameter_that_a_formula_does_not_know_of_is_noticed(monkeypatch, name):
    def add_one(model):
        model.get_submodule(name).register_parameter("extra", nn.Parameter(torch.empty(3)))

    alter_built(monkeypatch, add_one)
    with pytest.raises(LedgerError, match="but the built model has"):
        check_parameters(lab().model)


@pytest.mark.parametrize(
    "name", ["trunk.layers.2.attention_norm", "trunk.embedding.tokens", "head"]
)
def test_a_parameter_that_was_never_built_is_noticed(monkeypatch, name):
    def remove(model):
        owner, _, last = name.rpartition(".")
        setattr(model.get_submodule(owner), last, nn.Identity())

    alter_built(monkeypatch, remove)
    with pytest.raises(LedgerError, match="but the built model has"):
        check_parameters(lab().model)


def test_a_matrix_that_ought_to_be_tied_and_is_not_is_noticed(monkeypatch):
    def untie(model):
        model.head.weight = nn.Parameter(torch.empty_like(model.head.weight))

    alter_built(monkeypatch, untie)
    with pytest.raises(LedgerError, match="the built model has 1,536,000"):
        check_parameters(compact().model)


def test_a_parameter_that_two_parts_count_is_noticed(monkeypatch):
    parts = parameters.model_parts(lab().model)
    twice = dataclasses.replace(parts[0], name="embedding again")
    monkeypatch.setattr(census, "model_parts", lambda _config: (*parts, twice))
    with pytest.raises(LedgerError):
        check_parameters(lab().model)


def test_everything_built_is_without_memory(monkeypatch):
    built = []
    alter_built(monkeypatch, built.append)
    count_built(RECIPES["base"]().model)
    tensors = [*built[0].parameters(), *built[0].buffers()]
    assert {tensor.device.type for tensor in tensors} == {"meta"}


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory in Linux's unit")
def test_counting_base_takes_far_less_memory_than_its_weights():
    kibibytes = int(subprocess.check_output([sys.executable, "-c", MEASURE_PEAK], text=True))
    assert kibibytes * 1_024 < BASE_NUM_BYTES / 10


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_a_model_larger_than_any_machine_can_be_counted(positions):
    layer = LayerConfig(
        width=2**16,
        num_heads=2**8,
        feed_forward_width=2**18,
        feed_forward="gated-silu",
        norm="rms",
        norm_place="pre",
    )
    trunk = TrunkConfig(
        vocabulary_size=10**8,
        num_layers=2,
        layer=layer,
        direction="causal",
        positions=positions,
        max_length=10**8,
    )
    config = ModelConfig(trunk=trunk, head=LanguageHeadConfig(is_tied=False, has_bias=True))
    assert check_parameters(config) > 10**13


def test_counting_leaves_the_default_device_and_the_generator_alone():
    before = torch.get_rng_state()
    count_built(compact().model)
    assert torch.empty(0).device.type == "cpu"
    assert torch.equal(torch.get_rng_state(), before)
