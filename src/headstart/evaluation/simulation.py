"""Tables of results whose truth is known, to hold intervals and verdicts against.

Each answer is right with a probability that a text's difficulty and a seed's luck move on the
probit scale. Legend: S seeds, N items, K systems.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import norm


@dataclass(frozen=True, kw_only=True)
class World:
    """How systems truly are, and how far seeds and texts move them."""

    accuracies: tuple[float, ...]
    """The true accuracy of each system, over all seeds and texts."""
    num_seeds: int = 5
    num_items: int = 2_000
    seed_deviation: float = 0.0
    """How far accuracy varies from seed to seed, as a share."""
    difficulty: float = 1.0
    """How far texts differ, in probits: 0 not at all, 2 so that seeds mostly agree on each."""
    shared_difficulty: float = 0.5
    """The part of that which is the same for all systems."""
    shares_seeds: bool = False
    """Whether a lucky seed is lucky for all systems alike."""


def draw_results(world: World, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Draws which answers of each system were right. Shape (K, S, N)."""
    num_seeds, num_items = world.num_seeds, world.num_items
    common_N = generator.standard_normal(num_items)
    luck_S = generator.standard_normal(num_seeds)
    return np.stack(
        [
            draw_system(
                generator,
                world,
                accuracy,
                difficulty_N=world.difficulty
                * (
                    np.sqrt(world.shared_difficulty) * common_N
                    + np.sqrt(1 - world.shared_difficulty) * generator.standard_normal(num_items)
                ),
                luck_S=luck_S if world.shares_seeds else generator.standard_normal(num_seeds),
            )
            for accuracy in world.accuracies
        ]
    )


def draw_system(
    generator: np.random.Generator,
    world: World,
    accuracy: float,
    difficulty_N: NDArray[np.float64],
    luck_S: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Draws the answers of one system whose mean over all seeds and texts is its accuracy."""
    # What a probit of luck moves in accuracy, among texts of differing difficulty.
    plain = np.hypot(1, world.difficulty)
    luck = world.seed_deviation * plain / norm.pdf(ndtri(accuracy))
    middle = ndtri(accuracy) * np.hypot(plain, luck)
    probability_SN = ndtr(middle + difficulty_N + luck * luck_S[:, None])
    return np.asarray(generator.random(probability_SN.shape) < probability_SN)


def several_results(world: World, count: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yields so many independent draws, each a function of its number."""
    for number in range(count):
        yield draw_results(world, np.random.default_rng([seed, number]))
