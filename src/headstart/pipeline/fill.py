"""Run and text with blanks to what could stand there, each with its probability.

Legend: B rows, M blanks, V pieces.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.errors import RunError
from headstart.models.model import language_head
from headstart.pipeline.feeding import (
    as_text,
    hidden_vectors,
    marks_of,
    refuse_classifier,
    special_ids,
)
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.blanks import encode_with_blanks
from headstart.tokenizers.pieces import MASK


@dataclass(frozen=True, kw_only=True)
class Filling:
    """A piece that could stand in a blank."""

    piece: str
    text: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What could stand in each blank of a text, the likeliest first, and the text with these."""

    blanks: list[list[Filling]]
    text: str


def fill(run: Run, text: str, count: int) -> Filled:
    """Returns the `count` likeliest pieces for each blank; each is judged with the others blank."""
    require_masked(run)
    row = marks_of(run).around(encode_with_blanks(run.tokenizer, text))
    mask_id = run.tokenizer.id_of[MASK]
    places = [place for place, number in enumerate(row) if number == mask_id]
    likeliest = probabilities(run, row, places).topk(min(count, run.tokenizer.size), dim=1)
    blanks = [
        [filling(run, *pair) for pair in zip(ids, shares, strict=True) if pair[1] >= 0]
        for ids, shares in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
    ]
    for place, best in zip(places, likeliest.indices[:, 0].tolist(), strict=True):
        row[place] = best
    return Filled(blanks=blanks, text=run.tokenizer.decode(row))


@torch.inference_mode()
def probabilities(run: Run, row: list[int], places: list[int]) -> Tensor:
    """Returns the probability of each piece at these places. Shape (M, V).

    What stands for no text is below zero, and so never offered; the others are as the model has it.
    """
    text = as_text(run, [row])
    logits_BMV = language_head(run.model)(hidden_vectors(run, text)[:, places], text)
    probability_MV: Tensor = logits_BMV[0].float().softmax(dim=1)
    probability_MV[:, special_ids(run.tokenizer)] = -1.0
    return probability_MV


def require_masked(run: Run) -> None:
    """Raises an error unless the run has learned to fill blanks."""
    refuse_classifier(run, "it cannot fill a blank", "masked or masked+next")
    objective = run.recipe.objective
    if not objective.startswith("masked"):
        raise RunError(
            f"This run's objective is {objective}, so it has never seen a blank. Choose a run that "
            "was pretrained with the objective masked or masked+next."
        )


def filling(run: Run, number: int, probability: float) -> Filling:
    """Returns a piece as something that could stand in a blank."""
    return Filling(
        piece=run.tokenizer.vocabulary[number],
        text=run.tokenizer.decode([number]),
        probability=probability,
    )
