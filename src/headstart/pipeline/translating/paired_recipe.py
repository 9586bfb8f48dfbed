"""A translator in the shape of a pretrained trunk, so that its layers fit on both sides."""

from dataclasses import replace

from headstart.errors import RecipeError
from headstart.models.config import EncoderDecoderConfig, TrunkConfig
from headstart.models.heads.config import (
    LanguageAndNextHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)
from headstart.pipeline.recipe import Recipe

# A translator in the shape of a trunk is called by the names of both recipes.
BETWEEN_NAMES = "-"


def paired(recipe: Recipe, like: Recipe) -> Recipe:
    """Returns a translator of two such trunks as a recipe has one, which learns as another does."""
    if recipe.objective == "translation":
        return replace(recipe, plan=None)
    trunk, head = recipe.model.trunk, recipe.model.head
    language = head.language if isinstance(head, LanguageAndNextHeadConfig) else head
    if not isinstance(trunk, TrunkConfig) or not isinstance(language, LanguageHeadConfig):
        raise RecipeError(
            f"The recipe {recipe.name} is for {recipe.task} and has no trunk that reads and "
            "writes pieces. Name a run of a language model or of a translator."
        )
    dropout = like.model.trunk.reading_stack.layer.dropout
    encoder = replace(
        trunk,
        layer=replace(trunk.layer, dropout=dropout),
        direction="bidirectional",
        # Pairs are told apart by the halves that read them.
        num_segments=0,
    )
    decoder = replace(encoder, direction="causal", attends_to_source=True)
    return replace(
        like,
        name=f"{recipe.name}{BETWEEN_NAMES}{like.name}",
        model=ModelConfig(
            trunk=EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=True),
            head=language,
        ),
    )
