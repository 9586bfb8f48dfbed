"""First weights: alive at any depth, unsure of every answer, and each drawn by itself.

Legend: B batch, T positions, V pieces.
"""

import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.bert import bert
from headstart.apps.recipes.compact import compact
from headstart.apps.recipes.lab import lab
from headstart.models.config import TrunkConfig
from headstart.models.heads.config import LabelHeadConfig
from headstart.models.heads.next_sentence import LanguageAndNextLogits
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_model
from headstart.models.trunks import Trunk
from headstart.pipeline.recipe import Recipe, with_vocabulary

VOCABULARY_SIZE, MASK_ID = 500, 3

LAB = with_vocabulary(lab(), VOCABULARY_SIZE).model.trunk
POST_NORM: dict[str, TrunkConfig] = {
    "lab": LAB,
    "bert": with_vocabulary(bert(), VOCABULARY_SIZE).model.trunk,
}
PRE_NORM: dict[str, TrunkConfig] = {
    "bidirectional compact": with_vocabulary(compact("masked"), VOCABULARY_SIZE).model.trunk,
    "causal compact": with_vocabulary(compact("causal"), VOCABULARY_SIZE).model.trunk,
    "pre-norm lab": replace(LAB, layer=replace(LAB.layer, norm_place="pre")),
}


def draw_tokens(num_rows: int = 4, length: int = 64, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, VOCABULARY_SIZE, (num_rows, length), generator=generator)


def new_trunk_of_depth(config: TrunkConfig, num_layers: int, seed: int = 0) -> Trunk:
    trunk = Trunk(replace(config, num_layers=num_layers))
    initialise(trunk, seed)
    return trunk.eval()


@torch.no_grad()
def residual_variance(config: TrunkConfig, num_layers: int) -> float:
    trunk = new_trunk_of_depth(config, num_layers)
    # The last norm would hide what the layers added up to.
    trunk.norm = nn.Identity()
    return trunk(Text(draw_tokens())).var().item()


def gradient_norms(config: TrunkConfig, num_layers: int) -> list[float]:
    """The size of the gradient in each layer, for next pieces guessed by a small random matrix."""
    trunk, tokens_BT = new_trunk_of_depth(config, num_layers), draw_tokens()
    generator = torch.Generator().manual_seed(1)
    matrix_VD = 0.02 * torch.randn(VOCABULARY_SIZE, config.width, generator=generator)
    logits_BTV = trunk(Text(tokens_BT)) @ matrix_VD.T
    F.cross_entropy(logits_BTV[:, :-1].flatten(0, 1), tokens_BT[:, 1:].flatten()).backward()
    return [
        math.sqrt(sum(parameter.grad.square().sum().item() for parameter in layer.parameters()))
        for layer in trunk.layers
    ]


@torch.no_grad()
def first_loss(recipe: Recipe) -> float:
    """The loss of the recipe's own question, asked before any training."""
    model = new_model(recipe.model)
    initialise(model, seed=0)
    model.eval()
    tokens_BT = draw_tokens()
    if recipe.objective == "translation":
        source = Text(draw_tokens(seed=1))
        logits_BTV = model(SourceAndTarget(source, Text(tokens_BT)))
    elif recipe.objective == "causal":
        logits_BTV = model(Text(tokens_BT))
    else:
        is_hidden_BT = (
            torch.rand(tokens_BT.shape, generator=torch.Generator().manual_seed(2)) < 0.15
        )
        logits = model(Text(tokens_BT.masked_fill(is_hidden_BT, MASK_ID)))
        logits_BTV = logits.language_BTV if isinstance(logits, LanguageAndNextLogits) else logits
        return F.cross_entropy(logits_BTV[is_hidden_BT], tokens_BT[is_hidden_BT]).item()
    return F.cross_entropy(logits_BTV[:, :-1].flatten(0, 1), tokens_BT[:, 1:].flatten()).item()


def small_model(seed: int, num_labels: int | None = None) -> Model:
    """A model of the lab's kind, with its own head or with one for labels."""
    config = with_vocabulary(lab(), VOCABULARY_SIZE).model
    if num_labels is not None:
        config = replace(config, head=LabelHeadConfig(num_labels=num_labels, pooling="last"))
    model = new_model(config)
    initialise(model, seed)
    return model


def assert_same(some: dict[str, Tensor], others: dict[str, Tensor]) -> None:
    assert some.keys() == others.keys()
    assert all(torch.equal(tensor, others[name]) for name, tensor in some.items())


@pytest.mark.parametrize("config", PRE_NORM.values(), ids=PRE_NORM)
def test_depth_hardly_changes_the_residual_variance_of_pre_norm_trunks(config):
    variances = [residual_variance(config, num_layers) for num_layers in (2, 8, 32)]
    # Without a norm or a scale on its embedding, the sum begins near nothing, and a shallow trunk
    # has few branches to fill it; measured: 0.20, 0.35, 0.43.
    begins_small = not (config.has_embedding_norm or config.scales_embedding)
    assert max(variances) / min(variances) < (2.5 if begins_small else 1.5), variances


@pytest.mark.parametrize("config", PRE_NORM.values(), ids=PRE_NORM)
@pytest.mark.parametrize("num_layers", [2, 8, 32])
def test_residual_variance_of_pre_norm_trunks_neither_dies_nor_explodes(config, num_layers):
    assert 0.1 < residual_variance(config, num_layers) < 4


@pytest.mark.parametrize("config", POST_NORM.values(), ids=POST_NORM)
@pytest.mark.parametrize("num_layers", [2, 8])
def test_gradient_of_post_norm_trunks_is_as_large_in_the_first_layer_as_in_the_last(
    config, num_layers
):
    norms = gradient_norms(config, num_layers)
    # Measured over four seeds: 0.70 to 1.25.
    assert 1 / 2 < norms[0] / norms[-1] < 2, norms


@pytest.mark.parametrize("name", RECIPES)
def test_first_loss_is_near_that_of_not_knowing(name):
    # At the recipe's own vocabulary: a tied head at first answers with the piece it reads, which
    # weighs the more the fewer other pieces there are.
    recipe = RECIPES[name]()
    expected = math.log(recipe.model.trunk.vocabulary_size)
    # It weighs most in pocket, which has half as many pieces as any other: 1.15 times. Unscaled,
    # its pieces would drown in the sinusoids, and learn far more slowly.
    assert first_loss(recipe) == pytest.approx(expected, rel=0.2 if name == "pocket" else 0.1)


@torch.no_grad()
def test_a_small_tied_head_at_first_prefers_nothing_but_the_piece_it_reads():
    recipe = RECIPES["pocket"]()
    model = new_model(recipe.model)
    initialise(model, seed=0)
    tokens_BT = draw_tokens()
    logits_BTV = model.eval()(SourceAndTarget(Text(draw_tokens(seed=1)), Text(tokens_BT)))
    others_BTV = logits_BTV.scatter(2, tokens_BT[:, :, None], -math.inf)[:, :-1]
    is_other_BT = tokens_BT[:, 1:] != tokens_BT[:, :-1]
    loss = F.cross_entropy(others_BTV[is_other_BT], tokens_BT[:, 1:][is_other_BT]).item()
    assert loss == pytest.approx(math.log(recipe.model.trunk.vocabulary_size), rel=0.1)


def test_first_next_sentence_loss_is_near_that_of_not_knowing():
    model = new_model(with_vocabulary(bert(), VOCABULARY_SIZE).model)
    initialise(model, seed=0)
    logits_B2 = model.eval()(Text(draw_tokens(num_rows=8))).next_sentence_B2
    loss = F.cross_entropy(logits_B2, torch.tensor([0, 1] * 4)).item()
    assert loss == pytest.approx(math.log(2), rel=0.1)


def test_gains_begin_at_one_and_biases_at_zero():
    for name, parameter in small_model(seed=0).named_parameters():
        if parameter.ndim == 1:
            expected = float("norm.weight" in name)
            assert torch.equal(parameter, torch.full_like(parameter, expected)), name


def test_same_seed_gives_the_same_weights():
    assert_same(small_model(seed=5).state_dict(), small_model(seed=5).state_dict())


def test_other_seed_gives_other_weights():
    some, others = small_model(seed=5).state_dict(), small_model(seed=6).state_dict()
    assert all(not torch.equal(some[name], others[name]) for name in some if some[name].ndim > 1)


def test_no_two_parameters_of_one_shape_are_drawn_alike():
    weights = [weight for weight in small_model(seed=5).state_dict().values() if weight.ndim > 1]
    for index, weight in enumerate(weights):
        assert not any(torch.equal(weight, other) for other in weights[index + 1 :])


def test_more_layers_change_no_draw_of_the_first_ones():
    few = new_trunk_of_depth(POST_NORM["lab"], 2).state_dict()
    many = new_trunk_of_depth(POST_NORM["lab"], 5).state_dict()
    assert len(many) > len(few)
    assert_same(few, {name: many[name] for name in few})


def test_another_head_changes_no_draw_of_the_trunk():
    language, labels = small_model(seed=5), small_model(seed=5, num_labels=3)
    assert_same(language.trunk.state_dict(), labels.trunk.state_dict())


def test_weights_depend_on_no_random_state_and_leave_it_alone():
    torch.manual_seed(1)
    some = small_model(seed=5)
    torch.manual_seed(2)
    others = small_model(seed=5)
    assert_same(some.state_dict(), others.state_dict())
    state = torch.get_rng_state()
    initialise(some, seed=7)
    assert torch.equal(torch.get_rng_state(), state)


@torch.no_grad()
def test_initialising_again_forgets_what_was_learned():
    model = small_model(seed=5)
    for parameter in model.parameters():
        parameter += 1
    initialise(model, seed=5)
    assert_same(model.state_dict(), small_model(seed=5).state_dict())


def test_copied_module_is_initialised_alike():
    copied = deepcopy(small_model(seed=5))
    initialise(copied, seed=6)
    assert_same(copied.state_dict(), small_model(seed=6).state_dict())


def test_module_moved_to_double_precision_is_initialised_alike():
    moved = small_model(seed=5).double()
    initialise(moved, seed=6)
    assert_same(moved.float().state_dict(), small_model(seed=6).state_dict())
