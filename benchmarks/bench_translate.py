"""How fast are 1,000 sentences translated with a beam of 4 on two cores, beside two others?

All have the same weights in single precision and the same search: Headstart from text to text, and
Hugging Face `generate` from pieces to pieces, once as it is called first (batches in the order of
the file, its own rule of when to stop) and once at its best (our batches of like length, stopping
as we do); CTranslate2 with a core for each batch. Without a run the weights are drawn, nothing
ends by itself, and every text has as many pieces as is allowed.
"""

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sacrebleu
import torch
from record import alternate, keep
from their_translators import hugging_face_translator, their_texts, write_ctranslate2

from headstart.apps.recipes.small import small
from headstart.models.initialisation import initialise
from headstart.models.layouts import lay_out
from headstart.models.model import new_model
from headstart.pipeline.recipe import with_vocabulary
from headstart.pipeline.run_folder import Run
from headstart.pipeline.translate import TranslationWriter, load_translator, translate_texts
from headstart.pipeline.translating.translation_settings import TranslationSettings
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import END_ID

NUM_ROWS = 64
# Drawn weights: as many pieces as Multi30k's sentences have.
NUM_DRAWN_PIECES = 14
Translate = Callable[[], list[str]]


def main() -> None:
    """Measures and keeps a record."""
    given = arguments()
    torch.set_num_threads(given.threads)
    run, texts, most_pieces = drawn(given) if given.run is None else read(given)
    how = TranslationSettings(beam=given.beam, most_pieces=most_pieces)
    say(f"{len(texts):,} texts, beam {given.beam}, {given.threads} threads; building the others")
    contestants: dict[str, Translate] = {
        "headstart": lambda: [one.text for one in translate_texts(run, texts, how)],
        "hugging face, as called first": hugging_face(run, texts, how, is_plain=True),
        "hugging face, at its best": hugging_face(run, texts, how, is_plain=False),
    }
    with tempfile.TemporaryDirectory() as folder:
        try:
            contestants["ctranslate2"] = ctranslate2(run, texts, how, Path(folder))
        except ImportError:
            print("CTranslate2 is not installed.")
        timed = {
            name: Timed(name, translate, given.threads) for name, translate in contestants.items()
        }
        seconds = alternate(timed, given.repetitions)
    outputs = {name: one.texts for name, one in timed.items()}
    # The record is named by it.
    torch.set_num_threads(given.threads)
    ours = seconds["headstart"]["median_seconds"]
    keep(
        "translate" if given.run is not None else "translate-drawn",
        {
            "work": f"{len(texts):,} texts, beam {given.beam}, {given.threads} threads",
            "run": None if given.run is None else given.run.name,
            "seconds": seconds,
            "texts_per_second": {
                name: len(texts) / row["median_seconds"] for name, row in seconds.items()
            },
            "times_as_long_as_headstart": {
                name: row["median_seconds"] / ours for name, row in seconds.items()
            },
            "same_as_headstart": {
                name: sum(map(str.__eq__, rows, outputs["headstart"]))
                for name, rows in outputs.items()
            },
            "bleu": bleu(outputs, given),
        },
    )


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="a translator; without one weights are drawn")
    parser.add_argument("--file", type=Path, help="texts, one a line")
    parser.add_argument("--reference", type=Path, help="their translations, one a line")
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    if len({part is None for part in (given.run, given.file, given.reference)}) > 1:
        parser.error("a run, a file of texts and one of their translations go together")
    return given


def read(given: argparse.Namespace) -> tuple[Run, list[str], None]:
    """Returns a run and the texts of a file."""
    texts = given.file.read_text(encoding="utf-8").splitlines()[: given.texts]
    return load_translator(given.run, "cpu"), texts, None


def drawn(given: argparse.Namespace) -> tuple[Run, list[str], int]:
    """Returns a translator of the shape `small` with drawn weights, and texts for it."""
    draw = random.Random(1)
    letters = "aaabcdeeefghiiijklmnoopqrsttuuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 8))) for _ in range(9_000)]
    texts = [" ".join(draw.choices(words, k=draw.randint(6, 18))) for _ in range(6_000)]
    tokenizer = learn_tokenizer(texts, TokenizerConfig(size=8_000))
    recipe = with_vocabulary(small(), tokenizer.size)
    model = new_model(recipe.model)
    initialise(model, seed=1)
    # As when a run is loaded.
    lay_out(model)
    run = Run(Path("drawn"), recipe, tokenizer, model.eval())
    return run, texts[: given.texts], NUM_DRAWN_PIECES


def hugging_face(
    run: Run, texts: Sequence[str], how: TranslationSettings, *, is_plain: bool
) -> Translate:
    """Returns how Hugging Face translates, in the file's order or in our batches."""
    theirs = hugging_face_translator(run.model)
    writer = TranslationWriter(run, how)
    jobs = [jobs[0] for jobs in writer.jobs(texts)]
    batches = (
        [jobs[start : start + NUM_ROWS] for start in range(0, len(jobs), NUM_ROWS)]
        if is_plain
        else writer.batches(jobs)
    )

    def translate() -> list[str]:
        found = their_texts(theirs, writer, batches, stops_early=not is_plain)
        return [found[job.number] for job in jobs]

    return translate


def ctranslate2(
    run: Run, texts: Sequence[str], how: TranslationSettings, folder: Path
) -> Translate:
    """Returns how CTranslate2 translates, with a core for each batch as we do it."""
    import ctranslate2 as other

    vocabulary = list(run.tokenizer.vocabulary)
    write_ctranslate2(hugging_face_translator(run.model), vocabulary, folder / "model")
    writer = TranslationWriter(run, how)
    translator = other.Translator(
        str(folder / "model"),
        compute_type="float32",
        inter_threads=torch.get_num_threads(),
        intra_threads=1,
    )
    jobs = [jobs[0] for jobs in writer.jobs(texts)]
    sources = [[vocabulary[piece] for piece in (*job.part.ids, END_ID)] for job in jobs]
    most = how.most_pieces or max(writer.most_pieces(job) for job in jobs)
    forbidden = [[vocabulary[piece]] for piece in writer.forbidden]

    def translate() -> list[str]:
        found = translator.translate_batch(
            sources,
            max_batch_size=NUM_ROWS,
            beam_size=how.beam,
            length_penalty=how.length_penalty,
            max_decoding_length=most,
            max_input_length=0,
            suppress_sequences=forbidden,
        )
        id_of = run.tokenizer.id_of
        return [run.tokenizer.decode([id_of[p] for p in row.hypotheses[0]]) for row in found]

    return translate


class Timed:
    """A contestant with as many threads as all have, and what it wrote last."""

    def __init__(self, name: str, translate: Translate, num_threads: int) -> None:
        self.name, self.translate, self.num_threads = name, translate, num_threads
        self.texts: list[str] = []

    def __call__(self) -> float:
        """Translates everything and returns its seconds."""
        # CTranslate2 sets the threads of the whole process, which the next one would inherit.
        torch.set_num_threads(self.num_threads)
        started_at = time.perf_counter()
        self.texts = self.translate()
        seconds = time.perf_counter() - started_at
        say(f"{self.name}: {seconds:.1f} s")
        return seconds


def say(what: str) -> None:
    """Tells whoever waits what is being done."""
    print(what, file=sys.stderr, flush=True)


def bleu(outputs: dict[str, list[str]], given: argparse.Namespace) -> dict[str, float] | None:
    """Returns the BLEU of each; drawn texts have no translations."""
    if given.reference is None:
        return None
    references = given.reference.read_text(encoding="utf-8").splitlines()[: given.texts]
    return {name: sacrebleu.corpus_bleu(rows, [references]).score for name, rows in outputs.items()}


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
