"""Sampling: cuts held against loops, draws against probabilities, seeds against their promise.

Legend: B rows, V pieces.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.decoding.sampling import Sampling, at_share, cut_to_count, cut_to_share, uniform
from headstart.decoding.scoring import RecomputedScores, prefix_of
from headstart.decoding.strategy import Limits
from headstart.errors import RecipeError

# A thousandth of all fair dice would be called unfair by this: 5 - 1 degrees of freedom.
CHI_SQUARE_LIMIT = 18.47
LIMITS = Limits(num_pieces=6, end_id=99)
logit = st.floats(-8, 8, allow_nan=False).map(lambda number: round(number, 2))
some_logits = st.lists(logit, min_size=2, max_size=12)
a_few_times = settings(deadline=None, max_examples=200, derandomize=True, database=None)


def softmax(logits: list[float]) -> list[float]:
    powers = [math.exp(each - max(logits)) for each in logits]
    return [power / sum(powers) for power in powers]


def is_kept(cut_BV: torch.Tensor) -> list[bool]:
    return cut_BV[0].isfinite().tolist()


@a_few_times
@given(logits=some_logits, count=st.integers(1, 14))
def test_top_k_equals_a_loop(logits, count):
    kept = is_kept(cut_to_count(torch.tensor([logits], dtype=torch.float64), count))
    better = [sum(other > each for other in logits) for each in logits]
    assert kept == [number < count for number in better]


@a_few_times
@given(logits=some_logits, share=st.floats(0.05, 0.99))
def test_top_p_equals_a_loop(logits, share):
    probabilities = softmax(logits)
    # Of equal pieces the one with the lower id comes first.
    order = sorted(range(len(logits)), key=lambda place: (-logits[place], place))
    expected, total = [False] * len(logits), 0.0
    for place in order:
        if abs(total - share) < 1e-9:
            return  # a matter of rounding, on either side
        expected[place] = total < share
        total += probabilities[place]
    assert is_kept(cut_to_share(torch.tensor([logits], dtype=torch.float64), share)) == expected


def test_cuts_are_those_of_transformers():
    transformers = pytest.importorskip("transformers")
    logits_BV = 3 * torch.randn(64, 500, generator=torch.Generator().manual_seed(1)).double()
    for temperature, top_k, top_p in [
        (1.0, 40, 0.9),
        (0.7, 500, 0.5),
        (1.3, 3, 0.99),
        (2.0, 1, 0.1),
    ]:
        theirs_BV = logits_BV
        for warper in (
            transformers.TemperatureLogitsWarper(temperature),
            transformers.TopKLogitsWarper(top_k),
            transformers.TopPLogitsWarper(top_p),
        ):
            theirs_BV = warper(None, theirs_BV)
        ours_BV = Sampling(temperature=temperature, top_k=top_k, top_p=top_p).probabilities(
            logits_BV
        )
        torch.testing.assert_close(ours_BV, theirs_BV.softmax(dim=1), atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(seed=1),
        Sampling(seed=2, temperature=0.6),
        Sampling(seed=3, temperature=2.0, top_k=4),
        Sampling(seed=4, top_p=0.9),
    ],
)
def test_draws_are_as_frequent_as_they_are_probable(sampling):
    num_draws = 4_000
    logits_BV = torch.tensor([[1.0, 0.0, 2.0, -1.0, 0.5]])
    expected_V = num_draws * sampling.probabilities(logits_BV)[0]
    drawn = sampling.draw(logits_BV.expand(num_draws, -1), 0, range(num_draws))
    seen_V = drawn.bincount(minlength=5)
    has_chance_V = expected_V > 0
    assert seen_V[~has_chance_V].sum() == 0
    distance = ((seen_V - expected_V) ** 2 / expected_V)[has_chance_V].sum()
    assert distance < CHI_SQUARE_LIMIT


def test_draws_at_different_positions_are_as_frequent_as_they_are_probable():
    num_draws = 4_000
    sampling, logits_BV = Sampling(seed=5), torch.tensor([[1.0, 0.0, 2.0, -1.0, 0.5]])
    seen = [int(sampling.draw(logits_BV, position, [3])) for position in range(num_draws)]
    expected_V = num_draws * sampling.probabilities(logits_BV)[0]
    assert ((torch.tensor(seen).bincount() - expected_V) ** 2 / expected_V).sum() < CHI_SQUARE_LIMIT


def some_scores(text):
    """Logits that depend on the whole row, and not on its neighbours."""
    weights = torch.arange(1, text.tokens_BT.shape[1] + 1)
    sums = (text.tokens_BT * weights).sum(dim=1, keepdim=True)
    return torch.sin(sums * torch.arange(1, 21) / 3.0) * 2


def texts_of(sampling, prompts):
    found = sampling.decode(RecomputedScores(some_scores), prefix_of(prompts), LIMITS)
    return [best.ids for (best,) in found]


def test_same_seed_writes_the_same_and_another_seed_does_not():
    prompts = [[1, 2]] * 8
    first, again, other = (texts_of(Sampling(seed=seed), prompts) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_rows_draw_for_themselves():
    texts = texts_of(Sampling(seed=1), [[1, 2]] * 8)
    assert len(set(texts)) > 4
    # With fewer neighbours each row writes what it wrote with more.
    assert texts_of(Sampling(seed=1), [[1, 2]] * 3) == texts[:3]


def test_draw_is_a_function_of_seed_position_and_row():
    places = [
        (seed, position, row) for seed in range(9) for position in range(9) for row in range(9)
    ]
    numbers = [uniform(*place) for place in places]
    assert numbers == [uniform(*place) for place in places]
    assert len(set(numbers)) == len(places)
    assert all(0 <= number < 1 for number in numbers)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1 - 2**-53])
def test_piece_without_a_chance_is_never_drawn(share):
    probability_BV = torch.tensor([[0.0, 0.25, 0.0, 0.25, 0.5, 0.0]])
    token = at_share(probability_BV, torch.tensor([share], dtype=torch.float64))
    assert token.tolist() == [{0.0: 1, 0.25: 3, 0.5: 4}.get(share, 4)]


def test_top_k_of_one_is_greedy():
    logits_BV = torch.randn(50, 20, generator=torch.Generator().manual_seed(2))
    drawn = Sampling(top_k=1, temperature=9.0).draw(logits_BV, 0, range(50))
    assert drawn.tolist() == logits_BV.argmax(dim=1).tolist()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"temperature": 0}, r"temperature is 0; .* strategy greedy"),
        ({"temperature": -1.0}, "temperature is -1"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"top_k": 0}, "top-k is 0"),
        ({"top_p": 0.0}, "top-p is 0"),
        ({"top_p": 1.5}, "top-p is 1.5"),
        ({"top_p": math.nan}, "top-p is nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, sentence):
    with pytest.raises(RecipeError, match=sentence):
        Sampling(**setting)
