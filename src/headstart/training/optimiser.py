"""AdamW over a model's parameters: matrices decay, norms and biases do not."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from headstart.training.config import LearningConfig
from headstart.training.rowwise import RowwiseAdamW

Named = Iterable[tuple[str, nn.Parameter]]
# For the name of a parameter, the share of the rate that it moves by.
RateShares = Callable[[str], float]
# Between the name of a parameter and what is remembered of it.
MARK = "//"


def whole_rate(_name: str) -> float:
    """Has every parameter move by the whole rate."""
    return 1.0


class Optimiser:
    """AdamW for what a step touches as a whole, and row by row for tables it touches in part."""

    def __init__(
        self,
        model: nn.Module,
        rowwise: set[str],
        config: LearningConfig,
        rate_share: RateShares = whole_rate,
    ) -> None:
        # A tied matrix has one name here, and is stepped once.
        self.parameters = {
            name: weights for name, weights in model.named_parameters() if weights.requires_grad
        }
        dense, sparse = (
            decay_groups(
                [row for row in self.parameters.items() if (row[0] in rowwise) == is_sparse],
                config.weight_decay,
                rate_share,
            )
            for is_sparse in (False, True)
        )
        betas = (config.beta1, config.beta2)
        device = next((weights.device for weights in self.parameters.values()), None)
        # Whether a step on a GPU was not sound: what is launched behind it must move nothing.
        self._was_unsound = torch.zeros((), dtype=torch.bool, device=device)
        self._rates: DeviceRates | None = None
        self._parts: list[torch.optim.Optimizer] = []
        if dense:
            is_on_gpu = any(weights.is_cuda for weights in self.parameters.values())
            if is_on_gpu:
                self._rates = DeviceRates(dense)
            # On a GPU steps may be recorded, rates and all.
            self._parts.append(
                torch.optim.AdamW(dense, lr=0.0, betas=betas, fused=True, capturable=is_on_gpu)
            )
        if sparse:
            self._parts.append(RowwiseAdamW(sparse, lr=0.0, betas=betas))

    @property
    def can_be_recorded(self) -> bool:
        """Whether a step is always the same kernels over the same tensors."""
        return not any(isinstance(part, RowwiseAdamW) for part in self._parts)

    def step(self, rate: float) -> None:
        """Moves the weights along their gradients, which are then forgotten."""
        self.set_rate(rate)
        for part in self._parts:
            part.step()
        self.forget_gradients()

    def set_rate(self, rate: float) -> None:
        """Sets how far the next move goes."""
        if self._rates is not None:
            self._rates.set(rate)
        for part in self._parts:
            for group in part.param_groups:
                # Those on a device have just been set there.
                if not isinstance(group["lr"], Tensor):
                    group["lr"] = rate * group["rate_share"]

    def move_if(self, is_sound: Tensor) -> None:
        """Moves the weights on a GPU at the rate that was set; where something is not sound, by 0.

        Nobody waits to see which: the kernel itself leaves weights and moments as they were. Nor
        does any later step move them, until that was read and the optimiser starts afresh.
        """
        self._was_unsound.logical_or_(~is_sound)
        for part in self._parts:
            # What gradient scaling uses to skip a step.
            part.found_inf = self._was_unsound.float()  # type: ignore[attr-defined]
            part.step()
            del part.found_inf  # type: ignore[attr-defined]

    def settle(self) -> None:
        """Has rows that steps did not name catch up, before a model is judged or given away."""
        for part in self._parts:
            if isinstance(part, RowwiseAdamW):
                part.settle()

    def start_afresh(self) -> None:
        """Forgets a step that was not sound, and its gradients."""
        self._was_unsound.zero_()
        self.forget_gradients()

    def forget_gradients(self) -> None:
        """Drops the gradients of all parameters."""
        for part in self._parts:
            part.zero_grad(set_to_none=True)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yields what is remembered of each parameter, by its name."""
        for name, weights in self.parameters.items():
            for part in self._parts:
                for key, value in part.state.get(weights, {}).items():
                    yield f"{name}{MARK}{key}", value

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Takes up what an optimiser of the same parameters remembered."""
        for part in self._parts:
            for group in part.param_groups:
                for weights in group["params"]:
                    part.state[weights] = {}
        owners = {
            weights: part
            for part in self._parts
            for group in part.param_groups
            for weights in group["params"]
        }
        for key, value in tensors.items():
            name, _, what = key.partition(MARK)
            weights = self.parameters[name]
            # Counts of steps stay where the optimiser keeps them; the moments go to the weights.
            is_count = value.ndim == 0 and weights.device.type == "cpu"
            device = value.device if is_count else weights.device
            owners[weights].state[weights][what] = value.to(device)


class DeviceRates:
    """The rates of groups of parameters, beside them on their device and set all at once."""

    def __init__(self, groups: Sequence[dict[str, Any]]) -> None:
        device = groups[0]["params"][0].device
        shares = [group["rate_share"] for group in groups]
        self._share_G = torch.tensor(shares, dtype=torch.float64, device=device)
        self._rate_G = torch.zeros(len(groups), device=device)
        for group, rate in zip(groups, self._rate_G, strict=True):
            group["lr"] = rate

    def set(self, rate: float) -> None:
        """Gives each group its share of a rate."""
        self._rate_G.copy_(self._share_G * rate)


def decay_groups(
    named: Named, weight_decay: float, rate_share: RateShares = whole_rate
) -> list[dict[str, Any]]:
    """Returns the matrices, which decay, and the vectors, which do not, by their share of rate."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = defaultdict(list)
    for name, weights in named:
        groups[rate_share(name), weights.ndim > 1].append(weights)
    return [
        {"params": params, "weight_decay": weight_decay if decays else 0.0, "rate_share": share}
        for (share, decays), params in sorted(
            groups.items(), key=lambda item: item[0], reverse=True
        )
    ]
