"""What every trunk promises about padding, the future, neighbours in a batch and packed text.

Legend: B batch, T positions, D width.
"""

from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LabelHeadConfig
from headstart.models.heads.label import LabelHead
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.pooling import POOLINGS, last_place
from headstart.models.trunks import EncoderDecoder, Trunk, new_trunk

VOCABULARY_SIZE = 11
SIZES = {"width": 16, "num_heads": 2, "feed_forward_width": 24}
PLAIN = LayerConfig(**SIZES, feed_forward="relu", norm="layer", norm_place="post")
GATED = replace(PLAIN, feed_forward="gated-silu", norm_place="pre", has_bias=False)
SINUSOIDAL_CAUSAL = TrunkConfig(
    vocabulary_size=VOCABULARY_SIZE,
    num_layers=2,
    layer=PLAIN,
    direction="causal",
    positions="sinusoidal",
    max_length=24,
    scales_embedding=True,
)
RMS = replace(GATED, norm="rms")
ROTARY_CAUSAL = replace(SINUSOIDAL_CAUSAL, layer=RMS, positions="rotary", scales_embedding=False)
ROTARY_BIDIRECTIONAL = replace(
    ROTARY_CAUSAL, layer=GATED, direction="bidirectional", has_embedding_norm=True
)
GELU = replace(PLAIN, feed_forward="gelu")
BERT = replace(ROTARY_BIDIRECTIONAL, layer=GELU, positions="learned", num_segments=2)
CAUSAL = {"sinusoidal causal": SINUSOIDAL_CAUSAL, "rotary causal": ROTARY_CAUSAL}
BIDIRECTIONAL = {"rotary bidirectional": ROTARY_BIDIRECTIONAL, "bert": BERT}
TRUNKS = CAUSAL | BIDIRECTIONAL
PAIR = EncoderDecoderConfig(
    encoder=replace(SINUSOIDAL_CAUSAL, direction="bidirectional"),
    decoder=replace(SINUSOIDAL_CAUSAL, attends_to_source=True),
    shares_embedding=True,
)

every_trunk = pytest.mark.parametrize("config", TRUNKS.values(), ids=TRUNKS)
every_causal_trunk = pytest.mark.parametrize("config", CAUSAL.values(), ids=CAUSAL)
every_bidirectional_trunk = pytest.mark.parametrize(
    "config", BIDIRECTIONAL.values(), ids=BIDIRECTIONAL
)
a_few_times = settings(deadline=None, max_examples=60, derandomize=True, database=None)

piece = st.integers(0, VOCABULARY_SIZE - 1)
row_of_pieces = st.lists(piece, min_size=1, max_size=6)
some_rows = st.lists(row_of_pieces, min_size=1, max_size=3)
some_padding = st.lists(piece, max_size=4)
Paddings = list[tuple[list[int], list[int]]]
"""For each row, the pieces that stand left and right of it."""


@cache
def trunk_of(
    config: TrunkConfig | EncoderDecoderConfig, dtype: torch.dtype = torch.float64
) -> Trunk | EncoderDecoder:
    """Double by default, where rounding cannot pass for a leak nor a leak for rounding."""
    trunk = new_trunk(config)
    initialise(trunk, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in trunk.parameters():
            # Larger than first weights are, so that a leak would show.
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return trunk.to(dtype).eval()


@st.composite
def padded_rows(draw: st.DrawFn) -> tuple[list[list[int]], Paddings]:
    """Draws rows and padding that brings them to one length, any part of it on the left."""
    rows = draw(some_rows)
    lefts = [draw(some_padding) for _ in rows]
    lengths = [len(row) + len(left) for row, left in zip(rows, lefts, strict=True)]
    longest = max(lengths) + draw(st.integers(0, 3))
    missing = [longest - length for length in lengths]
    rights = [draw(st.lists(piece, min_size=count, max_size=count)) for count in missing]
    return rows, list(zip(lefts, rights, strict=True))


def segments_of(row: list[int]) -> list[int]:
    """From its third piece on, a row is a second sentence."""
    return [int(place > 1) for place in range(len(row))]


def plain(row: list[int]) -> Text:
    return Text(torch.tensor([row]), segment_BT=torch.tensor([segments_of(row)]))


def padded(rows: list[list[int]], paddings: Paddings) -> Text:
    tokens, is_token, segment = [], [], []
    for row, (left, right) in zip(rows, paddings, strict=True):
        tokens.append([*left, *row, *right])
        is_token.append([False] * len(left) + [True] * len(row) + [False] * len(right))
        segment.append([0] * len(left) + segments_of(row) + [1] * len(right))
    return Text(torch.tensor(tokens), torch.tensor(is_token), segment_BT=torch.tensor(segment))


def assert_close(ours: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(ours, expected, atol=1e-9, rtol=0)


def assert_no_nan(trunk: Trunk | EncoderDecoder, hidden_BTD: Tensor) -> None:
    trunk.zero_grad()
    hidden_BTD.square().sum().backward()
    gradients = [p.grad for p in trunk.parameters() if p.grad is not None]
    assert hidden_BTD.isfinite().all()
    assert gradients
    assert all(gradient.isfinite().all() for gradient in gradients)


@every_causal_trunk
@a_few_times
@given(past=row_of_pieces, futures=st.tuples(row_of_pieces, row_of_pieces), has_mask=st.booleans())
def test_future_never_changes_an_earlier_position(config, past, futures, has_mask):
    trunk = trunk_of(config)
    hidden = []
    for future in futures:
        tokens_BT = torch.tensor([past + future])
        is_token_BT = torch.ones_like(tokens_BT, dtype=torch.bool) if has_mask else None
        hidden.append(trunk(Text(tokens_BT, is_token_BT))[0, : len(past)])
    assert_close(hidden[0], hidden[1])


@every_bidirectional_trunk
def test_bidirectional_trunk_does_read_the_future(config):
    hidden, other = (trunk_of(config)(plain([1, 2, last])) for last in (3, 4))
    assert (hidden - other)[0, 0].abs().max() > 1e-3


@every_trunk
def test_every_trunk_reads_the_past_and_its_order(config):
    hidden, other, swapped = (
        trunk_of(config)(plain([*first, 3])) for first in ([1, 2], [1, 5], [2, 1])
    )
    assert (hidden - other)[0, 2].abs().max() > 1e-3
    assert (hidden - swapped)[0, 2].abs().max() > 1e-3


@every_trunk
@a_few_times
@given(case=padded_rows())
def test_padding_never_changes_a_real_position(config, case):
    trunk, text = trunk_of(config), padded(*case)
    hidden_BTD = trunk(text)
    for index, row in enumerate(case[0]):
        assert_close(hidden_BTD[index][text.is_token_BT[index]], trunk(plain(row))[0])


@pytest.mark.parametrize("pooling", POOLINGS)
@every_trunk
@a_few_times
@given(case=padded_rows())
def test_padding_never_changes_the_pooled_vector(config, pooling, case):
    trunk, text, pool = trunk_of(config), padded(*case), POOLINGS[pooling]
    pooled_BD = pool(trunk(text), text.is_token_BT)
    for index, row in enumerate(case[0]):
        alone_1D = pool(trunk(plain(row)), torch.ones(1, len(row), dtype=torch.bool))
        assert_close(pooled_BD[index], alone_1D[0])


@every_trunk
@a_few_times
@given(case=padded_rows(), data=st.data())
def test_a_position_alone_is_what_it_is_among_all(config, case, data):
    trunk, text = trunk_of(config), padded(*case)
    places = st.integers(0, text.tokens_BT.shape[1] - 1)
    place_B = torch.tensor([data.draw(places) for _ in case[0]])
    assert_close(trunk.at(place_B, text), trunk(text)[range(len(place_B)), place_B])


@every_trunk
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_position_of_a_row_without_padding_is_what_it_is_among_all(config, place):
    trunk, text = trunk_of(config), plain([1, 2, 3, 4, 5])
    assert_close(trunk.at(torch.tensor([place]), text), trunk(text)[:, place])


@every_trunk
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_position_alone_is_rounded_no_more_than_among_all(config, place, device):
    trunk = trunk_of(config, torch.float32).to(device)
    text = Text(torch.tensor([[1, 2, 3, 4, 5]], device=device))
    place_B = torch.tensor([place], device=device)
    with torch.no_grad():
        exact_BD = trunk(text)[:, place]
        with torch.autocast(device, torch.bfloat16):
            alone_BD, among_all_BD = trunk.at(place_B, text), trunk(text)[:, place]
    size = exact_BD.abs().max()
    # A bf16 has eight digits of two; a few layers of such products lose some more.
    for vector_BD in (alone_BD, among_all_BD):
        assert (vector_BD - exact_BD).abs().max() < 0.03 * size


@every_trunk
@a_few_times
@given(case=padded_rows())
def test_a_position_alone_has_the_gradients_that_it_has_among_all(config, case):
    trunk, text = trunk_of(config), padded(*case)
    place_B = last_place(text.is_token_BT)
    gradients = []
    for vector_BD in (trunk.at(place_B, text), trunk(text)[range(len(place_B)), place_B]):
        trunk.zero_grad()
        vector_BD.square().sum().backward()
        # A weight without a gradient has none of it either way.
        gradients.append([0 if each.grad is None else each.grad for each in trunk.parameters()])
    for alone, among_all in zip(*gradients, strict=True):
        torch.testing.assert_close(alone, among_all, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("pooling", POOLINGS)
@every_trunk
@a_few_times
@given(case=padded_rows(), is_one_empty=st.booleans())
def test_a_label_head_reads_what_it_would_pool(config, pooling, case, is_one_empty):
    trunk, text = trunk_of(config), padded(*case)
    if is_one_empty:
        text.is_token_BT[0] = False
    head = LabelHead(LabelHeadConfig(num_labels=2, pooling=pooling), config.layer.width)
    assert_close(head.read(trunk, text), head.pool(trunk(text), text))


@every_trunk
@a_few_times
@given(rows=st.lists(st.lists(piece, min_size=5, max_size=5), min_size=2, max_size=4))
def test_batch_equals_its_rows_one_by_one(config, rows):
    trunk = trunk_of(config)
    hidden_BTD = trunk(Text(torch.tensor(rows)))
    one_by_one = [trunk(Text(torch.tensor([row]))) for row in rows]
    assert_close(hidden_BTD, torch.cat(one_by_one))


@every_trunk
@a_few_times
@given(documents=some_rows, left=some_padding, right=some_padding, is_padded=st.booleans())
def test_packed_documents_equal_the_documents_one_by_one(config, documents, left, right, is_padded):
    trunk = trunk_of(config)
    left, right = (left, right) if is_padded else ([], [])
    pieces = [piece for document in documents for piece in document]
    numbers = [number for number, document in enumerate(documents) for _ in document]
    segments = [segment for document in documents for segment in segments_of(document)]
    text = Text(
        torch.tensor([[*left, *pieces, *right]]),
        padded([pieces], [(left, right)]).is_token_BT if is_padded else None,
        torch.tensor([[0] * len(left) + numbers + [numbers[-1]] * len(right)]),
        torch.tensor([[0] * len(left) + segments + [0] * len(right)]),
    )
    packed_TD = trunk(text)[0, len(left) : len(left) + len(pieces)]
    one_by_one = [trunk(plain(document))[0] for document in documents]
    assert_close(packed_TD, torch.cat(one_by_one))


@pytest.mark.parametrize("pooling", POOLINGS)
@every_trunk
def test_row_of_nothing_but_padding_gives_no_nan(config, pooling):
    trunk = trunk_of(config, torch.float32)
    text = padded([[1, 2, 3], []], [([], [4]), ([5, 6], [7, 8])])
    hidden_BTD = trunk(text)
    assert_no_nan(trunk, hidden_BTD)
    assert_no_nan(trunk, POOLINGS[pooling](trunk(text), text.is_token_BT)[:, None])


@a_few_times
@given(source=row_of_pieces, past=row_of_pieces, futures=st.tuples(row_of_pieces, row_of_pieces))
def test_future_target_never_changes_an_earlier_position(source, past, futures):
    pair = trunk_of(PAIR)
    hidden, other = (
        pair(SourceAndTarget(plain(source), plain(past + future)))[0, : len(past)]
        for future in futures
    )
    assert_close(hidden, other)


@a_few_times
@given(source=padded_rows(), target=padded_rows())
def test_padding_of_source_or_target_never_changes_a_real_target_position(source, target):
    pair = trunk_of(PAIR)
    num_rows = min(len(source[0]), len(target[0]))
    sources, targets = (padded(case[0][:num_rows], case[1][:num_rows]) for case in (source, target))
    hidden_BTD = pair(SourceAndTarget(sources, targets))
    for index in range(num_rows):
        alone = SourceAndTarget(plain(source[0][index]), plain(target[0][index]))
        assert_close(hidden_BTD[index][targets.is_token_BT[index]], pair(alone)[0])


def test_target_reads_its_source():
    hidden, other = (
        trunk_of(PAIR)(SourceAndTarget(plain(source), plain([1, 2]))) for source in ([3, 4], [3, 5])
    )
    assert (hidden - other)[0, 0].abs().max() > 1e-3


def test_source_of_nothing_but_padding_gives_no_nan():
    pair = trunk_of(PAIR, torch.float32)
    source = padded([[], [1, 2]], [([3], [4]), ([], [])])
    assert_no_nan(pair, pair(SourceAndTarget(source, padded([[5], []], [([6], []), ([7, 8], [])]))))
