"""Trunks: everything below a head, all from the same blocks.

Legend: B batch, T positions, S positions of the source, D width.
"""

from torch import Tensor, nn

from headstart.errors import RecipeError
from headstart.models.blocks import Block, Source
from headstart.models.config import AnyTrunkConfig, EncoderDecoderConfig, TrunkConfig
from headstart.models.embedding import Embedding
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.masks import across, within
from headstart.models.norms import new_norm
from headstart.models.positions import RotaryPositions, count_positions


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

    def forward(self, text: Text, source: Source | None = None) -> Tensor:
        """Returns a vector for each position. Shape (B, T, D)."""
        self.config.check_length(text.tokens_BT.shape[1])
        position_BT = count_positions(text)
        visibility = within(text, self.config.direction)
        rotation = self.rotary(position_BT) if self.rotary is not None else None
        hidden_BTD = self.embedding(text, position_BT)
        for layer in self.layers:
            hidden_BTD = layer(hidden_BTD, visibility, rotation, source)
        normed_BTD: Tensor = self.norm(hidden_BTD)
        return normed_BTD


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
        hidden_BTD: Tensor = self.decoder(pair.target, self.encode(pair.source))
        return hidden_BTD

    def encode(self, source: Text) -> Source:
        """Reads the source once, for any number of targets."""
        return Source(self.encoder(source), across(source))


def new_trunk(config: AnyTrunkConfig) -> Trunk | EncoderDecoder:
    """Returns a trunk of the configured kind, with PyTorch's own first weights."""
    return EncoderDecoder(config) if isinstance(config, EncoderDecoderConfig) else Trunk(config)


def written_embedding(trunk: Trunk | EncoderDecoder) -> nn.Embedding:
    """Returns the table of the pieces that the trunk's answers are about, for a tied head."""
    return (trunk.decoder if isinstance(trunk, EncoderDecoder) else trunk).embedding.tokens
