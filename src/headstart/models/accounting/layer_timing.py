"""The three kinds of layer, timed over growing lengths, with the exponents of their growth.

Legend: B batch, T positions, D width, 1 one sequence.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from headstart.models.accounting.complexity import LayerTiming, LayerTimings
from headstart.models.accounting.machine import median_seconds
from headstart.models.attention import SelfAttention
from headstart.models.config import LayerConfig
from headstart.models.masks import Visibility
from headstart.randomness import torch_generator

LENGTHS = (128, 256, 512, 1_024, 2_048, 4_096)
SECONDS_PER_POINT = 0.25
Run = Callable[[Tensor], object]
EVERYTHING = Visibility(is_causal=False, may_attend_B1TS=None)

# For n positions, width d, kernel k: the operations of the whole layers that are timed. Attention
# has its four projections beside the n²·d that the comparison is about.
OPERATIONS: Mapping[str, Callable[[int, int, int], float]] = {
    "self-attention": lambda n, d, _: 4 * n**2 * d + 8 * n * d**2,
    # An input and a state, each by a product d × d.
    "recurrent": lambda n, d, _: 4 * n * d**2,
    "convolutional": lambda n, d, k: 2 * k * n * d**2,
}


NUM_TIMINGS = len(OPERATIONS) * len(LENGTHS)


def time_layers(
    layer: LayerConfig, kernel: int, device: str, on_point: Callable[[], None]
) -> LayerTimings:
    """Times real layers of the model's width, forward, one sequence at a time."""
    timings = []
    for kind, run in runnable_layers(layer, kernel, device).items():
        seconds = []
        for length in LENGTHS:
            generator = torch_generator(0, "layer timing", length, device=device)
            shape = (1, length, layer.width)
            seconds.append(seconds_at(run, torch.randn(shape, device=device, generator=generator)))
            on_point()
        operations = [OPERATIONS[kind](length, layer.width, kernel) for length in LENGTHS]
        timings.append(
            LayerTiming(
                kind=kind,
                seconds=tuple(seconds),
                seen_exponent=fit_exponent(LENGTHS, seconds),
                expected_exponent=fit_exponent(LENGTHS, operations),
            )
        )
    return LayerTimings(lengths=LENGTHS, width=layer.width, kernel=kernel, layers=tuple(timings))


def runnable_layers(layer: LayerConfig, kernel: int, device: str) -> Mapping[str, Run]:
    """Returns one layer of each kind as a function of hidden vectors."""
    width = layer.width
    attention = SelfAttention(layer).to(device)
    recurrent = nn.RNN(width, width, batch_first=True, device=device)
    convolution = nn.Conv1d(width, width, kernel, padding=kernel // 2, device=device)
    return {
        "self-attention": lambda hidden_BTD: attention(hidden_BTD, EVERYTHING, None),
        "recurrent": recurrent,
        # An even kernel gives one position more than it was given.
        "convolutional": lambda hidden_BTD: convolution(hidden_BTD.transpose(1, 2))[
            ..., : hidden_BTD.shape[1]
        ],
    }


@torch.inference_mode()
def seconds_at(run: Run, hidden_1TD: Tensor) -> float:
    """Returns the median duration of a layer on one sequence."""
    return median_seconds(lambda: run(hidden_1TD), SECONDS_PER_POINT, str(hidden_1TD.device))


def fit_exponent(lengths: Sequence[int], costs: Sequence[float]) -> float:
    """Returns the slope on log axes over the longer half, where fixed costs no longer show."""
    half = len(lengths) // 2
    slope, _ = np.polyfit(np.log(lengths[half:]), np.log(costs[half:]), deg=1)
    return float(slope)
