"""Parameters from formulas: the documents' figures, and torch's own count of any small model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.apps.recipes import RECIPES
from headstart.models.accounting.parameters import Part, count_parameters, head_part, model_parts
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import (
    LabelHeadConfig,
    LanguageAndNextHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)
from headstart.models.model import new_model
from headstart.pipeline.recipe import model_for, with_vocabulary

BOOLEANS = st.booleans()
LANGUAGE_HEADS = st.builds(LanguageHeadConfig, is_tied=BOOLEANS, has_bias=BOOLEANS)
LABEL_HEADS = st.builds(
    LabelHeadConfig,
    num_labels=st.integers(2, 5),
    pooling=st.sampled_from(["last", "mean", "first"]),
)
BOTH_HEADS = st.builds(LanguageAndNextHeadConfig, language=LANGUAGE_HEADS)


@st.composite
def layers(draw, width: int) -> LayerConfig:
    num_heads = draw(st.sampled_from([heads for heads in (1, 2, 4) if width % (2 * heads) == 0]))
    return LayerConfig(
        width=width,
        num_heads=num_heads,
        feed_forward_width=draw(st.integers(1, 9)),
        feed_forward=draw(st.sampled_from(["relu", "gelu", "gated-silu"])),
        norm=draw(st.sampled_from(["layer", "rms"])),
        norm_place=draw(st.sampled_from(["post", "pre"])),
        has_bias=draw(BOOLEANS),
        dropout=draw(st.sampled_from([0.0, 0.1])),
    )


@st.composite
def trunks(draw, width: int, **fixed) -> TrunkConfig:
    drawn = {
        "vocabulary_size": draw(st.integers(1, 12)),
        "num_layers": draw(st.integers(1, 12)),
        "layer": draw(layers(width)),
        "direction": draw(st.sampled_from(["causal", "bidirectional"])),
        "positions": draw(st.sampled_from(["sinusoidal", "rotary", "learned"])),
        "max_length": draw(st.integers(1, 7)),
        "num_segments": draw(st.integers(0, 3)),
        "scales_embedding": draw(BOOLEANS),
        "has_embedding_norm": draw(BOOLEANS),
    }
    return TrunkConfig(**drawn | fixed)


WIDTHS = st.sampled_from([2, 4, 6, 8])


@st.composite
def models(draw) -> ModelConfig:
    """Draws a model of one trunk under any head."""
    head = draw(LANGUAGE_HEADS | LABEL_HEADS | BOTH_HEADS)
    return ModelConfig(trunk=draw(trunks(draw(WIDTHS))), head=head)


@st.composite
def translators(draw) -> ModelConfig:
    """Draws an encoder-decoder, its sides as unlike as they may be."""
    width, shares = draw(WIDTHS), draw(BOOLEANS)
    encoder = draw(trunks(width, direction="bidirectional"))
    fixed = {"vocabulary_size": encoder.vocabulary_size} if shares else {}
    decoder = draw(trunks(width, direction="causal", attends_to_source=True, **fixed))
    pair = EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=shares)
    return ModelConfig(trunk=pair, head=draw(LANGUAGE_HEADS))


def parts_of(name: str, task: str | None = None) -> dict[str, Part]:
    recipe = RECIPES[name]()
    model = recipe.model if task is None else model_for(recipe, task, num_labels=2)
    return {part.name: part for part in model_parts(model)}


@settings(deadline=None, max_examples=100)
@given(config=models())
def test_formulas_agree_with_torch_for_one_trunk_under_any_head(config):
    model = new_model(config)
    assert count_parameters(config) == sum(parameter.numel() for parameter in model.parameters())


@settings(deadline=None, max_examples=60)
@given(config=translators())
def test_formulas_agree_with_torch_for_an_encoder_decoder(config):
    model = new_model(config)
    assert count_parameters(config) == sum(parameter.numel() for parameter in model.parameters())


@settings(deadline=None, max_examples=40)
@given(config=models() | translators())
def test_each_part_agrees_with_torch(config):
    sizes = {name: parameter.numel() for name, parameter in new_model(config).named_parameters()}
    for part in model_parts(config):
        seen = sum(size for name, size in sizes.items() if name.startswith(part.prefixes))
        assert (part.name, part.count) == (part.name, seen)


@settings(deadline=None, max_examples=100)
@given(config=models() | translators())
def test_what_is_inside_a_part_sums_to_the_part(config):
    for part in model_parts(config):
        if part.inside:
            assert sum(inner.count for inner in part.inside) == part.count


@settings(deadline=None, max_examples=100)
@given(config=models() | translators())
def test_no_two_parts_have_one_name(config):
    names = [part.name for part in model_parts(config)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("part", "each", "count"),
    [
        ("embedding", 10_000_200, 10_000_200),
        ("layers", 242_000, 968_000),
        ("positions (sinusoidal)", 0, 0),
        ("language head", 10_050_201, 10_050_201),
    ],
)
def test_the_documents_model_has_the_documents_parts(part, each, count):
    seen = parts_of("lab")[part]
    assert (seen.each.value, seen.count) == (each, count)


@pytest.mark.parametrize(
    ("module", "each"), [("attention", 160_800), ("feed_forward", 80_400), ("attention_norm", 800)]
)
def test_a_layer_of_the_documents_model_has_the_documents_parts(module, each):
    inside = parts_of("lab")["layers"].inside
    rows = [row for row in inside if f"trunk.layers.0.{module}." in row.prefixes]
    assert [(row.each.value, row.copies) for row in rows] == [(each, 4)]


@pytest.mark.parametrize(
    ("name", "count"),
    [("lab", 21_018_401), ("compact", 4_192_704), ("base", 63_082_496)],
)
def test_recipes_have_the_sizes_that_are_told_of_them(name, count):
    assert count_parameters(RECIPES[name]().model) == count


def test_the_documents_classifier_has_the_documents_size():
    assert count_parameters(model_for(RECIPES["lab"](), "classification", 2)) == 10_968_602
    assert parts_of("lab", "classification")["label head"].count == 402


def test_swapping_the_head_changes_no_part_of_the_trunk():
    before, after = parts_of("lab"), parts_of("lab", "classification")
    assert {name: part for name, part in before.items() if name in after} == {
        name: part for name, part in after.items() if name in before
    }
    assert set(before) ^ set(after) == {"language head", "label head"}


@pytest.mark.parametrize("name", RECIPES)
def test_another_piece_costs_its_rows_and_nothing_else(name):
    recipe = RECIPES[name]()
    num_pieces, width = recipe.model.trunk.vocabulary_size, recipe.model.trunk.width
    more = count_parameters(with_vocabulary(recipe, num_pieces + 1).model)
    head = getattr(recipe.model.head, "language", recipe.model.head)
    cost = width + (0 if head.is_tied else width) + (1 if head.has_bias else 0)
    assert more - count_parameters(recipe.model) == cost


def test_a_shared_embedding_is_counted_once_with_the_encoder():
    names = set(parts_of("base"))
    assert "embedding (shared)" in names
    assert "encoder embedding" not in names
    assert "decoder embedding" not in names


def test_a_tied_head_without_bias_costs_nothing():
    tied = LanguageHeadConfig(is_tied=True, has_bias=False)
    assert head_part(tied, RECIPES["compact"]().model.trunk).count == 0
