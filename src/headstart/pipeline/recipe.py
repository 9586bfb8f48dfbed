"""A recipe: everything that describes a run, frozen, typed and free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from headstart.choices import choose
from headstart.errors import RecipeError
from headstart.models.config import EncoderDecoderConfig, TrunkConfig, require_at_least_one
from headstart.models.heads.config import LabelHeadConfig, ModelConfig, Pooling

# Good and bad, as most first sets of examples have it.
NUM_LABELS = 2

Task = Literal["language-model", "classification", "translation"]

# For each objective, the share of positions whose piece is predicted, and so needs logits.
ANSWERED_SHARES: Mapping[str, float] = {
    "causal": 1.0,
    "masked": 0.15,
    "masked+next": 0.15,
    "translation": 1.0,
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model as it is pretrained, and the steps in which it reads text."""

    name: str
    objective: str
    model: ModelConfig
    pooling: Pooling
    length: int
    """Pieces in one sequence."""
    sequences_per_step: int

    def __post_init__(self) -> None:
        choose(self.objective, ANSWERED_SHARES, "objective")
        require_at_least_one(self, "length", "sequences_per_step")
        self.model.trunk.check_length(self.length)

    @property
    def tokens_per_step(self) -> int:
        """The pieces that one step reads; for translation, on each side."""
        return self.length * self.sequences_per_step

    @property
    def task(self) -> Task:
        """What the model does as it is pretrained."""
        is_pair = isinstance(self.model.trunk, EncoderDecoderConfig)
        return "translation" if is_pair else "language-model"


def with_vocabulary(recipe: Recipe, vocabulary_size: int) -> Recipe:
    """Returns the recipe for a vocabulary of another size."""
    trunk = recipe.model.trunk
    if isinstance(trunk, TrunkConfig):
        resized: TrunkConfig | EncoderDecoderConfig = replace(
            trunk, vocabulary_size=vocabulary_size
        )
    else:
        resized = replace(
            trunk,
            encoder=replace(trunk.encoder, vocabulary_size=vocabulary_size),
            decoder=replace(trunk.decoder, vocabulary_size=vocabulary_size),
        )
    return replace(recipe, model=replace(recipe.model, trunk=resized))


def model_for(recipe: Recipe, task: Task, num_labels: int | None = None) -> ModelConfig:
    """Returns the recipe's trunk with the head that a task needs."""
    if task == recipe.task:
        return recipe.model
    is_pair = recipe.task == "translation"
    if is_pair or task == "translation":
        has, other = ("an encoder-decoder", "compact") if is_pair else ("one trunk", "base")
        raise RecipeError(
            f"The recipe {recipe.name} has {has}, which cannot do {task}. "
            f"Choose the task {recipe.task}, or another recipe such as {other}."
        )
    num_labels = NUM_LABELS if num_labels is None else num_labels
    head = LabelHeadConfig(num_labels=num_labels, pooling=recipe.pooling)
    return replace(recipe.model, head=head)
