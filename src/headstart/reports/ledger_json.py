"""The ledger as one JSON object; its keys are documented in docs/ledger.md."""

from headstart.models.accounting.complexity import Complexity, LayerTimings
from headstart.models.accounting.ledger import Anatomy, Ledger, Rehearsed
from headstart.models.accounting.parameters import Part
from headstart.models.accounting.quoted import Quoted

Json = dict[str, object]


def anatomy_json(anatomy: Anatomy) -> Json:
    """Returns a ledger and what was seen beside it as JSON values."""
    ledger = anatomy.ledger
    return {
        "recipe": ledger.name,
        "task": ledger.task,
        "step": {
            "length": ledger.step.length,
            "sequences": ledger.step.sequences,
            "tokens": ledger.step.num_tokens,
            "answered_share": ledger.step.answered_share,
            "frozen": ledger.step.is_frozen,
        },
        "parameters": parameters_json(ledger),
        "flops": flops_json(ledger),
        "bytes": {
            "weights": ledger.memory.weights,
            "gradients": ledger.memory.gradients,
            "optimiser": ledger.memory.optimiser,
            "activations": ledger.memory.activations,
            "logits": ledger.memory.logits,
            "peak": ledger.memory.peak,
        },
        "projection": projection_json(ledger),
        "complexity": complexity_json(ledger.complexity),
        "verified": None if anatomy.rehearsed is None else rehearsed_json(anatomy.rehearsed),
        "measured": None if anatomy.timings is None else timings_json(anatomy.timings),
    }


def parameters_json(ledger: Ledger) -> Json:
    """Returns the parameters by part, and the rough counts beside them."""
    return {
        "total": ledger.num_parameters,
        "trainable": ledger.num_trainable,
        "parts": [part_json(part) for part in ledger.parts],
        "shorthands": [
            {
                "formula": row.rough.formula,
                "about": row.about,
                "gives": int(row.rough.value),
                "exact": row.exact,
                "error": row.error,
                "leaves_out": row.leaves_out,
            }
            for row in ledger.shorthands
        ],
        "quoted": quoted_json(ledger.quoted),
    }


def part_json(part: Part) -> Json:
    """Returns a part with its formula, its size and its inside."""
    return {
        "name": part.name,
        "formula": part.each.formula,
        "numbers": part.each.numbers,
        "each": int(part.each.value),
        "copies": part.copies,
        "count": part.count,
        "inside": [part_json(row) for row in part.inside],
    }


def quoted_json(quoted: Quoted | None) -> Json | None:
    """Returns the comparison with a quoted size, or nothing where none is quoted."""
    if quoted is None:
        return None
    return {
        "count": quoted.count,
        "source": quoted.source,
        "difference": quoted.count - quoted.exact,
        "readings": quoted.readings,
        "vocabularies_that_match": [quoted.smallest_vocabulary, quoted.largest_vocabulary],
    }


def flops_json(ledger: Ledger) -> Json:
    """Returns operations for each token and each step, and by part."""
    forward, backward = ledger.forward_per_token, ledger.backward_per_token
    return {
        "per_token": round(forward + backward),
        "forward_per_token": round(forward),
        "backward_per_token": round(backward),
        "per_step": round(ledger.flops_per_step),
        "parts": [
            {
                "name": part.name,
                "formula": part.forward.formula,
                "forward": part.forward.value,
                "backward": part.backward,
            }
            for part in ledger.work
        ],
    }


def projection_json(ledger: Ledger) -> Json:
    """Returns the predicted seconds and whether the step fits."""
    projection = ledger.projection
    return {
        "machine": projection.machine.name,
        "matrix_flops_per_second": projection.machine.matrix_rate,
        "pass_bytes_per_second": projection.machine.pass_rate,
        "memory_bytes": projection.machine.memory_bytes,
        "step_seconds": projection.step_seconds,
        "tokens_per_second": ledger.step.num_tokens / projection.step_seconds,
        "tokens": projection.num_tokens,
        "minutes": None if projection.seconds is None else projection.seconds / 60,
        "most_sequences": projection.most_sequences,
        "fits": projection.fit,
    }


def complexity_json(complexity: Complexity) -> Json:
    """Returns the three kinds of layer side by side."""
    return {
        "length": complexity.length,
        "width": complexity.width,
        "kernel": complexity.kernel,
        "layers": [
            {
                "kind": layer.kind,
                "formula": layer.operations.formula,
                "operations": int(layer.operations.value),
                "sequential_steps": int(layer.sequential_steps.value),
                "longest_path": int(layer.longest_path.value),
            }
            for layer in complexity.layers
        ],
        "cheapest": complexity.cheapest,
        "recurrent_is_cheaper_from": complexity.recurrent_is_cheaper_from,
        "convolution_is_cheaper_from": complexity.convolution_is_cheaper_from,
    }


def rehearsed_json(rehearsed: Rehearsed) -> Json:
    """Returns predicted against seen."""
    return {
        "matrix_flops_per_second": rehearsed.machine.matrix_rate,
        "step_seconds": {
            "promised": rehearsed.promised_seconds,
            "predicted": rehearsed.predicted_seconds,
            "seen": rehearsed.seen_seconds,
        },
        "peak_bytes": {"predicted": rehearsed.predicted_bytes, "seen": rehearsed.seen_bytes},
    }


def timings_json(timings: LayerTimings) -> Json:
    """Returns the measured layers."""
    return {
        "lengths": list(timings.lengths),
        "layers": [
            {
                "kind": layer.kind,
                "seconds": list(layer.seconds),
                "seen_exponent": layer.seen_exponent,
                "expected_exponent": layer.expected_exponent,
            }
            for layer in timings.layers
        ],
    }
