"""The trunks of the demo: the one in the box, that one adapted, or a tiny one of made-up text."""

from dataclasses import replace
from pathlib import Path

from headstart.locks import locked
from headstart.models.config import TrunkConfig
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.demo_texts import DemoTexts
from headstart.pipeline.free_folder import ADAPTED_FOLDER, TINY_FOLDER
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.pretrain import Pretraining, begin, resume_run
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import RECIPE_FILE, is_finished, read_recipe
from headstart.pipeline.watch import Watch

# A trunk that knows films already is moved by a few thousand snippets, and not torn away.
ADAPTING_MINUTES, ADAPTING_RATE = 1.0, 3e-4
# A GPU made the trunk in steps that would take a laptop seconds and gigabytes each.
ADAPTING_SEQUENCES = 4
# A tiny trunk sees in seconds what company the made-up words keep.
TINY_STEPS, TINY_RATE = 600, 3e-3
TINY_LAYERS, TINY_WIDTH, TINY_HEADS, TINY_PIECES = 2, 64, 4, 800


def adapted_trunk(
    trunk: Path, texts: DemoTexts, folder: Path, place: Place, watch: Watch
) -> Path | None:
    """Pretrains a trunk for a minute more on unlabelled snippets; nothing where it was stopped."""
    recipe = replace(read_recipe(trunk), plan=None)
    wanted = Pretraining(
        recipe=replace(
            recipe,
            learning=replace(recipe.learning, peak_rate=ADAPTING_RATE),
            sequences_per_step=ADAPTING_SEQUENCES,
        ),
        corpus=CorpusConfig(corpus=(str(texts.corpus),)),
        budget=Budget(minutes=ADAPTING_MINUTES),
        place=place,
        start=trunk,
        kept_out=(str(texts.valid), str(texts.test)),
    )
    return finished(wanted, folder / ADAPTED_FOLDER, watch)


def tiny_trunk(
    recipe: Recipe, texts: DemoTexts, folder: Path, place: Place, watch: Watch
) -> Path | None:
    """Pretrains a tiny trunk on made-up text; nothing where it was stopped."""
    wanted = Pretraining(
        recipe=shrunk(recipe),
        corpus=CorpusConfig(corpus=(str(texts.corpus),)),
        budget=Budget(num_steps=TINY_STEPS),
        # So small a step is done before several threads have found together.
        place=replace(place, num_threads=1),
        kept_out=(str(texts.valid), str(texts.test)),
    )
    return finished(wanted, folder / TINY_FOLDER, watch)


def shrunk(recipe: Recipe) -> Recipe:
    """Returns a recipe of which a step takes a few hundredths of a second."""
    trunk = recipe.model.trunk
    assert isinstance(trunk, TrunkConfig)
    layer = replace(
        trunk.layer, width=TINY_WIDTH, num_heads=TINY_HEADS, feed_forward_width=2 * TINY_WIDTH
    )
    model = replace(recipe.model, trunk=replace(trunk, layer=layer, num_layers=TINY_LAYERS))
    learning = replace(recipe.learning, peak_rate=TINY_RATE)
    small = replace(
        recipe, name=TINY_FOLDER, model=model, learning=learning, length=64, sequences_per_step=32
    )
    return with_vocabulary(small, TINY_PIECES)


def finished(wanted: Pretraining, folder: Path, watch: Watch) -> Path | None:
    """Begins a run, or goes on with it; returns its folder once it is finished."""
    with locked(folder):
        if not is_finished(folder):
            if not (folder / RECIPE_FILE).exists():
                begin(wanted, folder, watch)
            if not resume_run(folder, Resumption(), watch):
                return None
    return folder
