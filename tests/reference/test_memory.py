"""The ledger's bytes against the tensors that autograd, AdamW and the process really hold."""

import sys
import weakref
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from headstart.apps.recipes import RECIPES
from headstart.apps.recipes.compact import compact
from headstart.models.accounting.memory import kept_numbers, model_memory, most_sequences
from headstart.models.accounting.step import StepShape
from headstart.models.config import EncoderDecoderConfig
from headstart.models.heads.config import LabelHeadConfig, LanguageHeadConfig, ModelConfig
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.kernels import library
from headstart.models.model import new_model
from headstart.pipeline.recipe import model_for, with_vocabulary
from headstart.training.rehearsal import rehearse_memory

BYTES_PER_NUMBER = 4
VOCABULARY_SIZE, LENGTH, NUM_ROWS = 500, 32, 4

EVERY = {
    name: with_vocabulary(recipe, VOCABULARY_SIZE)
    for name, recipe in ({name: new() for name, new in RECIPES.items()}).items()
} | {"compact causal": with_vocabulary(compact("causal"), VOCABULARY_SIZE)}
PRETRAINING = {
    name: (
        recipe.model,
        StepShape(length=LENGTH, sequences=NUM_ROWS, answered_share=recipe.answered_share),
    )
    for name, recipe in EVERY.items()
}
CLASSIFICATION = {
    f"{name} classifier": (
        model_for(EVERY[name], "classification"),
        StepShape(length=LENGTH, sequences=NUM_ROWS),
    )
    for name in ("lab", "compact", "bert", "compact causal")
}
# Enough rows for the vectors that come and go to weigh something beside the weights.
FROZEN = {
    f"frozen {name}": (config, replace(step, sequences=16 * NUM_ROWS, is_frozen=True))
    for name, (config, step) in (CLASSIFICATION | {"bert": PRETRAINING["bert"]}).items()
}

# The logits outweigh all else here.
MANY_LOGITS = {
    "lab of 8,000 pieces": (
        with_vocabulary(RECIPES["lab"](), 8_000).model,
        StepShape(length=LENGTH, sequences=16 * NUM_ROWS),
    )
}


def every(cases):
    return pytest.mark.parametrize(("config", "step"), cases.values(), ids=cases)


def draw_inputs(config: ModelConfig, step: StepShape) -> Text | SourceAndTarget:
    text = Text(torch.randint(config.trunk.vocabulary_size, (step.sequences, step.length)))
    is_pair = isinstance(config.trunk, EncoderDecoderConfig)
    return SourceAndTarget(text, text) if is_pair else text


def loss_of(model, config: ModelConfig, step: StepShape) -> Tensor:
    """Returns a plain loss, with logits for the answered share of positions alone."""
    inputs = draw_inputs(config, step)
    text = inputs.target if isinstance(inputs, SourceAndTarget) else inputs
    hidden_BTD = model.trunk(inputs)
    if isinstance(config.head, LabelHeadConfig):
        answers_B = torch.zeros(step.sequences, dtype=torch.long)
        return F.cross_entropy(model.head(hidden_BTD, text), answers_B)
    num_answered = round(step.num_tokens * step.answered_share)
    answered_MD = hidden_BTD.flatten(0, 1)[:num_answered].clone()
    pieces_M = text.tokens_BT.flatten()[:num_answered]
    if isinstance(config.head, LanguageHeadConfig):
        return F.cross_entropy(model.head(answered_MD, text), pieces_M)
    follows_B2 = model.head.next_sentence(hidden_BTD, text)
    return F.cross_entropy(model.head.language(answered_MD, text), pieces_M) + follows_B2.sum()


def new_training(config: ModelConfig, step: StepShape):
    model = new_model(config)
    model.trunk.requires_grad_(not step.is_frozen)
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return model, torch.optim.AdamW(learning, fused=True)


def saved_bytes(model, config: ModelConfig, step: StepShape) -> int:
    """Returns the bytes of all storages that autograd keeps of the trunk, weights aside."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    storages = {}

    def keep(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        # The last vectors are kept too, by whatever head comes next.
        keep(model.trunk(draw_inputs(config, step)))
    return sum(s.nbytes() for address, s in storages.items() if address not in parameters)


class HeldBytes(TorchDispatchMode):
    """Adds up the storages that are alive, and remembers the most."""

    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        self.storages: set[int] = set()
        self.num_bytes = self.most = 0
        for tensor in tensors:
            self.hold(tensor)

    def hold(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        address, num_bytes = storage._cdata, storage.nbytes()
        if address not in self.storages:
            self.storages.add(address)
            self.num_bytes += num_bytes
            self.most = max(self.most, self.num_bytes)
            weakref.finalize(storage, self.release, address, num_bytes)

    def release(self, address: int, num_bytes: int) -> None:
        self.storages.discard(address)
        self.num_bytes -= num_bytes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_iter(result):
            if isinstance(tensor, Tensor):
                self.hold(tensor)
        return result


def most_held(config: ModelConfig, step: StepShape, num_parts: int = 1) -> int:
    """Returns the most bytes held in a later step, its gradients accumulated over the parts."""
    model, optimiser = new_training(config, step)
    for _ in range(2):
        state = [t for row in optimiser.state.values() for t in row.values()]
        with HeldBytes(*model.parameters(), *state) as held:
            for _ in range(num_parts):
                loss_of(model, config, step).backward()
            optimiser.step()
            optimiser.zero_grad()
    return held.most


@every(PRETRAINING)
def test_activations_are_what_autograd_keeps_to_two_per_cent(config, step, monkeypatch):
    monkeypatch.setattr(library, "compiled_kernels", lambda: None)
    model, _ = new_training(config, step)
    predicted = BYTES_PER_NUMBER * kept_numbers(config).value * step.num_tokens
    assert predicted == pytest.approx(saved_bytes(model, config, step), rel=0.02)


@every(PRETRAINING)
def test_compiled_code_keeps_no_more_than_the_plain_form(config, step):
    model, _ = new_training(config, step)
    predicted = BYTES_PER_NUMBER * kept_numbers(config).value * step.num_tokens
    assert 0.8 * predicted < saved_bytes(model, config, step) < 1.02 * predicted


@every(PRETRAINING)
def test_the_activations_of_the_ledger_are_the_kept_numbers_of_every_token(config, step):
    predicted = BYTES_PER_NUMBER * kept_numbers(config).value * step.num_tokens
    assert model_memory(config, step).activations == predicted


@every(FROZEN)
def test_below_a_frozen_trunks_head_autograd_keeps_nothing_but_the_last_vectors(config, step):
    model, _ = new_training(config, step)
    last_bytes = BYTES_PER_NUMBER * config.trunk.width * step.num_tokens
    assert saved_bytes(model, config, step) == last_bytes


@every(PRETRAINING | CLASSIFICATION | FROZEN)
def test_weights_gradients_and_optimiser_are_the_bytes_of_the_real_tensors(config, step):
    model, optimiser = new_training(config, step)
    loss_of(model, config, step).backward()
    optimiser.step()
    predicted = model_memory(config, step)
    parameters = list(model.parameters())
    moments = [row[name] for row in optimiser.state.values() for name in ("exp_avg", "exp_avg_sq")]
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    assert predicted.weights == sum(tensor.nbytes for tensor in parameters)
    assert predicted.gradients == sum(tensor.nbytes for tensor in gradients)
    assert predicted.optimiser == sum(tensor.nbytes for tensor in moments)


@every(PRETRAINING | MANY_LOGITS | CLASSIFICATION | FROZEN)
def test_the_peak_is_what_a_step_holds_to_fifteen_per_cent(config, step):
    torch.manual_seed(0)
    assert model_memory(config, step).peak == pytest.approx(most_held(config, step), rel=0.15)


@pytest.mark.parametrize("name", ["lab", "compact", "bert classifier"])
def test_as_many_sequences_as_are_said_to_fit_do_fit_with_gradients_accumulated(name):
    config, step = (PRETRAINING | CLASSIFICATION)[name]
    memory = model_memory(config, step)
    # Room for all that stays, and as much again as the gradients for what comes and goes.
    memory_bytes = memory.weights + memory.optimiser + 2 * memory.gradients
    most = most_sequences(config, step, memory_bytes)
    assert most > 0
    held = most_held(config, replace(step, sequences=most), num_parts=2)
    assert held <= 1.05 * memory_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count in their own ways")
@pytest.mark.parametrize(
    ("name", "task", "is_frozen"),
    [("lab", "language-model", False), ("compact", "classification", True)],
    ids=["learning", "frozen"],
)
def test_the_peak_is_what_a_process_of_its_own_holds_to_fifteen_per_cent(name, task, is_frozen):
    config = model_for(with_vocabulary(RECIPES[name](), 4_000), task)
    # A frozen step holds so little that a few pages of the process would count; so it is larger.
    step = StepShape(length=128, sequences=64 if is_frozen else 8, is_frozen=is_frozen)
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as executor:
        seen = executor.submit(rehearse_memory, config, step, "cpu", 0).result()
    assert model_memory(config, step).peak == pytest.approx(seen, rel=0.15)
