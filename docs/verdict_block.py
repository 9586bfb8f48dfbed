"""A verdict out of a record's numbers, told as it is told today.

A record of a GPU stays for long; what its numbers mean may have come to be said with more care.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from headstart.evaluation.label_worth import LabelWorth
from headstart.reports.comparison.reading import comparison_of
from headstart.transfers.difference import Difference
from headstart.transfers.verdict import Evidence, verdict


def verdict_sentences(results: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the sentences of a comparison's verdict."""
    differences = [Difference(**row) for row in results["differences"]]
    primary = next((one for one in differences if one.is_primary), None)
    if primary is None:
        return comparison_of(results).verdict.sentences
    others = [one for one in differences if one.test == primary.test and not one.is_primary]
    worths = worths_of(results["label_worth"], primary.of)
    return verdict(Evidence(primary=primary, others=others, worths=worths)).sentences


def worths_of(rows: list[Mapping[str, Any]], system: str) -> dict[str, list[LabelWorth]]:
    """Returns what a system is worth in labels, by what it was held against."""
    found = defaultdict(list)
    for row in rows:
        numbers = dict(row)
        of, against = numbers.pop("system"), numbers.pop("against")
        if of == system:
            found[against].append(LabelWorth(**numbers))
    return dict(found)
