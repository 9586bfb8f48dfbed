"""The documents' shape as a causal language model, as others would write it.

Each is a module whose forward takes tokens and what follows each of them, and returns the loss.
"""

import math
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headstart.models.positions import sinusoids

WIDTH, HEADS, LAYERS = 200, 2, 4
HAS_X_TRANSFORMERS = find_spec("x_transformers") is not None


class DocumentsModel(nn.Module):
    """What the documents wrote: nn.TransformerEncoder, sequence first, the mask a matrix."""

    def __init__(self, num_pieces: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_pieces, WIDTH)
        self.register_buffer("positions", sinusoids(length, WIDTH).float()[:, None])
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, WIDTH, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, LAYERS)
        self.head = nn.Linear(WIDTH, num_pieces)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        """Returns the mean loss."""
        tokens = tokens.T
        mask = nn.Transformer.generate_square_subsequent_mask(len(tokens), device=tokens.device)
        hidden = self.embedding(tokens) * math.sqrt(WIDTH) + self.positions[: len(tokens)]
        logits = self.head(self.encoder(hidden, mask))
        return F.cross_entropy(logits.flatten(0, 1), target.T.flatten())


class PlainBlock(nn.Module):
    """A pre-norm layer around PyTorch's fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: Tensor) -> Tensor:
        """Returns the vectors after the layer."""
        parts = self.query_key_value(self.norms[0](hidden)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.output(mixed.transpose(1, 2).flatten(2))
        return hidden + self.outer(F.relu(self.inner(self.norms[1](hidden))))


class CompactModel(nn.Module):
    """In the style of nanoGPT, untied as the documents' model, the vocabulary padded or not."""

    def __init__(self, num_pieces: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_pieces, WIDTH)
        self.positions = nn.Embedding(length, WIDTH)
        self.layers = nn.Sequential(*(PlainBlock() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, num_pieces)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        """Returns the mean loss."""
        place = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.layers(self.embedding(tokens) + self.positions(place))
        return F.cross_entropy(self.head(self.norm(hidden)).flatten(0, 1), target.flatten())


class HuggingFaceModel(nn.Module):
    """GPT-2 of that shape by `transformers`, with its own loss."""

    def __init__(self, num_pieces: int, length: int) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        self.model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=num_pieces,
                n_positions=length,
                n_embd=WIDTH,
                n_layer=LAYERS,
                n_head=HEADS,
                n_inner=WIDTH,
                activation_function="relu",
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                tie_word_embeddings=False,
                use_cache=False,
                bos_token_id=0,
                eos_token_id=0,
            )
        )

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        """Returns the mean loss; what follows is given as it is, and not shifted once more."""
        return self.model(tokens, labels=tokens, shift_labels=target).loss


class XTransformersModel(nn.Module):
    """A decoder of these widths by `x-transformers`, with PyTorch's fused attention and GELU."""

    def __init__(self, num_pieces: int, length: int) -> None:
        super().__init__()
        from x_transformers import Decoder, TransformerWrapper

        self.model = TransformerWrapper(
            num_tokens=num_pieces,
            max_seq_len=length,
            attn_layers=Decoder(
                dim=WIDTH,
                depth=LAYERS,
                heads=HEADS,
                attn_dim_head=WIDTH // HEADS,
                ff_mult=1,
                attn_flash=True,
            ),
        )

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        """Returns the mean loss."""
        return F.cross_entropy(self.model(tokens).flatten(0, 1), target.flatten())
