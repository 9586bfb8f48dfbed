"""The head over the vocabulary while it learns: its loss, its first bias, and the rows it moves.

Legend: N positions, V pieces, D width.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from headstart.batches.store import TokenStore
from headstart.models.model import Model, language_head
from headstart.objectives.objective import HeadLoss
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.objectives.vocabulary_loss.sampled import CandidateSampler, sampled_loss
from headstart.objectives.vocabulary_loss.unigram import unigram_logits
from headstart.pipeline.recipe import Recipe

# Enough to know how common the pieces are, few enough to count at once.
NUM_COUNTED_TOKENS = 1 << 25
NUM_TOKENS_AT_ONCE = 1 << 20


def new_head_loss(recipe: Recipe, store: TokenStore, device: str) -> HeadLoss:
    """Returns the loss over the vocabulary that is learned from: all of it, or a sample."""
    if recipe.learning.head != "sampled":
        return summed_loss
    counts_V = piece_counts(store, recipe.model.trunk.vocabulary_size)
    sampler = CandidateSampler(counts_V).to(device)

    def loss(
        hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, target_N: Tensor
    ) -> Tensor:
        # The loop seeds PyTorch's own generator in each step, so that the draw is known again.
        return sampled_loss(hidden_ND, weight_VD, bias_V, sampler.draw(target_N))

    return loss


def piece_counts(store: TokenStore, vocabulary_size: int) -> Tensor:
    """Returns how often each piece stands in the first part of a text. Shape (V,)."""
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    last = min(store.num_tokens, NUM_COUNTED_TOKENS)
    for start in range(0, last, NUM_TOKENS_AT_ONCE):
        tokens = store.tokens(start, min(start + NUM_TOKENS_AT_ONCE, last))
        counts += np.bincount(tokens, minlength=vocabulary_size)
    return torch.from_numpy(counts)


@torch.no_grad()
def begin_with_frequencies(model: Model[Any, Any], store: TokenStore) -> None:
    """Has a head's bias begin with how common each piece is, which it would learn first anyway."""
    bias_V = language_head(model).bias
    if bias_V is not None:
        bias_V.copy_(unigram_logits(piece_counts(store, len(bias_V))))


def use_rows(model: Model[Any, Any], recipe: Recipe, began_on: str) -> set[str]:
    """Has steps update only the rows that they touch, where that pays; returns those tables."""
    head, embedding = language_head(model), model.trunk.embedding.tokens
    is_sampled = recipe.learning.head == "sampled"
    # An exact head touches every row of its matrix, the embedding too where the two are tied. A
    # GPU passes over the whole table in less time than it finds the rows.
    is_sparse = is_sampled or (head.weight is not embedding.weight and began_on == "cpu")
    embedding.sparse = is_sparse
    tables = [embedding.weight] if is_sparse else []
    if is_sampled:
        tables += [weights for weights in (head.weight, head.bias) if weights is not None]
    return {
        name
        for name, weights in model.named_parameters()
        if any(weights is table for table in tables)
    }
