"""Finding a recipe by what a person typed: a name, a run's folder, or a file of their own."""

import runpy
from pathlib import Path
from traceback import extract_tb

from headstart.apps.recipes import MODERN, RECIPES
from headstart.apps.trunks import TRUNKS
from headstart.choices import nearest
from headstart.errors import HeadstartError, RecipeError
from headstart.pipeline.recipe import Recipe, with_objective
from headstart.pipeline.run_files import read_recipe

RECIPE_FUNCTION = "recipe"


def find_recipe(text: str, objective: str | None = None) -> Recipe:
    """Returns the recipe that a name, a run's folder or a Python file stands for."""
    recipe = recipe_called(text)
    if objective is None or objective == recipe.objective:
        return recipe
    if text in MODERN and objective == "causal":
        # Causal, the modern shape is another library's, norms included.
        return MODERN[text](objective)
    return with_objective(recipe, objective)


def recipe_called(text: str) -> Recipe:
    """Returns the recipe that was named, with its own objective."""
    if text in RECIPES:
        return RECIPES[text]()
    path = Path(text)
    if text and path.is_dir():
        return read_recipe(path)
    if text in TRUNKS:
        return read_recipe(TRUNKS[text])
    if path.suffix == ".py" and path.is_file():
        return recipe_of_file(path)
    raise RecipeError(
        f"There is no recipe {text!r}.{nearest(text, {**RECIPES, **TRUNKS})} Choose one of: "
        f"{', '.join(RECIPES)}; or name the folder of a run, a trunk in the box "
        f"({', '.join(TRUNKS)}), or a Python file with a function {RECIPE_FUNCTION}()."
    )


def recipe_of_file(path: Path) -> Recipe:
    """Runs a user's own Python file and calls the function `recipe` in it."""
    try:
        make = runpy.run_path(str(path)).get(RECIPE_FUNCTION)
        recipe = make() if callable(make) else None
    except (HeadstartError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the user's own code can fail in any way, by sys.exit too
        reason = " ".join(str(error).split())
        lines = [row.lineno for row in extract_tb(error.__traceback__) if row.filename == str(path)]
        where = f", line {lines[-1]}," if lines else ""
        raise RecipeError(f"{path}{where} failed: {type(error).__name__}: {reason}.") from error
    if not isinstance(recipe, Recipe):
        raise RecipeError(
            f"{path} must define a function {RECIPE_FUNCTION}() that returns a headstart.Recipe."
        )
    return recipe
