"""Bytes: weights, gradients, optimiser, and what the forward pass keeps for the backward one.

Counted for the plain form in single precision. A fused attention kernel keeps queries, keys, values
and its result, never the scores: activations grow with the tokens, not with the length squared. (A
processor that learns in half precision keeps them for short rows, in about the room it saves.)

Symbols: N layers, V pieces, d width, f feed-forward width, p answered share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headstart.models.accounting.parameters import model_parts, trainable_count
from headstart.models.accounting.quantity import Quantity, symbol
from headstart.models.accounting.step import StepShape
from headstart.models.config import EncoderDecoderConfig, FeedForwardKind, TrunkConfig
from headstart.models.heads.config import LabelHeadConfig, ModelConfig

BYTES_PER_NUMBER = 4
# AdamW keeps a mean and a variance for each parameter that learns.
OPTIMISER_NUMBERS = 2
# Log-probabilities, their gradient and the logits' gradient exist at once as backward begins.
LOGIT_COPIES = 3
# ReLU's result tells its gradient; GELU keeps what it read as well; a gate keeps both halves of
# what it read, the bent half, and the product.
INNER_NUMBERS: Mapping[FeedForwardKind, int] = {"relu": 1, "gelu": 2, "gated-silu": 4}
# What is read and what is made of it stand side by side, even where nothing is kept.
PASSING_INNER_NUMBERS: Mapping[FeedForwardKind, int] = {"relu": 2, "gelu": 2, "gated-silu": 4}


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The bytes of one training step, by what they are for."""

    weights: int
    gradients: int
    optimiser: int
    activations: int
    logits: int

    @property
    def peak(self) -> int:
        """The most that is held at once: as backward begins, or in the optimiser's step."""
        # Backward frees activations as it makes gradients: the two never stand whole together.
        return self.weights + self.optimiser + max(self.activations + self.logits, self.gradients)


def model_memory(config: ModelConfig, step: StepShape) -> Memory:
    """Returns the bytes that training the model takes."""
    parts = model_parts(config)
    num_parameters = sum(part.count for part in parts)
    num_trainable = trainable_count(parts, is_frozen=step.is_frozen)
    kept = passing_numbers(config) if step.is_frozen else kept_numbers(config)
    return Memory(
        weights=BYTES_PER_NUMBER * num_parameters,
        gradients=BYTES_PER_NUMBER * num_trainable,
        optimiser=BYTES_PER_NUMBER * OPTIMISER_NUMBERS * num_trainable,
        activations=round(BYTES_PER_NUMBER * kept.value * step.num_tokens),
        logits=round(BYTES_PER_NUMBER * LOGIT_COPIES * num_logits(config, step)),
    )


def most_sequences(config: ModelConfig, step: StepShape, memory_bytes: int | None) -> int | None:
    """Returns how many sequences a memory holds at once; None where the memory is unknown."""
    if memory_bytes is None:
        return None
    one = model_memory(config, replace(step, sequences=1))
    # Gradients too: where a step is done in parts, they wait for the last of them.
    num_free_bytes = memory_bytes - one.weights - one.optimiser - one.gradients
    return max(0, num_free_bytes) // max(1, one.activations + one.logits)


def num_logits(config: ModelConfig, step: StepShape) -> float:
    """The scores that the head gives in one step."""
    if isinstance(config.head, LabelHeadConfig):
        return config.head.num_labels * step.sequences
    return config.trunk.vocabulary_size * step.num_tokens * step.answered_share


def kept_numbers(config: ModelConfig) -> Quantity:
    """The numbers kept for each token; for translation, for one on each side."""
    if isinstance(config.trunk, EncoderDecoderConfig):
        return stack_numbers(config.trunk.encoder) + stack_numbers(config.trunk.decoder)
    return stack_numbers(config.trunk)


def stack_numbers(config: TrunkConfig) -> Quantity:
    """The numbers that one stack keeps for each token, its last vectors included."""
    width = symbol("d", config.width)
    num_widths = 1 + (1 if config.layer.dropout else 0)
    num_widths += norm_widths(config) if config.has_embedding_norm else 0
    num_widths += norm_widths(config) if config.layer.norm_place == "pre" else 0
    return symbol("N", config.num_layers) * layer_numbers(config) + num_widths * width


def layer_numbers(config: TrunkConfig) -> Quantity:
    """The numbers that one layer keeps for each token."""
    width, inner = symbol("d", config.width), symbol("f", config.layer.feed_forward_width)
    num_attentions = 2 if config.attends_to_source else 1
    num_branches = num_attentions + 1
    # Each branch keeps what its norm and its first product read.
    num_widths = num_branches * (norm_widths(config) + 1)
    # Queries, keys, values and their mix; rotary positions make queries and keys anew.
    num_widths += 4 * num_attentions + (2 if config.positions == "rotary" else 0)
    # On a CPU, dropout keeps the factors that it drew.
    num_widths += num_branches if config.layer.dropout else 0
    return num_widths * width + INNER_NUMBERS[config.layer.feed_forward] * inner


def passing_numbers(config: ModelConfig) -> Quantity:
    """The most numbers that come and go at once for a token where nothing is kept: one branch's."""
    stack = config.trunk.writing_stack
    width, inner = symbol("d", stack.width), symbol("f", stack.layer.feed_forward_width)
    is_pre_norm = stack.layer.norm_place == "pre"
    # What the branch read, and the sum it will be added to; post-norm reads the sum itself.
    num_read = 2 if is_pre_norm else 1
    # Queries, keys, values, their mix and its product; or, while keys are turned, the turned
    # queries and the four vectors of the turning.
    num_attention = num_read + (8 if stack.positions == "rotary" else 5)
    attention = num_attention * width
    # Beside the second branch, what the layer was given still stands.
    num_inner = PASSING_INNER_NUMBERS[stack.layer.feed_forward]
    feed_forward = (num_read + 1) * width + num_inner * inner
    return max(attention, feed_forward, key=lambda numbers: numbers.value)


def norm_widths(config: TrunkConfig) -> int:
    """The vectors that a norm keeps: what it read and, for root mean square, its result too."""
    return 2 if config.layer.norm == "rms" else 1
