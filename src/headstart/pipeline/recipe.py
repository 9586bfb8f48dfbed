"""A recipe: everything that describes a run, frozen, typed and free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from headstart.choices import choose
from headstart.errors import RecipeError
from headstart.models.config import EncoderDecoderConfig, TrunkConfig, require_choice, require_whole
from headstart.models.heads.config import (
    LabelHeadConfig,
    LanguageAndNextHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
    Pooling,
)
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.translation_config import TranslationConfig
from headstart.training.config import LearningConfig, PlanConfig
from headstart.transfers.config import TransferConfig

# Good and bad, as most first sets of examples have it.
NUM_LABELS = 2

Task = Literal["language-model", "classification", "translation"]

OBJECTIVE_NAMES = ("causal", "masked", "masked+next", "translation")
# Those that hide some pieces and ask for no others.
HIDING_OBJECTIVES = ("masked", "masked+next")

# Where a trunk that learned by each objective has the most to say of a whole text.
POOLINGS: Mapping[str, Pooling] = {"causal": "mean", "masked": "mean", "masked+next": "first"}


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
    hiding: HidingConfig = field(default_factory=HidingConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    plan: PlanConfig | None = None
    """What a run has settled for itself; a recipe that nobody has begun has none."""
    translation: TranslationConfig = field(default_factory=TranslationConfig)
    """How pairs are learned from; other objectives have no use for it."""
    transfer: TransferConfig | None = None
    """How the trunk is transferred to labels; a recipe that reads plain text has none."""

    def __post_init__(self) -> None:
        choose(self.objective, dict.fromkeys(OBJECTIVE_NAMES), "objective")
        require_choice("pooling", self.pooling, get_args(Pooling))
        require_whole(self, "length", "sequences_per_step", at_least=1)
        self.model.trunk.check_length(self.length)
        check_objective(self.objective, self.model)
        check_labels(self.transfer, self.model)

    @property
    def tokens_per_step(self) -> int:
        """The pieces that one step reads; for translation, on each side."""
        return self.length * self.sequences_per_step

    @property
    def answered_share(self) -> float:
        """The share of positions whose piece is asked for, and so needs logits."""
        return self.hiding.share if self.objective in HIDING_OBJECTIVES else 1.0

    @property
    def task(self) -> Task:
        """What the model does as it stands."""
        if self.transfer is not None:
            return "classification"
        is_pair = isinstance(self.model.trunk, EncoderDecoderConfig)
        return "translation" if is_pair else "language-model"


def check_objective(objective: str, model: ModelConfig) -> None:
    """Raises an error where a model cannot pursue an objective, or would see its answers."""
    trunk = model.trunk
    if (objective == "translation") != isinstance(trunk, EncoderDecoderConfig):
        raise RecipeError(
            f"The objective {objective} does not fit this trunk: translation needs an "
            "encoder-decoder, and every other objective needs one trunk."
        )
    if objective == "causal" and isinstance(trunk, TrunkConfig) and trunk.direction != "causal":
        raise RecipeError(
            f"The objective causal needs a causal trunk, but this one is {trunk.direction}: it "
            "would read the pieces that it should predict."
        )
    # A head for labels has taken the place of the one that the objective needed.
    has_pair = isinstance(model.head, LanguageAndNextHeadConfig | LabelHeadConfig)
    if objective == "masked+next" and not has_pair:
        raise RecipeError(
            "The objective masked+next needs a language and a next-sentence head, as bert has."
        )


def check_labels(transfer: TransferConfig | None, model: ModelConfig) -> None:
    """Raises an error where the head and the labels of a transfer do not fit each other."""
    if transfer is None:
        return
    num_answers = model.head.num_labels if isinstance(model.head, LabelHeadConfig) else 0
    if num_answers != len(set(transfer.labels)):
        raise RecipeError(
            f"The labels are {', '.join(transfer.labels) or 'none'}, but the head answers "
            f"{num_answers}; there must be one answer for each of them."
        )
    if transfer.mode == "frozen" and not transfer.is_warm:
        raise RecipeError(
            "The mode is frozen, but the trunk is cold and has nothing to keep. Name a run with "
            "--from, or choose the mode full."
        )
    if transfer.num_fresh_layers and not transfer.is_warm:
        raise RecipeError(
            f"The layers to begin anew are {transfer.num_fresh_layers}, but the trunk is cold and "
            "all of its layers are new. Name a run with --from, or leave --fresh-layers out."
        )
    if transfer.fits_head and not transfer.is_warm:
        raise RecipeError(
            "The head is to be fitted, but the trunk is cold and knows nothing yet that it could "
            "be fitted to. Name a run with --from, or leave --fit-head out."
        )


def with_objective(recipe: Recipe, objective: str) -> Recipe:
    """Returns the recipe for another objective: the direction of its trunk and its head follow."""
    choose(objective, dict.fromkeys(OBJECTIVE_NAMES), "objective")
    trunk, head = recipe.model.trunk, recipe.model.head
    if objective == recipe.objective:
        return recipe
    if not isinstance(trunk, TrunkConfig) or objective == "translation":
        raise RecipeError(
            f"The recipe {recipe.name} has the objective {recipe.objective} and cannot have "
            f"{objective}. Choose another recipe, such as compact."
        )
    language = head.language if isinstance(head, LanguageAndNextHeadConfig) else head
    assert isinstance(language, LanguageHeadConfig)
    has_pairs = objective == "masked+next"
    model = ModelConfig(
        trunk=replace(
            trunk,
            direction="causal" if objective == "causal" else "bidirectional",
            # Sentences of a pair are told apart by their segment.
            num_segments=2 if has_pairs else 0,
        ),
        head=LanguageAndNextHeadConfig(language=language) if has_pairs else language,
    )
    return replace(recipe, objective=objective, model=model, pooling=POOLINGS[objective])


def with_vocabulary(recipe: Recipe, vocabulary_size: int) -> Recipe:
    """Returns the recipe for a vocabulary of another size."""
    trunk = recipe.model.trunk
    if not isinstance(trunk, TrunkConfig):
        return with_vocabularies(recipe, vocabulary_size, vocabulary_size)
    resized = replace(trunk, vocabulary_size=vocabulary_size)
    return replace(recipe, model=replace(recipe.model, trunk=resized))


def with_vocabularies(
    recipe: Recipe, source_size: int, target_size: int, *, are_one: bool | None = None
) -> Recipe:
    """Returns the recipe of a translator for other vocabularies, which may be one or two."""
    trunk = recipe.model.trunk
    assert isinstance(trunk, EncoderDecoderConfig)
    resized = EncoderDecoderConfig(
        encoder=replace(trunk.encoder, vocabulary_size=source_size),
        decoder=replace(trunk.decoder, vocabulary_size=target_size),
        shares_embedding=trunk.shares_embedding if are_one is None else are_one,
    )
    return replace(recipe, model=replace(recipe.model, trunk=resized))


def model_for(recipe: Recipe, task: Task, num_labels: int | None = None) -> ModelConfig:
    """Returns the recipe's trunk with the head that a task needs."""
    require_choice("task", task, get_args(Task))
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
