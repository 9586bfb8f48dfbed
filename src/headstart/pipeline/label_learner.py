"""A recipe and its examples made ready to learn: model, objective, batches, optimiser.

Legend: N texts, C labels, D width.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headstart.batches.ahead import Ahead
from headstart.batches.bucketing import bucketed_by_count
from headstart.corpora.examples import Example
from headstart.errors import FileError
from headstart.evaluation.calibration import fit_temperature, softened
from headstart.evaluation.classification import LabelScores, score_labels
from headstart.files import remove_folder, sweep
from headstart.models.initialisation import initialise
from headstart.models.model import Model, new_model
from headstart.objectives.labels import (
    Classifier,
    FeatureBatch,
    LabelBatch,
    Labels,
    TextRows,
    answer_weights,
    to_label_batch,
)
from headstart.pipeline.label_split import Split, as_split
from headstart.pipeline.learner import Done, ShouldStop, first_device, never
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import CHECKPOINTS_FOLDER, START_FILE
from headstart.pipeline.seen import clean_items
from headstart.pipeline.test_scores import both_scores, write_test
from headstart.pipeline.text_rows import TextReader
from headstart.pipeline.text_vectors import text_vectors
from headstart.randomness import derive_seed
from headstart.training.averaging import AveragedWeights
from headstart.training.config import PlanConfig
from headstart.training.loop import AfterStep, Trainer, TrainingState, Unattended
from headstart.training.optimiser import Optimiser
from headstart.training.precision import products_in
from headstart.transfers.config import BestBy, TransferConfig
from headstart.transfers.head_swap import HeadSwap, swap_head
from headstart.transfers.unfreezing import (
    epochs_to_thaw,
    freeze_trunk,
    fresh_names,
    layer_rates,
    thaw,
    thawed_depth,
)

# Of two epochs with as many right answers, the one that was surer of them is better: by at most a
# tenth of what an answer counts, however many there are and however wrong it was.
TIE_WEIGHT, MOST_LOSS = 1e-4, 1_000.0
# Rows are padded to a multiple of this on a GPU, and on a processor that learns in half precision.
LENGTH_STEP, HALF_LENGTH_STEP = 32, 8


@dataclass(frozen=True, kw_only=True)
class LabelLook:
    """What a look at the validation examples found."""

    epoch: float
    scores: LabelScores
    best_by: BestBy

    @property
    def total(self) -> float:
        """What the best epoch has least of."""
        if self.best_by == "loss":
            return self.scores.loss
        is_macro = self.best_by == "macro-f1"
        share = self.scores.macro_f1 if is_macro else self.scores.accuracy
        tie = TIE_WEIGHT * min(self.scores.loss, MOST_LOSS) / self.scores.num_items
        return 1 - share + tie

    def as_json(self) -> dict[str, object]:
        """Returns the epoch and its scores by name."""
        return {"epoch": self.epoch} | asdict(self.scores)


@dataclass(frozen=True)
class LabelLearner:
    """Everything that a run needs to learn labels and to look at validation examples."""

    recipe: Recipe
    plan: PlanConfig
    transfer: TransferConfig
    reader: TextReader
    train: Split
    valid: Split
    test: list[Example]
    start: dict[str, Tensor] | None
    """The tensors of the trunk, where it was pretrained, and of a head that was fitted to it."""
    sources: dict[str, str]

    @property
    def steps_per_epoch(self) -> int:
        """The steps in which every example is read once."""
        return steps_in_epoch(len(self.train.rows), self.recipe.sequences_per_step)

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a finished run has its last checkpoint still: it has only its weights."""
        return False

    @property
    def averaged_steps(self) -> tuple[int, ...]:
        """The steps whose weights are averaged in the end: none."""
        return ()

    @property
    def num_epochs(self) -> int:
        """The epochs that are planned."""
        return -(-self.plan.num_steps // self.steps_per_epoch)

    @property
    def num_layers(self) -> int:
        """The layers of the trunk."""
        return self.recipe.model.trunk.reading_stack.num_layers

    def new_state(self) -> TrainingState:
        """Returns a model with its first weights, before any step."""
        model, _ = self.new_model()
        model.to(self.plan.device)
        rowwise = self.use_rows(model)
        if self.transfer.mode == "frozen":
            freeze_trunk(model)
        decay = self.recipe.learning.average_decay
        rates = layer_rates(self.num_layers, self.transfer.layer_decay)
        return TrainingState(
            model=model,
            optimiser=Optimiser(model, rowwise, self.recipe.learning, rates),
            average=AveragedWeights(model, decay) if decay else None,
        )

    def new_model(self) -> tuple[Model[Any, Any], HeadSwap | None]:
        """Returns a model whose trunk is the pretrained one, with the proof of it."""
        model = new_model(self.recipe.model)
        initialise(model, self.plan.seed)
        if self.start is None:
            return model, None
        fresh = fresh_names(self.num_layers, self.transfer.num_fresh_layers)
        return model, swap_head(model, self.start, fresh)

    def use_rows(self, model: Model[Any, Any]) -> set[str]:
        """Has steps update only the embeddings that they read, where that pays."""
        # A GPU passes over the whole table in less time than it finds the rows.
        is_on_processor = first_device(self.recipe, self.plan) == "cpu"
        is_sparse = is_on_processor and self.transfer.mode != "frozen"
        model.trunk.embedding.tokens.sparse = is_sparse
        return {"trunk.embedding.tokens.weight"} if is_sparse else set()

    def trainer(self, after_step: AfterStep, unattended: Unattended | None = None) -> Trainer:
        """Returns the loop over the examples."""
        objective = Labels(self.label_weights)
        batches = self.feature_batches if self.transfer.mode == "frozen" else Ahead(self.batches)
        return Trainer(
            objective,
            self.recipe.learning,
            self.plan,
            batches,
            after_step,
            self.before_step,
            unattended=unattended,
        )

    @cached_property
    def label_weights(self) -> Tensor | None:
        """How much each label weighs, 1 on average over the examples; None for all alike."""
        if not self.transfer.weighs_labels:
            return None
        # Of labels that are known: what teachers say of the others is likely, and no count.
        counts_C = np.bincount(self.train.targets, minlength=len(self.transfer.labels))
        share_C = len(self.train.targets) / (np.count_nonzero(counts_C) * counts_C.clip(min=1))
        return torch.from_numpy(share_C).float().to(self.plan.device)

    def before_step(self, state: TrainingState) -> None:
        """Lets as much of a trunk learn as a gradual transfer has reached."""
        if self.transfer.mode == "gradual":
            epoch = state.step // self.steps_per_epoch
            thaw(state.model, thawed_depth(epoch, self.num_epochs, self.num_layers))

    def batches(self, step: int) -> Sequence[LabelBatch]:
        """Returns the parts of a step on the plan's device."""
        chosen = self.chosen(step)
        num_parts = min(self.recipe.learning.accumulation, len(chosen))
        return [
            to_label_batch(
                [self.train.rows[index] for index in part],
                self.targets_of(part),
                [self.train.names[index] for index in part],
                self.plan.device,
                self.weights_of(part),
                length=self.padded_length(part),
            )
            for part in (each.tolist() for each in np.array_split(chosen, num_parts))
        ]

    def targets_of(self, chosen: Sequence[int]) -> list[int] | NDArray[np.float32]:
        """Returns the labels of some texts, or how likely each is where teachers answered."""
        if self.train.soft_NC is not None:
            return self.train.soft_NC[chosen]
        return [int(self.train.targets[index]) for index in chosen]

    def weights_of(self, chosen: Sequence[int]) -> list[float] | None:
        """Returns as how many answers some texts count; None where all are alike."""
        weight, num_labelled = self.transfer.labelled_weight, len(self.train.targets)
        if self.train.soft_NC is None or weight == 1.0:
            return None
        return [weight if index < num_labelled else 1.0 for index in chosen]

    def padded_length(self, chosen: Sequence[int]) -> int:
        """Returns the length that examples are padded to: their longest, or one of a few."""
        longest = max(len(row) for index in chosen for row in self.train.rows[index])
        is_half_on_processor = (self.plan.device, self.plan.precision) == ("cpu", "bf16")
        if not self.plan.can_record and not is_half_on_processor:
            return longest
        # Steps are recorded by their shape, or their products made ready for it: so there are few.
        step = LENGTH_STEP if self.plan.can_record else HALF_LENGTH_STEP
        return max(longest, min(self.recipe.length, -(-longest // step) * step))

    def feature_batches(self, step: int) -> Sequence[FeatureBatch]:
        """Returns a step over the vectors of a frozen trunk."""
        chosen = self.chosen(step)
        vectors_ND, target_N = self.features["train"]
        return [
            FeatureBatch(
                vector_ND=vectors_ND[chosen],
                target_N=target_N[chosen],
                names=tuple(self.train.names[index] for index in chosen),
                weights=answer_weights(self.weights_of(chosen), self.plan.device),
            )
        ]

    def chosen(self, step: int) -> list[int]:
        """Returns the examples of a step, a function of seed and step."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self.order(epoch)[place]

    @cached_property
    def order(self) -> Callable[[int], list[list[int]]]:
        """The batches of an epoch, remembered while it lasts."""
        seed, size = derive_seed(self.plan.seed, "examples"), self.recipe.sequences_per_step
        lengths = self.train.lengths
        return lru_cache(maxsize=2)(lambda epoch: bucketed_by_count(lengths, size, seed, epoch))

    @cached_property
    def features(self) -> dict[str, tuple[Tensor, Tensor]]:
        """The vectors of a frozen trunk, computed once, with the labels of their texts."""
        model, _ = self.new_model()
        model.to(self.plan.device).eval()
        return {
            name: (
                # A copy outside of inference mode, so that a loss may be taken of it.
                text_vectors_by(self.plan, model, split.rows, never).clone(),
                torch.from_numpy(split.targets if split.soft_NC is None else split.soft_NC).to(
                    self.plan.device
                ),
            )
            for name, split in (("train", self.train), ("valid", self.valid))
        }

    @property
    def plain_plan(self) -> PlanConfig:
        """The plan in full precision, in which a classifier answers wherever it is used."""
        return replace(self.plan, precision="fp32")

    @torch.inference_mode()
    def valid_logits(
        self, model: Classifier, plan: PlanConfig, should_stop: ShouldStop
    ) -> NDArray[np.float32]:
        """Returns the score of each label for each validation text. Shape (N, C)."""
        # The vectors of a frozen trunk were kept in the precision of the run's own plan.
        if self.transfer.mode != "frozen" or plan.precision != self.plan.precision:
            return logits_by(plan, model, self.valid.rows, should_stop)
        logits_NC: NDArray[np.float32] = (
            model.head.output(self.features["valid"][0]).float().cpu().numpy()
        )
        return logits_NC

    def validate(self, state: TrainingState, should_stop: ShouldStop = never) -> LabelLook:
        """Returns the scores on validation examples, of averaged weights where there are any."""
        state.optimiser.settle()
        if state.average is None:
            logits_NC = self.valid_logits(state.model, self.plan, should_stop)
        else:
            with state.average.in_place_of(state.model):
                logits_NC = self.valid_logits(state.model, self.plan, should_stop)
        return LabelLook(
            epoch=state.step / self.steps_per_epoch,
            scores=score_labels(softened(logits_NC, 1.0), self.valid.targets),
            best_by=self.transfer.best_by,
        )

    def is_enough(self, step: int, best_step: int) -> bool:
        """Whether so many epochs brought nothing better that a run may end."""
        num_patient_steps = self.transfer.patience * self.steps_per_epoch
        if self.transfer.mode == "gradual":
            # While parts are still frozen, nothing better says little of what is to come.
            best_step = max(best_step, epochs_to_thaw(self.num_epochs) * self.steps_per_epoch)
        is_long = step >= self.transfer.fewest_steps
        return is_long and 0 < num_patient_steps <= step - best_step

    def look(self, _folder: Path, _model: Model[Any, Any]) -> str:
        """Returns nothing: labels have nothing to show between epochs but their scores."""
        return ""

    def results(
        self, model: Model[Any, Any], done: Done, should_stop: ShouldStop
    ) -> dict[str, object]:
        """Returns what the final weights are worth on validation and test, calibrated."""
        valid_NC = self.valid_logits(model, self.plain_plan, should_stop)
        temperature = fit_temperature(valid_NC, self.valid.targets)
        valid = score_labels(softened(valid_NC, temperature), self.valid.targets)
        learning = self.learning_names(model)
        sizes = {name: weights.numel() for name, weights in model.named_parameters()}
        return {
            "best_epoch": done.best_step / self.steps_per_epoch,
            "temperature": temperature,
            "valid": asdict(valid),
            "test": self.test_scores(model, done.folder, temperature, should_stop),
            "parameters": {
                "all": sum(sizes.values()),
                "learning": sum(sizes[name] for name in learning),
            },
        }

    def learning_names(self, model: Model[Any, Any]) -> list[str]:
        """Returns the names of the parameters that learn at some time of the transfer."""
        is_frozen = self.transfer.mode == "frozen"
        names = [name for name, _ in model.named_parameters()]
        return [name for name in names if not (is_frozen and name.startswith("trunk."))]

    def test_scores(
        self, model: Classifier, folder: Path, temperature: float, should_stop: ShouldStop
    ) -> dict[str, object] | None:
        """Scores the test once, on all of it and on what is clean, and keeps the answers."""
        if not self.test:
            return None
        split = as_split(self.test, self.transfer.labels, self.reader, self.plan.num_threads)
        logits_NC = logits_by(self.plain_plan, model, split.rows, should_stop)
        probability_NC = softened(logits_NC, temperature)
        is_clean = np.array(clean_items(folder, self.test))
        write_test(folder, probability_NC, split.targets, is_clean)
        return both_scores(probability_NC, split.targets, is_clean)

    def tidy(self, folder: Path) -> None:
        """Removes the checkpoints and the start: a finished transfer has nothing to go on with."""
        tidy_transfer(folder)


def text_vectors_by(
    plan: PlanConfig, model: Classifier, rows: Sequence[TextRows], should_stop: ShouldStop
) -> Tensor:
    """Returns the vectors of texts in a plan's precision. Shape (N, D)."""
    with products_in(plan.precision, plan.device):
        return text_vectors(model, rows, should_stop)


@torch.inference_mode()
def logits_by(
    plan: PlanConfig, model: Classifier, rows: Sequence[TextRows], should_stop: ShouldStop
) -> NDArray[np.float32]:
    """Returns the score of each label for each text, read in a plan's precision. Shape (N, C)."""
    was_training = model.training
    model.eval()
    try:
        vectors_ND = text_vectors_by(plan, model, rows, should_stop)
        logits_NC: NDArray[np.float32] = model.head.output(vectors_ND).float().cpu().numpy()
    finally:
        model.train(was_training)
    return logits_NC


def tidy_transfer(folder: Path) -> None:
    """Removes what a finished transfer has no more use for, as far as it is still there."""
    if (folder / CHECKPOINTS_FOLDER).exists():
        remove_folder(folder / CHECKPOINTS_FOLDER)
    try:
        (folder / START_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"Cannot remove {folder / START_FILE}: {error.strerror}.") from error
    sweep(folder)


def steps_in_epoch(num_examples: int, examples_per_step: int) -> int:
    """Returns the steps in which so many examples are read once."""
    return -(-num_examples // examples_per_step)
