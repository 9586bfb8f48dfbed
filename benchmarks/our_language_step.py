"""Headstart's whole training step of a causal language model, by the loop that `pretrain` runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headstart import Recipe, Text, initialise, new_model
from headstart.objectives.batch import Batch
from headstart.objectives.causal import Causal
from headstart.pipeline.vocabulary_head import new_head_loss, use_rows
from headstart.training.config import PlanConfig, Precision
from headstart.training.loop import NOBODY, Trainer, TrainingState, unattended_step
from headstart.training.optimiser import Optimiser

NUM_STEPS = 100_000


@dataclass(frozen=True)
class DrawnRows:
    """Rows of drawn pieces, as uneven as those of a text, and what follows each."""

    tokens: Tensor
    target: Tensor

    @staticmethod
    def of(sequences: int, length: int, num_pieces: int, device: str) -> "DrawnRows":
        """Draws rows, always the same."""
        torch.manual_seed(0)
        chances = 1 / torch.arange(1.0, num_pieces + 1)
        rows = torch.multinomial(chances, sequences * (length + 1), replacement=True)
        rows = rows.view(sequences, length + 1).to(device)
        return DrawnRows(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())


@dataclass(frozen=True)
class DrawnStore:
    """What a sampled head asks of a text: how common its pieces are."""

    rows: DrawnRows

    @property
    def num_tokens(self) -> int:
        """The pieces there are."""
        return self.rows.tokens.numel()

    def tokens(self, start: int, end: int) -> NDArray[np.int64]:
        """Returns some of them."""
        return self.rows.tokens.flatten()[start:end].cpu().numpy()


def our_step(
    recipe: Recipe,
    rows: DrawnRows,
    precision: Precision,
    documents: Tensor | None = None,
    *,
    is_compiled: bool,
) -> Callable[[], object]:
    """Returns what does one step after another on the same rows."""
    trainer, state = our_training(recipe, rows, precision, documents, is_compiled=is_compiled)
    return unattended_step(trainer, state, trainer.judged(state))


def our_training(
    recipe: Recipe,
    rows: DrawnRows,
    precision: Precision,
    documents: Tensor | None = None,
    *,
    is_compiled: bool,
) -> tuple[Trainer, TrainingState]:
    """Returns what learns the same rows in every step, and what it begins with."""
    device = rows.tokens.device.type
    model = new_model(recipe.model)
    initialise(model, seed=0)
    model.to(device)
    if is_compiled:
        model.trunk.compile_layers()
    plan = PlanConfig(
        num_steps=NUM_STEPS,
        seed=0,
        device=device,
        num_threads=torch.get_num_threads(),
        precision=precision,
        is_compiled=is_compiled,
        is_deterministic=False,
        steps_between_validations=NUM_STEPS,
        steps_between_logs=NUM_STEPS,
    )
    batch = Batch(
        text=Text(rows.tokens, document_BT=documents),
        answered_M=torch.arange(rows.tokens.numel(), device=device),
        target_M=rows.target.flatten(),
        first_P=None,
        follows_P=None,
        names=("drawn",),
    )
    learning = replace(recipe.learning, peak_rate=1e-4)
    state = TrainingState(model, Optimiser(model, use_rows(model, recipe, device), learning), None)
    trainer = Trainer(
        Causal(new_head_loss(recipe, DrawnStore(rows), device)),
        learning,
        plan,
        lambda _: [batch],
        lambda *_: False,
        is_always_alike=recipe.learning.head != "sampled",
        unattended=NOBODY,
    )
    return trainer, state
