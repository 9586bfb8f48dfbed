"""A run that goes on elsewhere says what is different; another text or tokenizer is refused."""

import json
import shutil
import signal

import pytest
import torch
from lives import Life, other_processor_life
from tiny_runs import (
    SAVE_EVERY,
    Witness,
    assert_same_run,
    content,
    go_on,
    last_checkpoint,
    toy_text,
)

from headstart.errors import RunError
from headstart.pipeline import environment as environment_module
from headstart.pipeline.environment import environment
from headstart.pipeline.run_files import RECIPE_FILE, TOKENIZER_FOLDER
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer

pytestmark = pytest.mark.usefixtures("no_flushing")

OBJECTIVE = "masked"
STOPPED_AT = SAVE_EVERY


@pytest.fixture
def stopped(world, tmp_path):
    """A run that was stopped after a few steps, with a text of its own that can be changed."""
    folder = world.fresh(OBJECTIVE, tmp_path / "run")
    assert not go_on(folder, Witness(stop_at=STOPPED_AT))
    return folder


@pytest.fixture
def own_text(world):
    """The text of the runs, which is put back as it was."""
    text = world.text.read_text()
    yield world.text
    world.text.write_text(text)


def test_nothing_is_said_where_nothing_is_different(world, stopped):
    witness = Witness()
    assert go_on(stopped, witness)
    assert witness.said == []
    assert_same_run(content(stopped), world.undisturbed(OBJECTIVE))


def test_a_run_without_its_checkpoints_says_that_it_begins_again(world, stopped):
    shutil.rmtree(stopped / "checkpoints")
    witness = Witness()
    assert go_on(stopped, witness)
    assert witness.said == [
        f"{stopped} has no checkpoint to go on from: it begins again at its first step."
    ]
    assert_same_run(content(stopped), world.undisturbed(OBJECTIVE))


def test_another_number_of_threads_is_named_and_the_run_goes_on(stopped):
    witness, num_threads = Witness(stop_at=STOPPED_AT + 1), torch.get_num_threads()
    go_on(stopped, witness, num_threads=2)
    torch.set_num_threads(num_threads)
    assert witness.said == [
        "The threads was 1 and is now 2: the run goes on, but its numbers may differ in the last "
        "bits from those of an uninterrupted run."
    ]
    assert witness.steps == [STOPPED_AT + 1]


@pytest.mark.parametrize("name", environment("cpu"))
def test_whatever_is_different_is_named_with_what_it_was_and_is(stopped, name, monkeypatch):
    real, witness = environment("cpu"), Witness(stop_at=STOPPED_AT + 1)
    monkeypatch.setattr(
        "headstart.pipeline.training_run.environment", lambda _device: real | {name: "another"}
    )
    go_on(stopped, witness)
    assert len(witness.said) == 1
    assert witness.said[0].startswith(f"The {name} was {real[name]} and is now another: ")


def test_a_processor_with_fewer_instructions_is_named(world, stopped):
    if environment("cpu")["instruction set"] == "DEFAULT":
        pytest.skip("This processor has no instructions to do without.")
    life = Life(other_processor_life, stopped, world.cache)
    assert life.wait_for("said")
    said = life.events[-1].about
    life.send(signal.SIGKILL)
    life.end()
    assert said.startswith("The instruction set was ")
    assert " and is now DEFAULT: " in said


def test_a_text_that_has_changed_is_refused_and_named(stopped, own_text):
    before = last_checkpoint(stopped).name
    own_text.write_text(own_text.read_text().replace(".", "!", 1))
    with pytest.raises(RunError) as caught:
        go_on(stopped)
    assert str(caught.value) == (
        f"{own_text} changed since the run began. Restore what was there, or go on without it by "
        "--force."
    )
    assert last_checkpoint(stopped).name == before


def test_a_text_that_has_changed_is_gone_on_with_where_that_is_forced(stopped, own_text):
    witness = Witness()
    own_text.write_text(toy_text(seed=2))
    assert go_on(stopped, witness, is_forced=True)
    assert f"{own_text} changed since the run began" in witness.said[0]
    assert witness.steps[0] == STOPPED_AT + 1


def test_a_text_that_changed_and_was_put_back_has_not_changed(world, stopped, own_text):
    text = own_text.read_text()
    own_text.write_text("Something else.")
    own_text.write_text(text)
    assert go_on(stopped)
    assert_same_run(content(stopped), world.undisturbed(OBJECTIVE))


def other_tokenizer(folder, size: int) -> None:
    """Puts a tokenizer of other text, but whole in itself, into the place of a run's own."""
    lines = toy_text(seed=3).splitlines()
    tokenizer = learn_tokenizer(lines, TokenizerConfig(size=size))
    save_tokenizer(tokenizer, folder / TOKENIZER_FOLDER)


def test_a_tokenizer_that_has_changed_is_refused_unless_that_is_forced(stopped):
    size = load_tokenizer(stopped / TOKENIZER_FOLDER).size
    other_tokenizer(stopped, size)
    assert load_tokenizer(stopped / TOKENIZER_FOLDER).size == size
    with pytest.raises(RunError, match=r"^the tokenizer changed since the run began"):
        go_on(stopped)
    witness = Witness()
    assert go_on(stopped, witness, is_forced=True)
    assert witness.said[0].startswith("the tokenizer changed since the run began; going on")


def test_a_recipe_that_has_changed_is_refused(stopped):
    path = stopped / RECIPE_FILE
    recipe = json.loads(path.read_text())
    recipe["learning"]["peak_rate"] *= 2
    path.write_text(json.dumps(recipe))
    with pytest.raises(RunError, match=r"is not the recipe that this run was trained by"):
        go_on(stopped)


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_tokenizer_of_another_size_is_refused_whatever_is_forced(stopped, is_forced):
    other_tokenizer(stopped, 350)
    with pytest.raises(RunError, match=r"has 350 pieces, but the run began with \d+\."):
        go_on(stopped, is_forced=is_forced)


def test_a_cache_that_was_emptied_is_filled_again_and_changes_nothing(
    world, stopped, tmp_path, monkeypatch
):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "another"))
    witness = Witness()
    assert go_on(stopped, witness)
    assert witness.said == []
    assert_same_run(content(stopped), world.undisturbed(OBJECTIVE))


def test_a_folder_that_was_moved_goes_on_where_it_is(world, stopped, tmp_path):
    moved = shutil.move(stopped, tmp_path / "elsewhere" / "run")
    assert go_on(moved)
    assert_same_run(content(moved), world.undisturbed(OBJECTIVE))


def test_the_environment_has_all_that_decides_the_last_bits():
    assert set(environment_module.environment("cpu")) >= {
        "headstart",
        "python",
        "torch",
        "numpy",
        "device",
        "threads",
        "instruction set",
    }
