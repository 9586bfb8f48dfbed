"""How systems learn: validation accuracy by epoch with its band, and how soon cold is reached."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy import stats

from headstart.errors import DamagedFileError
from headstart.evaluation.crossed import CONFIDENCE
from headstart.evaluation.epochs_to_reach import epochs_to_reach
from headstart.pipeline.comparing.answers import Place
from headstart.pipeline.run_files import LOG_FILE, read_results
from headstart.pipeline.run_log import read_log
from headstart.transfers.sweep import Job, System, TrunkFacts, cold_of

FROM_A_TRUNK = ("warm", "frozen", "gradual")
Json = dict[str, object]
Curve = list[tuple[float, float]]
"""Epochs and the accuracy after each."""


def read_curves(jobs: Sequence[Job], folder: Path) -> dict[Place, list[Curve]]:
    """Reads the curves of every network, the seeds in their order, and the level of TF-IDF."""
    sizes = {job.size for job in jobs if job.system.is_neural}
    found: dict[Place, list[Curve]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: job.seed):
        if job.system.is_neural:
            curve = read_curve(folder / job.name / LOG_FILE)
        elif job.system.kind == "tfidf" and job.size in sizes:
            # It reads its examples once, and is then as good as it gets.
            curve = [(1.0, float(read_results(folder / job.name)["valid"]["accuracy"]))]
        else:
            continue
        found[job.system.key, job.size].append(curve)
    return dict(found)


def read_curve(path: Path) -> Curve:
    """Reads the validation accuracy of one run after each epoch."""
    curve = [
        (float(str(row["epoch"])), float(str(row["accuracy"])))
        for row in read_log(path)
        if row.get("kind") == "valid"
    ]
    if not curve:
        raise DamagedFileError(f"{path} has no epoch. Remove its folder, and compare again.")
    return curve


def curves_json(curves: Mapping[Place, Sequence[Curve]]) -> list[Json]:
    """Returns the mean curve of each system at each size, with a t interval over seeds."""
    rows: list[Json] = []
    for (system, size), of_seeds in curves.items():
        # Runs may end early; the mean is of epochs that all of them have.
        length = min(map(len, of_seeds))
        accuracy_SE = np.array([[share for _, share in curve[:length]] for curve in of_seeds])
        mean_E, half_E = accuracy_SE.mean(axis=0), half_band(accuracy_SE)
        rows.append(
            {
                "system": system,
                "size": size,
                "epochs": [epoch for epoch, _ in of_seeds[0][:length]],
                "mean": mean_E.tolist(),
                "low": [] if half_E is None else np.maximum(0, mean_E - half_E).tolist(),
                "high": [] if half_E is None else np.minimum(1, mean_E + half_E).tolist(),
                "by_seed": [[share for _, share in curve] for curve in of_seeds],
            }
        )
    return rows


def half_band(accuracy_SE: np.ndarray) -> np.ndarray | None:
    """Returns half the width of a band over seeds; nothing from one seed."""
    num_seeds = len(accuracy_SE)
    if num_seeds < 2:
        return None
    factor = stats.t.ppf((1 + CONFIDENCE) / 2, num_seeds - 1)
    half_E: np.ndarray = factor * accuracy_SE.std(axis=0, ddof=1) / np.sqrt(num_seeds)
    return half_E


def epochs_to_cold_best(
    curves: Mapping[Place, Sequence[Curve]],
    systems: Sequence[System],
    trunks: Sequence[TrunkFacts],
) -> list[Json]:
    """Returns how soon pretrained trunks do as well as their cold start ever does."""
    rows: list[Json] = []
    for system in systems:
        # An epoch of a taught one reads other texts too, and cannot be counted with these.
        cold = cold_of(system, systems, trunks) if system.kind in FROM_A_TRUNK else None
        if cold is None:
            continue
        for key, size in curves:
            if key == system.key:
                reached = epochs_to_reach(curves[key, size], curves[cold.key, size])
                rows.append({"system": key, "size": size} | asdict(reached))
    return rows
