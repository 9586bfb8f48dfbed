"""A trunk so small that it is pretrained in seconds, on text in which pretraining must help."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from headstart.apps.recipes.compact import compact
from headstart.checkpoints.tensor_file import read_tensors, write_tensors
from headstart.corpora.generated import GeneratedConfig, GeneratedFiles, write_generated
from headstart.files import read_sealed_json, write_sealed_json
from headstart.pipeline.comparing.config import ComparedSettings, Comparison
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.pretrain import Pretraining, pretrain
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import MANIFEST_FILE, WEIGHTS_FILE
from headstart.pipeline.run_folder import recorded_sha256

# Labelled examples show 3 of the 60 words of a feeling; the unlabelled text has all of them.
TEXT = GeneratedConfig(
    seed=5,
    num_words=60,
    num_neutral_words=15,
    shown_share=0.05,
    num_documents=600,
    num_train=40,
    num_valid=60,
    num_test=400,
)
OWN = ComparedSettings()
# A tiny trunk needs few steps.
SETTINGS = ComparedSettings(
    warm=replace(OWN.warm, epochs=10, fewest_steps=60),
    cold=replace(OWN.cold, epochs=10, fewest_steps=60),
    frozen=replace(OWN.frozen, epochs=20, fewest_steps=60),
    gradual=replace(OWN.gradual, epochs=10, fewest_steps=60),
    taught=replace(OWN.taught, epochs=3, fewest_steps=60),
)
# For what does not ask whether anything is learned.
HASTY = ComparedSettings(
    warm=replace(OWN.warm, epochs=2, fewest_steps=0),
    cold=replace(OWN.cold, epochs=2, fewest_steps=0),
    frozen=replace(OWN.frozen, epochs=2, fewest_steps=0),
    gradual=replace(OWN.gradual, epochs=2, fewest_steps=0),
    taught=replace(OWN.taught, epochs=1, fewest_steps=0),
)


@dataclass(frozen=True)
class Planted:
    """Made-up text and a trunk that has read it."""

    files: GeneratedFiles
    trunk: Path

    def comparison(self, *starts: Path, **changes: Any) -> Comparison:
        """Returns a comparison on this text, in one process."""
        wanted = Comparison(
            starts=starts or (self.trunk,),
            examples=ExamplesConfig(
                train=str(self.files.train),
                valid=str(self.files.valid),
                test=str(self.files.test),
            ),
            place=Place(device="cpu"),
            sizes=(40,),
            num_seeds=3,
            num_workers=1,
            settings=SETTINGS,
        )
        return replace(wanted, **changes)


def tiny_recipe() -> Recipe:
    """Returns compact with a width of 16."""
    recipe = compact("masked")
    trunk = recipe.model.trunk
    layer = replace(trunk.layer, width=16, num_heads=2, feed_forward_width=32, dropout=0.0)
    trunk = replace(trunk, layer=layer, num_layers=2, vocabulary_size=420)
    return replace(
        recipe,
        name="tiny",
        model=replace(recipe.model, trunk=trunk),
        length=64,
        sequences_per_step=16,
        learning=replace(recipe.learning, peak_rate=1e-2),
        # What is planted was fitted with pieces that are hidden one by one.
        hiding=replace(recipe.hiding, share=0.3, hides_words=False),
    )


def planted(folder: Path, num_steps: int) -> Planted:
    """Makes the text and pretrains the trunk."""
    files = write_generated(folder / "text", TEXT)
    wanted = Pretraining(
        recipe=tiny_recipe(),
        corpus=CorpusConfig(corpus=(str(files.corpus),)),
        budget=Budget(num_steps=num_steps),
        place=Place(device="cpu", num_threads=1),
    )
    pretrain(wanted, folder / "tiny")
    return Planted(files, folder / "tiny")


def shuffled(run: Path, folder: Path) -> Path:
    """Returns a copy of a run in which the values of each tensor have changed places."""
    shutil.copytree(run, folder)
    weights = read_tensors(folder / WEIGHTS_FILE, recorded_sha256(folder, WEIGHTS_FILE))
    generator = torch.Generator().manual_seed(0)
    mixed = {
        name: tensor.flatten()[torch.randperm(tensor.numel(), generator=generator)].view_as(tensor)
        for name, tensor in sorted(weights.items())
    }
    digest = write_tensors(folder / WEIGHTS_FILE, mixed)
    manifest = read_sealed_json(folder / MANIFEST_FILE)
    manifest["files"][WEIGHTS_FILE] = digest
    write_sealed_json(folder / MANIFEST_FILE, manifest)
    return folder


def without_times(results: dict[str, Any]) -> dict[str, Any]:
    """Returns results without what only a clock knows."""
    jobs = [{key: job[key] for key in job if key != "seconds"} for job in results["jobs"]]
    return {key: results[key] for key in results if key != "made"} | {"jobs": jobs}
