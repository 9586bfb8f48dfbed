"""The shorthand counts: what each gives, what is really there, and all that lies between."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.models.accounting.census import count_built
from headstart.models.accounting.shorthands import shorthands
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LabelHeadConfig, ModelConfig

TRUNKS = {name: new().model.trunk for name, new in RECIPES.items()} | {
    "compact causal": compact("causal").model.trunk
}
LABEL_HEAD = LabelHeadConfig(num_labels=2, pooling="mean")
FIVE, ATTENTION, TWELVE = range(3)

every_trunk = pytest.mark.parametrize("trunk", TRUNKS.values(), ids=TRUNKS)


def stack_of(trunk) -> TrunkConfig:
    return trunk.encoder if isinstance(trunk, EncoderDecoderConfig) else trunk


@st.composite
def trunks(draw) -> TrunkConfig:
    num_heads = draw(st.integers(1, 4))
    layer = LayerConfig(
        width=num_heads * draw(st.integers(1, 30)),
        num_heads=num_heads,
        feed_forward_width=draw(st.integers(1, 300)),
        feed_forward=draw(st.sampled_from(["relu", "gelu", "gated-silu"])),
        norm=draw(st.sampled_from(["layer", "rms"])),
        norm_place=draw(st.sampled_from(["post", "pre"])),
        has_bias=draw(st.booleans()),
    )
    return TrunkConfig(
        vocabulary_size=3,
        num_layers=draw(st.integers(1, 4)),
        layer=layer,
        direction="causal",
        positions="sinusoidal",
        max_length=4,
    )


def built_layer(trunk: TrunkConfig) -> int:
    """Returns the parameters of one whole layer, as the modules have them."""
    # The first layer of some shapes lacks a norm, which stands on their embedding instead.
    plain = replace(trunk, has_embedding_norm=False)
    built = count_built(ModelConfig(trunk=plain, head=LABEL_HEAD))
    return sum(size for name, size in built.items() if name.startswith("trunk.layers.0."))


def built_attention(trunk: TrunkConfig) -> int:
    """Returns the parameters of all layers' attention, as the modules have them."""
    built = count_built(ModelConfig(trunk=trunk, head=LABEL_HEAD))
    return sum(size for name, size in built.items() if ".attention." in name)


def test_the_shorthands_are_wrong_by_these_many_parameters_for_lab():
    assert [row.error for row in shorthands(lab().model.trunk)] == [-42_000, -123_200, 238_000]


def test_each_shorthand_bears_the_formula_that_circulates():
    formulas = [row.rough.formula for row in shorthands(lab().model.trunk)]
    assert formulas == ["5·d²", "3·N·d² + d²", "12·d²"]


def test_each_shorthand_gives_what_it_gives_for_lab():
    assert [row.rough.value for row in shorthands(lab().model.trunk)] == [200_000, 520_000, 480_000]


def test_what_five_squares_leave_out_of_a_layer_of_lab():
    assert shorthands(lab().model.trunk)[FIVE].leaves_out == {
        "attention's output matrix": 40_000,
        "biases": 1_200,
        "norms": 800,
    }


def test_twelve_squares_count_a_feed_forward_that_lab_does_not_have():
    leaves_out = shorthands(lab().model.trunk)[TWELVE].leaves_out
    assert leaves_out.pop("feed-forward matrices 2 × 200 × 200 instead of 8·d²") == -240_000
    assert leaves_out == {"biases": 1_200, "norms": 800}


def test_twelve_squares_are_nearly_right_for_the_layer_they_were_made_for():
    row = shorthands(TRUNKS["base"])[TWELVE]
    assert row.leaves_out == {"biases": 4_608, "norms": 2_048}
    assert row.error == -6_656


@every_trunk
def test_exact_is_what_the_modules_have_in_every_recipe(trunk):
    five, attention, twelve = shorthands(trunk)
    assert five.exact == twelve.exact == built_layer(stack_of(trunk))
    assert attention.exact == built_attention(stack_of(trunk))


@settings(deadline=None)
@given(trunk=trunks())
def test_exact_is_what_the_modules_have_in_any_shape(trunk):
    five, attention, twelve = shorthands(trunk)
    assert five.exact == twelve.exact == built_layer(trunk)
    assert attention.exact == built_attention(trunk)


def assert_sums_to_the_difference(trunk) -> None:
    for row in shorthands(trunk):
        assert sum(row.leaves_out.values()) == row.exact - row.rough.value == -row.error
        assert 0 not in row.leaves_out.values()


@every_trunk
def test_what_is_left_out_sums_to_the_difference_in_every_recipe(trunk):
    assert_sums_to_the_difference(trunk)


@settings(deadline=None)
@given(trunk=trunks())
def test_what_is_left_out_sums_to_the_difference_in_any_shape(trunk):
    assert_sums_to_the_difference(trunk)


@settings(deadline=None)
@given(trunk=trunks())
def test_the_rough_counts_are_their_formulas_in_any_shape(trunk):
    d, n = trunk.width, trunk.num_layers
    rough = [row.rough.value for row in shorthands(trunk)]
    assert rough == [5 * d**2, 3 * n * d**2 + d**2, 12 * d**2]


def test_of_an_encoder_decoder_the_encoder_is_meant_and_named():
    encoder = TRUNKS["base"].encoder
    named = {row.about for row in shorthands(TRUNKS["base"])}
    assert named == {"one encoder layer", "attention of all 6 encoder layers"}
    assert [row.exact for row in shorthands(TRUNKS["base"])] == [
        row.exact for row in shorthands(encoder)
    ]
