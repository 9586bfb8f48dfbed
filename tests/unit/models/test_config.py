"""The shapes of layers and trunks are valid from birth, or a sentence says what is allowed."""

import dataclasses
import re
import signal
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import RecipeError
from headstart.models.config import MOST, EncoderDecoderConfig, LayerConfig, TrunkConfig

LAYER = LayerConfig(
    width=12,
    num_heads=3,
    feed_forward_width=8,
    feed_forward="relu",
    norm="layer",
    norm_place="post",
)
TRUNK = TrunkConfig(
    vocabulary_size=100,
    num_layers=2,
    layer=LAYER,
    direction="causal",
    positions="sinusoidal",
    max_length=64,
)
ENCODER = dataclasses.replace(TRUNK, direction="bidirectional")
DECODER = dataclasses.replace(TRUNK, attends_to_source=True)
PAIR = EncoderDecoderConfig(encoder=ENCODER, decoder=DECODER, shares_embedding=True)

KINDS = [
    (LAYER, "feed_forward", ("relu", "gelu", "gated-silu")),
    (LAYER, "norm", ("layer", "rms")),
    (LAYER, "norm_place", ("post", "pre")),
    (TRUNK, "direction", ("causal", "bidirectional")),
    (TRUNK, "positions", ("sinusoidal", "rotary", "learned")),
]

WHOLE_NUMBERS = st.integers() | st.integers(-2, 40)
WIDTHS = st.integers()


@contextmanager
def at_most(seconds: float):
    """Raises TimeoutError in a block that takes longer."""

    def stop(*_arguments):
        raise TimeoutError(f"took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, "8", None])
@pytest.mark.parametrize(
    ("config", "name"),
    [
        (LAYER, "width"),
        (LAYER, "num_heads"),
        (LAYER, "feed_forward_width"),
        (TRUNK, "vocabulary_size"),
        (TRUNK, "num_layers"),
        (TRUNK, "max_length"),
    ],
)
def test_a_size_must_be_a_whole_number_that_can_be_built(config, name, value):
    sentence = f"{name} is {value!r}; it must be a whole number from 1 to {MOST:,}."
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(config, **{name: value})


@pytest.mark.parametrize("value", ["", "other", None])
@pytest.mark.parametrize(("config", "name", "choices"), KINDS)
def test_a_kind_must_be_one_of_its_choices(config, name, choices, value):
    sentence = f"{name} is {value!r}. Choose one of: {', '.join(choices)}."
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(config, **{name: value})


@pytest.mark.parametrize(("config", "name", "choices"), KINDS)
def test_every_choice_is_accepted(config, name, choices):
    for choice in choices:
        assert getattr(dataclasses.replace(config, **{name: choice}), name) == choice


@pytest.mark.parametrize(
    ("width", "num_heads", "near"),
    [(12, 5, "2, 3, 4, 6"), (200, 3, "1, 2, 4, 5"), (7, 3, "1, 7"), (8, 100, "1, 2, 4, 8")],
)
def test_heads_that_do_not_divide_the_width_are_answered_with_divisors(width, num_heads, near):
    sentence = (
        f"num_heads is {num_heads}, which does not divide the width {width}. "
        f"Choose a divisor such as {near}."
    )
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(LAYER, width=width, num_heads=num_heads)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_a_huge_width_that_the_heads_do_not_divide_is_refused_at_once():
    with at_most(seconds=2), pytest.raises(RecipeError, match="does not divide"):
        dataclasses.replace(LAYER, width=10**8 - 1, num_heads=2)


@pytest.mark.parametrize("dropout", [-0.1, 1, 1.0, 2.5, float("nan"), float("inf")])
def test_dropout_must_be_at_least_zero_and_below_one(dropout):
    sentence = f"dropout is {dropout}; it must be at least 0 and below 1."
    with pytest.raises(RecipeError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(LAYER, dropout=dropout)


@pytest.mark.parametrize("dropout", [0, 0.0, 0.1, 0.999])
def test_dropout_from_zero_to_below_one_is_accepted(dropout):
    assert dataclasses.replace(LAYER, dropout=dropout).dropout == dropout


def test_segments_cannot_be_fewer_than_none():
    with pytest.raises(RecipeError, match=r"^num_segments is -1; it must be .* from 0 to "):
        dataclasses.replace(TRUNK, num_segments=-1)


@pytest.mark.parametrize("value", [1.5, "2", None])
def test_segments_must_be_a_whole_number(value):
    with pytest.raises(RecipeError, match="num_segments"):
        dataclasses.replace(TRUNK, num_segments=value)


def test_rotary_positions_need_an_even_width_of_a_head():
    layer = dataclasses.replace(LAYER, width=9)
    with pytest.raises(RecipeError, match=r"a head is 3 wide \(width 9, 3 heads\)"):
        dataclasses.replace(TRUNK, layer=layer, positions="rotary")
    assert dataclasses.replace(TRUNK, positions="rotary").layer.head_width == 4


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_other_positions_take_an_odd_width_of_a_head(positions):
    layer = dataclasses.replace(LAYER, width=9)
    assert dataclasses.replace(TRUNK, layer=layer, positions=positions).layer.head_width == 3


@pytest.mark.parametrize("length", [-1, 0, 65, 1_000_000])
@pytest.mark.parametrize("config", [TRUNK, PAIR])
def test_a_length_without_positions_is_refused(config, length):
    with pytest.raises(RecipeError, match=f"^A length of {length:,} .* from 1 to 64"):
        config.check_length(length)


@pytest.mark.parametrize("length", [1, 64])
@pytest.mark.parametrize("config", [TRUNK, PAIR])
def test_a_length_with_positions_is_accepted(config, length):
    config.check_length(length)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_length_must_suit_both_sides(side):
    short = dataclasses.replace(getattr(PAIR, side), max_length=10)
    with pytest.raises(RecipeError, match=r"A length of 11 .* from 1 to 10"):
        dataclasses.replace(PAIR, **{side: short}).check_length(11)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"encoder": TRUNK}, "The encoder is causal; it must be bidirectional"),
        ({"encoder": dataclasses.replace(ENCODER, attends_to_source=True)}, "The encoder "),
        ({"decoder": TRUNK}, "The decoder "),
        ({"decoder": ENCODER}, "The decoder is bidirectional; it must be causal"),
        (
            {"decoder": dataclasses.replace(DECODER, layer=dataclasses.replace(LAYER, width=6))},
            "The encoder is 12 wide and the decoder 6; they must be equal",
        ),
        (
            {"decoder": dataclasses.replace(DECODER, vocabulary_size=2_000)},
            "The encoder knows 100 pieces and the decoder 2,000; a shared embedding",
        ),
    ],
)
def test_sides_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(RecipeError, match=re.escape(sentence)):
        dataclasses.replace(PAIR, **changes)


@pytest.mark.parametrize(
    "changes",
    [{"encoder": dataclasses.replace(ENCODER, attends_to_source=True)}, {"decoder": TRUNK}],
    ids=["encoder with a source", "decoder without"],
)
def test_a_side_with_the_right_direction_is_not_told_to_take_that_direction(changes):
    with pytest.raises(RecipeError) as caught:
        dataclasses.replace(PAIR, **changes)
    assert not re.search(r"is (\w+); it must be \1", str(caught.value))


def test_sides_may_differ_in_vocabulary_where_nothing_is_shared():
    decoder = dataclasses.replace(DECODER, vocabulary_size=2_000)
    pair = dataclasses.replace(PAIR, decoder=decoder, shares_embedding=False)
    assert (pair.vocabulary_size, pair.width) == (2_000, 12)


@settings(deadline=None)
@given(width=WIDTHS, num_heads=WHOLE_NUMBERS, feed_forward_width=WHOLE_NUMBERS)
def test_any_whole_numbers_give_a_valid_layer_or_a_recipe_error(
    width, num_heads, feed_forward_width
):
    sizes = {"width": width, "num_heads": num_heads, "feed_forward_width": feed_forward_width}
    try:
        layer = dataclasses.replace(LAYER, **sizes)
    except RecipeError:
        return
    assert min(sizes.values()) >= 1
    assert layer.head_width * layer.num_heads == width


@given(
    sizes=st.fixed_dictionaries(
        dict.fromkeys(
            ("vocabulary_size", "num_layers", "max_length", "num_segments"), WHOLE_NUMBERS
        )
    ),
    length=WHOLE_NUMBERS,
)
def test_any_whole_numbers_give_a_valid_trunk_or_a_recipe_error(sizes, length):
    try:
        dataclasses.replace(TRUNK, **sizes).check_length(length)
    except RecipeError:
        return
    assert min(sizes["vocabulary_size"], sizes["num_layers"]) >= 1
    assert 1 <= length <= sizes["max_length"]


@pytest.mark.parametrize("config", [LAYER, TRUNK, PAIR], ids=lambda config: type(config).__name__)
def test_configs_are_frozen_and_equal_by_value(config):
    for field in dataclasses.fields(config):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(config, field.name, getattr(config, field.name))
    assert config == dataclasses.replace(config)
    assert hash(config) == hash(dataclasses.replace(config))
