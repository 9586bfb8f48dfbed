"""The mask with its tokens: which position (row) may attend to which (column)."""

import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from headstart.models.accounting.ledger import Anatomy
from headstart.models.inputs import Text
from headstart.models.masks import causal, within
from headstart.reports.figures.style import BLUE, new_axes

PIECES: tuple[str, ...] = ("<sos>", "▁Ce", "▁livre", "▁est", "▁un", "▁vrai", "▁bonheur", "▁!")
PADDING: tuple[str, ...] = ("<pad>", "<pad>")


def draw(anatomy: Anatomy) -> Figure:
    """Draws the mask of the trunk's direction; a bidirectional one is shown with padding."""
    direction = anatomy.ledger.model.trunk.writing_stack.direction
    if direction == "causal":
        pieces, may_attend_TT = PIECES, causal(len(PIECES))
        title = "The square mask: a position sees itself and what came before"
    else:
        pieces = (*PIECES, *PADDING)
        is_token_1T = torch.tensor([[piece not in PADDING for piece in pieces]])
        visible = within(
            Text(torch.zeros_like(is_token_1T, dtype=torch.long), is_token_1T), direction
        )
        assert visible.may_attend_B1TS is not None
        may_attend_TT = visible.may_attend_B1TS[0, 0]
        title = "The padding mask: a position sees every real one"
    figure, axes = new_axes(6, 5.4, title)
    axes.imshow(may_attend_TT.numpy(), cmap=ListedColormap(["#e6e8eb", BLUE]), vmin=0, vmax=1)
    axes.set_xticks(range(len(pieces)), pieces, rotation=45, ha="right")
    axes.set_yticks(range(len(pieces)), pieces)
    axes.set_xlabel("may be attended to (blue)")
    axes.set_ylabel("attends")
    axes.set_xticks([edge - 0.5 for edge in range(1, len(pieces))], minor=True)
    axes.set_yticks([edge - 0.5 for edge in range(1, len(pieces))], minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    return figure
