"""Going on with any run, whatever it learns."""

from pathlib import Path

from headstart.pipeline.pretrain import resume_run as resume_pretraining
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import read_recipe
from headstart.pipeline.transfer import resume_transfer
from headstart.pipeline.watch import Watch


def resume(folder: Path, wanted: Resumption, watch: Watch) -> bool:
    """Goes on with a run from its last checkpoint; returns whether it is finished."""
    is_transfer = read_recipe(folder).transfer is not None
    return (resume_transfer if is_transfer else resume_pretraining)(folder, wanted, watch)
