"""How Hugging Face's translator of our shape learns: our weights at the start, its own kernels.

The optimiser is PyTorch's fused AdamW, the products are in half precision by autocast, and nothing
waits for a step to end. Layers are compiled one by one, and the head with its loss as one, for any
shape: their forward asks before each layer whether to drop it, which cuts a model that is compiled
whole at every layer, and their own loss would hold all logits in single precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from their_translators import hugging_face_translator
from torch import Tensor, nn

from headstart.models.model import Model
from headstart.objectives.translation import PairBatch
from headstart.training.config import LearningConfig
from headstart.training.optimiser import decay_groups
from headstart.training.schedule import learning_rate

# What cross-entropy leaves out, as Hugging Face's collators mark it.
IGNORED = -100


@dataclass(frozen=True, kw_only=True)
class TheirPlan:
    """What their training is told, the same as ours."""

    learning: LearningConfig
    num_steps: int
    label_smoothing: float
    device: str
    is_compiled: bool

    @property
    def is_half(self) -> bool:
        """Whether products are in half precision."""
        return self.device != "cpu"


class TheirTraining:
    """A Hugging Face translator, its optimiser and its schedule."""

    def __init__(self, model: Model, plan: TheirPlan) -> None:
        self.plan = plan
        self.model: nn.Module = hugging_face_translator(model).to(plan.device).train()
        learning = plan.learning
        learned = [(name, one) for name, one in self.model.named_parameters() if one.requires_grad]
        self.optimiser = torch.optim.AdamW(
            decay_groups(learned, learning.weight_decay),
            lr=0.0,
            betas=(learning.beta1, learning.beta2),
            fused=True,
        )
        self.weights = [one for _, one in learned]
        self.loss: Callable[..., Tensor] = smoothed_loss
        if plan.is_compiled:
            # Shapes are few, but code for each of them would be compiled for minutes.
            self.loss = torch.compile(smoothed_loss, dynamic=True)
            for half in (self.model.model.encoder, self.model.model.decoder):
                for layer in half.layers:
                    layer.compile(dynamic=True)

    def do_step(self, step: int, batch: PairBatch) -> Tensor:
        """Does one step and returns its loss, for which nobody has waited."""
        rate = learning_rate(step, self.plan.num_steps, self.plan.learning)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        source, target = batch.pair
        is_token_BS = source.is_token_BT
        if is_token_BS is None:
            is_token_BS = torch.ones_like(source.tokens_BT, dtype=torch.bool)
        kind = self.plan.device.partition(":")[0]
        with torch.autocast(kind, dtype=torch.bfloat16, enabled=self.plan.is_half):
            hidden_BTD = self.model.model(
                input_ids=source.tokens_BT,
                attention_mask=is_token_BS.long(),
                decoder_input_ids=target.tokens_BT,
                use_cache=False,
            ).last_hidden_state
            loss = self.loss(
                hidden_BTD,
                self.model.lm_head.weight,
                self.model.final_logits_bias,
                labels_of(batch),
                self.plan.label_smoothing,
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights, self.plan.learning.max_norm)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.detach()


def smoothed_loss(
    hidden_BTD: Tensor, weight_VD: Tensor, bias_1V: Tensor, label_BT: Tensor, smoothing: float
) -> Tensor:
    """Returns the mean loss of what is no padding, as their head and PyTorch have it."""
    logits_BTV = F.linear(hidden_BTD, weight_VD) + bias_1V
    return F.cross_entropy(
        logits_BTV.flatten(0, 1).float(),
        label_BT.flatten(),
        ignore_index=IGNORED,
        label_smoothing=smoothing,
    )


def labels_of(batch: PairBatch) -> Tensor:
    """Returns the piece that is asked for at each position of the targets. Shape (B, T)."""
    tokens_BT = batch.pair.target.tokens_BT
    if batch.share_M is not None:
        return batch.target_M.masked_fill(batch.share_M == 0, IGNORED).view_as(tokens_BT)
    label_N = tokens_BT.new_full((tokens_BT.numel(),), IGNORED)
    assert batch.answered_M is not None
    return label_N.index_copy(0, batch.answered_M, batch.target_M).view_as(tokens_BT)
