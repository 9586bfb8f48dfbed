"""Beam search held against brute force, a plain loop, greedy, and itself without a cache.

Legend: B rows, T positions, V pieces.
"""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headstart.apps.recipes.base import base
from headstart.apps.recipes.compact import compact
from headstart.decoding.beam import Beam, log_probabilities
from headstart.decoding.greedy import Greedy
from headstart.decoding.scoring import CachedScores, RecomputedScores, prefix_of
from headstart.decoding.strategy import Limits
from headstart.errors import RecipeError
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_model
from headstart.pipeline.recipe import Recipe, with_vocabulary

NUM_PIECES, LENGTH, END_ID = 5, 4, 2
SMALL = Limits(num_pieces=LENGTH, end_id=END_ID)
# As many beginnings as there are, so that nothing is ever left out.
WIDE = NUM_PIECES**LENGTH
penalties = pytest.mark.parametrize("penalty", [-0.5, 0.0, 0.6, 1.0, 2.0])
a_few_times = settings(deadline=None, max_examples=25, derandomize=True, database=None)
PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16], [19, 20]]
SOURCES = [[5, 6], [7], [8, 9, 10, 11, 12], [13, 14, 15]]
LIMITS = Limits(num_pieces=12, end_id=9, forbidden_ids=(4, 17))


class Drawn:
    """Logits drawn for each row of pieces: any row has its own, and the same each time."""

    def __init__(self, seed: int, num_pieces: int = NUM_PIECES) -> None:
        self.seed, self.num_pieces = seed, num_pieces
        self.batch_sizes: list[int] = []

    def __call__(self, text: Text) -> Tensor:
        self.batch_sizes.append(len(text.tokens_BT))
        rows = [tuple(row) for row in text.tokens_BT.tolist()]
        return torch.stack([self.logits(row) for row in rows])

    def logits(self, row: tuple[int, ...]) -> Tensor:
        number = hash((self.seed, *row)) % 2**31
        return 2 * torch.randn(self.num_pieces, generator=torch.Generator().manual_seed(number))

    def log_probability(self, prompt: tuple[int, ...], ids: tuple[int, ...]) -> float:
        rows = [prompt + ids[:place] for place in range(len(ids))]
        return sum(
            float(self.logits(row).log_softmax(dim=0)[piece])
            for row, piece in zip(rows, ids, strict=True)
        )


def by_brute_force(scores: Drawn, prompt: tuple[int, ...], penalty: float) -> list[tuple]:
    """Every text that ends within the limit or is cut there: its score and its pieces."""
    others = [piece for piece in range(NUM_PIECES) if piece != END_ID]
    texts = [
        (*ids, END_ID) for length in range(LENGTH) for ids in product(others, repeat=length)
    ] + list(product(others, repeat=LENGTH))
    scored = [(scores.log_probability(prompt, ids) / len(ids) ** penalty, ids) for ids in texts]
    return sorted(scored, reverse=True)


def plain_beam(scores: Drawn, prompt: tuple[int, ...], beam: Beam, limits: Limits) -> list[tuple]:
    """Beam search as anybody would write it first, which stops at the limit or with a full beam."""
    branches, ends = [(0.0, ())], []
    for place in range(limits.num_pieces):
        longer = [
            (total + float(log_probability), (*ids, piece))
            for total, ids in branches
            for piece, log_probability in enumerate(scores.logits(prompt + ids).log_softmax(dim=0))
            if piece not in limits.forbidden_ids
        ]
        longer.sort(reverse=True)
        ends += [each for each in longer[: beam.width] if each[1][-1] == limits.end_id]
        branches = [each for each in longer if each[1][-1] != limits.end_id][: beam.width]
        if len(ends) >= beam.width and place < limits.num_pieces - 1:
            branches = []
            break
    scored = [(total / len(ids) ** beam.length_penalty, ids) for total, ids in ends + branches]
    return sorted(scored, reverse=True)[: beam.num_best]


def with_end(found) -> tuple[int, ...]:
    return (*found.ids, *([END_ID] if found.has_ended else []))


def score(found, penalty: float) -> float:
    return found.log_probability / len(with_end(found)) ** penalty


@penalties
@a_few_times
@given(seed=st.integers(0, 10_000))
def test_beam_that_is_wide_enough_finds_what_brute_force_finds(penalty, seed):
    scores = Drawn(seed)
    beam = Beam(width=WIDE, length_penalty=penalty, num_best=10)
    (found,) = beam.decode(RecomputedScores(scores), prefix_of([[0]]), SMALL)
    expected = by_brute_force(scores, (0,), penalty)[:10]
    assert [with_end(each) for each in found] == [ids for _, ids in expected]
    for each, (best, _) in zip(found, expected, strict=True):
        assert score(each, penalty) == pytest.approx(best, abs=1e-5)


@penalties
@pytest.mark.parametrize("width", [1, 2, 3, 7])
@a_few_times
@given(seed=st.integers(0, 10_000), num_best=st.integers(1, 7))
def test_early_stop_changes_nothing(penalty, width, seed, num_best):
    scores = Drawn(seed, num_pieces=8)
    beam = Beam(width=width, length_penalty=penalty, num_best=min(num_best, width))
    limits = Limits(num_pieces=9, end_id=END_ID, forbidden_ids=(1, 6))
    found = beam.decode(RecomputedScores(scores), prefix_of([[0], [3]]), limits)
    for prompt, best in zip([(0,), (3,)], found, strict=True):
        expected = plain_beam(scores, prompt, beam, limits)
        assert [with_end(each) for each in best] == [ids for _, ids in expected]


def test_without_a_penalty_a_row_is_over_when_its_best_end_is_better_than_all_that_is_open():
    class Ending(Drawn):
        def logits(self, row: tuple[int, ...]) -> Tensor:
            return torch.tensor([0.0, 0.0, 3.0 if len(row) == 3 else -9.0, 0.0, 0.0])

    scores = Ending(0)
    beam, limits = Beam(width=3, length_penalty=0.0), Limits(num_pieces=90, end_id=END_ID)
    ((best,),) = beam.decode(RecomputedScores(scores), prefix_of([[0]]), limits)
    assert len(best.ids) == 2
    assert scores.batch_sizes == [1, 3, 3]


@a_few_times
@given(seed=st.integers(0, 10_000))
def test_beam_of_one_is_greedy(seed):
    scores, limits = Drawn(seed, num_pieces=8), Limits(num_pieces=9, end_id=END_ID)
    prefix = prefix_of([[0], [1], [5]])
    greedy = Greedy().decode(RecomputedScores(scores), prefix, limits)
    for penalty in (0.0, 1.0):
        beam = Beam(width=1, length_penalty=penalty)
        found = beam.decode(RecomputedScores(scores), prefix, limits)
        assert [best.ids for (best,) in found] == [best.ids for (best,) in greedy]
        for (ours,), (theirs,) in zip(found, greedy, strict=True):
            assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)


def test_each_row_has_its_own_limit():
    scores, prefix = Drawn(3, num_pieces=8), prefix_of([[0], [1], [5]])
    for strategy in (Beam(width=3), Greedy()):
        by_row = Limits(num_pieces=9, end_id=END_ID, num_pieces_by_row=(2, 9, 5))
        found = strategy.decode(RecomputedScores(scores), prefix, by_row)
        for prompt, most, best in zip([[0], [1], [5]], (2, 9, 5), found, strict=True):
            alone = Limits(num_pieces=most, end_id=END_ID)
            (expected,) = strategy.decode(RecomputedScores(scores), prefix_of([prompt]), alone)
            assert [each.ids for each in best] == [each.ids for each in expected]


@torch.no_grad()
def model_of(recipe: Recipe) -> Model:
    recipe = with_vocabulary(recipe, 60)
    trunk = recipe.model.trunk
    if recipe.objective == "translation":
        halves = (replace(half, num_layers=2) for half in (trunk.encoder, trunk.decoder))
        trunk = replace(trunk, **dict(zip(("encoder", "decoder"), halves, strict=True)))
    model = new_model(replace(recipe.model, trunk=trunk))
    initialise(model, seed=5)
    generator = torch.Generator().manual_seed(6)
    for parameter in model.parameters():
        parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


@cache
def causal_model() -> Model:
    return model_of(compact("causal"))


@cache
def translator() -> Model:
    return model_of(base())


def translating(sources: list[list[int]], padding: int = 0) -> CachedScores:
    longest = max(map(len, sources)) + padding
    tokens = [[*source, *[1] * (longest - len(source))] for source in sources]
    is_token = [[True] * len(source) + [False] * (longest - len(source)) for source in sources]
    source = Text(torch.tensor(tokens), torch.tensor(is_token))
    model = translator()
    with torch.no_grad():
        return CachedScores(model.trunk.decoder, model.head, model.trunk.encode(source))


def rows_of(sources: list[list[int]], text: Text) -> Text:
    """The sources of rows, known by the first real pieces of their prompts."""
    firsts = [int(row[row != 0][0]) for row in text.tokens_BT]
    found = [sources[[prompt[0] for prompt in PROMPTS].index(first)] for first in firsts]
    return prefix_of(found)


beams = pytest.mark.parametrize(
    "beam", [Beam(), Beam(width=5, length_penalty=0.0, num_best=5), Beam(width=2, num_best=2)]
)


def texts(found) -> list[list[tuple[int, ...]]]:
    return [[each.ids for each in best] for best in found]


@beams
@torch.no_grad()
def test_cached_equals_recomputed_for_a_language_model(beam):
    model, prefix = causal_model(), prefix_of(PROMPTS)
    cached = beam.decode(CachedScores(model.trunk, model.head), prefix, LIMITS)
    plain = RecomputedScores(torch.no_grad()(lambda text: model(text)[:, -1]))
    assert texts(cached) == texts(beam.decode(plain, prefix, LIMITS))
    assert not {4, 17} & {piece for best in texts(cached) for ids in best for piece in ids}


@beams
@torch.no_grad()
def test_cached_equals_recomputed_for_a_translator(beam):
    model, prefix = translator(), prefix_of(PROMPTS)
    plain = RecomputedScores(
        lambda text: model(SourceAndTarget(rows_of(SOURCES, text), text))[:, -1]
    )
    cached = beam.decode(translating(SOURCES), prefix, LIMITS)
    assert texts(cached) == texts(beam.decode(plain, prefix, LIMITS))


@beams
def test_many_at_once_are_each_as_if_alone_and_padding_changes_nothing(beam):
    together = beam.decode(translating(SOURCES), prefix_of(PROMPTS), LIMITS)
    padded = beam.decode(translating(SOURCES, padding=7), prefix_of(PROMPTS), LIMITS)
    alone = [
        beam.decode(translating([source]), prefix_of([prompt]), LIMITS)[0]
        for source, prompt in zip(SOURCES, PROMPTS, strict=True)
    ]
    assert texts(together) == texts(alone) == texts(padded)
    for ours, theirs in zip(together, alone, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)


def test_rows_that_are_over_leave_the_batch():
    class Counting(Drawn):
        """Row n is sure to end behind n pieces."""

        def logits(self, row: tuple[int, ...]) -> Tensor:
            is_over = len(row) > row[0]
            return torch.tensor([0.0, 1.0, 30.0 if is_over else -30.0, 2.0, 3.0])

    scores = Counting(0)
    limits = Limits(num_pieces=9, end_id=END_ID)
    found = Beam(width=2).decode(RecomputedScores(scores), prefix_of([[1], [2], [4]]), limits)
    assert [len(best.ids) for (best,) in found] == [1, 2, 4]
    assert scores.batch_sizes == [3, 6, 4, 2, 2]


@pytest.mark.parametrize(
    ("settings_of", "words"),
    [
        ({"width": 0}, "0 wide"),
        ({"num_best": 5}, "best 5 were asked for, of a beam 4 wide"),
        ({"num_best": 0}, "best 0"),
        ({"length_penalty": float("nan")}, "penalty is nan"),
    ],
)
def test_beams_that_make_no_sense_are_refused(settings_of, words):
    with pytest.raises(RecipeError, match=words):
        Beam(**settings_of)


def test_limits_for_other_rows_are_refused():
    limits = Limits(num_pieces=3, end_id=END_ID, num_pieces_by_row=(1, 2))
    with pytest.raises(RecipeError, match="limits for 2 rows, but 1 row"):
        Beam().decode(RecomputedScores(Drawn(0)), prefix_of([[0]]), limits)


@pytest.mark.parametrize("num_pieces", [1, 7, 16, 8_000])
def test_log_probabilities_are_those_of_doubles_where_logits_are_written_over(num_pieces):
    logits = 5 * torch.randn(3, 4, num_pieces, generator=torch.Generator().manual_seed(1))
    expected = logits.double().log_softmax(dim=2).float()
    torch.testing.assert_close(log_probabilities(logits), expected, rtol=1e-5, atol=1e-5)
