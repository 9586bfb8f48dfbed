"""A recipe as JSON and back; only the types in the table can come out of a file."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, get_origin, get_type_hints

from headstart.errors import RecipeError
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import (
    LabelHeadConfig,
    LanguageAndNextHeadConfig,
    LanguageHeadConfig,
    ModelConfig,
)
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.translation_config import TranslationConfig
from headstart.pipeline.recipe import Recipe
from headstart.training.config import LearningConfig, PlanConfig
from headstart.transfers.config import TransferConfig

TYPES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Recipe,
        ModelConfig,
        TrunkConfig,
        EncoderDecoderConfig,
        LayerConfig,
        LanguageHeadConfig,
        LabelHeadConfig,
        LanguageAndNextHeadConfig,
        HidingConfig,
        TranslationConfig,
        LearningConfig,
        PlanConfig,
        TransferConfig,
    )
}

RESTORE = "Restore it from a copy, or begin another run."


def to_json(value: object) -> object:
    """Returns a config as JSON values, each object with the name of its type."""
    if isinstance(value, tuple):
        return list(value)
    if not is_dataclass(value):
        return value
    return {"type": type(value).__name__} | {
        field.name: to_json(getattr(value, field.name)) for field in fields(value)
    }


def recipe_from_json(value: object, where: str) -> Recipe:
    """Returns the recipe that `to_json` wrote, or an error that says where it does not fit."""
    try:
        recipe = from_json(value, where)
    except RecursionError as error:
        raise RecipeError(
            f"{where} holds no recipe: it is nested without end. {RESTORE}"
        ) from error
    if not isinstance(recipe, Recipe):
        raise RecipeError(f"{where} holds no recipe: its type must be Recipe. {RESTORE}")
    return recipe


def from_json(value: object, where: str) -> Any:
    """Returns the config that a JSON object describes; other values stay as they are."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, dict):
        return value
    kind = TYPES.get(str(value.get("type")))
    if kind is None:
        found = f"its type is {value.get('type')!r}, which no recipe has"
        if "type" not in value:
            found = "a type is missing, which every recipe has"
        raise RecipeError(f"{where} is damaged: {found}. {RESTORE}")
    hints = get_type_hints(kind)
    given = {
        name: from_json(item, f"{where}: {name}") for name, item in value.items() if name != "type"
    }
    required = {
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    }
    if odd := sorted((set(given) - set(hints)) | (required - set(given))):
        raise RecipeError(
            f"{where} must have the fields {', '.join(hints)}; wrong or missing: {', '.join(odd)}."
        )
    for name, item in given.items():
        if not fits(item, hints[name]):
            raise RecipeError(f"{where}: {name} is {item!r}, which is not of the kind it must be.")
    return kind(**given)


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a field's type; literals are checked by the config itself."""
    if get_origin(hint) is Literal:
        return isinstance(value, str)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    assert isinstance(hint, type | UnionType)
    return isinstance(value, hint)
