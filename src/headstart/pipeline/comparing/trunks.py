"""The trunks of a comparison: what each is, and what a cold start takes from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import RecipeError
from headstart.files import json_digest
from headstart.models.accounting.parameters import count_parameters
from headstart.models.config import TrunkConfig
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.recipe_json import to_json
from headstart.pipeline.run_files import TOKENIZER_FOLDER, read_start_recipe, require_finished
from headstart.pipeline.run_folder import read_weights
from headstart.tokenizers.folder import load_tokenizer
from headstart.transfers.head_swap import trunk_sha256
from headstart.transfers.sweep import TrunkFacts


@dataclass(frozen=True, kw_only=True)
class ComparedTrunk:
    """A run whose trunk is compared."""

    facts: TrunkFacts
    folder: Path
    recipe: Recipe
    sha256: str
    """The checksum of its tensors, whatever head stands on them."""

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.facts.name

    @property
    def tokenizer(self) -> Path:
        """The folder of its tokenizer."""
        return self.folder / TOKENIZER_FOLDER

    def as_json(self) -> dict[str, object]:
        """Returns what results say of it."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "recipe": self.recipe.name,
            "objective": self.recipe.objective,
            "parameters": count_parameters(self.recipe.model),
            "sha256": self.sha256,
        }


def read_trunks(folders: Sequence[Path]) -> tuple[ComparedTrunk, ...]:
    """Reads the runs to compare; each is called like its folder."""
    if not folders:
        raise RecipeError("There is no trunk to compare. Name at least one run with --from.")
    trunks: list[ComparedTrunk] = []
    for folder in folders:
        name = folder.resolve().name
        taken = {trunk.name for trunk in trunks}
        number = 2
        while name in taken:
            name, number = f"{folder.resolve().name}-{number}", number + 1
        trunks.append(read_trunk(folder, name))
    return tuple(trunks)


def read_trunk(folder: Path, name: str) -> ComparedTrunk:
    """Reads one run."""
    recipe = read_start_recipe(folder)
    # Each job reads the weights anew, and all must find the same.
    require_finished(folder)
    if not isinstance(recipe.model.trunk, TrunkConfig):
        raise RecipeError(
            f"{folder} was made by the recipe {recipe.name} for {recipe.task}, and has no single "
            "trunk to put labels on. Name another run with --from."
        )
    shape = {
        "trunk": to_json(recipe.model.trunk),
        "objective": recipe.objective,
        "pooling": recipe.pooling,
        "length": recipe.length,
        "tokenizer": load_tokenizer(folder / TOKENIZER_FOLDER).fingerprint,
    }
    return ComparedTrunk(
        facts=TrunkFacts(name=name, shape=json_digest(shape)),
        folder=folder,
        recipe=recipe,
        sha256=trunk_sha256(read_weights(folder)),
    )
