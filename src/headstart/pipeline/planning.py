"""A budget to a plan: how many steps, how, and how often one looks; settled before step 1."""

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from headstart.errors import RecipeError
from headstart.pipeline.language_learner import num_validation_tokens
from headstart.pipeline.learner import Learner
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.trial import seconds_of_a_look, seconds_of_a_step
from headstart.training.config import PlanConfig, Precision

DEFAULT_MINUTES = 10.0
# How often a run looks at held-out text, and how many lines its log has about.
NUM_VALIDATIONS, NUM_LOG_LINES = 10, 1_000
# Looking is cheaper than learning; still, for each token looked at so many are learned from.
TOKENS_LEARNED_PER_LOOKED = 4
# However long looks take, learning has this share of a budget.
FEWEST_LEARNED_SHARE = 0.1
# Compiling takes most of a minute; a shorter budget has no use for it.
FEWEST_MINUTES_COMPILED = {"cpu": 10.0, "cuda": 2.0}
# What a processor must have for products in bf16 to be faster, as PyTorch calls it.
HALF_PRODUCTS = ("avx512_bf16", "amx_bf16")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run may take: minutes, tokens or steps."""

    minutes: float | None = None
    num_tokens: int | None = None
    num_steps: int | None = None

    def __post_init__(self) -> None:
        given = [self.minutes, self.num_tokens, self.num_steps]
        if sum(value is not None for value in given) > 1:
            raise RecipeError(
                "The budget is given twice. Choose one of --minutes, --tokens and --steps."
            )

    @property
    def minutes_or_default(self) -> float | None:
        """The minutes, where neither tokens nor steps are given."""
        if self.num_tokens is None and self.num_steps is None:
            return DEFAULT_MINUTES if self.minutes is None else self.minutes
        return None


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run is done, and from which seed."""

    device: str
    num_threads: int | None = None
    seed: int = 0
    is_deterministic: bool = False
    is_compiled: bool | None = None
    """Whether layers are compiled; None tries both where the budget is in minutes."""


def first_plan(budget: Budget, place: Place, recipe: Recipe) -> PlanConfig:
    """Returns the plan as far as it is known without trying; minutes count as one step."""
    num_steps = budget.num_steps or 1
    if budget.num_tokens is not None:
        num_steps = max(1, budget.num_tokens // recipe.tokens_per_step)
    return with_steps(
        PlanConfig(
            num_steps=1,
            seed=place.seed,
            device=place.device,
            num_threads=place.num_threads or torch.get_num_threads(),
            precision=best_precision(place.device),
            is_compiled=bool(place.is_compiled),
            is_deterministic=place.is_deterministic,
            steps_between_validations=1,
            steps_between_logs=1,
        ),
        num_steps,
        recipe.tokens_per_step,
    )


def with_steps(plan: PlanConfig, num_steps: int, tokens_per_step: int) -> PlanConfig:
    """Returns the plan for so many steps, with what follows from them."""
    fewest = fewest_between_looks(plan.device, tokens_per_step)
    return replace(
        plan,
        num_steps=num_steps,
        steps_between_validations=min(num_steps, max(fewest, num_steps // NUM_VALIDATIONS)),
        steps_between_logs=max(1, num_steps // NUM_LOG_LINES),
    )


def fewest_between_looks(device: str, tokens_per_step: int) -> int:
    """Returns the steps between two looks at least: more looks would leave time for little else."""
    num_looked = num_validation_tokens(device)
    return math.ceil(TOKENS_LEARNED_PER_LOOKED * num_looked / tokens_per_step)


def best_precision(device: str) -> Precision:
    """Returns bf16 where products are faster in it: on many GPUs, and on processors made for it."""
    if device.startswith("cuda"):
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    # Older versions of PyTorch cannot say.
    known: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if any(known.get(name) for name in HALF_PRODUCTS) else "fp32"


def measured_plan(
    plan: PlanConfig,
    minutes: float,
    tokens_per_step: int,
    learner_for: Callable[[PlanConfig], Learner],
    *,
    may_choose: bool = True,
    tries_one_thread: bool = False,
) -> PlanConfig:
    """Returns the plan that does the most steps in so many minutes, by trying a few.

    Whether layers are compiled is tried as well, where it may be chosen; and, for steps so small
    that threads wait for each other more than they help, one thread on a processor.
    """
    plans = [plan]
    if tries_one_thread and plan.device == "cpu" and plan.num_threads > 1:
        plans.append(replace(plan, num_threads=1))
    kind = plan.device.partition(":")[0]
    if may_choose and minutes >= FEWEST_MINUTES_COMPILED[kind] and can_compile():
        plans.append(replace(plan, is_compiled=True))
    fewest = fewest_between_looks(plan.device, tokens_per_step)
    tried = {
        candidate: num_steps_in(minutes * 60, learner_for(candidate), fewest) for candidate in plans
    }
    best = max(tried, key=lambda candidate: tried[candidate])
    return with_steps(best, max(1, tried[best]), tokens_per_step)


def can_compile() -> bool:
    """Whether this machine has what `torch.compile` needs."""
    return any(shutil.which(compiler) for compiler in ("cc", "gcc", "clang"))


def num_steps_in(seconds: float, learner: Learner, fewest_between: int = 1) -> int:
    """Tries a few steps and one look at held-out text; returns the steps that fit in the time.

    A run with fewer steps looks less often, with so many steps at least between two looks.
    """
    state = learner.new_state()
    step_seconds = seconds_of_a_step(learner, state, seconds)
    look_seconds = seconds_of_a_look(learner, state)
    for num_looks in range(NUM_VALIDATIONS, 0, -1):
        left = max(seconds - num_looks * look_seconds, FEWEST_LEARNED_SHARE * seconds)
        num_steps = int(left / step_seconds)
        if num_steps >= num_looks * fewest_between:
            break
    return num_steps
