"""Recipe to ledger: what a model consists of, what it will cost, and how sure that is."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from headstart.errors import RecipeError
from headstart.models.accounting.census import check_parameters
from headstart.models.accounting.complexity import LayerTimings, complexity
from headstart.models.accounting.duration import Machine, step_seconds
from headstart.models.accounting.layer_timing import time_layers
from headstart.models.accounting.ledger import Ledger, Projection, Rehearsed
from headstart.models.accounting.machine import memory_bytes
from headstart.models.accounting.memory import model_memory, most_sequences
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.parameters import model_parts, trainable_count
from headstart.models.accounting.quoted import quoted
from headstart.models.accounting.shorthands import shorthands
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import ModelConfig
from headstart.pipeline.question import Question
from headstart.pipeline.recipe import Recipe, model_for
from headstart.reports.numbers import show_bytes
from headstart.training.rehearsal import rehearse_memory, rehearse_time

# A kernel that is fair to ask about even for a sequence shorter than it.
WIDEST_FOR_ANY_LENGTH = 3


def anatomy(recipe: Recipe, question: Question, machine: Machine) -> Ledger:
    """Returns the ledger of a recipe, its parameters derived twice and equal."""
    task = question.task_of(recipe)
    model = model_for(recipe, task, question.num_labels)
    length = recipe.length if question.length is None else question.length
    model.trunk.check_length(length)
    if question.kernel > max(WIDEST_FOR_ANY_LENGTH, length):
        raise RecipeError(
            f"The kernel is {question.kernel:,}, wider than the {length:,} pieces of a sequence. "
            f"Choose one from 2 to {max(WIDEST_FOR_ANY_LENGTH, length):,}."
        )
    step = StepShape(
        length=length,
        # The same tokens a step at any length, so that lengths compare.
        sequences=max(1, recipe.tokens_per_step // length),
        answered_share=recipe.answered_share if task == recipe.task else 1.0,
        is_frozen=question.is_frozen,
    )
    check_parameters(model)
    parts = model_parts(model)
    if trainable_count(parts, is_frozen=step.is_frozen) == 0:
        raise RecipeError(
            f"The {parts[-1].name} of {recipe.name} is tied to the embedding, so on a frozen trunk "
            "nothing would learn. Let the trunk learn too."
        )
    return Ledger(
        name=recipe.name,
        task=task,
        model=model,
        step=step,
        parts=parts,
        shorthands=shorthands(model.trunk),
        quoted=quoted(model),
        work=model_work(model, step),
        memory=model_memory(model, step),
        projection=project(model, step, machine, question.num_tokens),
        complexity=complexity(length, model.trunk.width, question.kernel),
    )


def project(
    model: ModelConfig, step: StepShape, machine: Machine, num_tokens: int | None
) -> Projection:
    """Returns how long a step and a run would take on a machine, and what fits it."""
    seconds = step_seconds(model, step, machine)
    peak, memory = model_memory(model, step).peak, machine.memory_bytes
    return Projection(
        machine=machine,
        step_seconds=seconds,
        num_tokens=num_tokens,
        seconds=None if num_tokens is None else num_tokens / step.num_tokens * seconds,
        fits_whole=None if memory is None else peak <= memory,
        most_sequences=most_sequences(model, step, memory),
    )


def verify(ledger: Ledger, device: str, seed: int, on_step: Callable[[], None]) -> Rehearsed:
    """Runs a few real steps and holds the ledger against what they took."""
    device_bytes = memory_bytes(device)
    if device_bytes is not None and ledger.memory.peak > device_bytes:
        raise too_large(ledger, device)
    try:
        # A process of its own: this one holds what else was measured.
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as executor:
            job = executor.submit(rehearse_memory, ledger.model, ledger.step, device, seed)
            seen_bytes = job.result()
        on_step()
        timed = rehearse_time(ledger.model, ledger.step, device, seed, on_step)
    except (BrokenProcessPool, MemoryError, RuntimeError) as error:
        # PyTorch says it with a RuntimeError, the system by ending the process.
        raise too_large(ledger, device) from error
    is_here = ledger.projection.machine.name == timed.machine.name
    return Rehearsed(
        machine=timed.machine,
        promised_seconds=ledger.projection.step_seconds if is_here else None,
        predicted_seconds=step_seconds(ledger.model, ledger.step, timed.machine),
        seen_seconds=timed.step_seconds,
        predicted_bytes=ledger.memory.peak,
        seen_bytes=seen_bytes,
    )


def too_large(ledger: Ledger, device: str) -> RecipeError:
    """Returns the error for steps that a device cannot hold."""
    return RecipeError(
        f"Steps of {ledger.name} need {show_bytes(ledger.memory.peak)}, more than the device "
        f"{device} could give. Choose a shorter length or a smaller model."
    )


def measure(ledger: Ledger, device: str, on_point: Callable[[], None]) -> LayerTimings:
    """Times one real layer of each kind over a range of lengths."""
    layer = ledger.model.trunk.reading_stack.layer
    return time_layers(layer, ledger.complexity.kernel, device, on_point)
