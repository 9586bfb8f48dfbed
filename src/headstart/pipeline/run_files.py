"""What stands in a run's folder, and what can be told of it without torch."""

from pathlib import Path
from typing import Any

from headstart.errors import DamagedFileError, RecipeError, RunError
from headstart.files import read_json, write_json
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.recipe_json import recipe_from_json, to_json

RECIPE_FILE, CORPUS_FILE, MANIFEST_FILE = "recipe.json", "corpus.json", "manifest.json"
WEIGHTS_FILE, RESULTS_FILE, LOG_FILE = "weights.safetensors", "results.json", "log.jsonl"
# The weights that a run began with, where it went on from another.
START_FILE, START_FACTS_FILE = "start.safetensors", "start.json"
# Of a transfer: its examples, what it has seen of them, what was loaded, its test, and what its
# teachers answered.
EXAMPLES_FILE, SEEN_FILE, SWAP_FILE = "examples.json", "examples.seen", "swap.json"
TEST_FILE, TAUGHT_FILE = "test.safetensors", "taught.safetensors"
# Of a translator: its pairs, the vocabulary of its targets where that is another, and whichever of
# the best and the averaged weights are not the final ones.
PAIRS_FILE, TARGET_TOKENIZER_FOLDER = "pairs.json", "target-tokenizer"
OTHER_WEIGHTS_FILES = {"best": "best.safetensors", "averaged": "averaged.safetensors"}
TOKENIZER_FOLDER, CHECKPOINTS_FOLDER = "tokenizer", "checkpoints"
# The examples of a run that was begun from Python, and what is said of a packed one.
EXAMPLES_TABLE, CARD_FILE = "examples.jsonl", "card.md"


def require_run(folder: Path) -> None:
    """Raises an error where a folder is no run, not even a damaged one."""
    if not (folder / RECIPE_FILE).is_file():
        raise RunError(
            f"There is no run in {folder}: it has no {RECIPE_FILE}. Name the folder of a run, or "
            f"begin one with: headstart pretrain CORPUS --out {folder}"
        )


def require_no_run(folder: Path) -> None:
    """Raises an error where a run was begun already, before anything of it is touched."""
    if (folder / RECIPE_FILE).exists():
        raise RunError(
            f"{folder} holds a run already. Go on with it by: headstart resume {folder} - or "
            "choose another folder."
        )


def read_recipe(folder: Path) -> Recipe:
    """Returns the recipe of a run."""
    require_run(folder)
    path = folder / RECIPE_FILE
    return recipe_from_json(read_json(path), str(path))


def read_start_recipe(folder: Path) -> Recipe:
    """Returns the recipe of a run whose trunk is to learn labels; a classifier's may not."""
    recipe = read_recipe(folder)
    # Its trunk has learned from labelled texts, of which the sketch that tests are held against
    # knows nothing.
    if recipe.transfer is not None:
        raise RecipeError(
            f"{folder} is a classifier already. Name the run that its trunk came from."
        )
    return recipe


def write_recipe(folder: Path, recipe: Recipe) -> None:
    """Writes the recipe of a run; a folder is a run from this moment on."""
    write_json(folder / RECIPE_FILE, to_json(recipe))


def is_finished(folder: Path) -> bool:
    """Whether a run has come to its end; its manifest is written last."""
    return (folder / MANIFEST_FILE).exists()


def require_finished(folder: Path) -> None:
    """Raises an error for a run that is still learning, and so may be another a minute later."""
    if not is_finished(folder):
        raise RunError(f"{folder} is not finished. Go on with it by: headstart resume {folder}")


def read_results(folder: Path) -> dict[str, Any]:
    """Returns what a finished run is worth."""
    results = read_json(folder / RESULTS_FILE)
    if not isinstance(results, dict):
        raise DamagedFileError(f"{folder / RESULTS_FILE} holds no results.")
    return results
