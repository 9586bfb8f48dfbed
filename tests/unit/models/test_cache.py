"""Reading piece by piece with a cache gives what reading all at once gives.

Legend: B batch, T positions, S positions of the source, D width, V pieces.
"""

from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.apps.recipes.base import base
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.errors import RecipeError
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_model
from headstart.models.trunks import EncoderDecoder, Trunk, new_trunk
from headstart.pipeline.recipe import Recipe, with_vocabulary

VOCABULARY_SIZE = 11
LAYER = LayerConfig(
    width=16,
    num_heads=2,
    feed_forward_width=24,
    feed_forward="relu",
    norm="layer",
    norm_place="post",
)
SINUSOIDAL = TrunkConfig(
    vocabulary_size=VOCABULARY_SIZE,
    num_layers=2,
    layer=LAYER,
    direction="causal",
    positions="sinusoidal",
    max_length=80,
    scales_embedding=True,
)
TRUNKS = {
    "sinusoidal": SINUSOIDAL,
    "learned with segments": replace(SINUSOIDAL, positions="learned", num_segments=2),
    "rotary": replace(
        SINUSOIDAL,
        layer=replace(LAYER, feed_forward="gated-silu", norm="rms", norm_place="pre"),
        positions="rotary",
    ),
}
PAIR = EncoderDecoderConfig(
    encoder=replace(SINUSOIDAL, direction="bidirectional"),
    decoder=replace(SINUSOIDAL, attends_to_source=True),
    shares_embedding=True,
)
RECIPES = {"lab": lab, "compact causal": lambda: compact("causal"), "base": base}

every_trunk = pytest.mark.parametrize("config", TRUNKS.values(), ids=TRUNKS)
a_few_times = settings(deadline=None, max_examples=40, derandomize=True, database=None)
piece = st.integers(0, VOCABULARY_SIZE - 1)
some_rows = st.lists(st.lists(piece, min_size=1, max_size=7), min_size=1, max_size=4)


@cache
def trunk_of(config: TrunkConfig | EncoderDecoderConfig) -> Trunk | EncoderDecoder:
    """In doubles, where rounding cannot pass for a mistake nor a mistake for rounding."""
    trunk = new_trunk(config)
    shake(trunk)
    return trunk.double().eval()


@torch.no_grad()
def shake(module: torch.nn.Module) -> None:
    initialise(module, seed=1)
    generator = torch.Generator().manual_seed(2)
    for parameter in module.parameters():
        parameter += 0.2 * torch.randn(parameter.shape, generator=generator)


def left_padded(rows: list[list[int]]) -> Text:
    longest = max(map(len, rows))
    tokens = [[0] * (longest - len(row)) + row for row in rows]
    is_token = [[False] * (longest - len(row)) + [True] * len(row) for row in rows]
    return Text(torch.tensor(tokens), torch.tensor(is_token))


def column(pieces: list[int]) -> Text:
    return Text(torch.tensor(pieces)[:, None])


def last_alone(trunk: Trunk, row: list[int]) -> Tensor:
    return trunk(Text(torch.tensor([row])))[0, -1]


def assert_close(ours: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(ours, expected, atol=1e-10, rtol=0)


@every_trunk
@a_few_times
@given(row=st.lists(piece, min_size=1, max_size=70), cuts=st.lists(st.integers(1, 20), max_size=6))
def test_text_read_in_any_parts_gives_the_vectors_of_the_whole(config, row, cuts):
    trunk = trunk_of(config)
    kept, parts, begin = trunk.new_cache(), [], 0
    for size in [*cuts, len(row)]:
        if part := row[begin : begin + size]:
            parts.append(trunk.extend(Text(torch.tensor([part])), kept))
        begin += size
    assert_close(torch.cat(parts, dim=1), trunk(Text(torch.tensor([row]))))


@every_trunk
@a_few_times
@given(rows=some_rows, data=st.data())
def test_rows_of_different_lengths_go_on_as_if_each_were_alone(config, rows, data):
    trunk = trunk_of(config)
    kept = trunk.new_cache()
    hidden_BTD = trunk.extend(left_padded(rows), kept)
    for _ in range(3):
        for row, hidden_D in zip(rows, hidden_BTD[:, -1], strict=True):
            assert_close(hidden_D, last_alone(trunk, row))
        pieces = [data.draw(piece) for _ in rows]
        rows = [[*row, new] for row, new in zip(rows, pieces, strict=True)]
        hidden_BTD = trunk.extend(column(pieces), kept)


@every_trunk
@a_few_times
@given(rows=some_rows, data=st.data())
def test_rows_may_leave_move_and_be_doubled(config, rows, data):
    trunk = trunk_of(config)
    kept = trunk.new_cache()
    trunk.extend(left_padded(rows), kept)
    for _ in range(3):
        places = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5))
        kept.select(torch.tensor(places))
        pieces = [data.draw(piece) for _ in places]
        rows = [[*rows[place], new] for place, new in zip(places, pieces, strict=True)]
        hidden_BTD = trunk.extend(column(pieces), kept)
        for row, hidden_D in zip(rows, hidden_BTD[:, -1], strict=True):
            assert_close(hidden_D, last_alone(trunk, row))


@a_few_times
@given(sources=some_rows, data=st.data())
def test_decoder_reads_its_kept_source_as_it_reads_the_source(sources, data):
    pair = trunk_of(PAIR)
    rows = [[data.draw(piece)] for _ in sources]
    kept = pair.decoder.new_cache(pair.encode(left_padded(sources)))
    pair.decoder.extend(left_padded(rows), kept)
    for _ in range(3):
        places = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5))
        kept.select(torch.tensor(places))
        pieces = [data.draw(piece) for _ in places]
        rows = [[*rows[place], new] for place, new in zip(places, pieces, strict=True)]
        sources = [sources[place] for place in places]
        hidden_BTD = pair.decoder.extend(column(pieces), kept)
        for source, row, hidden_D in zip(sources, rows, hidden_BTD[:, -1], strict=True):
            alone = SourceAndTarget(Text(torch.tensor([source])), Text(torch.tensor([row])))
            assert_close(hidden_D, pair(alone)[0, -1])


@every_trunk
@a_few_times
@given(rows=some_rows, data=st.data())
def test_branches_go_on_as_if_each_were_a_row_alone(config, rows, data):
    trunk = trunk_of(config)
    kept = trunk.new_cache()
    trunk.extend(left_padded(rows), kept)
    texts = [[row] for row in rows]
    for _ in range(4):
        places = data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=3))
        kept.select(torch.tensor(places))
        texts = [texts[place] for place in places]
        width = data.draw(st.integers(1, 4))
        parent = st.lists(st.integers(0, len(texts[0]) - 1), min_size=width, max_size=width)
        parents = [data.draw(parent) for _ in texts]
        pieces = [[data.draw(piece) for _ in range(width)] for _ in texts]
        texts = [
            [[*branches[old], new] for old, new in zip(olds, news, strict=True)]
            for branches, olds, news in zip(texts, parents, pieces, strict=True)
        ]
        kept.branch(torch.tensor(parents))
        hidden_BND = trunk.extend(Text(torch.tensor(pieces)), kept)
        for branches, hidden_ND in zip(texts, hidden_BND, strict=True):
            for row, hidden_D in zip(branches, hidden_ND, strict=True):
                assert_close(hidden_D, last_alone(trunk, row))


def test_branches_end_where_the_positions_end():
    trunk = trunk_of(SINUSOIDAL)
    kept = trunk.new_cache()
    trunk.extend(Text(torch.ones(1, 79, dtype=torch.long)), kept)
    for length in (80, 81):
        kept.branch(torch.zeros(1, 3, dtype=torch.long))
        if length == 80:
            trunk.extend(Text(torch.ones(1, 3, dtype=torch.long)), kept)
        else:
            with pytest.raises(RecipeError, match=r"length of 81 .* from 1 to 80"):
                trunk.extend(Text(torch.ones(1, 3, dtype=torch.long)), kept)


def test_rows_that_leave_take_the_padding_they_caused_with_them():
    trunk = trunk_of(SINUSOIDAL)
    kept = trunk.new_cache()
    trunk.extend(left_padded([[1] * 79, [2, 3]]), kept)
    kept.select(torch.tensor([1]))
    assert kept.num_positions == 2
    rows = [2, 3, *range(10)] * 3
    assert_close(trunk.extend(Text(torch.tensor([rows[2:]])), kept)[0, -1], last_alone(trunk, rows))


@every_trunk
def test_cache_ends_where_the_positions_end(config):
    trunk = trunk_of(config)
    kept = trunk.new_cache()
    trunk.extend(Text(torch.ones(1, 80, dtype=torch.long)), kept)
    with pytest.raises(RecipeError, match=r"length of 81 .* from 1 to 80"):
        trunk.extend(column([1]), kept)


def test_bidirectional_trunk_has_no_cache():
    with pytest.raises(RecipeError, match="trunk is bidirectional"):
        trunk_of(replace(SINUSOIDAL, direction="bidirectional")).new_cache()


def test_packed_rows_are_not_continued():
    trunk, tokens_BT = trunk_of(SINUSOIDAL), torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(RecipeError, match="one document a row"):
        trunk.extend(Text(tokens_BT, document_BT=tokens_BT), trunk.new_cache())


@cache
def model_of(recipe: Recipe) -> Model:
    """A recipe's model in single precision, shrunk in its vocabulary only."""
    model = new_model(with_vocabulary(recipe, 97).model)
    initialise(model, seed=3)
    return model.eval()


@pytest.mark.parametrize("name", RECIPES)
@torch.no_grad()
def test_every_causal_recipe_has_the_same_logits_with_a_cache(name):
    model = model_of(RECIPES[name]())
    generator = torch.Generator().manual_seed(4)
    rows = [torch.randint(97, (length,), generator=generator).tolist() for length in (3, 17, 9)]
    prefix = left_padded(rows)
    if isinstance(model.trunk, EncoderDecoder):
        source = left_padded([[5, 6, 7, 8], [9], [3, 4]])
        trunk, kept = model.trunk.decoder, model.trunk.decoder.new_cache(model.trunk.encode(source))
    else:
        source, trunk, kept = None, model.trunk, model.trunk.new_cache()
    hidden_BTD = trunk.extend(prefix, kept)
    for _ in range(20):
        logits_BV = model.head(hidden_BTD[:, -1:], prefix)[:, 0]
        whole = left_padded(rows)
        inputs = whole if source is None else SourceAndTarget(source, whole)
        expected_BV = model(inputs)[:, -1]
        torch.testing.assert_close(logits_BV, expected_BV, atol=1e-5, rtol=0)
        assert logits_BV.argmax(dim=1).tolist() == expected_BV.argmax(dim=1).tolist()
        pieces = logits_BV.argmax(dim=1).tolist()
        rows = [[*row, new] for row, new in zip(rows, pieces, strict=True)]
        hidden_BTD = trunk.extend(column(pieces), kept)
