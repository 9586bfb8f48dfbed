"""Ready-made runs: one file each, and this table of them."""

from collections.abc import Callable, Mapping

from headstart.apps.recipes.base import base
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.apps.recipes.pocket import pocket
from headstart.apps.recipes.small import small
from headstart.apps.recipes.strong import strong
from headstart.pipeline.recipe import Recipe

RECIPES: Mapping[str, Callable[[], Recipe]] = {
    "lab": lab,
    "bert": bert,
    "compact": compact,
    "strong": strong,
    "base": base,
    "small": small,
    "pocket": pocket,
}
# Those of the modern shape, which is another one when it is causal.
MODERN: Mapping[str, Callable[[str], Recipe]] = {"compact": compact, "strong": strong}
