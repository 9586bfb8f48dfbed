"""Who may attend to whom: every mask is named by what True means.

Legend: B batch, T positions asking, S positions answering, 1 an axis that broadcasts over heads.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from headstart.models.config import Direction
from headstart.models.inputs import Text
from headstart.models.kernels.library import is_watched
from headstart.models.pooling import at_places

# Kernels for attention read so many numbers of a mask at once.
ROW_ALIGNMENT = 8


class Visibility(NamedTuple):
    """What each position may attend to, without a matrix where the kernel can do without one."""

    is_causal: bool
    """True where the square mask is all there is, which fused kernels apply by themselves."""
    may_attend_B1TS: Tensor | None
    """True where a position (row) may attend to another (column)."""
    bias_B1TS: Tensor | None = None
    """The same as what is added to scores, 0 or minus infinity, where a kernel wants it so."""
    num_real_B: Tensor | None = None
    """How many positions of each row are real, where all padding is known to come behind them."""

    def select(self, row_B: Tensor) -> "Visibility":
        """Returns what these rows of a batch may attend to."""
        may_attend_B1TS, bias_B1TS, num_real_B = (
            # What is the same for all rows stands there once.
            part if part is None or len(part) == 1 else part[row_B]
            for part in (self.may_attend_B1TS, self.bias_B1TS, self.num_real_B)
        )
        return Visibility(self.is_causal, may_attend_B1TS, bias_B1TS, num_real_B)

    def at(self, place_B: Tensor, num_answering: int) -> Tensor | None:
        """Returns what one position of each row may attend to; None is all. Shape (B, 1, S)."""
        if self.may_attend_B1TS is not None:
            may_attend_BTS = self.may_attend_B1TS[:, 0].expand(len(place_B), -1, -1)
            return at_places(may_attend_BTS, place_B)
        if self.is_causal:
            answering_S = torch.arange(num_answering, device=place_B.device)
            return answering_S <= place_B[:, None, None]
        return None

    def ready_for(self, hidden_BTD: Tensor) -> "Visibility":
        """Returns the same with a bias for scores, unless a processor learns in single precision.

        Kernels would make it anew in every layer, and a GPU's copy it once more to align its rows.
        """
        device = hidden_BTD.device.type
        is_autocast = torch.is_autocast_enabled(device)
        is_learning = torch.is_grad_enabled() and not hidden_BTD.is_cuda and not is_autocast
        may_attend_B1TS = self.may_attend_B1TS
        if self.is_causal and is_autocast and device == "cpu":
            # Short rows are attended to by plain products there.
            may_attend_B1TS = causal(hidden_BTD.shape[1])[None, None]
        if is_learning or may_attend_B1TS is None:
            return self
        dtype = torch.get_autocast_dtype(device) if is_autocast else hidden_BTD.dtype
        return self._replace(bias_B1TS=aligned_bias(may_attend_B1TS, dtype))


def aligned_bias(may_attend_B1TS: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns 0 where one may attend and minus infinity elsewhere, each row on a border."""
    *shape, length = may_attend_B1TS.shape
    # Always some room behind a row: were there none for some lengths, code for any length would
    # be compiled once more.
    room = (length // ROW_ALIGNMENT + 1) * ROW_ALIGNMENT
    bias = torch.zeros(*shape, room, dtype=dtype, device=may_attend_B1TS.device)
    return bias[..., :length].masked_fill_(~may_attend_B1TS, -torch.inf)


def causal(length: int, device: torch.device | None = None) -> Tensor:
    """The square mask: position t may attend to positions 0 to t. Shape (T, T)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding(is_token_BS: Tensor) -> Tensor:
    """Any position may attend to the real ones. Shape (B, 1, 1, S)."""
    return is_token_BS[:, None, None, :]


def num_before_padding(text: Text) -> Tensor | None:
    """Returns how many positions of each row are real, where the rest is known to follow. (B).

    A GPU is not asked, since it would have to be waited for; nor is what is being compiled or done
    for many at once, since that would end at the answer.
    """
    is_token_BT = text.is_token_BT
    if is_token_BT is None or text.document_BT is not None:
        return None
    if is_token_BT.device.type != "cpu" or is_watched():
        return None
    begins_again = bool((is_token_BT[:, 1:] & ~is_token_BT[:, :-1]).any())
    return None if begins_again else is_token_BT.sum(dim=1)


def same_document(document_BT: Tensor) -> Tensor:
    """Positions of packed text may attend within their own document. Shape (B, 1, T, T)."""
    return (document_BT[:, :, None] == document_BT[:, None, :])[:, None]


def within(text: Text, direction: Direction) -> Visibility:
    """What the positions of a text may attend to in that same text."""
    # No matrix where none is needed: it would be n² and keep the kernel from its fastest form.
    if text.is_token_BT is None and text.document_BT is None:
        return Visibility(is_causal=direction == "causal", may_attend_B1TS=None)
    num_real_B = num_before_padding(text)
    if direction == "causal" and num_real_B is not None:
        # A causal text never looks at what is behind it.
        return Visibility(is_causal=True, may_attend_B1TS=None, num_real_B=num_real_B)
    length, device = text.tokens_BT.shape[1], text.tokens_BT.device
    may_attend = torch.ones(1, 1, length, length, dtype=torch.bool, device=device)
    if direction == "causal":
        may_attend = causal(length, device)[None, None]
    if text.document_BT is not None:
        may_attend = may_attend & same_document(text.document_BT)
    if text.is_token_BT is not None:
        may_attend = may_attend & padding(text.is_token_BT)
        # Padding attends to itself, so that no row of the softmax is empty and none gives NaN.
        may_attend = may_attend | torch.eye(length, dtype=torch.bool, device=device)
    return Visibility(is_causal=False, may_attend_B1TS=may_attend, num_real_B=num_real_B)


def onward(tokens_BT: Tensor, num_all: int, is_token_BS: Tensor | None) -> Visibility:
    """What the newest positions of a causal text may attend to among all that were read."""
    num_new, device = tokens_BT.shape[1], tokens_BT.device
    if is_token_BS is None and num_new in {1, num_all}:
        return Visibility(is_causal=num_new == num_all, may_attend_B1TS=None)
    num_old = num_all - num_new
    not_later_TS = torch.ones(num_new, num_all, dtype=torch.bool, device=device).tril(num_old)
    may_attend = not_later_TS[None, None]
    if is_token_BS is not None:
        # As in `within`: padding attends to itself, so that no row of the softmax is empty.
        is_same_TS = not_later_TS & ~not_later_TS.tril(-1 + num_old)
        may_attend = (may_attend & padding(is_token_BS)) | is_same_TS
    return Visibility(is_causal=False, may_attend_B1TS=may_attend)


def across(source: Text) -> Visibility:
    """What the positions of a target may attend to in its source: all that is real."""
    if source.is_token_BT is None:
        return Visibility(is_causal=False, may_attend_B1TS=None)
    # An empty source shows its first padding and no more: no row of the softmax is empty, and the
    # amount of padding still changes nothing.
    is_visible_BS = source.is_token_BT.clone()
    is_visible_BS[:, 0] |= ~source.is_token_BT.any(dim=1)
    return Visibility(is_causal=False, may_attend_B1TS=padding(is_visible_BS))
