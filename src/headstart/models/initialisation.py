"""The first weights: chosen so that variance neither dies nor grows with depth.

Each parameter is drawn from a stream of its own, named by the seed and the parameter, so that a
swapped head or an added layer changes no other draw.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from headstart.models.attention import CrossAttention, SelfAttention
from headstart.models.feed_forward import FeedForward, GatedFeedForward
from headstart.models.heads.label import LabelHead
from headstart.models.heads.language import LanguageHead
from headstart.models.model import Model
from headstart.models.trunks import Trunk
from headstart.randomness import torch_generator

# Small first logits: a new head begins near "all answers alike", with a loss near ln(choices).
HEAD_STD = 0.02
# As in BERT and GPT-2; the norm or the first block above brings these to unit size.
EMBEDDING_STD = 0.02

# A parameter with the standard deviation of its first values.
Deviations = Iterator[tuple[Tensor, float]]


@torch.no_grad()
def initialise(module: nn.Module, seed: int) -> None:
    """Draws the first weights of a model, a trunk, a layer or a head; the same on every device.

    A parameter's stream is named by its path inside its trunk or head, so that a trunk has the
    same first weights under any head, and with none.
    """
    if isinstance(module, Model):
        initialise(module.trunk, seed)
        initialise(module.head, seed)
        return
    stds: dict[Tensor, float] = {}
    # Children before parents, so that what a whole knows of its parts has the last word.
    for part in reversed(list(module.modules())):
        if isinstance(part, nn.LayerNorm | nn.RMSNorm):
            part.reset_parameters()
        stds.update(own_deviations(part))
        stds.update(deviations_in_context(part))
    for name, parameter in module.named_parameters():
        if parameter in stds:
            # On the processor whatever the device: a GPU draws another stream.
            generator = torch_generator(seed, "initialise", name)
            draw = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(draw.mul_(stds[parameter]))


def own_deviations(part: nn.Module) -> Deviations:
    """Yields the deviations that a plain layer has wherever it stands; 0 for biases."""
    if isinstance(part, nn.Linear):
        yield part.weight, xavier_std(part.in_features, part.out_features)
        if part.bias is not None:
            yield part.bias, 0.0
    elif isinstance(part, nn.Embedding):
        yield part.weight, EMBEDDING_STD


def deviations_in_context(part: nn.Module) -> Deviations:
    """Yields the deviations of parameters whose role only their owner knows."""
    if isinstance(part, SelfAttention):
        # Matrices computed side by side are as many matrices, not one wide one.
        yield (
            part.query_key_value.weight,
            xavier_std(part.output.in_features, part.output.in_features),
        )
    elif isinstance(part, CrossAttention):
        yield part.key_value.weight, xavier_std(part.output.in_features, part.output.in_features)
    elif isinstance(part, GatedFeedForward):
        yield (
            part.gate_and_value.weight,
            xavier_std(part.output.out_features, part.output.in_features),
        )
    elif isinstance(part, LabelHead):
        yield part.output.weight, HEAD_STD
    elif isinstance(part, LanguageHead):
        yield from language_head_deviations(part)
    elif isinstance(part, Trunk):
        yield from trunk_deviations(part)


def language_head_deviations(head: LanguageHead) -> Deviations:
    """Yields the deviations of a language head; a tied one leaves its matrix to the embedding."""
    if not head.config.is_tied:
        yield head.weight, HEAD_STD
    if head.bias is not None:
        yield head.bias, 0.0


def trunk_deviations(trunk: Trunk) -> Deviations:
    """Yields the deviations that depend on the trunk's depth and on how it scales embeddings."""
    if trunk.config.scales_embedding:
        # Times the square root of the width, this is of unit size beside the sinusoids.
        yield trunk.embedding.tokens.weight, trunk.config.width**-0.5
    if trunk.config.layer.norm_place == "post":
        return  # normed after every branch, so that depth cannot swell the sum
    branches = [
        branch
        for branch in trunk.layers.modules()
        if isinstance(branch, SelfAttention | CrossAttention | FeedForward | GatedFeedForward)
    ]
    for branch in branches:
        # All branches add to one residual sum; this keeps depth from swelling its variance.
        output = branch.output
        yield (
            output.weight,
            xavier_std(output.in_features, output.out_features) / math.sqrt(len(branches)),
        )


def xavier_std(fan_in: int, fan_out: int) -> float:
    """The deviation that keeps variance alike forward and backward (Glorot and Bengio 2010)."""
    return math.sqrt(2 / (fan_in + fan_out))
