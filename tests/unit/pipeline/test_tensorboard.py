"""A run's log as TensorBoard files, by a stand-in for the library that may not be there."""

import sys
from types import SimpleNamespace

import pytest

from headstart.errors import RecipeError
from headstart.pipeline.tensorboard import TENSORBOARD_FOLDER, tensorboard_writer

STEP = {"kind": "step", "step": 3, "loss": 2.5, "rate": 0.1, "norm": 1.0, "text": "left out"}
VALID = {"kind": "valid", "step": 3, "loss": 2.0, "bits_per_byte": 1.5, "next_accuracy": None}


class FakeWriter:
    """Remembers what it is told."""

    made = None

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step = folder, purge_step
        self.scalars, self.num_flushes = {}, 0
        FakeWriter.made = self

    def add_scalar(self, name, value, step):
        self.scalars[name, step] = value

    def flush(self):
        self.num_flushes += 1


@pytest.fixture
def library(monkeypatch):
    module = SimpleNamespace(SummaryWriter=FakeWriter)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)


@pytest.mark.usefixtures("library")
def test_numbers_of_the_log_become_curves_and_nothing_else_does(tmp_path):
    write = tensorboard_writer(tmp_path, first_step=0)
    write(STEP)
    write(VALID)
    assert FakeWriter.made.scalars == {
        ("step/loss", 3): 2.5,
        ("step/rate", 3): 0.1,
        ("step/norm", 3): 1.0,
        ("valid/loss", 3): 2.0,
        ("valid/bits_per_byte", 3): 1.5,
    }
    assert FakeWriter.made.num_flushes == 1


@pytest.mark.usefixtures("library")
def test_what_a_killed_run_wrote_beyond_its_checkpoint_is_hidden(tmp_path):
    tensorboard_writer(tmp_path, first_step=70)
    assert FakeWriter.made.purge_step == 71
    assert FakeWriter.made.folder == str(tmp_path / TENSORBOARD_FOLDER)


def test_without_the_library_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RecipeError, match=r"pip install 'headstart\[tensorboard\]'"):
        tensorboard_writer(tmp_path, first_step=0)
