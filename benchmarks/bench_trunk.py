"""How fast is a classifier's training step of the documents' shape, beside plain torch.nn?

The peer is what the documents wrote: nn.TransformerEncoder with the square mask as a matrix of
minus infinities, sequence first, AdamW. Same shape, same batch, same work; both learn everything.
"""

import math
import time

import torch
import torch.nn.functional as F
from record import alternate, keep
from torch import Tensor, nn

from headstart import Text, find_recipe, initialise, new_model
from headstart.models.positions import sinusoids
from headstart.pipeline.recipe import model_for

SEQUENCES, LENGTH, LABELS = 16, 256, 2


class DocumentsModel(nn.Module):
    """The documents' classifier, as a notebook of theirs has it."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50_001, 200)
        self.register_buffer("positions", sinusoids(5_000, 200).float()[:, None])
        layer = nn.TransformerEncoderLayer(200, 2, 200, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 4)
        self.head = nn.Linear(200, LABELS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns the logits of each text, read at its last position."""
        mask = nn.Transformer.generate_square_subsequent_mask(len(tokens))
        hidden = self.embedding(tokens) * math.sqrt(200) + self.positions[: len(tokens)]
        return self.head(self.encoder(hidden, mask)[-1])


def training_step(model: nn.Module, answer: object, labels: Tensor) -> object:
    """Returns a function that does one step and returns its seconds."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> float:
        started_at = time.perf_counter()
        F.cross_entropy(answer(model), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        return time.perf_counter() - started_at

    return step


def main() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(50_001, (SEQUENCES, LENGTH))
    labels = torch.randint(LABELS, (SEQUENCES,))
    ours = new_model(model_for(find_recipe("lab"), "classification", LABELS))
    initialise(ours, seed=0)
    theirs = DocumentsModel()
    seconds = alternate(
        {
            "headstart": training_step(ours, lambda model: model(Text(tokens)), labels),
            "torch.nn, as the documents wrote it": training_step(
                theirs, lambda model: model(tokens.T), labels
            ),
        }
    )
    medians = [row["median_seconds"] for row in seconds.values()]
    keep(
        "trunk",
        {
            "work": f"lab as a classifier, {SEQUENCES} x {LENGTH} pieces, a whole AdamW step",
            "tokens": SEQUENCES * LENGTH,
            "seconds": seconds,
            "ratio": medians[1] / medians[0],
        },
    )


if __name__ == "__main__":
    main()
