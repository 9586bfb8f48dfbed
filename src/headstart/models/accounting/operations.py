"""Floating-point operations for each token, by part; free of torch.

A multiplication with its addition counts as two. Only matrix products are counted: norms, sums and
activations are a matter of bytes, not of operations. Attention is counted in full, as the products
n x n that they are; a kernel may skip the half that the square mask hides.

Symbols: N layers, n length, V pieces, d width, f feed-forward width, C labels, p answered share.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from headstart.models.accounting.quantity import Quantity, as_quantity, symbol
from headstart.models.accounting.step import StepShape
from headstart.models.config import EncoderDecoderConfig, TrunkConfig
from headstart.models.heads.config import LabelHeadConfig, LanguageHeadConfig, ModelConfig

# A product's backward pass is two products: by the other factor, for each of its two factors.
PRODUCT_BACKWARD = 2.0
# The fused kernel keeps no scores: backward makes them again, five products where forward has two.
ATTENTION_BACKWARD = 2.5


@dataclass(frozen=True, kw_only=True)
class Work:
    """The operations of one part for one token; for translation, one on each side."""

    name: str
    forward: Quantity
    backward_ratio: float
    is_attention: bool = False

    @property
    def backward(self) -> float:
        """The operations of the backward pass."""
        return self.forward.value * self.backward_ratio

    @property
    def total(self) -> float:
        """The operations of both passes."""
        return self.forward.value + self.backward


def model_work(config: ModelConfig, step: StepShape) -> tuple[Work, ...]:
    """Returns the work of each part of a model in a training step."""
    if isinstance(config.trunk, EncoderDecoderConfig):
        trunk = [
            *stack_work(config.trunk.encoder, step, "encoder "),
            *stack_work(config.trunk.decoder, step, "decoder "),
        ]
    else:
        trunk = list(stack_work(config.trunk, step, ""))
    return (*trunk, *head_work(config, step))


def stack_work(config: TrunkConfig, step: StepShape, side: str) -> Iterator[Work]:
    """Yields the work of one stack of layers; looking up an embedding multiplies nothing."""
    layers, length = symbol("N", config.num_layers), symbol("n", step.length)
    width, inner = symbol("d", config.width), symbol("f", config.layer.feed_forward_width)
    projections = 8 * layers * width**2
    scores = 4 * layers * length * width
    product = 0.0 if step.is_frozen else PRODUCT_BACKWARD
    attention = 0.0 if step.is_frozen else ATTENTION_BACKWARD
    yield Work(name=f"{side}attention projections", forward=projections, backward_ratio=product)
    yield Work(
        name=f"{side}attention over n positions",
        forward=scores,
        backward_ratio=attention,
        is_attention=True,
    )
    if config.attends_to_source:
        yield Work(name=f"{side}cross projections", forward=projections, backward_ratio=product)
        yield Work(
            name=f"{side}cross-attention over n positions",
            forward=scores,
            backward_ratio=attention,
            is_attention=True,
        )
    num_matrices = 3 if config.layer.is_gated else 2
    yield Work(
        name=f"{side}feed-forward",
        forward=2 * num_matrices * layers * width * inner,
        backward_ratio=product,
    )


def head_work(config: ModelConfig, step: StepShape) -> Iterator[Work]:
    """Yields the work of the head; what is done once a text is shared by its tokens."""
    width, head = symbol("d", config.trunk.width), config.head
    # Done once a text, and spread over its tokens so that every row is for one token.
    once = Quantity(1 / step.length, "1/n", f"1/{step.length}")
    # Below a head on a frozen trunk nothing needs a gradient: only the weights' product is left.
    lowest = PRODUCT_BACKWARD / 2 if step.is_frozen else PRODUCT_BACKWARD
    if isinstance(head, LabelHeadConfig):
        forward = 2 * width * symbol("C", head.num_labels) * once
        yield Work(name="label head", forward=forward, backward_ratio=lowest)
    elif isinstance(head, LanguageHeadConfig):
        yield language_work(head, config, step)
    else:
        yield language_work(head.language, config, step)
        inner, judge = 2 * width**2 * once, 4 * width * once
        yield Work(name="next-sentence: inner", forward=inner, backward_ratio=lowest)
        yield Work(name="next-sentence: judge", forward=judge, backward_ratio=PRODUCT_BACKWARD)


def language_work(head: LanguageHeadConfig, config: ModelConfig, step: StepShape) -> Work:
    """Returns the work of a language head; on a frozen trunk a tied matrix does not learn."""
    share = as_quantity(1) if step.answered_share == 1 else symbol("p", step.answered_share)
    ratio = PRODUCT_BACKWARD
    if step.is_frozen:
        ratio = 0.0 if head.is_tied else PRODUCT_BACKWARD / 2
    return Work(
        name="language head",
        forward=2
        * symbol("d", config.trunk.width)
        * symbol("V", config.trunk.vocabulary_size)
        * share,
        backward_ratio=ratio,
    )
