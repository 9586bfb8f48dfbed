"""Products with weights that lie as a processor wants them, where nothing is learned.

PyTorch lays a matrix out anew for every product, though it is the same each time; laid out once,
at the price of its memory once more, products of a few hundred rows take less (docs/log.md). The
weights themselves stay what they are: gradients, checkpoints and everything that reads them know
nothing of this, and a model that is told to learn, or moved, goes back to plain products.
"""

from functools import cache
from typing import Any, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# The rows that a layout is chosen for; it serves any number.
NUM_USUAL_ROWS = 256
# Multiplications of a product below which a layout saves less than calling for it costs.
LEAST_PRODUCT = 1 << 22

Activation = Literal["none", "relu"]


def has_layouts() -> bool:
    """Says whether this PyTorch can lay weights out once for many products."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    backend = torch.backends.mkldnn
    is_on = backend.is_available() and bool(backend.enabled)  # type: ignore[no-untyped-call]
    return is_on and all(hasattr(torch.ops.mkldnn, name) for name in names)


@cache
def has_half_layouts() -> bool:
    """Says whether this processor multiplies by weights that are laid out in half precision."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def precision_for(rows: Tensor, weight: Tensor) -> torch.dtype | None:
    """Returns the precision in which a layout serves a product; None where plain ones do better."""
    if torch.is_autocast_enabled("cpu"):
        # However small a product is, its weights would be converted once more.
        is_half = torch.get_autocast_dtype("cpu") == torch.bfloat16
        return torch.bfloat16 if is_half and has_half_layouts() else None
    is_worth_it = rows.numel() * len(weight) >= LEAST_PRODUCT
    return torch.float32 if is_worth_it and rows.dtype == torch.float32 else None


class Layout:
    """A matrix of weights as it was at one time, laid out for products on a processor."""

    def __init__(self, weight: Tensor, dtype: torch.dtype) -> None:
        # Held, so that no other weights come to lie in their place.
        self._weight = weight.detach()
        self._state = state_of(weight)
        self._laid_out = torch.ops.mkldnn._reorder_linear_weight(
            self._weight.to(dtype), NUM_USUAL_ROWS
        )
        self.dtype = dtype

    def is_of(self, weight: Tensor) -> bool:
        """Says whether weights are still those that were laid out."""
        return self._state == state_of(weight)

    def product(self, rows: Tensor, bias: Tensor | None, activation: Activation) -> Tensor:
        """Returns the product with each row, bent where an activation is named."""
        answer: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows.to(self.dtype),
            self._laid_out,
            None if bias is None else bias.to(self.dtype),
            activation,
            [],
            "",
        )
        return answer


def state_of(weight: Tensor) -> tuple[int, int]:
    """Returns where weights lie and how often they were changed in place."""
    return weight.data_ptr(), weight._version


class Product(nn.Module):
    """A module that multiplies by its weights, by a layout of its own once it is only used."""

    weight: Tensor
    is_for_use = False
    """Whether the weights may be laid out: nothing learns them from here on."""
    _layout: Layout | None = None

    def lay_out(self) -> None:
        """Has the weights laid out when they are first used without gradients, where that helps."""
        weight = self.weight
        is_plain = weight.device.type == "cpu" and weight.dtype == torch.float32
        self._layout = None
        # Weights that count no changes could change unseen.
        self.is_for_use = is_plain and not weight.is_inference() and has_layouts()

    def train(self, mode: bool = True) -> Self:  # noqa: FBT001, FBT002 - PyTorch's own
        """Says whether it learns; weights that do may change uncounted, by a fused optimiser."""
        if mode:
            self.forget_layout()
        return super().train(mode)

    def forget_layout(self) -> None:
        """Goes back to plain products."""
        self.is_for_use, self._layout = False, None

    def product(self, rows: Tensor, bias: Tensor | None, activation: Activation = "none") -> Tensor:
        """Returns the product with each row, bent where an activation is named."""
        layout = self._layout_for(rows) if self.is_for_use else None
        if layout is not None:
            return layout.product(rows, bias, activation)
        answer = F.linear(rows, self.weight, bias)
        return F.relu(answer) if activation == "relu" else answer

    def _layout_for(self, rows: Tensor) -> Layout | None:
        """Returns the layout by which these rows are multiplied; none where the plain way is."""
        weight = self.weight
        if self.training or weight.device.type != "cpu":
            self.forget_layout()
            return None
        dtype = None if torch.is_grad_enabled() else precision_for(rows, weight)
        if dtype is None:
            return None
        if (layout := self._layout) is None or layout.dtype != dtype:
            layout = self._layout = Layout(weight, dtype)
        if layout.is_of(weight):
            return layout
        # Weights that have moved on are learning again, and each layout would serve once.
        self.forget_layout()
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Returns what a copy has: all but the layout, which is only made anew."""
        return {name: part for name, part in self.__dict__.items() if name != "_layout"}


class Linear(Product, nn.Linear):
    """PyTorch's linear layer, whose weights can be laid out for use."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - PyTorch's own name
        """Returns the product with each row, and the bias added."""
        return self.product(input, self.bias)

    def outputs(self, rows: Tensor, begin: int, end: int) -> Tensor:
        """Returns only some of the outputs for each row, at the price of only those."""
        bias = None if self.bias is None else self.bias[begin:end]
        return F.linear(rows, self.weight[begin:end], bias)


def lay_out(model: nn.Module) -> None:
    """Has all products of a model that is only used from here on take laid out weights."""
    for part in model.modules():
        if isinstance(part, Product):
            part.lay_out()
