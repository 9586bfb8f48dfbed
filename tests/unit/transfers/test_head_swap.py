"""The head swap: what is loaded is the run's, what is new is drawn, and a failure has a name."""

import hashlib
import math

import pytest
import torch
from tiny_transfers import trunk_recipe

from headstart.apps.recipes.lab import lab
from headstart.errors import RunError
from headstart.models.heads.config import LabelHeadConfig, ModelConfig
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.transfers.head_swap import swap_head, trunk_sha256
from headstart.transfers.unfreezing import freeze_trunk, fresh_names


def classifier(num_layers=2, width=16, num_labels=3, seed=1):
    trunk = trunk_recipe(num_layers, width).model.trunk
    config = ModelConfig(trunk=trunk, head=LabelHeadConfig(num_labels=num_labels, pooling="mean"))
    model = new_model(config)
    initialise(model, seed)
    return model


@pytest.fixture
def run_tensors():
    """The weights of a language model over the same trunk, drawn otherwise."""
    model = new_model(trunk_recipe().model)
    generator = torch.Generator().manual_seed(8)
    return {
        name: torch.randn(weights.shape, generator=generator)
        for name, weights in model.named_parameters()
    }


def plain_norm(tensor) -> float:
    return math.sqrt(sum(value * value for value in tensor.double().flatten().tolist()))


def test_the_table_has_each_tensor_with_its_fate_and_norms(run_tensors):
    model = classifier()
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    swap = swap_head(model, run_tensors)
    now = dict(model.named_parameters())
    assert [row.name for row in swap.tensors] == list(now)
    for row in swap.tensors:
        is_of_trunk = row.name.startswith("trunk.")
        assert row.fate == ("loaded" if is_of_trunk else "new")
        expected = run_tensors[row.name] if is_of_trunk else before[row.name]
        assert torch.equal(now[row.name], expected), row.name
        assert row.shape == tuple(expected.shape)
        assert row.norm_before == pytest.approx(plain_norm(before[row.name]), rel=1e-5)
        assert row.norm_after == pytest.approx(plain_norm(expected), rel=1e-5)
    assert {row.name for row in swap.tensors if row.fate == "new"} == {
        "head.output.weight",
        "head.output.bias",
    }


def test_the_checksum_is_that_of_the_runs_trunk_and_of_nothing_else(run_tensors):
    model = classifier()
    swap = swap_head(model, run_tensors)
    digest = hashlib.sha256()
    for name in sorted(name for name in run_tensors if name.startswith("trunk.")):
        digest.update(name.encode() + run_tensors[name].numpy().tobytes())
    assert swap.loaded_sha256 == trunk_sha256(run_tensors) == digest.hexdigest()
    assert trunk_sha256(model.state_dict()) == swap.loaded_sha256
    name = next(name for name in run_tensors if name.startswith("trunk.layers.1."))
    run_tensors[name].view(-1)[0] += 1e-6
    assert trunk_sha256(run_tensors) != swap.loaded_sha256


def test_a_tensor_that_the_run_lacks_is_named(run_tensors):
    name = next(name for name in run_tensors if name.startswith("trunk.layers.1."))
    del run_tensors[name]
    with pytest.raises(RunError, match=r"has no tensor trunk\.layers\.1\."):
        swap_head(classifier(), run_tensors)


@pytest.mark.parametrize(
    ("num_layers", "words"),
    [(1, r"trunk has the tensor trunk\.layers\.1\."), (3, r"has no tensor trunk\.layers\.2\.")],
)
@pytest.mark.parametrize("num_fresh", [0, 1])
def test_another_number_of_layers_is_refused_by_the_first_that_is_too_many_or_too_few(
    run_tensors, num_layers, words, num_fresh
):
    if (num_layers, num_fresh) == (3, 1):
        # The layer that the run lacks is drawn, so nothing is missing.
        swap_head(classifier(3), run_tensors, fresh_names(3, 1))
        return
    model = classifier(num_layers)
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    with pytest.raises(RunError, match=words):
        swap_head(model, run_tensors, fresh_names(num_layers, num_fresh))
    for name, weights in model.named_parameters():
        assert torch.equal(weights, before[name])


def test_another_vocabulary_is_named_with_both_shapes_and_the_tokenizer(run_tensors):
    name = "trunk.embedding.tokens.weight"
    run_tensors[name] = run_tensors[name][:-5]
    num = len(run_tensors[name])
    with pytest.raises(RunError) as caught:
        swap_head(classifier(), run_tensors)
    assert str(caught.value) == (
        f"The tensor {name} is {num} x 16 in the run, but this recipe needs {num + 5} x 16. "
        "Take the tokenizer of the run: leave --recipe and --tokenizer out."
    )


def test_another_width_is_named_and_nothing_is_changed(run_tensors):
    model = classifier(width=32)
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    with pytest.raises(RunError, match=r"^The tensor trunk\.\S+ is .* in the run, but"):
        swap_head(model, run_tensors)
    for name, weights in model.named_parameters():
        assert torch.equal(weights, before[name])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_named_by_its_tensor(run_tensors, value):
    name = [name for name in run_tensors if name.startswith("trunk.layers.")][-1]
    run_tensors[name].view(-1)[-1] = value
    with pytest.raises(RunError, match=f"^The tensor {name} of the run holds a value"):
        swap_head(classifier(), run_tensors)
    # What is not loaded may be anything.
    run_tensors[name].view(-1)[-1] = 0.0
    run_tensors["head.output.weight"] = torch.full((1,), value)
    swap_head(classifier(), run_tensors)


def test_a_copy_that_does_nothing_is_noticed_and_named(run_tensors, monkeypatch):
    model, odd = classifier(), "trunk.layers.1."
    copy = torch.Tensor.copy_
    deaf = {id(weights) for name, weights in model.named_parameters() if name.startswith(odd)}

    def lazy(tensor, *arguments):
        return tensor if id(tensor) in deaf else copy(tensor, *arguments)

    monkeypatch.setattr(torch.Tensor, "copy_", lazy)
    with pytest.raises(RunError) as caught:
        swap_head(model, run_tensors)
    first = next(name for name, _ in model.named_parameters() if name.startswith(odd))
    assert f"the tensor {first} is not the run's" in str(caught.value)


def test_fresh_layers_keep_their_draw_and_all_below_is_loaded(run_tensors):
    model = classifier()
    before = {name: weights.detach().clone() for name, weights in model.named_parameters()}
    swap = swap_head(model, run_tensors, fresh_names(2, 1))
    for row, (name, weights) in zip(swap.tensors, model.named_parameters(), strict=True):
        is_new = name.startswith(("trunk.layers.1.", "head."))
        assert row.fate == ("new" if is_new else "loaded")
        assert torch.equal(weights, before[name] if is_new else run_tensors[name])
    assert any(row.name.startswith("trunk.layers.0.") for row in swap.tensors)


def test_the_names_of_layer_1_are_not_those_of_layer_10():
    assert not "trunk.layers.10.norm".startswith(fresh_names(2, 1))
    assert fresh_names(12, 2) == ("trunk.layers.10.", "trunk.layers.11.")
    assert fresh_names(3, 0) == ()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_loaded_as_the_numbers_it_stands_for(run_tensors, dtype):
    model = classifier()
    halves = {name: tensor.to(dtype) for name, tensor in run_tensors.items()}
    swap = swap_head(model, halves)
    for name, weights in model.named_parameters():
        assert weights.dtype == torch.float32
        if name.startswith("trunk."):
            assert torch.equal(weights, halves[name].float())
    assert swap.loaded_sha256 == trunk_sha256(halves)


def test_lab_as_a_classifier_of_two_labels_has_as_many_parameters_as_is_written():
    with torch.device("meta"):
        head = LabelHeadConfig(num_labels=2, pooling="mean")
        model = new_model(ModelConfig(trunk=lab().model.trunk, head=head))
    assert sum(weights.numel() for weights in model.parameters()) == 10_968_602
    freeze_trunk(model)
    learning = [weights.numel() for weights in model.parameters() if weights.requires_grad]
    assert sum(learning) == 2 * 200 + 2 == 402
