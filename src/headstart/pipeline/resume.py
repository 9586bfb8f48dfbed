"""Going on with any run, whatever it learns."""

from pathlib import Path

from headstart.files import check_sha256
from headstart.pipeline.pretrain import resume_run as resume_pretraining
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import WEIGHTS_FILE, is_finished, read_recipe
from headstart.pipeline.run_folder import recorded_sha256
from headstart.pipeline.train_translator import resume_translator
from headstart.pipeline.transfer import resume_transfer
from headstart.pipeline.watch import Watch


def resume(folder: Path, wanted: Resumption, watch: Watch) -> bool:
    """Goes on with a run from its last checkpoint; returns whether it is finished."""
    recipe = read_recipe(folder)
    if is_finished(folder):
        check_sha256(folder / WEIGHTS_FILE, recorded_sha256(folder, WEIGHTS_FILE))
    if recipe.transfer is not None:
        return resume_transfer(folder, wanted, watch)
    if recipe.objective == "translation":
        return resume_translator(folder, wanted, watch)
    return resume_pretraining(folder, wanted, watch)
