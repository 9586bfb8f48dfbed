"""The learning rate of every step: it rises, then falls, as a function of the step alone."""

import math
from collections.abc import Callable, Mapping

from headstart.training.config import LearningConfig

# The least share of the peak that a falling rate ends at; zero steps teach nothing.
FLOOR = 0.01


def learning_rate(step: int, num_steps: int, config: LearningConfig) -> float:
    """Returns the rate of a step, counted from 0."""
    num_warm_up = max(1, round(config.warm_up_share * num_steps))
    if step < num_warm_up:
        return config.peak_rate * (step + 1) / num_warm_up
    return config.peak_rate * SCHEDULES[config.schedule](step + 1, num_warm_up, num_steps)


def cosine(step: int, num_warm_up: int, num_steps: int) -> float:
    """Falls along half a cosine, from the peak to the floor."""
    done = (step - num_warm_up) / max(1, num_steps - num_warm_up)
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done))


def linear(step: int, num_warm_up: int, num_steps: int) -> float:
    """Falls along a straight line, from the peak to the floor."""
    done = (step - num_warm_up) / max(1, num_steps - num_warm_up)
    return FLOOR + (1 - FLOOR) * (1 - done)


def inverse_sqrt(step: int, num_warm_up: int, _num_steps: int) -> float:
    """Falls with the square root of the step (Vaswani et al. 2017); it knows no end."""
    return math.sqrt(num_warm_up / step)


SCHEDULES: Mapping[str, Callable[[int, int, int], float]] = {
    "cosine": cosine,
    "linear": linear,
    "inverse-sqrt": inverse_sqrt,
}
