"""The documents' classifier with drawn weights: as a learner, and as the folder of a finished run.

`transfer` would have made the same out of examples, only slower.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from drawn_reviews import drawn_lengths, drawn_rows

from headstart import Recipe, find_recipe, initialise, new_model
from headstart.checkpoints.tensor_file import write_tensors
from headstart.files import write_json, write_sealed_json
from headstart.models.heads.config import LabelHeadConfig, ModelConfig
from headstart.pipeline.label_learner import LabelLearner, steps_in_epoch
from headstart.pipeline.label_split import Split
from headstart.pipeline.learner import settle
from headstart.pipeline.planning import Place
from headstart.pipeline.recipe import with_vocabulary
from headstart.pipeline.run_files import (
    MANIFEST_FILE,
    RESULTS_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    write_recipe,
)
from headstart.pipeline.transfer import transfer_plan
from headstart.tokenizers.folder import save_tokenizer
from headstart.tokenizers.pieces import OBJECTIVE_PIECES
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.transfers.settings import COLD

LABELS = ("negative", "positive")
# More epochs than any benchmark does.
NUM_EPOCHS = 1_000


def shape_of(*, is_tiny: bool) -> Recipe:
    """Returns the documents' shape, or one of which a step takes a millisecond."""
    recipe = find_recipe("lab")
    if not is_tiny:
        return recipe
    trunk = recipe.model.trunk
    layer = replace(trunk.layer, width=16, feed_forward_width=16)
    small = replace(trunk, num_layers=1, vocabulary_size=601, layer=layer)
    return replace(recipe, model=replace(recipe.model, trunk=small), length=48)


def judged_by_last(recipe: Recipe) -> Recipe:
    """Returns a recipe whose texts are judged by their last piece, as the documents do it."""
    return replace(recipe, pooling="last")


def label_recipe(recipe: Recipe, num_examples: int) -> Recipe:
    """Returns the recipe of a cold transfer to two labels, as `transfer` settles it."""
    assert recipe.pooling is not None
    trunk = recipe.model.trunk
    steps_per_epoch = steps_in_epoch(num_examples, COLD.examples_per_step)
    place = Place(device="cpu", seed=0, num_threads=torch.get_num_threads())
    return replace(
        recipe,
        model=ModelConfig(
            trunk=replace(trunk, layer=replace(trunk.layer, dropout=COLD.dropout)),
            head=LabelHeadConfig(num_labels=len(LABELS), pooling=recipe.pooling),
        ),
        sequences_per_step=COLD.examples_per_step,
        learning=COLD.learning,
        plan=transfer_plan(place, steps_per_epoch, NUM_EPOCHS),
        transfer=replace(COLD.transfer, labels=LABELS),
    )


def drawn_split(num_examples: int, recipe: Recipe) -> Split:
    """Returns reviews that nobody wrote, each with a label by chance."""
    lengths = drawn_lengths(num_examples, recipe.length)
    rows = drawn_rows(lengths, recipe.model.trunk.vocabulary_size)
    targets = np.random.default_rng(0).integers(0, len(LABELS), num_examples)
    names = [f"review {number}" for number in range(num_examples)]
    return Split([[row] for row in rows], targets, names)


def new_learner(recipe: Recipe, split: Split) -> LabelLearner:
    """Returns what learns the labels of reviews, in a process set up as `transfer` does it."""
    recipe = label_recipe(recipe, len(split.rows))
    assert recipe.plan is not None
    assert recipe.transfer is not None
    settle(recipe.plan)
    # Nothing is read: there is no test.
    return LabelLearner(recipe, recipe.plan, recipe.transfer, None, split, split, [], None, {})


def write_run(folder: Path, recipe: Recipe, tokenizer: Tokenizer) -> None:
    """Writes a finished run of drawn weights."""
    tokenizer = tokenizer.with_pieces(OBJECTIVE_PIECES[recipe.objective])
    recipe = label_recipe(with_vocabulary(recipe, tokenizer.size), num_examples=16)
    model = new_model(recipe.model)
    initialise(model, seed=0)
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    save_tokenizer(tokenizer, folder / TOKENIZER_FOLDER)
    write_recipe(folder, recipe)
    digest = write_tensors(folder / WEIGHTS_FILE, weights)
    write_json(folder / RESULTS_FILE, {"temperature": 1.0})
    write_sealed_json(folder / MANIFEST_FILE, {"files": {WEIGHTS_FILE: digest}})
