"""AdamW for tables of which a step touches few rows: a row that no gradient names costs nothing.

Dense AdamW moves every row in every step: without a gradient its moments fade, it glides on along
its momentum, and it decays. Here a row catches up with all of that at once when it is next named,
in closed form; `settle` has all rows catch up, before a model is judged or given away.

Legend: V rows of the table, R rows that a step touches; both with whatever a row consists of.
"""

import math
from collections.abc import Callable, Iterable
from ctypes import byref
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import increment_version

from headstart.errors import RecipeError
from headstart.models.kernels.library import is_plain, kernels_in_use, threaded_kernels
from headstart.models.kernels.moved_rows import MovedRowsFields


class RowwiseAdamW(torch.optim.Optimizer):
    """Does to the rows that sparse gradients name what AdamW would do to all."""

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        beta1, beta2 = betas
        if not 0 <= beta1**2 < beta2 < 1:
            raise RecipeError(
                f"The betas are {beta1} and {beta2}; the first one's square must be below the "
                "second, or a row without gradients would glide ever faster."
            )
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]  # PyTorch's has overloads
        """Moves the rows that gradients name."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    rows_R, gradient_R = named_rows(table.grad)
                    _Rows(table, rows_R, self._state_of(table), group).step(gradient_R)
        return loss

    @torch.no_grad()
    def settle(self) -> None:
        """Has every row catch up with the steps that did not name it."""
        for group in self.param_groups:
            for table in group["params"]:
                if state := self.state.get(table):
                    lags_V = state["last_step"] < state["step"].to(table.device)
                    _Rows(table, lags_V.nonzero().squeeze(1), state, group).settle()

    def _state_of(self, table: nn.Parameter) -> dict[str, Tensor]:
        """Returns what is remembered of a table: tensors only, and one number for each row."""
        state: dict[str, Tensor] = self.state[table]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            # The sum of all rates so far, from which missed decay follows under any schedule.
            state["rate_sum"] = torch.zeros((), dtype=torch.float64)
            state["exp_avg"] = torch.zeros_like(table)
            state["exp_avg_sq"] = torch.zeros_like(table)
            state["last_step"] = torch.zeros(len(table), dtype=torch.int32, device=table.device)
            state["last_rate"] = torch.zeros_like(state["last_step"], dtype=torch.float64)
            state["last_rate_sum"] = torch.zeros_like(state["last_rate"])
        return state


class Lag(NamedTuple):
    """What each row catches up by, since steps did not name it."""

    glide_R: Tensor
    """How far it moves along its fading momentum."""
    correction_R: Tensor
    """What the root of its second moment is multiplied by on the way."""
    weights_left_R: Tensor
    mean_left_R: Tensor
    square_left_R: Tensor


class _Rows:
    """Some rows of a table with all that is remembered of them, to be moved."""

    def __init__(
        self, table: Tensor, rows_R: Tensor, state: dict[str, Tensor], group: dict[str, Any]
    ) -> None:
        self.table, self.rows_R, self.state, self.group = table, rows_R, state, group

    def step(self, gradient_R: Tensor) -> None:
        """Catches up with the steps before this one, and does it."""
        lag = self._lag()
        self.state["step"] += 1
        self.state["rate_sum"] += self.group["lr"]
        if self._can_be_compiled(gradient_R):
            self._move_compiled(lag, gradient_R)
        else:
            self._move(lag, gradient_R)
        self._remember()

    def settle(self) -> None:
        """Catches up with all steps so far."""
        self._put_back(*self._caught_up(self._lag()))
        self._remember()

    def _lag(self) -> Lag:
        """Returns what steps without a gradient would have done since each row was last named."""
        beta1, beta2 = self.group["betas"]
        last_step_R = self._recall("last_step").double()
        missed_R = float(self.state["step"]) - last_step_R
        rate_sum_R = float(self.state["rate_sum"]) - self._recall("last_rate_sum")
        # After j steps the first moment is beta1^j of what it was, and the root of the second
        # beta2^(j/2): the moves are a geometric series.
        fading = beta1 / math.sqrt(beta2)
        sum_R = fading * (1 - fading**missed_R) / (1 - fading)
        # Rate and corrections change slowly; those of the middle of the moves stand for all.
        half_R = (missed_R + 1) / 2
        middle_R = half_R.clamp(max=1 / (1 - fading))
        mean_rate_R = rate_sum_R / missed_R.clamp(min=1)
        rate_R = torch.lerp(self._recall("last_rate"), mean_rate_R, middle_R / half_R)
        correction1_R, correction2_R = bias_corrections(last_step_R + middle_R, (beta1, beta2))
        parts = (
            rate_R * sum_R / correction1_R,
            correction2_R.rsqrt(),
            torch.exp(-self.group["weight_decay"] * rate_sum_R),
            beta1**missed_R,
            beta2**missed_R,
        )
        return Lag(*(part_R.to(self.table.dtype) for part_R in parts))

    def _caught_up(self, lag: Lag) -> tuple[Tensor, Tensor, Tensor]:
        """Returns weights and both moments as they would be had every step named the rows."""
        weights_R, mean_R, square_R = (
            tensor.index_select(0, self.rows_R)
            for tensor in (self.table, self.state["exp_avg"], self.state["exp_avg_sq"])
        )
        glide, correction, weights_left, mean_left, square_left = map(self._across, lag)
        size_R = square_R.sqrt().mul_(correction).add_(self.group["eps"])
        weights_R.sub_((mean_R / size_R).mul_(glide)).mul_(weights_left)
        return weights_R, mean_R.mul_(mean_left), square_R.mul_(square_left)

    def _move(self, lag: Lag, gradient_R: Tensor) -> None:
        """Catches up and does the step, for rows that lie anywhere."""
        weights_R, mean_R, square_R = self._caught_up(lag)
        group, (beta1, beta2) = self.group, self.group["betas"]
        correction1, correction2 = bias_corrections(float(self.state["step"]), group["betas"])
        weights_R.mul_(1 - group["lr"] * group["weight_decay"])
        mean_R.lerp_(gradient_R, 1 - beta1)
        square_R.mul_(beta2).addcmul_(gradient_R, gradient_R, value=1 - beta2)
        size_R = square_R.sqrt().div_(math.sqrt(correction2)).add_(group["eps"])
        weights_R.addcdiv_(mean_R, size_R, value=-group["lr"] / correction1)
        self._put_back(weights_R, mean_R, square_R)

    def _can_be_compiled(self, gradient_R: Tensor) -> bool:
        """Whether compiled code can move the rows where they lie."""
        moments = self.state["exp_avg"], self.state["exp_avg_sq"]
        is_of_rows = gradient_R.shape[1:] == self.table.shape[1:]
        is_known = is_of_rows and threaded_kernels() is not None
        return is_known and all(
            is_plain(part) and part.is_contiguous() for part in (self.table, gradient_R, *moments)
        )

    def _move_compiled(self, lag: Lag, gradient_R: Tensor) -> None:
        """Does the same in one pass over the rows."""
        group, (beta1, beta2) = self.group, self.group["betas"]
        correction1, correction2 = bias_corrections(float(self.state["step"]), group["betas"])
        rows_R = self.rows_R.contiguous()
        fields = MovedRowsFields(
            *(self.table.data_ptr(), self.state["exp_avg"].data_ptr()),
            *(self.state["exp_avg_sq"].data_ptr(), rows_R.data_ptr(), gradient_R.data_ptr()),
            *(part_R.data_ptr() for part_R in lag),
            weight_left=1 - group["lr"] * group["weight_decay"],
            square_left=beta2,
            mean_share=1 - beta1,
            square_share=1 - beta2,
            correction=1 / math.sqrt(correction2),
            rate=group["lr"] / correction1,
            epsilon=group["eps"],
            num_rows=len(rows_R),
            width=gradient_R[:1].numel(),
            num_parts=torch.get_num_threads(),
        )
        kernels_in_use().move_rows(byref(fields))
        # Whoever kept the table to learn from it should see that it has changed.
        increment_version([self.table, self.state["exp_avg"], self.state["exp_avg_sq"]])

    def _recall(self, name: str) -> Tensor:
        """Returns a number that is remembered of each row."""
        return self.state[name].index_select(0, self.rows_R)

    def _across(self, number_R: Tensor) -> Tensor:
        """Shapes a number for each row so that it applies to the whole row."""
        return number_R.view(-1, *[1] * (self.table.ndim - 1))

    def _put_back(self, weights_R: Tensor, mean_R: Tensor, square_R: Tensor) -> None:
        """Writes the rows where they were taken from."""
        self.table.index_copy_(0, self.rows_R, weights_R)
        self.state["exp_avg"].index_copy_(0, self.rows_R, mean_R)
        self.state["exp_avg_sq"].index_copy_(0, self.rows_R, square_R)

    def _remember(self) -> None:
        """Notes that the rows have caught up with all steps so far."""
        state = self.state
        state["last_step"].index_fill_(0, self.rows_R, int(state["step"]))
        state["last_rate"].index_fill_(0, self.rows_R, self.group["lr"])
        state["last_rate_sum"].index_fill_(0, self.rows_R, float(state["rate_sum"]))


def bias_corrections(step: Any, betas: tuple[float, float]) -> tuple[Any, Any]:
    """Returns the sums of the weights that both moments have given to gradients by a step."""
    return 1 - betas[0] ** step, 1 - betas[1] ** step


def named_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the rows that a gradient names, each once, with their gradients; dense names all."""
    if not gradient.is_sparse:
        return torch.arange(len(gradient), device=gradient.device), gradient
    gradient = gradient.coalesce()
    return gradient._indices()[0], gradient._values()
