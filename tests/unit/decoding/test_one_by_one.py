"""Greedy decoding and the loop under every strategy, held against a plain loop without a cache.

Legend: B rows, T positions, V pieces.
"""

from functools import cache

import pytest
import torch
from torch import Tensor

from headstart.apps.recipes.base import base
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.decoding import STRATEGIES
from headstart.decoding.greedy import Greedy
from headstart.decoding.sampling import Sampling
from headstart.decoding.scoring import CachedScores, RecomputedScores, prefix_of
from headstart.decoding.strategy import Limits
from headstart.errors import RecipeError
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_model
from headstart.pipeline.recipe import Recipe, with_vocabulary

VOCABULARY_SIZE, END_ID = 60, 9
LIMITS = Limits(num_pieces=24, end_id=END_ID)
RECIPES = {"lab": lab, "compact causal": lambda: compact("causal"), "base": base}
every_recipe = pytest.mark.parametrize("name", RECIPES)
PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16, 17, 18], [19, 20]]
SOURCES = [[5, 6], [7], [8, 9, 10, 11, 12], [13, 14, 15]]


@torch.no_grad()
def model_of(recipe: Recipe) -> Model:
    model = new_model(with_vocabulary(recipe, VOCABULARY_SIZE).model)
    initialise(model, seed=5)
    generator = torch.Generator().manual_seed(6)
    for parameter in model.parameters():
        parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


@cache
def scores_of(name: str) -> tuple[CachedScores, RecomputedScores]:
    """A recipe's model with a cache, and the same as a plain function of whole rows."""
    model = model_of(RECIPES[name]())
    if name != "base":
        return CachedScores(model.trunk, model.head), RecomputedScores(
            torch.no_grad()(lambda text: model(text)[:, -1])
        )
    source = prefix_of(SOURCES)
    encoded = model.trunk.encode(source)
    return CachedScores(model.trunk.decoder, model.head, encoded), RecomputedScores(
        torch.no_grad()(lambda text: model(SourceAndTarget(rows_of(source, text), text))[:, -1])
    )


def rows_of(source: Text, text: Text) -> Text:
    """The sources of the rows that are left, known by the first real pieces of their prompts."""
    firsts = [row[row != 0][0] for row in text.tokens_BT]
    places = [[prompt[0] for prompt in PROMPTS].index(int(first)) for first in firsts]
    return Text(source.tokens_BT[places], source.is_token_BT[places])


def written(strategy, scores, prompts=PROMPTS, limits=LIMITS) -> list[tuple[int, ...]]:
    return [best.ids for (best,) in strategy.decode(scores, prefix_of(prompts), limits)]


def plain_loop(next_token_logits, prompt: list[int]) -> list[int]:
    """Greedy as anybody would write it first: one row, everything read again for each piece."""
    row = list(prompt)
    for _ in range(LIMITS.num_pieces):
        token = int(next_token_logits(Text(torch.tensor([row])))[0].argmax())
        if token == END_ID:
            break
        row.append(token)
    return row[len(prompt) :]


@every_recipe
def test_greedy_with_a_cache_equals_a_plain_loop_without_one(name):
    cached, recomputed = scores_of(name)
    expected = [plain_loop(recomputed.next_token_logits, prompt) for prompt in PROMPTS]
    assert written(Greedy(), cached) == [tuple(ids) for ids in expected]


@every_recipe
@pytest.mark.parametrize("strategy", [Greedy(), Sampling(temperature=1.5, top_p=0.9, seed=7)])
def test_cached_equals_recomputed_piece_for_piece(name, strategy):
    cached, recomputed = scores_of(name)
    assert written(strategy, cached) == written(strategy, recomputed)


@pytest.mark.parametrize("name", ["lab", "compact causal"])
@pytest.mark.parametrize("strategy", [Greedy(), Sampling(temperature=0.7)])
def test_log_probability_is_the_sum_of_what_the_model_says(name, strategy):
    cached, recomputed = scores_of(name)
    for prompt, (best,) in zip(
        PROMPTS, strategy.decode(cached, prefix_of(PROMPTS), LIMITS), strict=True
    ):
        row, total = list(prompt), 0.0
        for token in [*best.ids, *([END_ID] if best.has_ended else [])]:
            logits_V = recomputed.next_token_logits(Text(torch.tensor([row])))[0]
            total += float(logits_V.log_softmax(dim=0)[token])
            row.append(token)
        assert best.log_probability == pytest.approx(total, abs=1e-3)


class Script:
    """Scores that make each row write its script, whose first piece is the row's number."""

    def __init__(self, scripts: list[list[int]]) -> None:
        self.scripts = scripts
        self.batch_sizes: list[int] = []

    def __call__(self, text: Text) -> Tensor:
        self.batch_sizes.append(len(text.tokens_BT))
        logits_BV = torch.zeros(len(text.tokens_BT), VOCABULARY_SIZE)
        for logits_V, row in zip(logits_BV, text.tokens_BT, strict=True):
            logits_V[self.scripts[int(row[0])][text.tokens_BT.shape[1] - 1]] = 9.0
        return logits_BV


def test_rows_that_have_ended_leave_the_batch_and_keep_their_place():
    script = Script([[7, 7, 7, 7], [8, END_ID], [END_ID], [6, 6, END_ID]])
    limits = Limits(num_pieces=4, end_id=END_ID)
    found = Greedy().decode(RecomputedScores(script), prefix_of([[0], [1], [2], [3]]), limits)
    assert [best.ids for (best,) in found] == [(7, 7, 7, 7), (8,), (), (6, 6)]
    assert [best.has_ended for (best,) in found] == [False, True, True, True]
    assert script.batch_sizes == [4, 3, 2, 1]


def test_nothing_is_scored_behind_the_last_piece():
    script = Script([[7, 7, 7]])
    limits = Limits(num_pieces=1, end_id=END_ID)
    assert written(Greedy(), RecomputedScores(script), [[0]], limits) == [(7,)]
    assert script.batch_sizes == [1]


@pytest.mark.parametrize("strategy", [Greedy(), Sampling(top_k=1), Sampling(temperature=5)])
def test_forbidden_pieces_are_never_written(strategy):
    cached, _ = scores_of("lab")
    free = written(strategy, cached)
    limits = Limits(num_pieces=24, end_id=END_ID, forbidden_ids=tuple(set(sum(free, ())[:3])))
    assert not set(limits.forbidden_ids) & set(sum(written(strategy, cached, limits=limits), ()))


def test_limits_that_make_no_sense_are_refused():
    with pytest.raises(RecipeError, match="at least 1"):
        Limits(num_pieces=0, end_id=END_ID)
    with pytest.raises(RecipeError, match="cannot be forbidden"):
        Limits(num_pieces=1, end_id=END_ID, forbidden_ids=(END_ID,))


def test_table_lists_every_strategy():
    assert set(STRATEGIES) == {"greedy", "beam", "sample"}
