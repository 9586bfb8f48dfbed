"""How a run reads a text: with the marks that its objective put around texts in training.

Legend: B rows, T positions, D width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.errors import RunError
from headstart.models.inputs import Text
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.pieces import FIRST, PADDING_ID, SEPARATOR, START
from headstart.tokenizers.tokenizer import Tokenizer

# For each objective, the pieces before and behind a text.
MARKS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "causal": ((START,), ()),
    "masked": ((), ()),
    "masked+next": ((FIRST,), (SEPARATOR,)),
}


@dataclass(frozen=True)
class Marks:
    """The ids before and behind a text."""

    before: tuple[int, ...]
    behind: tuple[int, ...]

    @property
    def num_pieces(self) -> int:
        """How many there are."""
        return len(self.before) + len(self.behind)

    def around(self, ids: Sequence[int]) -> list[int]:
        """Returns a text as it is read."""
        return [*self.before, *ids, *self.behind]


def marks_for(objective: str, tokenizer: Tokenizer) -> Marks:
    """Returns the marks that an objective puts around texts."""
    if objective not in MARKS:
        raise RunError(
            f"This run's objective is {objective}, which reads no single texts. Choose a run with "
            f"one of: {', '.join(MARKS)}."
        )
    before, behind = MARKS[objective]
    id_of = tokenizer.id_of
    return Marks(tuple(id_of[piece] for piece in before), tuple(id_of[piece] for piece in behind))


def marks_of(run: Run) -> Marks:
    """Returns the marks with which a run has read texts."""
    return marks_for(run.recipe.objective, run.tokenizer)


def refuse_classifier(run: Run, so: str, objectives: str) -> None:
    """Raises an error for a run whose head scores labels where it would have to score pieces."""
    if run.recipe.task == "classification":
        raise RunError(
            f"{run.folder} is a classifier: its head knows labels and no pieces, so {so}. Choose "
            f"a run that was pretrained with the objective {objectives}, or label texts with this "
            f"one: headstart predict {run.folder} TEXT"
        )


def as_text(run: Run, rows: Sequence[Sequence[int]]) -> Text:
    """Returns rows of pieces as a run's model reads them, padded behind."""
    device = device_of(run)
    longest = max(map(len, rows))
    tokens_BT = torch.tensor([[*row, *[PADDING_ID] * (longest - len(row))] for row in rows])
    if min(map(len, rows)) == longest:
        return Text(tokens_BT.to(device))
    length_B1 = torch.tensor([[len(row)] for row in rows])
    return Text(tokens_BT.to(device), (torch.arange(longest) < length_B1).to(device))


@torch.inference_mode()
def hidden_vectors(run: Run, text: Text) -> Tensor:
    """Returns the run's vector for each position. Shape (B, T, D)."""
    hidden_BTD: Tensor = run.model.trunk(text)
    return hidden_BTD


def device_of(run: Run) -> torch.device:
    """Returns where a run's weights are."""
    return next(run.model.parameters()).device


def special_ids(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Returns the ids of pieces that stand for no text."""
    # An imported model has some of its own that its dictionary left out.
    known = tokenizer.special_pieces & tokenizer.id_of.keys()
    return tuple(sorted(tokenizer.id_of[piece] for piece in known))
