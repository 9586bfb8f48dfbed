"""A trunk that is only used, made ready to read one text at a time by compiled code.

For a short text a layer's products take so little time that calling for them, and passing over
memory between them, takes as long again. `kernels/rows.c` reads the whole text in one call, in
which Python is free to do something else. What a layer means is said by `blocks.py`.

Legend: T positions, A positions asked for, D width, L longest length, O outputs, I inputs, P
columns of a panel, N panels.
"""

import ctypes
from collections.abc import Callable
from operator import attrgetter
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headstart.models.blocks import Block
from headstart.models.embedding import Embedding
from headstart.models.feed_forward import GatedFeedForward
from headstart.models.kernels.library import compiled_kernels
from headstart.models.kernels.rows import (
    ACTIVATIONS,
    LayerFields,
    NormFields,
    ProductFields,
    TrunkFields,
)
from headstart.models.listeners import is_heard, is_heard_everywhere
from headstart.models.positions import LearnedPositions, SinusoidalPositions
from headstart.models.trunks import Trunk

# A layer of so many weights and fewer stays in a core's caches; larger ones are better read for
# many texts at once, and by many cores.
MOST_LAYER_WEIGHTS = 1 << 20
# How often weights were changed in place; asked for all of them before every text.
AGE = attrgetter("_version")
# What parts were told when they were made, beside their sizes.
SETTINGS = "activation", "eps", "scale"


class SingleRow:
    """A trunk's products as they were at one time, in panels, and the code that reads with them."""

    def __init__(self, trunk: Trunk, compiled: Any) -> None:
        self._trunk, self._compiled = trunk, compiled
        # Found once, since walking through a trunk for them takes as long as a layer.
        self._parts = list(trunk.modules())
        self._slots = [
            (part._parameters, name) for part in self._parts for name in part._parameters
        ]
        self._settings = [
            (told, name) for told in map(vars, self._parts) for name in SETTINGS if name in told
        ]
        self._state = self._state_of_trunk()
        # What the compiled code is only told the places of.
        self._held: list[object] = []
        self._fields = self._trunk_fields(trunk)

    @property
    def is_current(self) -> bool:
        """Whether the trunk is still as it was, drops nothing, and nobody listens to its parts."""
        is_as_it_was = self._state == self._state_of_trunk()
        is_used = not is_heard_everywhere() and not any(
            part.training or is_heard(part) for part in self._parts
        )
        return is_as_it_was and is_used

    def _state_of_trunk(self) -> tuple[object, ...]:
        """Returns how often the trunk learned, its parts, its weights, where and how old, and more.

        What is changed in place through `.data` is not counted, and so is not seen.
        """
        parts = [id(within) for part in self._parts for within in part._modules.values()]
        weights = [found for kept, name in self._slots if (found := kept.get(name)) is not None]
        places, ages = list(map(Tensor.data_ptr, weights)), list(map(AGE, weights))
        settings = [told.get(name) for told, name in self._settings]
        return self._trunk.num_lessons, parts, list(map(id, weights)), places, ages, settings

    def __reduce__(self) -> tuple[Callable[[Trunk], "SingleRow | None"], tuple[Trunk]]:
        """Has a copy made ready anew, from the copy of the trunk: places are no use to others."""
        return new_single_row, (self._trunk,)

    def vectors(self, tokens_T: Tensor) -> Tensor:
        """Returns a vector for each position. Shape (T, D)."""
        return self._read(tokens_T, 0, len(tokens_T))

    def vector_at(self, place: int, tokens_T: Tensor) -> Tensor:
        """Returns the vector of one position, for which alone the last layer is done. (1, D)."""
        return self._read(tokens_T, place, 1)

    def _read(self, tokens_T: Tensor, first_asked: int, num_asked: int) -> Tensor:
        """Returns the vectors of some positions. Shape (A, D)."""
        tokens_T = tokens_T.to("cpu", torch.int64).contiguous()
        (num_positions,) = tokens_T.shape
        self._trunk.config.check_length(num_positions)
        if not 0 <= first_asked <= num_positions - num_asked:
            raise IndexError(
                f"There is no position {first_asked} in a row of {num_positions}. Ask for one from "
                f"0 to {num_positions - 1}."
            )
        fields = ctypes.byref(self._fields)
        scratch = plain(self._compiled.scratch_size(fields, num_positions))
        out_AD = plain(num_asked, self._trunk.config.width)
        is_known = self._compiled.read_text(
            fields,
            tokens_T.data_ptr(),
            num_positions,
            first_asked,
            num_asked,
            scratch.data_ptr(),
            out_AD.data_ptr(),
        )
        if not is_known:
            raise IndexError(
                f"There are pieces from {int(tokens_T.min())} to {int(tokens_T.max())}, but the "
                f"trunk knows those from 0 to {self._trunk.config.vocabulary_size - 1:,}."
            )
        return out_AD

    def _trunk_fields(self, trunk: Trunk) -> TrunkFields:
        """Returns where everything lies that is about the whole trunk."""
        blocks = [cast("Block", block) for block in trunk.layers]
        layers = (LayerFields * len(blocks))(*map(self._layer_fields, blocks))
        self._held.append(layers)
        embedding, config, rotary = trunk.embedding, trunk.config, trunk.rotary
        return TrunkFields(
            pieces=self._place_of(embedding.tokens.weight),
            added=self._place_of(added_by_place(embedding, config.max_length)),
            cosines=None if rotary is None else self._place_of(rotary.cosine_LK),
            sines=None if rotary is None else self._place_of(rotary.sine_LK),
            layers=layers,
            num_pieces=config.vocabulary_size,
            width=config.width,
            num_layers=config.num_layers,
            num_heads=config.layer.num_heads,
            embedding_norm=self._norm_fields(embedding.norm),
            norm=self._norm_fields(trunk.norm),
            piece_scale=embedding.scale,
            is_pre_norm=config.layer.norm_place == "pre",
            is_causal=config.direction == "causal",
            activation=ACTIVATIONS.index(config.layer.feed_forward),
        )

    def _layer_fields(self, block: Block) -> LayerFields:
        """Returns where everything lies that is about one layer."""
        asking, feed_forward = block.attention.query_key_value, block.feed_forward
        if isinstance(feed_forward, GatedFeedForward):
            inner = feed_forward.gate_and_value
        else:
            inner = feed_forward.inner
        width, bias = asking.in_features, asking.bias
        query_bias, other_bias = (None, None) if bias is None else (bias[:width], bias[width:])
        return LayerFields(
            query=self._product_fields(asking.weight[:width], query_bias),
            key_value=self._product_fields(asking.weight[width:], other_bias),
            attention_output=self._linear_fields(block.attention.output),
            inner=self._linear_fields(inner),
            output=self._linear_fields(feed_forward.output),
            attention_norm=self._norm_fields(block.attention_norm),
            feed_forward_norm=self._norm_fields(block.feed_forward_norm),
        )

    def _linear_fields(self, linear: nn.Linear) -> ProductFields:
        """Returns where a linear layer lies."""
        return self._product_fields(linear.weight, linear.bias)

    def _product_fields(self, weight_OI: Tensor, bias_O: Tensor | None) -> ProductFields:
        """Returns where a product's weights lie once they are in panels."""
        num_outputs, num_inputs = weight_OI.shape
        return ProductFields(
            panels=self._place_of(in_panels(weight_OI, self._compiled.panel_width())),
            bias=self._place_of(bias_O),
            depth=num_inputs,
            num_columns=num_outputs,
        )

    def _norm_fields(self, norm: nn.Module | None) -> NormFields:
        """Returns where a norm lies; one that is none has no gain."""
        if isinstance(norm, nn.LayerNorm):
            gain, shift = self._place_of(norm.weight), self._place_of(norm.bias)
            return NormFields(gain=gain, shift=shift, epsilon=norm.eps, is_centred=True)
        if isinstance(norm, nn.RMSNorm):
            return NormFields(gain=self._place_of(norm.weight), epsilon=norm.eps, is_centred=False)
        return NormFields()

    def _place_of(self, numbers: Tensor | None) -> int | None:
        """Returns where numbers lie, which are held from here on."""
        if numbers is None:
            return None
        # The trunk's own where they lie well; products are copies already.
        held = numbers.detach().contiguous()
        self._held.append(held)
        return held.data_ptr()


def plain(*shape: int) -> Tensor:
    """Returns room for numbers in single precision on a processor, whatever is usual elsewhere."""
    return torch.empty(*shape, dtype=torch.float32, device="cpu")


def in_panels(weight_OI: Tensor, panel_width: int) -> Tensor:
    """Returns weights in panels of columns, the last one filled up with zeros. Shape (N, I, P)."""
    num_outputs = len(weight_OI)
    num_panels = -(-num_outputs // panel_width)
    padded_OI = F.pad(weight_OI.detach(), (0, 0, 0, num_panels * panel_width - num_outputs))
    return padded_OI.view(num_panels, panel_width, -1).transpose(1, 2).contiguous()


def added_by_place(embedding: Embedding, max_length: int) -> Tensor | None:
    """Returns what the vector of a piece gets for its place, in a text of one segment. (L, D)."""
    table_LD: Tensor | None = None
    if isinstance(embedding.positions, SinusoidalPositions):
        table_LD = embedding.positions.table_LD
    elif isinstance(embedding.positions, LearnedPositions):
        table_LD = embedding.positions.table.weight
    if embedding.segments is None:
        return table_LD
    segment_LD = embedding.segments.weight[:1].expand(max_length, -1)
    return segment_LD if table_LD is None else table_LD + segment_LD


def new_single_row(trunk: Trunk) -> SingleRow | None:
    """Returns a trunk made ready, unless there is no code for it or it is better read otherwise."""
    is_plain = all(
        weights.device.type == "cpu"
        and weights.dtype == torch.float32
        # Those that count no changes could change unseen.
        and not weights.is_inference()
        for weights in trunk.parameters()
    )
    # All layers are alike.
    num_weights = sum(weights.numel() for weights in trunk.layers[0].parameters())
    is_small = num_weights <= MOST_LAYER_WEIGHTS
    compiled = compiled_kernels() if is_plain and is_small and is_as_made(trunk) else None
    return None if compiled is None else SingleRow(trunk, compiled)


def is_as_made(trunk: Trunk) -> bool:
    """Whether a trunk has the parts that one of its kind is made with, and no others."""
    with torch.device("meta"):
        made = Trunk(trunk.config)
    return parts_of(trunk) == parts_of(made)


def parts_of(trunk: Trunk) -> list[tuple[str, type[nn.Module], object]]:
    """Returns the name and the kind of each part, and what it does between its products."""
    return [
        (name, type(part), getattr(part, "activation", None))
        for name, part in trunk.named_modules()
    ]
