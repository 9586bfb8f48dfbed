"""The second derivation: the parameters of the built model, held against the formulas."""

from collections.abc import Iterable, Mapping

import torch

from headstart.errors import LedgerError
from headstart.models.accounting.parameters import Part, model_parts
from headstart.models.heads.config import ModelConfig
from headstart.models.model import new_model


def count_built(config: ModelConfig) -> dict[str, int]:
    """Builds the model without memory and returns the size of each parameter by its name."""
    # Shapes without storage: the largest model is counted in no memory.
    with torch.device("meta"):
        model = new_model(config)
    return {name: parameter.numel() for name, parameter in model.named_parameters()}


def check_parameters(config: ModelConfig) -> int:
    """Returns the total that formulas and built modules agree on, or raises an error."""
    built = count_built(config)
    parts = model_parts(config)
    check_parts(parts, built)
    # By exactly one row each, or two wrong rows could cancel in the total.
    for name in built:
        num_claims = sum(claims(part, name) for part in parts)
        if num_claims != 1:
            raise LedgerError(
                f"The parameter {name} is counted by {num_claims} rows of the ledger, not by one."
            )
    return sum(built.values())


def check_parts(parts: Iterable[Part], built: Mapping[str, int]) -> None:
    """Raises an error for the first part, at any depth, whose formula and modules disagree."""
    for part in parts:
        seen = sum(size for name, size in built.items() if claims(part, name))
        if seen != part.count:
            raise LedgerError(
                f"The formula {part.each.formula} gives {part.count:,} parameters for {part.name}, "
                f"but the built model has {seen:,}."
            )
        check_parts(part.inside, built)


def claims(part: Part, name: str) -> bool:
    """Whether a parameter of the built model belongs to a part."""
    return name.startswith(part.prefixes)
