"""Was pretraining worth it? Every job of the question, then the answer with all it stands on."""

import shutil
from dataclasses import replace
from pathlib import Path

from headstart.corpora.tables import source_sha256
from headstart.files import write_json
from headstart.locks import locked
from headstart.pipeline.comparing.choices import affordable_seeds, chosen_settings
from headstart.pipeline.comparing.config import Comparison
from headstart.pipeline.comparing.examples import compared_examples, find_leaks
from headstart.pipeline.comparing.report import write_report
from headstart.pipeline.comparing.results import Done, Json, results_of
from headstart.pipeline.comparing.sweeping import ANSWERS_FOLDER, ShowSweep, Sweeping
from headstart.pipeline.comparing.trunks import read_trunks
from headstart.pipeline.free_folder import LEAKS_FILE, claim_comparison
from headstart.pipeline.run_files import RESULTS_FILE, read_results
from headstart.pipeline.teaching import read_unlabelled
from headstart.pipeline.watch import Watch
from headstart.transfers.sweep import Sweep, checked_sizes, systems_of

# TF-IDF takes a gigabyte and a half for so much text.
MOST_LETTERS_BEYOND = 16_000_000


def compare(wanted: Comparison, folder: Path, watch: Watch | None = None) -> Json | None:
    """Answers a comparison; returns its results, or nothing where someone said stop."""
    with locked(folder):
        return run_comparison(wanted, folder, watch or Watch(), lambda _progress: None)


def run_comparison(wanted: Comparison, folder: Path, watch: Watch, show: ShowSweep) -> Json | None:
    """Does the same in a folder that is locked already, and shows how far it is."""
    claim_comparison(folder, LEAKS_FILE)
    trunks = read_trunks(wanted.starts)
    examples = compared_examples(wanted.examples, folder, watch)
    train = examples.labelled.train
    sweeping = Sweeping(
        wanted=wanted,
        folder=folder,
        trunks=trunks,
        examples=examples,
        systems=systems_of([trunk.facts for trunk in trunks], wanted.kinds),
        sweep=Sweep(
            sizes=checked_sizes(wanted.sizes, len(train)),
            num_seeds=wanted.num_seeds,
            num_train=len(train),
            most_beyond=MOST_LETTERS_BEYOND * len(train) // max(1, examples.num_letters),
        ),
        watch=watch,
        show=show,
        unlabelled={name: source_sha256(Path(name)) for name in wanted.unlabelled},
    )
    if wanted.unlabelled:
        # Students come last, but what cannot be read is told before the first job.
        read_unlabelled(sweeping.lessons([], seed=0), examples.config, examples.labelled, watch)
    leaks = find_leaks(examples, trunks, folder, watch)
    chosen = chosen_settings(sweeping)
    num_seeds = None if chosen is None else affordable_seeds(sweeping, chosen)
    if chosen is None or num_seeds is None:
        return None
    jobs = sweeping.jobs(chosen, num_seeds)
    if not sweeping.finish((jobs, chosen)):
        return None
    done = Done(
        wanted=wanted,
        folder=folder,
        trunks=trunks,
        examples=examples,
        leaks=leaks,
        systems=sweeping.systems,
        sweep=replace(sweeping.sweep, num_seeds=num_seeds),
        jobs=tuple(jobs),
        chosen=chosen,
        unlabelled=sweeping.unlabelled,
    )
    write_json(folder / RESULTS_FILE, results_of(done))
    shutil.rmtree(sweeping.jobs_folder / ANSWERS_FOLDER, ignore_errors=True)
    # As a file gives it, so that what is returned and what is kept are the same.
    results = read_results(folder)
    write_report(results, folder)
    return results
