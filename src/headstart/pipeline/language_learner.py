"""A recipe and its text made ready to learn: model, objective, batches, optimiser."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor

from headstart.batches.ahead import Ahead
from headstart.errors import DataError
from headstart.evaluation.language import LanguageScores, score_language
from headstart.models.initialisation import initialise
from headstart.models.model import Model, new_model
from headstart.objectives.batch import Batch, to_batch
from headstart.objectives.objective import Objective, StepRows, Stream
from headstart.objectives.table import OBJECTIVES
from headstart.pipeline.corpus_stores import CorpusStores
from headstart.pipeline.learner import (
    Done,
    ShouldStop,
    first_device,
    never,
    require_going_on,
    settle,
)
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_folder import Run
from headstart.pipeline.samples import sample_of
from headstart.pipeline.vocabulary_head import (
    begin_with_frequencies,
    new_head_loss,
    use_rows,
)
from headstart.randomness import derive_seed
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.averaging import AveragedWeights, load
from headstart.training.config import PlanConfig
from headstart.training.loop import AfterStep, Trainer, TrainingState, Unattended
from headstart.training.optimiser import Optimiser
from headstart.training.precision import products_in

# Enough held-out text to see a difference of one in a hundred, little enough to look at often.
NUM_VALIDATION_TOKENS = {"cpu": 1 << 15, "cuda": 1 << 17}


@dataclass(frozen=True)
class LanguageLearner:
    """Everything that a run needs to do steps and to look at held-out text."""

    recipe: Recipe
    plan: PlanConfig
    tokenizer: Tokenizer
    objective: Objective
    stores: CorpusStores
    stream: Stream
    start: dict[str, Tensor] | None
    """The first weights, where they are those of another run."""

    def new_state(self) -> TrainingState:
        """Returns a model with its first weights, before any step."""
        model = new_model(self.recipe.model)
        initialise(model, self.plan.seed)
        begin_with_frequencies(model, self.stores.train)
        if self.start is not None:
            load(model, self.start)
        model.to(self.plan.device)
        if self.plan.is_compiled:
            model.trunk.compile_layers()
        rowwise = use_rows(model, self.recipe, first_device(self.recipe, self.plan))
        decay = self.recipe.learning.average_decay
        return TrainingState(
            model=model,
            optimiser=Optimiser(model, rowwise, self.recipe.learning),
            average=AveragedWeights(model, decay) if decay else None,
        )

    def trainer(self, after_step: AfterStep, unattended: Unattended | None = None) -> Trainer:
        """Returns the loop over this text, which is made ready one step ahead."""
        batches = Ahead(self.batches)
        return Trainer(
            self.objective,
            self.recipe.learning,
            self.plan,
            batches,
            after_step,
            # How many candidates are drawn differs from step to step.
            is_always_alike=self.recipe.learning.head != "sampled",
            unattended=unattended,
        )

    def batches(self, step: int) -> Sequence[Batch]:
        """Returns the parts of a step on the plan's device."""
        parts = self.stream.at(step).split(self.recipe.learning.accumulation)
        return [to_batch(rows, self.plan.device) for rows in parts]

    def validate(self, state: TrainingState, should_stop: ShouldStop = never) -> LanguageScores:
        """Returns the scores on held-out text, of the averaged weights where there are any."""
        state.optimiser.settle()
        if state.average is None:
            return self.score(state.model, should_stop)
        with state.average.in_place_of(state.model):
            return self.score(state.model, should_stop)

    def score(self, model: Model[Any, Any], should_stop: ShouldStop = never) -> LanguageScores:
        """Returns a model's scores on the first part of the held-out text."""
        store = self.stores.held_out
        batches = self.held_out_batches(should_stop)
        with products_in(self.plan.precision, self.plan.device):
            return score_language(model, batches, store.num_tokens / store.num_bytes)

    def held_out_batches(self, should_stop: ShouldStop = never) -> Iterator[Batch]:
        """Yields the first part of the held-out text, always the same."""
        step = step_rows(self.recipe, self.plan.seed)
        rows = self.objective.held_out_rows(self.stores.held_out, step)
        num_tokens = num_validation_tokens(self.plan.device)
        num_batches = max(1, num_tokens // self.recipe.tokens_per_step)
        for row in islice(rows, num_batches):
            require_going_on(should_stop)
            yield to_batch(row, self.plan.device)

    @property
    def sources(self) -> dict[str, str]:
        """The SHA-256 of each file of text."""
        return self.stores.sources

    @property
    def steps_per_epoch(self) -> int:
        """The steps in which the text is read once."""
        return self.stream.steps_per_epoch

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a finished run has its last checkpoint still: it can be gone on from."""
        return True

    @property
    def averaged_steps(self) -> tuple[int, ...]:
        """The steps whose weights are averaged in the end: none."""
        return ()

    def is_enough(self, _step: int, _best_step: int) -> bool:
        """Whether a run may end before its last step: its rate falls to the end, so never."""
        return False

    def look(self, folder: Path, model: Model[Any, Any]) -> str:
        """Returns a little of what the model would write or fill in now."""
        was_training = model.training
        run = Run(folder, self.recipe, self.tokenizer, model.eval())
        text = sample_of(run, self.stores.held_out, self.plan.seed)
        model.train(was_training)
        return text

    def results(
        self, model: Model[Any, Any], done: Done, should_stop: ShouldStop
    ) -> dict[str, object]:
        """Returns what the final weights are worth on held-out text, and how fast they came."""
        scores = self.score(model, should_stop)
        num_tokens = done.num_steps * self.recipe.tokens_per_step
        return {
            "tokens": num_tokens,
            "held_out": scores.as_json(),
            "tokens_per_second": num_tokens / done.seconds,
        }

    def tidy(self, _folder: Path) -> None:
        """Removes nothing: a run's checkpoints can be gone on from with other text."""

    def check_held_out(self) -> None:
        """Raises an error where the held-out text is too little to be looked at."""
        try:
            next(self.held_out_batches(), None)
        except DataError as error:
            raise DataError(f"In the held-out text: {error} --valid names other text.") from error


def num_validation_tokens(device: str) -> int:
    """Returns how much held-out text a run looks at."""
    return NUM_VALIDATION_TOKENS[device.partition(":")[0]]


def new_learner(
    recipe: Recipe,
    plan: PlanConfig,
    tokenizer: Tokenizer,
    stores: CorpusStores,
    start: dict[str, Tensor] | None = None,
) -> LanguageLearner:
    """Returns what a run needs, on the device and with the threads of its plan."""
    settle(plan)
    head_loss = new_head_loss(recipe, stores.train, plan.device)
    objective = OBJECTIVES[recipe.objective](tokenizer, head_loss, recipe.hiding)
    stream = objective.training_rows(stores.train, step_rows(recipe, plan.seed))
    return LanguageLearner(recipe, plan, tokenizer, objective, stores, stream, start)


def step_rows(recipe: Recipe, seed: int) -> StepRows:
    """Returns the size of a recipe's steps, with the seed of their order and draws."""
    return StepRows(
        length=recipe.length,
        sequences=recipe.sequences_per_step,
        seed=derive_seed(seed, "text"),
    )
