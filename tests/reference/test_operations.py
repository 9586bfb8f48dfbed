"""The ledger's operations equal what PyTorch counts on a real forward and backward pass.

PyTorch's counter knows no formula for the attention kernel of CPUs, so it is given its own two
formulas for the other fused kernels: attention in full forward, five products backward.
"""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import (
    FlopCounterMode,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.step import StepShape
from headstart.models.config import EncoderDecoderConfig, LayerConfig, TrunkConfig
from headstart.models.heads.config import LabelHeadConfig, LanguageHeadConfig, ModelConfig
from headstart.models.heads.label import LabelHead
from headstart.models.heads.language import LanguageHead
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import new_model
from headstart.pipeline.recipe import model_for, with_vocabulary

VOCABULARY_SIZE, LENGTH, NUM_ROWS = 97, 20, 2

ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
FORMULAS = {
    ATTENTION: lambda query, key, value, *_, **__: sdpa_flop_count(query, key, value),
    ATTENTION_BACKWARD: lambda gradient, query, key, value, *_, **__: sdpa_backward_flop_count(
        gradient, query, key, value
    ),
}

EVERY = {name: new() for name, new in RECIPES.items()} | {"compact causal": compact("causal")}
PRETRAINING = {
    name: (
        with_vocabulary(recipe, VOCABULARY_SIZE).model,
        StepShape(length=LENGTH, sequences=NUM_ROWS, answered_share=recipe.answered_share),
    )
    for name, recipe in EVERY.items()
}
CLASSIFICATION = {
    f"{name} classifier": (
        model_for(with_vocabulary(recipe, VOCABULARY_SIZE), "classification", num_labels=3),
        StepShape(length=LENGTH, sequences=NUM_ROWS),
    )
    for name, recipe in EVERY.items()
    if recipe.task == "language-model"
}
# A tied head alone has nothing to learn on a frozen trunk, and the command refuses to ask.
FROZEN = {
    name: (config, replace(step, is_frozen=True))
    for name, (config, step) in (PRETRAINING | CLASSIFICATION).items()
    if name in {"lab", "bert"} or name in CLASSIFICATION
}


def every(cases):
    return pytest.mark.parametrize(("config", "step"), cases.values(), ids=cases)


def answered_loss(model, config: ModelConfig, step: StepShape) -> Tensor:
    """Returns a scalar of everything the head says, logits made for the answered share alone."""
    text = Text(torch.randint(config.trunk.vocabulary_size, (step.sequences, step.length)))
    is_pair = isinstance(config.trunk, EncoderDecoderConfig)
    hidden_BTD = model.trunk(SourceAndTarget(text, text) if is_pair else text)
    num_answered = round(step.num_tokens * step.answered_share)
    answered_MD = hidden_BTD.flatten(0, 1)[:num_answered]
    if isinstance(model.head, LabelHead):
        return model.head(hidden_BTD, text).sum()
    if isinstance(model.head, LanguageHead):
        return model.head(answered_MD, text).sum()
    language_MV = model.head.language(answered_MD, text)
    return language_MV.sum() + model.head.next_sentence(hidden_BTD, text).sum()


def count(config: ModelConfig, step: StepShape) -> tuple[FlopCounterMode, FlopCounterMode]:
    """Returns PyTorch's counts of one forward and one backward pass."""
    model = new_model(config)
    model.trunk.requires_grad_(not step.is_frozen)
    with FlopCounterMode(display=False, custom_mapping=FORMULAS) as forward:
        loss = answered_loss(model, config, step)
    with FlopCounterMode(display=False, custom_mapping=FORMULAS) as backward:
        loss.backward()
    return forward, backward


HEAD, HEAD_PARTS = "head", ("label head", "language head", "next-sentence")


def counted_parts(forward: FlopCounterMode, config: ModelConfig) -> dict[str, int]:
    """Sorts PyTorch's counts, which are by module and kernel, into the ledger's parts."""
    stacks = {"": ("Trunk", config.trunk)}
    if isinstance(config.trunk, EncoderDecoderConfig):
        stacks = {
            f"{side} ": (f"EncoderDecoder.{side}", getattr(config.trunk, side))
            for side in ("encoder", "decoder")
        }
    counts, parts = forward.get_flop_counts(), Counter()
    for side, (module, stack) in stacks.items():
        for layer in range(stack.num_layers):
            at = f"{module}.layers.{layer}"
            for kind, projections, scores in (
                ("attention", "attention projections", "attention over n positions"),
                ("cross_attention", "cross projections", "cross-attention over n positions"),
            ):
                for kernel, flops in counts.get(f"{at}.{kind}", {}).items():
                    parts[side + (scores if kernel is ATTENTION else projections)] += flops
            parts[f"{side}feed-forward"] += sum(counts[f"{at}.feed_forward"].values())
    parts[HEAD] = forward.get_total_flops() - sum(parts.values())
    return dict(parts)


@every(PRETRAINING | CLASSIFICATION | FROZEN)
def test_each_part_takes_the_operations_that_pytorch_counts_forward(config, step):
    forward, _ = count(config, step)
    predicted = Counter()
    for part in model_work(config, step):
        name = HEAD if part.name.startswith(HEAD_PARTS) else part.name
        predicted[name] += part.forward.value * step.num_tokens
    assert predicted == pytest.approx(counted_parts(forward, config), rel=1e-12)


@every(PRETRAINING | CLASSIFICATION)
def test_attention_takes_the_operations_that_pytorch_counts_backward(config, step):
    _, backward = count(config, step)
    predicted = sum(part.backward for part in model_work(config, step) if part.is_attention)
    assert predicted * step.num_tokens == backward.flop_counts["Global"][ATTENTION_BACKWARD]


@every(PRETRAINING | CLASSIFICATION)
def test_both_passes_take_the_operations_that_pytorch_counts(config, step):
    forward, backward = count(config, step)
    counted = forward.get_total_flops() + backward.get_total_flops()
    predicted = sum(part.total for part in model_work(config, step)) * step.num_tokens
    assert predicted == pytest.approx(counted, rel=1e-12)


@every(FROZEN)
def test_on_a_frozen_trunk_backward_takes_the_operations_that_pytorch_counts(config, step):
    _, backward = count(config, step)
    predicted = sum(part.backward for part in model_work(config, step)) * step.num_tokens
    assert predicted == pytest.approx(backward.get_total_flops(), rel=1e-12)


@every(FROZEN)
def test_on_a_frozen_trunk_nothing_below_the_head_works_backward(config, step):
    working = [part.name for part in model_work(config, step) if part.backward]
    assert all(name.startswith(HEAD_PARTS) for name in working), working


@st.composite
def shapes(draw):
    num_heads = draw(st.integers(1, 4))
    layer = LayerConfig(
        width=num_heads * 2 * draw(st.integers(1, 8)),
        num_heads=num_heads,
        feed_forward_width=draw(st.integers(1, 40)),
        feed_forward=draw(st.sampled_from(["relu", "gelu", "gated-silu"])),
        norm=draw(st.sampled_from(["layer", "rms"])),
        norm_place=draw(st.sampled_from(["post", "pre"])),
        has_bias=draw(st.booleans()),
    )
    trunk = TrunkConfig(
        vocabulary_size=draw(st.integers(1, 50)),
        num_layers=draw(st.integers(1, 3)),
        layer=layer,
        direction=draw(st.sampled_from(["causal", "bidirectional"])),
        positions=draw(st.sampled_from(["sinusoidal", "rotary", "learned"])),
        max_length=12,
        has_embedding_norm=draw(st.booleans()),
    )
    head = draw(
        st.one_of(
            st.builds(LanguageHeadConfig, is_tied=st.booleans(), has_bias=st.booleans()),
            st.builds(
                LabelHeadConfig,
                num_labels=st.integers(2, 5),
                pooling=st.sampled_from(["last", "mean", "first"]),
            ),
        )
    )
    step = StepShape(length=draw(st.integers(1, 12)), sequences=draw(st.integers(1, 3)))
    return ModelConfig(trunk=trunk, head=head), step


@settings(max_examples=40, deadline=None)
@given(shape=shapes())
def test_any_shape_takes_the_operations_that_pytorch_counts(shape):
    config, step = shape
    forward, backward = count(config, step)
    work = model_work(config, step)
    predicted = [sum(part.forward.value for part in work), sum(part.backward for part in work)]
    counted = [forward.get_total_flops(), backward.get_total_flops()]
    assert [flops * step.num_tokens for flops in predicted] == pytest.approx(counted, rel=1e-12)
