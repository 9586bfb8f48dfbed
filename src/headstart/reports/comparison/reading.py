"""A comparison out of JSON values: what does not fit is said in one sentence."""

import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from headstart.errors import DataError
from headstart.reports.comparison.record import (
    ANSWERS,
    KINDS,
    VERSION,
    Comparison,
    Curve,
    Difference,
    LabelWorth,
    Misreading,
    Reaching,
    Score,
    System,
    Verdict,
)

Record = TypeVar("Record")
USUAL_PLACE = "results.json"


def comparison_of(results: object, where: str = USUAL_PLACE) -> Comparison:
    """Returns the comparison that a results.json holds; keys that it may not know are left out."""
    if not isinstance(results, Mapping):
        refuse(where, f"it is a {type(results).__name__}, and must be an object")
    check_version(results, where)
    comparison = Comparison(
        systems=rows(System, results, "systems", where),
        scores=rows(Score, results, "scores", where),
        verdict=record(Verdict, results.get("verdict"), f"{where}: verdict"),
        differences=rows(Difference, results, "differences", where),
        curves=tuple(row for row in rows(Curve, results, "curves", where) if row.mean),
        reaching=rows(Reaching, results, "epochs_to_cold_best", where),
        label_worth=rows(LabelWorth, results, "label_worth", where),
        errors=rows(Misreading, results, "errors", where),
        made=part(results, "made", where),
        question=part(results, "question", where),
        leaks=part(results, "leaks", where),
        ledger=part(results, "ledger", where),
        jobs=tuple(item for item in listed(results, "jobs", where) if isinstance(item, Mapping)),
    )
    check_sense(comparison, where)
    return comparison


def check_version(results: Mapping[str, Any], where: str) -> None:
    """Refuses what is no comparison, and one that a later Headstart wrote."""
    version = results.get("version")
    if "systems" not in results or "verdict" not in results:
        refuse(where, "it has no systems or no verdict")
    if version != VERSION:
        raise DataError(
            f"{where} has the results of a comparison in version {version!r}; this Headstart reads "
            f"version {VERSION}. Read it with the Headstart that wrote it, or compare again."
        )


def check_sense(comparison: Comparison, where: str) -> None:
    """Refuses results whose parts do not fit together."""
    keys = [system.key for system in comparison.systems]
    if not keys or len(set(keys)) < len(keys):
        refuse(where, f"its systems are {keys}, which must be some, each named once")
    for system in comparison.systems:
        if system.kind not in KINDS:
            refuse(where, f"a system is of kind {system.kind!r}, not of {', '.join(KINDS)}")
    named = {row.system for row in comparison.scores}
    named |= {row.system for row in comparison.curves}
    named |= {row.system for row in comparison.errors}
    named |= {row.system for row in comparison.reaching}
    named |= {row.system for row in comparison.label_worth}
    named |= {key for row in comparison.differences for key in (row.of, row.to)}
    if strangers := sorted(named - set(keys)):
        refuse(where, f"it has numbers of {strangers[0]!r}, which is none of its systems")
    if comparison.verdict.answer not in ANSWERS:
        refuse(where, f"its answer is {comparison.verdict.answer!r}, not {', '.join(ANSWERS)}")
    for curve in comparison.curves:
        lengths = {len(curve.epochs), len(curve.mean)}
        lengths |= {len(side) for side in (curve.low, curve.high) if side}
        if len(lengths) > 1:
            refuse(where, f"the curve of {curve.system!r} at {curve.size} is not of one length")


def rows(
    kind: type[Record], results: Mapping[str, Any], key: str, where: str
) -> tuple[Record, ...]:
    """Returns the records of a list, which may be missing."""
    return tuple(
        record(kind, item, f"{where}: {key}, number {number}")
        for number, item in enumerate(listed(results, key, where), 1)
    )


def listed(results: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """Returns a list that may be missing."""
    value = results.get(key)
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        refuse(where, f"{key} is a {type(value).__name__}, and must be a list")
    return list(value)


def part(results: Mapping[str, Any], key: str, where: str) -> Mapping[str, object]:
    """Returns an object that may be missing."""
    value = results.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(where, f"{key} is a {type(value).__name__}, and must be an object")
    return value


def record(kind: type[Record], item: object, where: str) -> Record:
    """Returns a record from the keys that it knows, each of the type that it must have."""
    if not isinstance(item, Mapping):
        refuse(where, f"it is {shown(item)}, and must be an object")
    hints = get_type_hints(kind)
    given: dict[str, object] = {}
    for row in fields(kind):  # type: ignore[arg-type]
        if row.name in item:
            given[row.name] = fitting(item[row.name], hints[row.name], f"{where}: {row.name}")
        elif row.default is MISSING:
            refuse(where, f"it has no {row.name}")
    return kind(**given)


def fitting(value: object, hint: Any, where: str) -> object:
    """Returns a JSON value as a field's type, or refuses it."""
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            refuse(where, f"it is {shown(value)}, and must be a list")
        return tuple(fitting(item, get_args(hint)[0], where) for item in value)
    allowed = get_args(hint) or (hint,)
    if value is None and NoneType in allowed:
        return None
    if float in allowed and isinstance(value, int | float) and not isinstance(value, bool):
        # A whole number of hundreds of digits is JSON too.
        if abs(value) <= sys.float_info.max:
            return float(value)
        refuse(where, f"it is {shown(value)}, and must be a finite number")
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        names = " or ".join(kind.__name__ for kind in allowed if kind is not NoneType)
        refuse(where, f"it is {shown(value)}, and must be of the type {names}")
    return value


def shown(value: object) -> str:
    """Returns the beginning of a value."""
    return repr(value)[:60]


def refuse(where: str, why: str) -> NoReturn:
    """Says that this is not what `compare` keeps."""
    raise DataError(
        f"{where} does not hold the results of a comparison: {why}. "
        "Name a folder that headstart compare wrote, or compare again."
    )
