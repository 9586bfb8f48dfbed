"""Filling blanks: probabilities held against the model itself."""

import pytest
import torch

from headstart.errors import DataError, RecipeError, RunError
from headstart.models.inputs import Text
from headstart.pipeline.fill import fill

every_masked_run = pytest.mark.parametrize("objective", ["masked", "masked+next"])


def rows(run, *parts: list[str]) -> Text:
    return Text(torch.tensor([[run.tokenizer.id_of[piece] for part in parts for piece in part]]))


@every_masked_run
@torch.no_grad()
def test_probabilities_are_those_of_the_model(runs, objective):
    run = runs[objective]
    pieces = ["▁le", "▁chat", "<mask>", "▁le", "▁livre"]
    if objective == "masked":
        logits_TV = run.model(rows(run, pieces))[0]
        place = 2
    else:
        logits_TV = run.model(rows(run, ["<first>"], pieces, ["<sep>"])).language_BTV[0]
        place = 3
    (blank,) = fill(run, "le chat <mask> le livre", count=run.tokenizer.size).blanks
    expected = logits_TV[place].softmax(dim=0)
    assert [one.probability for one in blank] == pytest.approx(
        [float(expected[run.tokenizer.id_of[one.piece]]) for one in blank], abs=1e-6
    )
    assert [one.probability for one in blank] == sorted(
        (one.probability for one in blank), reverse=True
    )
    special = run.tokenizer.special_pieces
    assert {one.piece for one in blank} == set(run.tokenizer.vocabulary) - special


@every_masked_run
def test_each_blank_is_answered_in_order(runs, objective):
    run = runs[objective]
    filled = fill(run, "<mask> chat, le <mask>.", count=3)
    assert [len(blank) for blank in filled.blanks] == [3, 3]
    first, second = (blank[0] for blank in filled.blanks)
    ids = [run.tokenizer.id_of[one.piece] for one in (first, second)]
    around = [run.tokenizer.encode(part).tolist() for part in ("chat, le",)]
    (dot,) = [run.tokenizer.id_of["."]]
    assert filled.text == run.tokenizer.decode([ids[0], *around[0], ids[1], dot])


def test_causal_run_cannot_fill(runs):
    with pytest.raises(RunError, match="never seen a blank"):
        fill(runs["causal"], "le <mask>", count=3)


def test_text_without_a_blank_is_refused(runs):
    with pytest.raises(DataError, match="Write <mask> where"):
        fill(runs["masked"], "le chat", count=3)


def test_text_longer_than_the_positions_is_refused(runs):
    with pytest.raises(RecipeError, match="from 1 to 512"):
        fill(runs["masked+next"], "le chat " * 400 + "<mask>", count=3)
