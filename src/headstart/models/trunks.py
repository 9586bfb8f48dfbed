"""Trunks: everything below a head, all from the same blocks.

Legend: B batch, T positions, S positions of the source, D width.
"""

from typing import cast

import torch
from torch import Tensor, nn

from headstart.errors import RecipeError
from headstart.models.blocks import Block, Source
from headstart.models.cache import Cache, LayerCache
from headstart.models.config import AnyTrunkConfig, EncoderDecoderConfig, TrunkConfig
from headstart.models.embedding import Embedding
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.masks import Visibility, across, within
from headstart.models.norms import new_norm
from headstart.models.positions import RotaryPositions, Rotation, count_positions

# In the backward of a norm PyTorch's compiler may sum over rows and over columns in one kernel,
# which takes twice as long as one sum after the other.
MIXED_SUMS = "triton.mix_order_reduction"


class Trunk(nn.Module):
    """A stack of blocks, causal or bidirectional; with a source, the decoder's half."""

    def __init__(self, config: TrunkConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.rotary = (
            RotaryPositions(config.max_length, config.layer.head_width)
            if config.positions == "rotary"
            else None
        )
        self.layers = nn.ModuleList(Block(config, index) for index in range(config.num_layers))
        # Pre-norm blocks leave their sum as it grew; post-norm blocks end normalised.
        self.norm = new_norm(config.layer) if config.layer.norm_place == "pre" else nn.Identity()
        self.num_lessons = 0
        """How often it was told to learn, from when on weights may change uncounted."""

    def train(self, mode: bool = True) -> "Trunk":  # noqa: FBT001, FBT002 - PyTorch's own form
        """Has dropout drop or not, and counts when learning begins."""
        self.num_lessons += mode
        return super().train(mode)

    def forward(self, text: Text, source: Source | None = None) -> Tensor:
        """Returns a vector for each position. Shape (B, T, D)."""
        hidden_BTD, visibility, rotation = self._before_layers(text)
        for layer in self.layers:
            hidden_BTD = layer(hidden_BTD, visibility, rotation, source)
        normed_BTD: Tensor = self.norm(hidden_BTD)
        return normed_BTD

    def at(self, place_B: Tensor, text: Text) -> Tensor:
        """Returns the vector of one position of each row. Shape (B, D).

        The last layer is done for these positions alone, since nothing comes after it.
        """
        hidden_BTD, visibility, rotation = self._before_layers(text)
        *layers_before, last_layer = self._blocks
        for layer in layers_before:
            hidden_BTD = layer(hidden_BTD, visibility, rotation, None)
        normed_B1D: Tensor = self.norm(last_layer.at(place_B, hidden_BTD, visibility, rotation))
        return normed_B1D[:, 0]

    @torch.no_grad()
    def new_cache(self, source: Source | None = None) -> Cache:
        """Returns a cache that has read nothing yet but the source, where there is one."""
        if self.config.direction != "causal":
            raise RecipeError(
                f"This trunk is {self.config.direction}: every piece reads those behind it, so "
                "that nothing it has read can be kept. Only a causal trunk writes piece by piece."
            )
        if source is None:
            return Cache([LayerCache() for _ in self._blocks], None)
        answers = [block.cross_attention.answers(source.hidden_BSD) for block in self._blocks]
        visibility = source.visibility.ready_for(source.hidden_BSD)
        return Cache([LayerCache(each) for each in answers], visibility)

    @torch.no_grad()
    def extend(self, text: Text, cache: Cache) -> Tensor:
        """Returns a vector for each further position of the rows in a cache, and keeps them."""
        if text.document_BT is not None:
            raise RecipeError("Packed rows cannot be continued. Give one document a row.")
        self.config.check_length(cache.num_positions + cache.num_further(text))
        hidden_BTD, rotation = self._begin(text, cache.place(text))
        visibility = cache.visibility(text).ready_for(hidden_BTD)
        for block, kept in zip(self._blocks, cache.layers, strict=True):
            hidden_BTD = block.extend(
                hidden_BTD, visibility, rotation, kept, cache.source_visibility
            )
        normed_BTD: Tensor = self.norm(hidden_BTD)
        return normed_BTD

    def compile_layers(self, *, for_any_shape: bool = False) -> None:
        """Has the layers compiled when they are first called, in place: all names stay.

        One by one, since they are the same code: what is made for the first serves the others.
        """
        options = compiler_options()
        for block in self._blocks:
            block.compile(dynamic=True if for_any_shape else None, options=options)

    @property
    def _blocks(self) -> list[Block]:
        """The layers, as what they are."""
        return cast("list[Block]", list(self.layers))

    def _before_layers(self, text: Text) -> tuple[Tensor, Visibility, Rotation | None]:
        """Returns what the layers read: vectors, who may attend to whom, and the rotation."""
        self.config.check_length(text.tokens_BT.shape[1])
        hidden_BTD, rotation = self._begin(text, count_positions(text))
        visibility = within(text, self.config.direction).ready_for(hidden_BTD)
        return hidden_BTD, visibility, rotation

    def _begin(self, text: Text, position_BT: Tensor) -> tuple[Tensor, Rotation | None]:
        """Returns the first vectors of a text, and the rotation of its queries and keys."""
        rotation = self.rotary(position_BT) if self.rotary is not None else None
        return self.embedding(text, position_BT), rotation


class EncoderDecoder(nn.Module):
    """A bidirectional trunk that reads, and a causal one that writes while attending to it."""

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Trunk(config.encoder)
        self.decoder = Trunk(config.decoder)
        if config.shares_embedding:
            self.decoder.embedding.tokens = self.encoder.embedding.tokens

    def forward(self, pair: SourceAndTarget) -> Tensor:
        """Returns a vector for each position of the target. Shape (B, T, D)."""
        if pair.source.document_BT is not None or pair.target.document_BT is not None:
            raise RecipeError(
                "Pairs cannot be packed: a target would attend to the sources of other documents. "
                "Give one pair a row."
            )
        read = self.encode(pair.source)
        source = read._replace(visibility=read.visibility.ready_for(read.hidden_BSD))
        hidden_BTD: Tensor = self.decoder(pair.target, source)
        return hidden_BTD

    def compile_layers(self) -> None:
        """Has the layers of both halves compiled when they are first called."""
        for half in (self.encoder, self.decoder):
            # Pairs come in many lengths: code for each would take longer than it saves.
            half.compile_layers(for_any_shape=True)

    def encode(self, source: Text) -> Source:
        """Reads the source once, for any number of targets."""
        return Source(self.encoder(source), across(source))


def compiler_options() -> dict[str, bool] | None:
    """Returns what PyTorch's compiler is told beside its defaults, as far as it knows the word."""
    from torch._inductor import list_options

    return {MIXED_SUMS: False} if MIXED_SUMS in list_options() else None


def new_trunk(config: AnyTrunkConfig) -> Trunk | EncoderDecoder:
    """Returns a trunk of the configured kind, with PyTorch's own first weights."""
    return EncoderDecoder(config) if isinstance(config, EncoderDecoderConfig) else Trunk(config)


def written_embedding(trunk: Trunk | EncoderDecoder) -> nn.Embedding:
    """Returns the table of the pieces that the trunk's answers are about, for a tied head."""
    return (trunk.decoder if isinstance(trunk, EncoderDecoder) else trunk).embedding.tokens
