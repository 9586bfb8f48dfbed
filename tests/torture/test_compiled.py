"""A run whose trunk is compiled is as safe as another."""

from dataclasses import replace

import pytest
from tiny_runs import SAVE_EVERY, Witness, assert_same_run, content, go_on

from headstart.pipeline.run_files import read_recipe, write_recipe

pytestmark = [
    pytest.mark.usefixtures("no_flushing"),
    pytest.mark.slow,
    # The compiler warns of other parts of PyTorch.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def compiled(world, folder):
    """Begins a run that is to be compiled."""
    folder = world.fresh("causal", folder)
    recipe = read_recipe(folder)
    write_recipe(folder, replace(recipe, plan=replace(recipe.plan, is_compiled=True)))
    return folder


def test_a_compiled_run_that_was_stopped_comes_out_as_one_that_was_not(world, tmp_path):
    undisturbed, stopped = (compiled(world, tmp_path / name) for name in ("one", "other"))
    assert go_on(undisturbed)
    assert not go_on(stopped, Witness(stop_at=SAVE_EVERY + 1))
    assert go_on(stopped)
    assert_same_run(content(stopped), content(undisturbed))
