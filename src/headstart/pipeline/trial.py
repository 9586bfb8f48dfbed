"""A few steps and looks, timed before a run begins, so that minutes become steps."""

import statistics
import sys
import time
from itertools import count

from headstart.pipeline.learner import Learner
from headstart.training.loop import NOBODY, TrainingState, unattended_step

NUM_WARM_STEPS, NUM_TIMED_STEPS = 2, 5
# Fast steps are timed for so long: on a GPU the first ones of each shape are slower. Slow ones may
# take this share of the budget.
SECONDS_MEASURED, MEASURED_SHARE = 3.0, 0.1
# Steps that may be recorded are waited for so many times as long: the first ones until then take
# seconds where layers are compiled, and a run plays nearly all of its own.
RECORDED_TIMES = 4
# What compiles step after step is given up on after this share of the budget.
COMPILED_SHARE = 0.5


def seconds_of_a_step(learner: Learner, state: TrainingState, seconds: float) -> float:
    """Returns how long most steps of a run will take, by trying some; `seconds` is its budget.

    Steps that compile say nothing of the others: the run that follows finds all of it compiled.
    """
    trainer = learner.trainer(lambda _state, _report: False, NOBODY)
    judged = trainer.judged(state)
    do_step = unattended_step(trainer, state, judged)
    compiling: list[float] = []
    timed: list[float] = []
    played: list[float] = []
    for step in count():
        num_played, num_before = judged.num_played, num_compiled()
        started_at = time.perf_counter()
        do_step()
        duration = time.perf_counter() - started_at
        if step < NUM_WARM_STEPS or num_compiled() > num_before:
            compiling.append(duration)
        else:
            timed.append(duration)
            if judged.num_played > num_played:
                played.append(duration)
        is_waiting = judged.may_be_played and len(played) < NUM_TIMED_STEPS
        patience = RECORDED_TIMES if is_waiting else 1
        # A slow machine must not spend its whole budget on being measured.
        is_late = sum(timed) > patience * MEASURED_SHARE * seconds
        # However long the first ones take, what comes after them is waited for.
        has_compiled_enough = sum(compiling[NUM_WARM_STEPS:]) > COMPILED_SHARE * seconds
        is_long_enough = sum(timed) > patience * SECONDS_MEASURED
        has_enough = len(timed) >= NUM_TIMED_STEPS and is_long_enough
        if is_late or has_compiled_enough or has_enough:
            break
    if len(played) >= NUM_TIMED_STEPS:
        # Most steps of a run are played from a recording, however few of those tried were.
        return statistics.median(played)
    return statistics.median(timed[len(timed) // 2 :]) if timed else min(compiling)


def seconds_of_a_look(learner: Learner, state: TrainingState) -> float:
    """Returns how long a look at held-out text takes, once the first has loaded what it needs."""
    durations = []
    for _ in range(2):
        num_before = num_compiled()
        started_at = time.perf_counter()
        learner.validate(state)
        durations.append(time.perf_counter() - started_at)
        # However long a look took that compiled: the others do not.
        if num_compiled() == num_before and durations[0] > SECONDS_MEASURED:
            break
    return min(durations)


def num_compiled() -> int:
    """Returns how often PyTorch has compiled something in this process."""
    # What was never imported has compiled nothing, and takes a second to import.
    compiler = sys.modules.get("torch._dynamo.utils")
    return 0 if compiler is None else int(compiler.counters["frames"]["total"])
