"""Do the intervals of a comparison hold the truth as often as they say, and who else's would?

Usage: bench_verdict_coverage.py [TABLES]
"""

import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from record import keep
from scipy import stats

from headstart.evaluation.crossed import crossed_mean
from headstart.evaluation.label_worth import label_worth
from headstart.evaluation.simulation import World, draw_results
from headstart.transfers.difference import Pairing, paired_difference
from headstart.transfers.verdict import Evidence, verdict

Table = NDArray[np.float64]
Interval = tuple[float, float]

SEEDS = (5, 3)
SEED_DEVIATIONS = (0.0, 0.005, 0.01, 0.02, 0.03)
# Texts that hardly differ, with difficulties that systems hardly share; and the other way round.
TEXTS = ((0.5, 0.2), (1.5, 0.8))
DIFFERENCES = (0.0, 0.01, 0.03)
ACCURACY = 0.72
NUM_RESAMPLES = 400
SIZES = (100, 400, 1_600)
CURVE = (0.58, 0.62, 0.67)
# As good as the curve at 400 * 4 ** 0.4 labels.
REACHED, TRUE_FACTOR = 0.64, 400 * 4**0.4 / 100


def crossed(table: Table) -> Interval:
    found = crossed_mean(table)
    return found.low, found.high


def satterthwaite(table: Table) -> Interval:
    """The textbook's degrees, on the same components of variance."""
    num_seeds, num_items = table.shape
    rest = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    both = (rest**2).sum() / ((num_seeds - 1) * (num_items - 1) * table.size)
    seeds = table.mean(axis=1).var(ddof=1) / num_seeds
    items = table.mean(axis=0).var(ddof=1) / num_items
    variance = max(seeds + items - both, 1e-12)
    squares = seeds**2 / (num_seeds - 1) + items**2 / (num_items - 1)
    degrees = variance**2 / (squares + both**2 / ((num_seeds - 1) * (num_items - 1)))
    return around(table.mean(), math.sqrt(variance), degrees)


def seeds_alone(table: Table) -> Interval:
    return around(table.mean(), stats.sem(table.mean(axis=1)), len(table) - 1)


def items_alone(table: Table) -> Interval:
    return around(table.mean(), stats.sem(table.mean(axis=0)), table.shape[1] - 1)


def bootstrap(table: Table) -> Interval:
    """Percentiles of means over seeds and items that are both drawn again."""
    by_seed, by_item = (drawn_again(count) for count in table.shape)
    low, high = np.percentile((by_seed @ table * by_item).sum(axis=1), [2.5, 97.5])
    return float(low), float(high)


@lru_cache
def drawn_again(count: int) -> Table:
    """How much each of so many counts in each resample, the same for every table."""
    drawn = np.random.default_rng(count).multinomial(count, [1 / count] * count, NUM_RESAMPLES)
    return drawn / count


def around(mean: float, deviation: float, degrees: float) -> Interval:
    half = float(stats.t.ppf(0.975, degrees)) * deviation
    return mean - half, mean + half


CONTESTANTS: Mapping[str, Callable[[Table], Interval]] = {
    "Headstart: crossed, its own degrees": crossed,
    "crossed, Satterthwaite's degrees": satterthwaite,
    "percentile bootstrap over seeds and items": bootstrap,
    "t over seeds alone": seeds_alone,
    "t over items alone": items_alone,
}


def worlds(num_seeds: int, deviation: float, differences: Sequence[float]) -> list[World]:
    return [
        World(
            accuracies=(ACCURACY + difference, ACCURACY),
            num_seeds=num_seeds,
            seed_deviation=deviation,
            difficulty=difficulty,
            shared_difficulty=shared,
            shares_seeds=shares_seeds,
        )
        for (difficulty, shared), difference, shares_seeds in itertools.product(
            TEXTS, differences, (False, True)
        )
    ]


def draw(world: World, purpose: int, number: int) -> NDArray[np.bool_]:
    """Draws results anew for every case, purpose and number."""
    key = (world.num_seeds, round(1e4 * world.seed_deviation), purpose, number)
    return draw_results(world, np.random.default_rng(key))


def coverage(num_seeds: int, deviation: float, num_tables: int) -> dict[str, dict[str, float]]:
    """How often each contestant's interval holds the truth, of a mean and of a difference."""
    asked = worlds(num_seeds, deviation, DIFFERENCES)
    held = {name: np.zeros(2) for name in CONTESTANTS}
    for number in range(num_tables):
        world = asked[number % len(asked)]
        warm, cold = draw(world, 1, number).astype(np.float64)
        truths = (world.accuracies[0], world.accuracies[0] - world.accuracies[1])
        for name, interval in CONTESTANTS.items():
            ends = (interval(warm), interval(warm - cold))
            held[name] += [
                low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)
            ]
    print(f"{num_seeds} seeds, deviation {deviation}", file=sys.stderr)
    return {
        name: dict(zip(("mean", "difference"), (found / num_tables).tolist(), strict=True))
        for name, found in held.items()
    }


def falsely_helping(num_seeds: int, deviation: float, num_tables: int) -> float:
    """How often "helps" is said where pretraining changes nothing."""
    asked = worlds(num_seeds, deviation, (0.0,))
    pairing = Pairing(of="warm", to="cold", size=1_000, test="clean", is_primary=True)
    count = 0
    for number in range(num_tables):
        found = paired_difference(pairing, *draw(asked[number % len(asked)], 2, number))
        count += verdict(Evidence(primary=found)).answer == "helps"
    return count / num_tables


def worth_coverage(num_seeds: int, deviation: float, num_tables: int) -> float:
    """How often the worth in labels lies in its interval."""
    world = World(
        accuracies=(REACHED, *CURVE), num_seeds=num_seeds, seed_deviation=deviation, num_items=2_000
    )
    count = 0
    for number in range(num_tables):
        drawn = replace(
            world, difficulty=TEXTS[number % 2][0], shared_difficulty=TEXTS[number % 2][1]
        )
        own, *curve = draw(drawn, 3, number)
        found = label_worth(own, SIZES[0], dict(zip(SIZES, curve, strict=True)))
        is_above_low = found.low is None or found.low <= TRUE_FACTOR
        count += is_above_low and (found.high is None or found.high >= TRUE_FACTOR)
    return count / num_tables


def main() -> None:
    num_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    cases = list(itertools.product(SEEDS, SEED_DEVIATIONS))
    num_worths = max(10, num_tables // 5)
    keep(
        "verdict-coverage",
        {
            "work": (
                "2,000 items, accuracies of 72 to 75 %, true differences of 0, 1 and 3 points, "
                "texts that hardly differ and texts that differ much, seeds lucky together or not"
            ),
            "num_tables": num_tables,
            "num_worths": num_worths,
            "cases": [
                {
                    "num_seeds": num_seeds,
                    "seed_deviation": deviation,
                    "coverage": coverage(num_seeds, deviation, num_tables),
                    "falsely_helps": falsely_helping(num_seeds, deviation, num_tables),
                    "label_worth": worth_coverage(num_seeds, deviation, num_worths),
                }
                for num_seeds, deviation in cases
            ],
        },
    )


if __name__ == "__main__":
    main()
