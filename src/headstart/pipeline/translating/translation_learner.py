"""A recipe and its pairs made ready to learn: model, objective, batches, optimiser."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headstart.batches.ahead import Ahead
from headstart.batches.bucketing import bucketed_pairs
from headstart.batches.pair_batches import PairBatches
from headstart.batches.pair_shapes import PairShape, ShapedPairBatches
from headstart.evaluation.pair_loss import pair_loss
from headstart.evaluation.translation import corpus_bleu
from headstart.models.initialisation import initialise
from headstart.models.model import Model, new_model
from headstart.objectives.translation import (
    PairBatch,
    Translation,
    to_pair_batch,
    to_shaped_batch,
)
from headstart.pipeline.label_learner import tidy_transfer
from headstart.pipeline.learner import Done, ShouldStop, never, require_going_on
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.translating.greedy_translations import greedy_translations
from headstart.pipeline.translating.pair_rows import PairRows, ReadyPairs
from headstart.pipeline.translating.pair_tokenizers import PairTokenizers
from headstart.randomness import derive_seed
from headstart.training.averaging import AveragedWeights
from headstart.training.config import PlanConfig
from headstart.training.loop import AfterStep, Trainer, TrainingState, Unattended
from headstart.training.optimiser import Optimiser
from headstart.training.precision import products_in

# Enough pairs to choose weights by, few enough to score and to translate at every look; in the end
# a processor has as much time as a GPU.
NUM_SCORED, NUM_TRANSLATED = {"cpu": 500, "cuda": 2_000}, {"cpu": 100, "cuda": 500}
AT_THE_END = "cuda"
# Of two looks with the same BLEU the one with the lower loss is better: by less than any BLEU.
TIE_WEIGHT, MOST_LOSS = 1e-6, 1_000.0
# On a GPU both sides are padded to a multiple of this, so that kernels meet few shapes.
LENGTH_STEP = 8
NUM_LETTERS_SHOWN = 120


@dataclass(frozen=True, kw_only=True)
class TranslationLook:
    """What a look at the validation pairs found."""

    epoch: float
    loss: float
    """Nats for each piece of the targets, not smoothed."""
    num_pieces: int
    bleu: float
    """Of greedy translations, from 0 to 100."""
    num_sentences: int

    @property
    def total(self) -> float:
        """What the best weights have least of: what is missing in BLEU, then loss."""
        if not math.isfinite(self.loss):
            return self.loss
        return 100.0 - self.bleu + TIE_WEIGHT * min(self.loss, MOST_LOSS)

    def as_json(self) -> dict[str, object]:
        """Returns the epoch and its scores by name."""
        return asdict(self)


@dataclass(frozen=True)
class TranslationLearner:
    """Everything that a run needs to learn from pairs and to look at validation pairs."""

    recipe: Recipe
    plan: PlanConfig
    tokenizers: PairTokenizers
    pairs: ReadyPairs
    start: dict[str, Tensor] | None
    """The tensors that are kept of another run, by their names here."""
    sources: dict[str, str]

    @cached_property
    def order(self) -> PairBatches | ShapedPairBatches:
        """The pairs of every step, in few shapes where a step is recorded by its shape."""
        make = ShapedPairBatches if self.is_recorded else PairBatches
        return make(
            self.pairs.train.source_lengths,
            self.pairs.train.target_lengths,
            self.recipe.tokens_per_step,
            derive_seed(self.plan.seed, "pairs"),
        )

    @property
    def is_recorded(self) -> bool:
        """Whether steps are launched as a whole: on a GPU, and where they are not cut in parts."""
        return self.plan.can_record and self.recipe.learning.accumulation == 1

    @property
    def steps_per_epoch(self) -> int:
        """The steps in which every pair is read once."""
        return self.order.steps_per_epoch

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a finished run has its last checkpoint still: it has only its weights."""
        return False

    @property
    def averaged_steps(self) -> tuple[int, ...]:
        """The steps whose weights are averaged and held against the best ones in the end."""
        return self.recipe.translation.averaged_steps(self.plan.num_steps)

    def new_state(self) -> TrainingState:
        """Returns a model with its first weights, before any step."""
        model = self.new_model().to(self.plan.device)
        if self.plan.is_compiled:
            model.trunk.compile_layers()
        decay = self.recipe.learning.average_decay
        return TrainingState(
            model=model,
            # A tied head touches every row of the table, so that no row is spared.
            optimiser=Optimiser(model, set(), self.recipe.learning),
            average=AveragedWeights(model, decay) if decay else None,
        )

    @torch.no_grad()
    def new_model(self) -> Model[Any, Any]:
        """Returns a model with drawn weights, but for those that are kept of another run."""
        model = new_model(self.recipe.model)
        initialise(model, self.plan.seed)
        ours = dict(model.named_parameters())
        for name, tensor in (self.start or {}).items():
            ours[name].copy_(tensor)
        return model

    def trainer(self, after_step: AfterStep, unattended: Unattended | None = None) -> Trainer:
        """Returns the loop over these pairs, which are made ready one step ahead."""
        return Trainer(
            self.objective,
            self.recipe.learning,
            self.plan,
            Ahead(self.batches),
            after_step,
            is_always_alike=self.is_recorded,
            unattended=unattended,
        )

    @property
    def objective(self) -> Translation:
        """The loss of a step."""
        return Translation(self.recipe.translation.label_smoothing)

    def batches(self, step: int) -> Sequence[PairBatch]:
        """Returns the parts of a step on the plan's device."""
        chosen = self.order.at(step)
        if isinstance(self.order, ShapedPairBatches):
            return [self.to_shaped_batch(chosen, self.order.shape_at(step))]
        num_parts = min(self.recipe.learning.accumulation, len(chosen))
        parts = (each.tolist() for each in np.array_split(chosen, num_parts))
        return [self.to_batch(self.pairs.train, part) for part in parts]

    def to_batch(self, rows: PairRows, chosen: Sequence[int]) -> PairBatch:
        """Returns some pairs as a batch on the plan's device."""
        return to_pair_batch(
            [rows.sources[index] for index in chosen],
            [rows.targets[index] for index in chosen],
            [str(rows.places[index]) for index in chosen],
            self.plan.device,
            LENGTH_STEP if self.plan.device.startswith("cuda") else 1,
        )

    def to_shaped_batch(self, chosen: Sequence[int], shape: PairShape) -> PairBatch:
        """Returns some training pairs as a batch of a given shape on the plan's device."""
        rows = self.pairs.train
        return to_shaped_batch(
            [rows.sources[index] for index in chosen],
            [rows.targets[index] for index in chosen],
            [str(rows.places[index]) for index in chosen],
            self.plan.device,
            shape,
        )

    def validate(self, state: TrainingState, should_stop: ShouldStop = never) -> TranslationLook:
        """Returns the scores on validation pairs, of averaged weights where there are any."""
        epoch, kind = state.step / self.steps_per_epoch, self.plan.device.partition(":")[0]
        if state.average is None:
            return self.score(state.model, epoch, kind, should_stop)
        with state.average.in_place_of(state.model):
            return self.score(state.model, epoch, kind, should_stop)

    def score(
        self, model: Model[Any, Any], epoch: float, kind: str, should_stop: ShouldStop = never
    ) -> TranslationLook:
        """Returns a model's scores on as many of the first validation pairs as a kind allows."""
        was_training = model.training
        model.eval()
        try:
            # Looks come in shapes of their own, for which nothing should be compiled anew.
            with (
                torch.compiler.set_stance("force_eager"),
                products_in(self.plan.precision, self.plan.device),
            ):
                batches = self.valid_batches(NUM_SCORED[kind], should_stop)
                loss, num_pieces = pair_loss(model, batches)
            hypotheses = self.translations(model, NUM_TRANSLATED[kind], should_stop)
        finally:
            model.train(was_training)
        return TranslationLook(
            epoch=epoch,
            loss=loss,
            num_pieces=num_pieces,
            bleu=corpus_bleu(hypotheses, self.pairs.references[: len(hypotheses)]),
            num_sentences=len(hypotheses),
        )

    def valid_batches(self, num: int, should_stop: ShouldStop) -> Iterator[PairBatch]:
        """Yields the first validation pairs in batches of like length."""
        rows, budget = self.pairs.valid, self.recipe.tokens_per_step
        sources, targets = rows.source_lengths[:num].tolist(), rows.target_lengths[:num].tolist()
        order = bucketed_pairs(sources, targets, budget, seed=0, epoch=0)
        for chosen in order:
            require_going_on(should_stop)
            yield self.to_batch(rows, chosen)

    def translations(
        self, model: Model[Any, Any], num: int, should_stop: ShouldStop = never
    ) -> list[str]:
        """Returns greedy translations of the first validation sources, in whole precision."""
        return greedy_translations(
            model,
            self.pairs.valid.sources[:num],
            self.tokenizers.target,
            self.plan.device,
            lambda: require_going_on(should_stop),
        )

    def is_enough(self, _step: int, _best_step: int) -> bool:
        """Whether a run may end before its last step: its last weights are averaged, so never."""
        return False

    def look(self, _folder: Path, model: Model[Any, Any]) -> str:
        """Returns what the model makes of the first validation source now."""
        was_training = model.training
        written = self.translations(model.eval(), 1)[0]
        model.train(was_training)
        source = self.tokenizers.source.decode(self.pairs.valid.sources[0])
        return f"{source[:NUM_LETTERS_SHOWN]} → {written[:NUM_LETTERS_SHOWN]}"

    def results(
        self, model: Model[Any, Any], done: Done, should_stop: ShouldStop
    ) -> dict[str, object]:
        """Returns what the final weights are worth on validation pairs, and how fast they came."""
        epoch = done.num_steps / self.steps_per_epoch
        look = self.score(model, epoch, AT_THE_END, should_stop).as_json()
        num_tokens = self.num_tokens(done.num_steps)
        del look["epoch"]
        return {
            "best_epoch": done.best_step / self.steps_per_epoch,
            "weights": done.weights,
            "tokens": num_tokens,
            "pairs": {"train": len(self.pairs.train.places), "valid": len(self.pairs.valid.places)},
            "valid": look,
            "tokens_per_second": num_tokens / done.seconds,
        }

    def num_tokens(self, num_steps: int) -> int:
        """Returns the pieces of all targets that so many steps asked for."""
        lengths = self.pairs.train.target_lengths
        num_epochs, num_more = divmod(num_steps, self.steps_per_epoch)
        first = num_epochs * self.steps_per_epoch
        rest = (self.order.at(step) for step in range(first, first + num_more))
        return num_epochs * int(lengths.sum()) + sum(int(lengths[part].sum()) for part in rest)

    def tidy(self, folder: Path) -> None:
        """Removes the checkpoints and the start: a finished translator has only its weights."""
        tidy_transfer(folder)
