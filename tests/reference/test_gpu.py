"""On a GPU the same weights give the same answers, whatever kernel attention takes there.

These need a CUDA device: `python -m pytest -m gpu`.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from plain_plans import plain_plan
from torch import Tensor

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.batches.pair_shapes import ShapedPairBatches
from headstart.decoding.greedy import Greedy
from headstart.decoding.sampling import Sampling
from headstart.decoding.scoring import CachedScores, RecomputedScores, prefix_of
from headstart.decoding.strategy import Limits
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import new_model
from headstart.models.trunks import EncoderDecoder
from headstart.objectives.translation import PairBatch, Translation, to_shaped_batch
from headstart.pipeline.recipe import with_vocabulary
from headstart.training.config import LearningConfig
from headstart.training.loop import StepReport, Trainer, TrainingState
from headstart.training.optimiser import Optimiser

pytestmark = pytest.mark.gpu

VOCABULARY_SIZE = 500
PLAN = plain_plan(1, seed=3, device="cuda")


def padded_text(device: str) -> Text:
    """Four rows: whole, padded on the right, padded on the left, and nothing but padding."""
    generator = torch.Generator().manual_seed(0)
    tokens_BT = torch.randint(VOCABULARY_SIZE, (4, 24), generator=generator)
    is_token_BT = torch.ones_like(tokens_BT, dtype=torch.bool)
    is_token_BT[1, 15:] = False
    is_token_BT[2, :7] = False
    is_token_BT[3] = False
    return Text(tokens_BT.to(device), is_token_BT.to(device))


def hidden(name: str, device: str, text: Text) -> Tensor:
    model = new_model(with_vocabulary(RECIPES[name](), VOCABULARY_SIZE).model)
    initialise(model, seed=0)
    model.to(device).eval()
    is_pair = isinstance(model.trunk, EncoderDecoder)
    return model.trunk(SourceAndTarget(text, text) if is_pair else text)


@pytest.mark.parametrize("name", RECIPES)
def test_a_gpu_computes_what_a_processor_computes(name):
    text = padded_text("cpu")
    ours, theirs = hidden(name, "cpu", text), hidden(name, "cuda", padded_text("cuda")).cpu()
    torch.testing.assert_close(theirs[text.is_token_BT], ours[text.is_token_BT], atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", RECIPES)
def test_without_padding_too(name):
    tokens_BT = padded_text("cpu").tokens_BT
    ours, theirs = (
        hidden(name, "cpu", Text(tokens_BT)),
        hidden(name, "cuda", Text(tokens_BT.cuda())),
    )
    torch.testing.assert_close(theirs.cpu(), ours, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", RECIPES)
def test_a_row_of_nothing_but_padding_gives_no_nan_forward_or_backward(name, dtype):
    with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
        answer = hidden(name, "cuda", padded_text("cuda"))
        loss = F.mse_loss(answer.float(), torch.zeros_like(answer, dtype=torch.float32))
    assert torch.isfinite(answer).all()
    loss.backward()
    assert math.isfinite(loss.item())


@pytest.mark.parametrize("strategy", [Greedy(), Sampling(temperature=1.2, top_k=50, top_p=0.9)])
def test_gpu_writes_with_a_cache_what_it_writes_without(strategy):
    model = new_model(with_vocabulary(compact("causal"), VOCABULARY_SIZE).model)
    initialise(model, seed=0)
    model.to("cuda").eval()
    recomputed = RecomputedScores(torch.no_grad()(lambda text: model(text)[:, -1]))
    prefix = prefix_of([[5, 6, 7], [8], [9, 10, 11, 12, 13]], "cuda")
    limits = Limits(num_pieces=30, end_id=2, forbidden_ids=(0, 1))
    ours, expected = (
        [best.ids for (best,) in strategy.decode(scores, prefix, limits)]
        for scores in (CachedScores(model.trunk, model.head), recomputed)
    )
    assert ours == expected


def test_recorded_steps_of_a_translator_learn_what_steps_one_by_one_do():
    generator = np.random.default_rng(4)
    source, target = generator.integers(1, 30, (2, 300))
    order = ShapedPairBatches(source, target, 600, seed=1)

    def batches(step: int) -> list[PairBatch]:
        rows = [
            [np.random.default_rng(index).integers(4, 90, side[index] - 1) for index in chosen]
            for chosen in [order.at(step)]
            for side in (source, target)
        ]
        return [to_shaped_batch(*rows, [""] * len(rows[0]), "cuda", order.shape_at(step))]

    reports: list[list[StepReport]] = [[], []]
    for seen, is_recorded in zip(reports, (True, False), strict=True):
        model = new_model(with_vocabulary(RECIPES["small"](), 90).model).cuda()
        initialise(model, seed=2)
        learning = LearningConfig(peak_rate=1e-3, max_norm=0.5)
        trainer = Trainer(
            Translation(0.1),
            learning,
            replace(PLAN, num_steps=5 * order.steps_per_epoch),
            batches,
            lambda _state, report, seen=seen: bool(seen.append(report)),
            is_always_alike=is_recorded,
        )
        trainer.run(TrainingState(model, Optimiser(model, set(), learning), None))
    for report, expected in zip(*reports, strict=True):
        assert report.num_tokens == expected.num_tokens
        assert report.loss == pytest.approx(expected.loss, rel=2e-3)
