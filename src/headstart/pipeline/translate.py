"""Translator and texts to translations: batched by length, in order, however many there are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import torch

from headstart.corpora.lines import is_whole
from headstart.decoding.beam import Beam
from headstart.decoding.greedy import Greedy
from headstart.decoding.sampling import Sampling
from headstart.decoding.scoring import CachedScores, prefix_of
from headstart.decoding.strategy import Hypothesis, Limits, Strategy
from headstart.errors import DataError, RecipeError, RunError
from headstart.models.config import EncoderDecoderConfig
from headstart.models.model import language_head
from headstart.pipeline.feeding import as_text, device_of, special_ids
from headstart.pipeline.run_folder import Run, load_run
from headstart.pipeline.translating.copied_words import with_copied_words
from headstart.pipeline.translating.side_by_side import side_by_side
from headstart.pipeline.translating.source_parts import SourcePart, parts_of
from headstart.pipeline.translating.translation_settings import TranslationSettings
from headstart.tokenizers.pieces import END_ID, START_ID, UNKNOWN_ID
from headstart.tokenizers.tokenizer import Ids

# Read ahead so that texts of one length find each other, and few enough to be held.
NUM_TEXTS_AT_ONCE = 1_024
# Rows of a batch, and the pieces of their sources: what a processor does best at once.
NUM_ROWS, NUM_PIECES = 64, 4_096
# A GPU is idle with so few.
NUM_GPU_ROWS, NUM_GPU_PIECES = 512, 32_768
# Few translations are longer than this, and one that goes in circles has to end somewhere.
LONGEST_SHARE, NUM_SPARE_PIECES = 2, 20
# What is shown of a text that cannot be read.
NUM_LETTERS_SHOWN = 40

AfterTexts = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One translation among the best."""

    text: str
    score: float
    """By what it was ranked: its log-probability, weighed by its length."""
    log_probability: float


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A text and what a translator made of it."""

    source: str
    text: str
    log_probability: float
    alternatives: tuple[Alternative, ...] = ()
    """The best that were found, the chosen one first."""
    notes: tuple[str, ...] = ()
    """What must be known of it, such as that the text was split."""
    ids: tuple[int, ...] = ()
    """The pieces as they were written; none where the text was translated in parts."""


@dataclass(frozen=True)
class Job:
    """A part of a text that is to be translated."""

    number: int
    """Its place among all parts of all texts."""
    text: str
    part: SourcePart
    prefix: tuple[int, ...]


def load_translator(folder: Path, device: str) -> Run:
    """Loads a run that translates, or says that this one does not."""
    return require_translator(load_run(folder, device))


def require_translator(run: Run) -> Run:
    """Returns the run, or raises an error unless it has learned to translate."""
    if run.recipe.objective == "translation" and run.recipe.task == "translation":
        return run
    raise RunError(
        f"{run.folder} is a {run.recipe.task} run (its objective is {run.recipe.objective}), so it "
        "cannot translate. Name a run that headstart train-translator has made."
    )


def translate_texts(
    run: Run,
    texts: Iterable[str],
    how: TranslationSettings,
    after_texts: AfterTexts = lambda _: None,
) -> Iterator[Translation]:
    """Yields the translation of each text, in order, holding only those that are read at once."""
    writer = TranslationWriter(require_translator(run), how)
    waiting = iter(texts)
    while window := list(islice(waiting, NUM_TEXTS_AT_ONCE)):
        yield from writer.translations(window, after_texts)


def strategy_of(how: TranslationSettings) -> Strategy:
    """Returns the strategy that was asked for."""
    if how.strategy == "greedy":
        return Greedy()
    if how.strategy == "beam":
        return Beam(width=how.beam, length_penalty=how.length_penalty, num_best=how.num_best)
    return Sampling(temperature=how.temperature, top_k=how.top_k, top_p=how.top_p, seed=how.seed)


class TranslationWriter:
    """Writes translations in one way, and numbers the parts of all texts that it is given."""

    def __init__(self, run: Run, how: TranslationSettings) -> None:
        self.run, self.how = run, how
        self.strategy = strategy_of(how)
        self.target_tokenizer = run.target_tokenizer
        self.prefix = tuple(self.target_tokenizer.encode(how.prefix).tolist()) if how.prefix else ()
        trunk = run.recipe.model.trunk
        assert isinstance(trunk, EncoderDecoderConfig)
        # An end stands behind every source, and a start before every translation.
        self.source_room = trunk.encoder.max_length - 1
        self.target_room = trunk.decoder.max_length - 1
        unwanted = {*special_ids(self.target_tokenizer), UNKNOWN_ID} - {END_ID}
        if how.copies_unknown:
            unwanted -= {UNKNOWN_ID}
        self.forbidden = tuple(sorted(unwanted))
        self.num_jobs = 0
        if len(self.prefix) >= self.target_room:
            raise RecipeError(
                f"The prefix has {len(self.prefix):,} pieces, but the positions of this run end "
                f"at {self.target_room:,}. Shorten it."
            )

    def translations(self, texts: Sequence[str], after_texts: AfterTexts) -> Iterator[Translation]:
        """Yields the translation of each of a few texts."""
        jobs_by_text = self.jobs(texts)
        found: dict[int, Sequence[Hypothesis]] = {}
        batches = self.batches([job for jobs in jobs_by_text for job in jobs])
        # A text counts with its first part; blank ones have none.
        first = {jobs[0].number for jobs in jobs_by_text if jobs}
        after_texts(len(texts) - len(first))
        for rows in side_by_side(self._decode, batches):
            found |= rows
            after_texts(len(first & rows.keys()))
        for text, jobs in zip(texts, jobs_by_text, strict=True):
            yield self._translation(text, jobs, [found[job.number] for job in jobs])

    def jobs(self, texts: Sequence[str]) -> list[list[Job]]:
        """Returns the parts of each text, numbered behind all that were asked for before."""
        return [self._jobs(text, ids) for text, ids in zip(texts, self._cut(texts), strict=True)]

    def _cut(self, texts: Sequence[str]) -> Iterator[Ids]:
        """Yields the pieces of each text; blank ones have none."""
        for text in texts:
            if not is_whole(text):
                raise DataError(
                    f"The text {text[:NUM_LETTERS_SHOWN]!r} has half a surrogate pair, which is "
                    "no letter. Mend the text, or leave it out."
                )
        filled = [text if text.strip() else "" for text in texts]
        cut = self.run.tokenizer.encode_all(filled, torch.get_num_threads())
        ends = np.concatenate([[0], cut.lengths.cumsum()]).tolist()
        for begin, end in pairwise(ends):
            yield cut.ids[begin:end]

    def _jobs(self, text: str, ids: Ids) -> list[Job]:
        """Returns the parts of a text; one that says nothing has none."""
        if not len(ids):
            return []
        parts = parts_of(ids, self.source_room, self.run.tokenizer.vocabulary)
        self.num_jobs, first = self.num_jobs + len(parts), self.num_jobs
        # What a translation begins with is said once.
        return [
            Job(first + number, text, part, () if number else self.prefix)
            for number, part in enumerate(parts)
        ]

    def batches(self, jobs: Sequence[Job]) -> list[list[Job]]:
        """Returns parts of like length together, the longest first."""
        is_processor = device_of(self.run).type == "cpu"
        num_rows = NUM_ROWS if is_processor else NUM_GPU_ROWS
        num_pieces = NUM_PIECES if is_processor else NUM_GPU_PIECES
        waiting = sorted(jobs, key=lambda job: len(job.part.ids), reverse=True)
        batches = []
        while waiting:
            # At least one row, whatever its length.
            count = max(1, min(num_rows, num_pieces // (len(waiting[0].part.ids) + 1)))
            batch, waiting = waiting[:count], waiting[count:]
            batches.append(batch)
        return batches

    @torch.inference_mode()
    def _decode(self, batch: Sequence[Job]) -> dict[int, Sequence[Hypothesis]]:
        """Returns the hypotheses of each part of a batch by its number."""
        model = self.run.model
        source = model.trunk.encode(as_text(self.run, [[*job.part.ids, END_ID] for job in batch]))
        scores = CachedScores(model.trunk.decoder, language_head(model), source)
        prefix = prefix_of([[START_ID, *job.prefix] for job in batch], device_of(self.run))
        most = tuple(self.most_pieces(job) for job in batch)
        limits = Limits(
            num_pieces=max(most),
            end_id=END_ID,
            forbidden_ids=self.forbidden,
            num_pieces_by_row=most,
        )
        strategy = self.strategy
        if isinstance(strategy, Sampling):
            # So that a draw depends on the text alone, and not on those it was batched with.
            strategy = replace(strategy, row_numbers=tuple(job.number for job in batch))
        found = strategy.decode(scores, prefix, limits)
        return {job.number: row for job, row in zip(batch, found, strict=True)}

    def most_pieces(self, job: Job) -> int:
        """Returns how many pieces may be written behind a part's prefix."""
        usual = LONGEST_SHARE * len(job.part.ids) + NUM_SPARE_PIECES
        wanted = self.how.most_pieces or usual
        return min(wanted, self.target_room - len(job.prefix))

    def _translation(
        self, text: str, jobs: Sequence[Job], found: Sequence[Sequence[Hypothesis]]
    ) -> Translation:
        """Returns the translation of a text from those of its parts."""
        if not jobs:
            return Translation(source=text, text="", log_probability=0.0)
        alternatives = tuple(
            self._joined(jobs, [row[min(rank, len(row) - 1)] for row in found])
            for rank in range(max(map(len, found)))
        )
        notes = []
        if len(jobs) > 1:
            num_pieces = sum(len(job.part.ids) for job in jobs)
            notes.append(
                f"split in {len(jobs)}: it has {num_pieces:,} pieces, and the positions of this "
                f"run end at {self.source_room:,}"
            )
        if num_cut := sum(not row[0].has_ended for row in found):
            notes.append(f"cut off before its end{f' in {num_cut} parts' * (num_cut > 1)}")
        best = alternatives[0]
        return Translation(
            source=text,
            text=best.text,
            log_probability=best.log_probability,
            alternatives=alternatives,
            notes=tuple(notes),
            ids=(*jobs[0].prefix, *found[0][0].ids) if len(jobs) == 1 else (),
        )

    def _joined(self, jobs: Sequence[Job], found: Sequence[Hypothesis]) -> Alternative:
        """Returns what the parts of a text say together."""
        texts = [self._text(job, one) for job, one in zip(jobs, found, strict=True)]
        return Alternative(
            text=" ".join(texts),
            score=sum(self._score(one) for one in found),
            log_probability=sum(one.log_probability for one in found),
        )

    def _text(self, job: Job, found: Hypothesis) -> str:
        """Returns the text of a hypothesis, without the marks of pieces."""
        ids = [*job.prefix, *found.ids]
        if self.how.copies_unknown and UNKNOWN_ID in found.ids:
            return with_copied_words(self.run, job.text, job.part, ids)
        return self.target_tokenizer.decode(ids)

    def _score(self, found: Hypothesis) -> float:
        """Returns what a hypothesis was ranked by."""
        if not isinstance(self.strategy, Beam):
            return found.log_probability
        length = max(1, len(found.ids) + found.has_ended)
        return float(found.log_probability / length**self.how.length_penalty)
