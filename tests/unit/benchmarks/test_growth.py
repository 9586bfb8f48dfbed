"""The benchmarks of growth measure what they say, fit powers that are there, and keep records."""

import sys
from dataclasses import replace
from itertools import islice

import bench_preparing
import pytest
import torch
from bench_growth import AXES, BASES, grown, main, measure, shapes
from bench_preparing import Prepared, made_up_documents, prepare, write_text
from growth_steps import (
    NUM_TIMED_STEPS,
    OURS,
    PLAIN,
    Taken,
    predicted,
)
from our_language_step import DrawnRows, our_training

from headstart.models.accounting.duration import Machine
from headstart.models.accounting.memory import model_memory
from headstart.models.accounting.parameters import count_parameters
from headstart.models.model import new_model
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer

TINY = BASES["tiny"]
MACHINE = Machine(name="any", matrix_rate=1e11, pass_rate=1e10, memory_bytes=None)


@pytest.mark.parametrize("size", ["cpu", "cuda"])
def test_every_axis_goes_through_the_base_and_as_far_as_was_asked(size):
    base, axes = BASES[size], AXES[size]
    every = shapes(base, axes)
    assert len(every) == len(set(every)) == 1 + sum(len(values) - 1 for values in axes.values())
    for axis, values in axes.items():
        assert getattr(base, axis) in values
        assert list(values) == sorted(values)
    assert (axes["length"][0], axes["length"][-1]) == (64, 4_096)
    assert (axes["vocabulary"][0], axes["vocabulary"][-1]) == (1_024, 262_144)
    for shape in every:
        shape.recipe()


def test_a_shape_is_the_model_that_is_built():
    shape = replace(TINY, width=128, vocabulary=300, num_layers=3)
    model = new_model(shape.recipe().model)
    assert model.trunk.embedding.tokens.weight.shape == (300, 128)
    assert sum(weights.numel() for weights in model.parameters()) == count_parameters(
        shape.recipe().model
    )


def test_a_step_of_ours_learns():
    rows = DrawnRows.of(TINY.batch, TINY.length, TINY.vocabulary, "cpu")
    trainer, state = our_training(TINY.recipe(), rows, "fp32", is_compiled=False)
    judged = trainer.judged(state)
    losses = [trainer.do_step(state, judged, trainer.batches(step)).loss for step in range(20)]
    assert losses[-1] < losses[0]


def test_without_a_gpu_its_growth_is_not_asked(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["bench_growth.py", "--device", "cuda"])
    main()
    assert capsys.readouterr().out.startswith("Not asked: this needs a CUDA device")


def test_steps_are_counted_and_timed():
    shape = replace(TINY, vocabulary=20_000, width=64)
    points, machine = measure([shape], "cpu")
    taken = points[shape]
    assert set(taken) == {OURS, PLAIN}
    assert machine.matrix_rate > 0
    model = shape.recipe().model
    weights, ledger = 4 * count_parameters(model), model_memory(model, shape.step)
    for one in taken.values():
        assert len(one.seconds) == NUM_TIMED_STEPS >= 5
        # Weights and two moments at least; ours need not hold every logit and gradient.
        assert 2.5 * weights < one.peak_bytes < 2 * ledger.peak


def test_exponents_are_those_of_the_points():
    values = (8, 16, 32, 64)
    points = {
        replace(TINY, length=value): {
            OURS: Taken(seconds=(value**2 / 1e6,) * 5, peak_bytes=1_000 * value),
            PLAIN: Taken(seconds=(value**3 / 1e6,) * 5, peak_bytes=1_000 * value**2),
        }
        for value in values
    }
    found = grown("length", TINY, values, points, MACHINE)
    speed, memory = (found["exponents"][key] for key in ("tokens_per_second", "peak_bytes"))
    # So many times the tokens in so many times the seconds.
    assert (speed[OURS], speed[PLAIN]) == pytest.approx((1 - 2, 1 - 3))
    assert (memory[OURS], memory[PLAIN]) == pytest.approx((1, 2))
    point = found["points"][-1]
    assert point["ledger"] == predicted(replace(TINY, length=64), MACHINE)
    assert point[OURS]["tokens_per_second"] == pytest.approx(64 * TINY.batch / (64**2 / 1e6))


def test_made_up_text_is_as_long_as_was_asked_and_always_the_same(tmp_path):
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        write_text(path, 50_000)
    texts = [path.read_text() for path in paths]
    assert texts[0] == texts[1]
    assert 50_000 <= len(texts[0]) < 52_000
    assert texts[0].splitlines()[0] == next(made_up_documents(seed=1))


@pytest.fixture
def pieces(tmp_path):
    """The folder of a small tokenizer."""
    learned = list(islice(made_up_documents(seed=0), 200))
    save_tokenizer(learn_tokenizer(learned, TokenizerConfig(size=500)), tmp_path / "pieces")
    return tmp_path / "pieces"


def test_a_corpus_is_prepared_and_measured(monkeypatch, tmp_path, pieces):
    # So that the folder which it sets for its process is forgotten again.
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path))
    text, kept_out = tmp_path / "text.txt", tmp_path / "kept-out.txt"
    write_text(text, 40_000)
    kept_out.write_text("Another text.")
    found = prepare(text, pieces, kept_out, str(tmp_path / "cache"))
    tokenizer = load_tokenizer(pieces)
    lines = text.read_text().splitlines()
    assert found.num_bytes == text.stat().st_size
    # Each document has an end.
    assert found.num_tokens == sum(len(tokenizer.encode(line)) + 1 for line in lines)
    assert found.added_bytes == found.peak_bytes - found.imported_bytes


def test_a_text_that_takes_twice_as_long_when_twice_as_large_grows_with_the_power_one():
    points = [
        Prepared(
            num_bytes=size,
            num_tokens=size // 5,
            seconds=size / 8e6,
            cpu_seconds=size / 5e6,
            peak_bytes=300_000_000,
            imported_bytes=240_000_000,
            added_bytes=60_000_000,
            keep_out_seconds=(size / 8e6) ** 2,
        )
        for size in (1_000_000, 4_000_000, 16_000_000, 64_000_000)
    ]
    exponents = bench_preparing.grown(points)["exponents"]
    assert exponents == pytest.approx(
        {"seconds": 1, "cpu_seconds": 1, "keep_out_seconds": 2, "peak_bytes": 0, "added_bytes": 0},
        abs=1e-9,
    )
