"""Scores, paired differences and worth in labels, from what every system answered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import get_args

import numpy as np

from headstart.evaluation.calibration import expected_calibration_error
from headstart.evaluation.crossed import CrossedMean, crossed_share
from headstart.evaluation.crossed_statistic import crossed_statistic, macro_f1
from headstart.evaluation.label_worth import LabelWorth, label_worth
from headstart.pipeline.comparing.answers import Answers, Place
from headstart.transfers.difference import (
    Difference,
    Pairing,
    TestKind,
    corrected,
    paired_difference,
)
from headstart.transfers.sweep import Kind, System, TrunkFacts, rival_of

TESTS: tuple[TestKind, ...] = get_args(TestKind)
# What counts is measured on items that nobody had seen.
MAIN_TEST: TestKind = "clean"
STATISTICS: Mapping[str, Callable[..., float]] = {
    "macro_f1": macro_f1,
    "calibration_error": expected_calibration_error,
}
# What a warm trunk and a taught one are held against; what decides, before all others.
PRIMARY_RIVALS: tuple[Kind, ...] = ("cold", "tfidf")
RIVALS: tuple[Kind, ...] = (*PRIMARY_RIVALS, "frozen", "gradual")
RIVALS_OF_TAUGHT: tuple[Kind, ...] = ("warm", "gradual", "tfidf", "cold")

Json = dict[str, object]


def scores(answers: Answers) -> Iterator[Json]:
    """Yields every score of every system at every size, on the full and the clean test."""
    is_all_clean = bool(answers.is_clean_N.all())
    for place in answers.probabilities:
        rows: list[Json] = []
        for test in TESTS:
            if is_all_clean and rows:
                # Nothing was left out: the same numbers under the other name.
                rows += [row | {"test": test} for row in rows]
            else:
                rows += score_rows(answers, place, test)
        yield from rows


def score_rows(answers: Answers, place: Place, test: TestKind) -> list[Json]:
    """Returns the scores of a system at one size on one test."""
    probability_SNC, target_N = answers.answered(place, test), answers.targets(test)
    is_right_SN = answers.right(place, test)
    found = [("accuracy", crossed_share(is_right_SN), is_right_SN.mean(axis=1).tolist())]
    for metric, statistic in STATISTICS.items():
        by_seed = [statistic(one_NC, target_N) for one_NC in probability_SNC]
        found.append((metric, crossed_statistic(statistic, probability_SNC, target_N), by_seed))
    return [
        {"system": place[0], "size": place[1], "test": test, "metric": metric}
        | interval_json(mean)
        | {"by_seed": by_seed}
        for metric, mean, by_seed in found
    ]


def interval_json(found: CrossedMean) -> Json:
    """Returns a mean and its interval by name."""
    return {
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "num_seeds": found.num_seeds,
        "num_items": found.num_items,
    }


def differences(
    answers: Answers, systems: Sequence[System], trunks: Sequence[TrunkFacts], sizes: Sequence[int]
) -> tuple[Difference, ...]:
    """Returns every paired difference; those of one test are corrected together."""
    pairs, rival = pairs_of(systems, trunks), primary_rival(systems, trunks)
    found: list[Difference] = []
    for test in TESTS:
        rows = []
        for size in sorted(sizes, reverse=True):
            for number, (of, to) in enumerate(pairs):
                # Asked beforehand: the first trunk against its cold start, with all the labels.
                is_first = number == 0 and to == rival and size == max(sizes)
                pairing = Pairing(
                    of=of, to=to, size=size, test=test, is_primary=is_first and test == MAIN_TEST
                )
                tables = (answers.right((key, size), test) for key in (of, to))
                rows.append(paired_difference(pairing, *tables))
        found += corrected(rows)
    return tuple(found)


def pairs_of(systems: Sequence[System], trunks: Sequence[TrunkFacts]) -> list[tuple[str, str]]:
    """Returns which systems are held against which; the primary pair first."""
    warm = [system for system in systems if system.kind == "warm"]
    taught = [system for system in systems if system.kind == "taught"]
    pairs = [
        (system.key, rival.key)
        for of_kind, rivals in ((warm, RIVALS), (taught, RIVALS_OF_TAUGHT))
        for system in of_kind
        for kind in rivals
        if (rival := rival_of(kind, system, systems, trunks)) is not None
    ]
    pairs += [(other.key, warm[0].key) for other in warm[1:]]
    return pairs


def primary_rival(systems: Sequence[System], trunks: Sequence[TrunkFacts]) -> str | None:
    """Returns what the first warm trunk is held against beforehand: its cold start, else TF-IDF."""
    warm = next(system for system in systems if system.kind == "warm")
    for kind in PRIMARY_RIVALS:
        if (rival := rival_of(kind, warm, systems, trunks)) is not None:
            return rival.key
    return None


def worths(
    answers: Answers, systems: Sequence[System], trunks: Sequence[TrunkFacts]
) -> dict[str, dict[str, list[LabelWorth]]]:
    """Returns what each warm trunk is worth at its sizes, by the system whose curve was asked."""
    found: dict[str, dict[str, list[LabelWorth]]] = {}
    for system in systems:
        if system.kind != "warm":
            continue
        rivals = (rival_of(kind, system, systems, trunks) for kind in PRIMARY_RIVALS)
        found[system.key] = {
            rival.key: worth_by(answers, system.key, rival.key)
            for rival in rivals
            # One size makes no curve, and so tells no number of labels.
            if rival is not None and len(answers.sizes(rival.key)) > 1
        }
    return found


def worth_by(answers: Answers, system: str, rival: str) -> list[LabelWorth]:
    """Returns what a system is worth at each of its sizes by the curve of another."""
    curve = {size: answers.right((rival, size), MAIN_TEST) for size in answers.sizes(rival)}
    own = {size: answers.right((system, size), MAIN_TEST) for size in answers.sizes(system)}
    # Beyond the networks' sizes a curve has fewer seeds; the same ones are compared throughout.
    num_seeds = min(len(table_SN) for table_SN in (*curve.values(), *own.values()))
    cut = {size: np.asarray(table_SN)[:num_seeds] for size, table_SN in curve.items()}
    return [label_worth(table_SN[:num_seeds], size, cut) for size, table_SN in own.items()]


def worths_json(found: Mapping[str, Mapping[str, Sequence[LabelWorth]]]) -> list[Json]:
    """Returns worths as rows."""
    return [
        {"system": system, "against": against} | asdict(worth)
        for system, by_rival in found.items()
        for against, rows in by_rival.items()
        for worth in rows
    ]
