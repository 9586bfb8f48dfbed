"""Single rows by compiled code: what the trunk itself says, for every kind of trunk and processor.

Legend: T positions, D width.
"""

import copy
import logging
import platform
import shutil
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import RecipeError
from headstart.models import single_row as module
from headstart.models.config import LayerConfig, TrunkConfig
from headstart.models.feed_forward import FeedForward
from headstart.models.initialisation import initialise
from headstart.models.inputs import Text
from headstart.models.kernels import library
from headstart.models.kernels.library import FILES, compiled_kernels, load_kernels, paths_for
from headstart.models.single_row import SingleRow, in_panels, new_single_row
from headstart.models.trunks import Trunk

CAPABILITY = torch.backends.cpu.get_cpu_capability()
needs_code = pytest.mark.skipif(
    compiled_kernels() is None, reason="no code was built for this machine"
)
every_processor = pytest.mark.parametrize("path", paths_for(CAPABILITY), ids=lambda path: path.name)

PLAIN = TrunkConfig(
    vocabulary_size=31,
    num_layers=2,
    layer=LayerConfig(
        width=20,
        num_heads=2,
        feed_forward_width=24,
        feed_forward="relu",
        norm="layer",
        norm_place="post",
    ),
    direction="causal",
    positions="sinusoidal",
    max_length=130,
    scales_embedding=True,
)


@st.composite
def shapes(draw: st.DrawFn) -> TrunkConfig:
    """Draws a trunk of any kind, of sizes that fill vectors and panels and that do not."""
    positions = draw(st.sampled_from(["sinusoidal", "rotary", "learned"]))
    num_heads = draw(st.sampled_from([1, 2, 3]))
    head_width = draw(st.sampled_from([2, 4, 6, 16, 34, 50]))
    layer = LayerConfig(
        width=num_heads * head_width,
        num_heads=num_heads,
        feed_forward_width=draw(st.sampled_from([1, 3, 16, 48, 50, 97])),
        feed_forward=draw(st.sampled_from(["relu", "gelu", "gated-silu"])),
        norm=draw(st.sampled_from(["layer", "rms"])),
        norm_place=draw(st.sampled_from(["post", "pre"])),
        has_bias=draw(st.booleans()),
    )
    return TrunkConfig(
        vocabulary_size=31,
        num_layers=draw(st.integers(1, 3)),
        layer=layer,
        direction=draw(st.sampled_from(["causal", "bidirectional"])),
        positions=positions,
        max_length=130,
        num_segments=draw(st.sampled_from([0, 2])),
        scales_embedding=draw(st.booleans()),
        has_embedding_norm=draw(st.booleans()),
    )


def trunk_of(config: TrunkConfig, seed: int = 1) -> Trunk:
    """Returns a trunk whose weights are larger than first ones, biases and gains too."""
    trunk = Trunk(config)
    initialise(trunk, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in trunk.parameters():
            # In proportion to what is summed up, or attention would be to one piece alone, and to
            # which one a matter of rounding.
            size = 0.5 / weights.shape[-1] ** 0.5 if weights.dim() > 1 else 0.2
            weights += size * torch.randn(weights.shape, generator=generator)
    return trunk.eval()


def pieces(num_positions: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 31, (num_positions,), generator=generator)


@needs_code
@every_processor
@settings(deadline=None, max_examples=80, derandomize=True, database=None)
@given(config=shapes(), num_positions=st.sampled_from([1, 2, 8, 9, 10, 33, 48, 97, 130]))
def test_vectors_are_those_of_the_trunk(path, config, num_positions):
    trunk, tokens_T = trunk_of(config), pieces(num_positions)
    row = SingleRow(trunk, load_kernels(path))
    with torch.no_grad():
        exact_TD = copy.deepcopy(trunk).double()(Text(tokens_T[None]))[0]
        # A norm of two numbers that are nearly alike makes much of their rounding, whoever does it.
        allowed = 1e-5 + 10 * (trunk(Text(tokens_T[None]))[0] - exact_TD).abs().max()
    assert (row.vectors(tokens_T) - exact_TD).abs().max() < allowed
    for place in {0, num_positions // 2, num_positions - 1}:
        assert (row.vector_at(place, tokens_T)[0] - exact_TD[place]).abs().max() < allowed


@needs_code
@every_processor
def test_the_future_never_changes_the_past(path):
    row = SingleRow(trunk_of(PLAIN), load_kernels(path))
    tokens_T = pieces(40)
    # As many positions, so that blocks are cut alike and not a bit may differ.
    changed_T = torch.cat([tokens_T[:25], pieces(15, seed=9)])
    assert torch.equal(row.vectors(tokens_T)[:25], row.vectors(changed_T)[:25])
    assert not torch.equal(row.vectors(tokens_T)[25:], row.vectors(changed_T)[25:])


@needs_code
@every_processor
def test_what_is_no_number_is_not_hidden(path):
    trunk = trunk_of(PLAIN)
    with torch.no_grad():
        trunk.layers[0].feed_forward.inner.weight[3, 2] = torch.nan
    assert SingleRow(trunk, load_kernels(path)).vectors(pieces(20)).isnan().any()


@needs_code
@pytest.mark.parametrize("wrong", [-1, 31, 1 << 40])
def test_a_piece_that_the_trunk_does_not_know_is_refused(wrong):
    row = SingleRow(trunk_of(PLAIN), compiled_kernels())
    with pytest.raises(IndexError, match=f"{wrong}, but the trunk knows|from {wrong} to"):
        row.vectors(torch.tensor([1, wrong, 2]))


@needs_code
@pytest.mark.parametrize("length", [0, 131])
def test_a_row_of_no_possible_length_is_refused(length):
    row = SingleRow(trunk_of(PLAIN), compiled_kernels())
    with pytest.raises(RecipeError, match=f"length of {length}"):
        row.vectors(pieces(length))


def halve(trunk):
    with torch.no_grad():
        trunk.layers[0].feed_forward_norm.weight.mul_(0.5)


def learn_uncounted(trunk):
    trunk.train()
    optimiser = torch.optim.AdamW(trunk.parameters(), lr=0.1, fused=True)
    trunk(Text(pieces(8)[None])).sum().backward()
    optimiser.step()
    trunk.eval()


def take_other_weights(trunk):
    output = trunk.layers[1].attention.output
    output.weight = torch.nn.Parameter(output.weight.detach() * 2)


def point_elsewhere(trunk):
    output = trunk.layers[1].attention.output
    output.weight.data = output.weight.data * 2


def put_another_in_its_place(trunk):
    trunk.layers[1].attention.output = torch.nn.Linear(PLAIN.width, PLAIN.width)


def be_called_instead(trunk):
    trunk.layers[0].feed_forward.forward = torch.zeros_like


def drop_in_one_part(trunk):
    trunk.layers[0].dropout.train()


def bend_otherwise(trunk):
    trunk.layers[0].feed_forward.activation = torch.tanh


def divide_by_more(trunk):
    trunk.layers[0].attention_norm.eps = 0.1


CHANGES = [
    *(halve, learn_uncounted, take_other_weights, point_elsewhere, Trunk.double, Trunk.train),
    *(put_another_in_its_place, be_called_instead),
    *(drop_in_one_part, bend_otherwise, divide_by_more),
]


@needs_code
@pytest.mark.parametrize("change", CHANGES)
def test_it_is_current_until_the_trunk_changes(change):
    trunk = trunk_of(PLAIN)
    row = new_single_row(trunk)
    assert row.is_current
    change(trunk)
    assert not row.is_current


@needs_code
def test_it_is_not_current_while_someone_listens_to_a_part():
    trunk = trunk_of(PLAIN)
    row = new_single_row(trunk)
    handle = trunk.layers[1].attention.register_forward_pre_hook(lambda *_: None)
    assert not row.is_current
    handle.remove()
    assert row.is_current


@needs_code
def test_it_is_not_current_while_someone_listens_to_every_part():
    row = new_single_row(trunk_of(PLAIN))
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert not row.is_current
    handle.remove()
    assert row.is_current


class Halved(FeedForward):
    """Does half of what its kind does."""

    def forward(self, hidden_BTD):
        return super().forward(hidden_BTD) / 2


def have_a_part_of_another_kind(trunk):
    trunk.layers[1].feed_forward = Halved(PLAIN.layer)


def have_nothing_of_the_kind(trunk):
    trunk.layers[0].feed_forward = torch.nn.Identity()


def bend_otherwise(trunk):
    trunk.layers[0].feed_forward.activation = torch.tanh


def have_one_part_more(trunk):
    trunk.layers[0].attention.gate = torch.nn.Linear(1, 1)


@needs_code
@pytest.mark.parametrize(
    "change",
    [have_a_part_of_another_kind, have_nothing_of_the_kind, bend_otherwise, have_one_part_more],
)
def test_a_trunk_with_other_parts_than_its_kind_has_is_read_otherwise(change):
    trunk = trunk_of(PLAIN)
    change(trunk)
    assert new_single_row(trunk) is None


@needs_code
def test_a_copy_reads_with_weights_of_its_own():
    row, tokens_T = new_single_row(trunk_of(PLAIN)), pieces(50)
    other = copy.deepcopy(row)
    halve(row._trunk)
    assert (row.is_current, other.is_current) == (False, True)
    torch.testing.assert_close(other.vectors(tokens_T), other._trunk(Text(tokens_T[None]))[0])


@needs_code
@pytest.mark.parametrize("usual", [torch.float64, torch.bfloat16])
def test_what_is_usual_elsewhere_changes_nothing(usual):
    row, tokens_T = new_single_row(trunk_of(PLAIN)), pieces(50)
    expected_TD = row.vectors(tokens_T)
    torch.set_default_dtype(usual)
    try:
        with torch.device("meta"):
            found_TD = row.vectors(tokens_T)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(found_TD, expected_TD)
    # Pieces of another kind, and every second of them, are read as what they are.
    assert torch.equal(row.vectors(tokens_T.int()), expected_TD)
    twice_T = tokens_T.repeat_interleave(2)
    assert torch.equal(row.vectors(twice_T[::2]), expected_TD)


@needs_code
@pytest.mark.parametrize("place", [-1, 12, 10**6])
def test_a_position_that_is_not_there_is_refused(place):
    row = new_single_row(trunk_of(PLAIN))
    with pytest.raises(IndexError, match=f"no position {place} in a row of 12"):
        row.vector_at(place, pieces(12))


def test_weights_that_count_no_changes_are_read_otherwise():
    with torch.inference_mode():
        assert new_single_row(trunk_of(PLAIN)) is None


@needs_code
def test_weights_are_held_for_as_long_as_they_are_read():
    tokens_T = pieces(60)
    row = new_single_row(trunk_of(PLAIN))
    before_TD = row.vectors(tokens_T)
    row._trunk.double()
    torch.full((1 << 16,), 7.0)
    assert torch.equal(row.vectors(tokens_T), before_TD)


def test_large_layers_and_other_precisions_are_read_otherwise(monkeypatch):
    assert new_single_row(trunk_of(PLAIN).double()) is None
    monkeypatch.setattr(module, "MOST_LAYER_WEIGHTS", 100)
    assert new_single_row(trunk_of(PLAIN)) is None


def test_without_code_there_is_none_and_one_line_says_so(monkeypatch, caplog):
    monkeypatch.setattr(library, "FILES", {CAPABILITY: "not-built.so"})
    compiled_kernels.cache_clear()
    try:
        with caplog.at_level(logging.INFO, logger=library.__name__):
            assert new_single_row(trunk_of(PLAIN)) is None
            assert new_single_row(trunk_of(PLAIN)) is None
    finally:
        compiled_kernels.cache_clear()
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "PyTorch does without compiled kernels"
    ]


@needs_code
@pytest.mark.skipif(CAPABILITY != "AVX512", reason="nothing less than what it knows is built")
def test_what_could_not_be_built_is_made_up_for_by_the_next_best(monkeypatch, caplog):
    monkeypatch.setattr(library, "FILES", {**FILES, "AVX512": "not-built.so"})
    compiled_kernels.cache_clear()
    try:
        assert compiled_kernels().panel_width() == 24
    finally:
        compiled_kernels.cache_clear()
    assert not caplog.records


def test_what_was_built_and_cannot_be_used_is_a_warning(monkeypatch, caplog, tmp_path):
    stale = tmp_path / "stale.so"
    stale.write_bytes(b"of another machine")
    monkeypatch.setattr(library, "paths_for", lambda _: [stale])
    compiled_kernels.cache_clear()
    try:
        assert compiled_kernels() is None
    finally:
        compiled_kernels.cache_clear()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(stale) in caplog.text


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("cc") is None or CAPABILITY not in FILES,
    reason="nothing is compiled here",
)
def test_an_installed_package_has_the_code_for_its_processor():
    assert compiled_kernels() is not None


def test_panels_hold_every_weight_and_zeros_behind_them():
    weight_OI = torch.arange(15.0).view(5, 3) + 1
    panel_NIP = in_panels(weight_OI, 4)
    assert panel_NIP.shape == (2, 3, 4)
    assert torch.equal(torch.cat(list(panel_NIP), dim=1)[:, :5], weight_OI.T)
    assert panel_NIP[1, :, 1:].abs().sum() == 0


@needs_code
def test_segments_without_positions_of_their_own_are_added():
    config = replace(PLAIN, positions="rotary", num_segments=2)
    trunk, tokens_T = trunk_of(config), pieces(12)
    with torch.no_grad():
        expected_TD = trunk(Text(tokens_T[None]))[0]
    torch.testing.assert_close(new_single_row(trunk).vectors(tokens_T), expected_TD)
