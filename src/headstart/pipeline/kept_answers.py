"""What teachers answer, kept for as long as several students ask them the same.

Legend: N texts, C labels.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from headstart.checkpoints.tensor_file import read_tensors, write_tensors
from headstart.errors import FileError, LockedError
from headstart.files import json_digest, read_sealed_json, write_sealed_json
from headstart.locks import locked
from headstart.pipeline.learner import ShouldStop, require_going_on

ANSWERS_FILE, FACTS_FILE = "answers.safetensors", "answers.json"
ANSWERS = "answers"
# Enough of a hash to tell questions apart.
NUM_HASH_LETTERS = 24
SECONDS_BETWEEN_LOOKS = 0.1

Answers = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What somebody is asked, and how."""

    ask: Callable[[], Answers]
    key: object = None
    """All that decides the answer, as JSON values; None where nobody else asks the same."""


def answered_all(
    questions: Sequence[Question], home: Path | None, should_stop: ShouldStop
) -> list[Answers]:
    """Returns every answer in order, by whichever process finds it first. Shape (N, C) each."""
    found: dict[int, Answers] = {}
    while len(found) < len(questions):
        num_before = len(found)
        for number, question in enumerate(questions):
            if number not in found and (answer := answered(question, home)) is not None:
                found[number] = answer
        if len(found) == num_before:
            # Others are at all that is left.
            require_going_on(should_stop)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    return [found[number] for number in range(len(questions))]


def answered(question: Question, home: Path | None) -> Answers | None:
    """Returns an answer, kept or new; nothing where another process is just finding it."""
    if home is None or question.key is None:
        return question.ask()
    folder = home / json_digest(question.key)[:NUM_HASH_LETTERS]
    try:
        with locked(folder):
            kept = read_kept(folder)
            if kept is None:
                kept = question.ask()
                digest = write_tensors(folder / ANSWERS_FILE, {ANSWERS: torch.from_numpy(kept)})
                write_sealed_json(folder / FACTS_FILE, {"sha256": digest})
            return kept
    except LockedError:
        return None


def read_kept(folder: Path) -> Answers | None:
    """Returns the answers of a folder; nothing where there are none, or none that are whole."""
    if not (folder / FACTS_FILE).exists():
        return None
    try:
        facts = read_sealed_json(folder / FACTS_FILE)
        assert isinstance(facts, dict)
        answers: Answers = read_tensors(folder / ANSWERS_FILE, facts["sha256"])[ANSWERS].numpy()
    except FileError:
        return None
    return answers
