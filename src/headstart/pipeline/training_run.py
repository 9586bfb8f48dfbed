"""Going on with a run until it is finished: the one way in which every run is trained.

A run that was just begun and one that was killed take the same way; only the step differs.
"""

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headstart.checkpoints.checkpoint import Checkpoint, newest_checkpoint, save_checkpoint
from headstart.checkpoints.tensor_file import write_tensors
from headstart.errors import DivergedError, RunError
from headstart.files import (
    json_digest,
    require_space,
    sha256_of,
    sweep,
    write_bytes,
    write_json,
    write_sealed_json,
)
from headstart.pipeline.environment import differences, environment
from headstart.pipeline.keeping import Keeper
from headstart.pipeline.last_weights import LAST, LastWeights
from headstart.pipeline.leaders import BEST, Leaders, Weights
from headstart.pipeline.learner import Done, Learner, Scores, ScoringStopped
from headstart.pipeline.recipe_json import to_json
from headstart.pipeline.run_files import (
    CHECKPOINTS_FOLDER,
    LOG_FILE,
    MANIFEST_FILE,
    OTHER_WEIGHTS_FILES,
    RECIPE_FILE,
    RESULTS_FILE,
    START_FILE,
    WEIGHTS_FILE,
)
from headstart.pipeline.run_log import RunLog, read_log
from headstart.pipeline.state_tensors import (
    best_weights,
    groups_of,
    planned_bytes,
    require_numbers,
    weights_of,
)
from headstart.pipeline.tensorboard import TENSORBOARD_FOLDER, tensorboard_writer
from headstart.pipeline.watch import StepProgress, Watch
from headstart.reports.figures import training_curves
from headstart.reports.figures.style import FORMATS, render
from headstart.training.averaging import load
from headstart.training.loop import StepReport, TrainingState, Unattended

# Two checkpoints that are kept, the one being written, and the final weights.
NUM_CHECKPOINTS_AT_ONCE = 3
# The kind of a line of the log that says what the averaged last weights are worth.
AVERAGED = "averaged"


class TrainingRun:
    """A run's folder and its learner, from wherever it stands to its end."""

    def __init__(
        self, folder: Path, learner: Learner, watch: Watch, save_every: int | None
    ) -> None:
        self.folder, self.learner, self.watch = folder, learner, watch
        self.log = RunLog(folder / LOG_FILE)
        self.keeper = Keeper(self.save, save_every)
        transfer = learner.recipe.transfer
        self.best = Leaders(1 if transfer is None else transfer.num_averaged)
        self.last = LastWeights(learner.averaged_steps)
        self.owes_validation = False
        self.also_write: Callable[[Mapping[str, Any]], None] | None = None
        self.seconds_before = 0.0
        self.began_at = time.monotonic()
        self.began_step = 0

    def go_on(self) -> bool:
        """Trains until the plan ends, or someone says stop; returns whether it is finished."""
        sweep(self.folder)
        state = self.learner.new_state()
        self.take_up(state, newest_checkpoint(self.folder / CHECKPOINTS_FOLDER, self.watch.say))
        self.require_room(state)
        self.keeper.expect(planned_bytes(state, self.num_sets_kept))
        self.began_at, self.began_step = time.monotonic(), state.step
        if (self.folder / TENSORBOARD_FOLDER).is_dir():
            self.also_write = tensorboard_writer(self.folder, state.step)
        if self.owes_validation:
            self.validate(state)
        try:
            # A run that had enough when it was stopped has no step to do.
            if not self.is_done(state):
                unattended = Unattended(attends=self.attends, note=self.note)
                self.learner.trainer(self.after_step, unattended).run(state)
        except DivergedError:
            # The step was not taken, so the state is good, unless it was spoiled before.
            with contextlib.suppress(DivergedError):
                self.keeper.keep(state)
            raise
        is_done = self.is_done(state)
        # What would be removed at once is only written where the last one is long ago.
        if self.learner.keeps_checkpoints or not is_done:
            self.keeper.keep(state)
        return is_done and self.finish(state)

    def is_done(self, state: TrainingState) -> bool:
        """Whether the plan has ended, or no step would make the best weights better."""
        is_last = state.step >= self.learner.plan.num_steps
        return not self.owes_validation and (is_last or self.is_enough(state))

    def is_enough(self, state: TrainingState) -> bool:
        """Whether the learner has had enough, which is only asked where it was just looked at."""
        return self.is_looked_at(state.step) and self.learner.is_enough(state.step, self.best.step)

    def take_up(self, state: TrainingState, checkpoint: Checkpoint | None) -> None:
        """Brings a state to where a checkpoint left it."""
        facts: dict[str, Any] = dict(checkpoint.facts) if checkpoint else {}
        if checkpoint is None and self.log.is_begun:
            self.watch.say(
                f"{self.folder} has no checkpoint to go on from: it begins again at its first step."
            )
        self.log.cut_back(facts.get("log"), self.watch.say)
        if checkpoint is None:
            return
        if facts["recipe"] != self.recipe_digest:
            raise RunError(
                f"{self.folder / RECIPE_FILE} is not the recipe that this run was trained by so "
                "far. Restore it from a copy; for another recipe begin another run."
            )
        groups = checkpoint.groups
        load(state.model, groups["weights"])
        state.optimiser.restore(groups["optimiser"])
        if state.average is not None:
            state.average.restore(groups["average"])
        state.step = checkpoint.step
        self.best.restore(facts["best"], groups)
        self.last.restore(facts.get(LAST), groups)
        self.owes_validation = facts.get("owes_validation", False)
        self.seconds_before = facts["seconds"]
        self.keeper.saved_step = state.step
        for line in differences(facts["environment"], environment(self.learner.plan.device)):
            self.watch.say(line)

    def require_room(self, state: TrainingState) -> None:
        """Raises an error where the disk has no room for what a run is still to keep."""
        kept = (self.folder / CHECKPOINTS_FOLDER).rglob("*")
        num_kept_bytes = sum(path.stat().st_size for path in kept if path.is_file())
        num_bytes = planned_bytes(state, self.num_sets_kept)
        num_missing_bytes = NUM_CHECKPOINTS_AT_ONCE * num_bytes - num_kept_bytes
        require_space(self.folder, max(num_bytes, num_missing_bytes), "keeping this run")

    def after_step(self, state: TrainingState, report: StepReport) -> bool:
        """Logs, validates, saves and shows as the plan says; returns whether to stop."""
        self.log_step(report)
        self.owes_validation = self.is_looked_at(state.step)
        if self.owes_validation:
            self.validate(state)
        self.last.offer(state.step, lambda: weights_of(state))
        self.keeper.after_step(state)
        self.watch.show(self.progress(report))
        return self.watch.should_stop() or self.is_done(state)

    def attends(self, step: int) -> bool:
        """Whether the state after a step is looked at or kept, or is where the run stops."""
        is_wanted = self.is_looked_at(step) or step in self.last.steps
        return is_wanted or self.keeper.is_due(step) or self.watch.should_stop()

    def note(self, report: StepReport) -> None:
        """Logs and shows a step whose state nobody looks at."""
        self.log_step(report)
        self.watch.show(self.progress(report))

    def is_looked_at(self, step: int) -> bool:
        """Whether held-out data is looked at after a step."""
        plan = self.learner.plan
        return step % plan.steps_between_validations == 0 or step == plan.num_steps

    def log_step(self, report: StepReport) -> None:
        """Logs a step, where the plan says so."""
        plan = self.learner.plan
        if report.step % plan.steps_between_logs == 0 or report.step == plan.num_steps:
            self.write_line(step_row(report) | self.clock(report))

    def validate(self, state: TrainingState) -> None:
        """Looks at held-out text, and keeps the weights that do best there."""
        try:
            scores = self.learner.validate(state, self.watch.should_stop)
        except ScoringStopped:
            return  # made up for when the run goes on
        self.owes_validation = False
        if not math.isfinite(scores.total):
            raise RunError(
                f"After step {state.step:,} the loss on held-out text became {scores.total}. The "
                "last checkpoint is kept. Choose a lower learning rate, and begin again."
            )
        require_numbers(state.step, {"weights": weights_of(state)})
        self.write_line({"kind": "valid", "step": state.step} | scores.as_json())
        self.look(state)
        self.best.offer(state.step, scores.total, lambda: best_weights(state))

    def look(self, state: TrainingState) -> None:
        """Logs and says what there is to look at, where there is anything."""
        if text := self.learner.look(self.folder, state.model):
            self.write_line({"kind": "sample", "step": state.step, "text": text})
            self.watch.say(f"Step {state.step:,}: {text}")

    def write_line(self, row: dict[str, object]) -> None:
        """Appends a line to the log, and to whatever else follows it."""
        self.log.write(row)
        if self.also_write is not None:
            self.also_write(row)

    def save(self, state: TrainingState) -> None:
        """Keeps a checkpoint of the state."""
        facts = {
            "recipe": self.recipe_digest,
            "log": self.log.mark(state.step),
            "best": self.best.facts(),
            LAST: self.last.facts(),
            "owes_validation": self.owes_validation,
            "seconds": self.seconds,
            "environment": environment(self.learner.plan.device),
        }
        groups = dict(groups_of(state)) | dict(self.best.groups()) | dict(self.last.groups())
        require_numbers(state.step, groups)
        save_checkpoint(self.folder / CHECKPOINTS_FOLDER, state.step, facts, groups)

    def finish(self, state: TrainingState) -> bool:
        """Writes what the run has learned, and what it is worth, unless someone says stop."""
        learned = {name: tensor.clone() for name, tensor in weights_of(state).items()}
        found = self.ends(state)
        try:
            chosen, seen = self.better(state, found)
            load(state.model, found[chosen])
            worth = self.learner.results(
                state.model, self.done(state, chosen), self.watch.should_stop
            )
        except ScoringStopped:
            load(state.model, learned)
            self.keeper.keep(state)
            return False
        for name in found.keys() - {chosen}:
            write_tensors(self.folder / OTHER_WEIGHTS_FILES[name], found[name])
        if seen is not None:
            self.write_line({"kind": AVERAGED, "step": state.step} | seen.as_json())
        weights = found[chosen]
        digest = write_tensors(self.folder / WEIGHTS_FILE, weights)
        write_json(
            self.folder / RESULTS_FILE,
            {
                "steps": state.step,
                "epochs": state.step / self.learner.steps_per_epoch,
                "best_step": self.best.step,
                "seconds": self.seconds,
                **worth,
            },
        )
        write_curves(self.folder)
        write_manifest(self.folder, {WEIGHTS_FILE: digest}, self.learner)
        self.learner.tidy(self.folder)
        return True

    def ends(self, state: TrainingState) -> dict[str, Weights]:
        """Returns the weights that a run may end with: the best, and an average of the last."""
        found = {BEST: self.best.weights()}
        is_whole = self.last.num_seen and state.step == self.learner.plan.num_steps
        return found | ({AVERAGED: self.last.mean} if is_whole else {})

    def better(
        self, state: TrainingState, found: Mapping[str, Weights]
    ) -> tuple[str, Scores | None]:
        """Returns which weights do best on held-out data, and the scores of averaged ones.

        Of equals the best at a look are taken, and not the average.
        """
        if len(found) == 1:
            return BEST, None
        seen: dict[str, Scores] = {}
        for name, weights in found.items():
            load(state.model, weights)
            alone = TrainingState(state.model, state.optimiser, None, state.step)
            seen[name] = self.learner.validate(alone, self.watch.should_stop)
        return min(seen, key=lambda name: seen[name].total), seen[AVERAGED]

    def done(self, state: TrainingState, chosen: str) -> Done:
        """Returns what the run has done."""
        return Done(
            folder=self.folder,
            num_steps=state.step,
            best_step=self.best.step,
            seconds=self.seconds,
            weights=chosen,
        )

    @property
    def num_sets_kept(self) -> int:
        """The sets of weights in a checkpoint beside those that learn."""
        return self.best.num_kept + self.last.num_kept

    @property
    def recipe_digest(self) -> str:
        """What the recipe is, in a few letters, so that a changed one is noticed."""
        return json_digest(to_json(self.learner.recipe))

    @property
    def seconds(self) -> float:
        """The time that the run has taken so far, interruptions aside."""
        return self.seconds_before + time.monotonic() - self.began_at

    def clock(self, report: StepReport) -> dict[str, float]:
        """Returns what only a clock knows of a step."""
        seconds = time.monotonic() - self.began_at
        rate = (report.step - self.began_step) * report.num_tokens / max(seconds, 1e-9)
        return {"seconds": round(self.seconds, 3), "tokens_per_second": round(rate, 1)}

    def progress(self, report: StepReport) -> StepProgress:
        """Returns how far the run is, for the screen."""
        num_steps = self.learner.plan.num_steps
        seconds = time.monotonic() - self.began_at
        per_step = seconds / max(1, report.step - self.began_step)
        return StepProgress(
            step=report.step,
            num_steps=num_steps,
            loss=report.loss,
            tokens_per_second=report.num_tokens / max(per_step, 1e-9),
            seconds_left=per_step * (num_steps - report.step),
            seconds_since_checkpoint=self.keeper.seconds_since,
        )


def step_row(report: StepReport) -> dict[str, object]:
    """Returns a step as a line of the log."""
    return {
        "kind": "step",
        "step": report.step,
        "loss": report.loss,
        "parts": dict(report.parts),
        "rate": report.rate,
        "norm": report.norm,
    }


def write_curves(folder: Path) -> None:
    """Draws how a run learned, from its log."""
    figure = training_curves.draw(read_log(folder / LOG_FILE), f"How {folder.name} learned")
    for file_format in FORMATS:
        write_bytes(folder / f"curves.{file_format}", render(figure, file_format))


def write_manifest(folder: Path, files: dict[str, str], learner: Learner) -> None:
    """Writes the SHA-256 of each file of a run, and what its numbers depend on."""
    others = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        # A start has its hash beside it, and a transfer that is finished removes it.
        and path.name not in {MANIFEST_FILE, START_FILE, ".lock", *files}
        and CHECKPOINTS_FOLDER not in path.relative_to(folder).parts
    ]
    hashes = files | {str(path.relative_to(folder)): sha256_of(path) for path in others}
    write_sealed_json(
        folder / MANIFEST_FILE,
        {
            "files": hashes,
            "environment": environment(learner.plan.device),
            "seed": learner.plan.seed,
            "sources": learner.sources,
        },
    )
