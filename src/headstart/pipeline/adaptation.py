"""Going on from a run with other text: what must fit, what is remembered, what is kept out."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from unicodedata import unidata_version

from headstart.corpora.compression import kind_of
from headstart.corpora.cut_text import is_cut
from headstart.corpora.documents import DocumentKind
from headstart.corpora.examples import PAIR_SEPARATOR, Example
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.corpus_copies import CorpusCopyFinder
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.prepared import prepare
from headstart.corpora.leaks.sketch import Sketch, merged
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.corpora.sources import find_files
from headstart.corpora.tables import has_rows, source_sha256
from headstart.errors import DataError, RecipeError
from headstart.files import cache_folder, json_digest, write_json
from headstart.models.config import TrunkConfig
from headstart.models.heads.config import ModelConfig
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import read_recipe
from headstart.pipeline.watch import Watch

NUM_PLACES_TOLD = 3
# Raise it when a file would be read, or a text taken for a copy, otherwise than before.
KEPT_OUT_VERSION = 2


def require_fitting_start(start: Path, recipe: Recipe) -> None:
    """Raises an error where the weights of a run do not fit the model that would go on."""
    begun = read_recipe(start)
    if begun.transfer is not None:
        raise RecipeError(
            f"{start} is a classifier of {', '.join(begun.transfer.labels)}, and plain text "
            "teaches no labels. Name the run that its trunk came from."
        )
    ours, theirs = without_dropout(recipe.model), without_dropout(begun.model)
    if ours == theirs:
        return
    sizes = ours.trunk.vocabulary_size, theirs.trunk.vocabulary_size
    if sizes[0] != sizes[1]:
        raise RecipeError(
            f"The objective {recipe.objective} makes a vocabulary of {sizes[0]:,} pieces, but "
            f"{start} has {sizes[1]:,}. Go on with its own objective, {begun.objective}."
        )
    raise RecipeError(
        f"The recipe {recipe.name} does not fit {start}, of the recipe {begun.name}: "
        f"{first_difference(ours, theirs)}. Go on with the recipe of the run, or begin without it."
    )


def without_dropout(model: ModelConfig) -> ModelConfig:
    """Returns what decides the weights of a model; dropout may be another each time."""
    trunk = model.trunk
    if not isinstance(trunk, TrunkConfig):
        return model
    return replace(model, trunk=replace(trunk, layer=replace(trunk.layer, dropout=0.0)))


def first_difference(ours: object, theirs: object, where: str = "model") -> str:
    """Returns the first field in which two configs differ, with both values."""
    if type(ours) is type(theirs):
        for field in fields(ours):  # type: ignore[arg-type]  # both are configs of one type
            one, other = getattr(ours, field.name), getattr(theirs, field.name)
            if one != other and hasattr(one, "__dataclass_fields__"):
                return first_difference(one, other, field.name)
            if one != other:
                return f"the {where}'s {field.name} is {one} and not {other}"
    return f"the {where} is a {type(ours).__name__} and not a {type(theirs).__name__}"


def sketch_of_all(sketch: Path, start: Path | None) -> Sketch:
    """Returns the sketch of a run's text, with that of the runs before it."""
    # Whoever goes on from a run knows what it has read; a test must be held against that too.
    own = read_sketch(sketch)
    return own if start is None else merged(own, read_sketch(start / SKETCH_FILE))


def require_kept_out(
    config: CorpusConfig, names: Sequence[str], hashes: Mapping[str, str], watch: Watch
) -> None:
    """Raises an error where text that must stay unseen, such as a test, is in a corpus.

    What was held against the same texts before is not held again.
    """
    if not names:
        return
    passed = passed_file(config, names, hashes)
    if passed.exists():
        return
    finder = CorpusCopyFinder(prepare({"kept out": kept_out_texts(config, names)}))
    paths = [Path(name) for name in (*config.corpus, *config.valid)]
    for document in watch.read(paths, config.reading(), "Holding the text against the test"):
        finder.see(document.place, words(document.plain))
    (found,) = finder.found()
    if not found.copies:
        write_json(passed, {"kept out": list(names), "of": [str(path) for path in paths]})
        return
    first = "; ".join(
        f"{copy.item.place}, is {copy.first}" for copy in found.copies[:NUM_PLACES_TOLD]
    )
    count = f"{found.num_items:,} {'text' if found.num_items == 1 else 'texts'}"
    raise DataError(
        f"The corpus holds {count} that must be kept out of it (first: {first}). Remove them from "
        "the corpus, such as by pretraining on the training file alone."
    )


def passed_file(config: CorpusConfig, names: Sequence[str], hashes: Mapping[str, str]) -> Path:
    """Returns the file in the user's cache that says of this very text that all is kept out."""
    corpus = [(kind_of(Path(name)), digest) for name, digest in hashes.items()]
    kept_out = [(kind_of(path), source_sha256(path)) for path in kept_out_files(names)]
    reading = [config.documents, config.text_column, config.skips_bad]
    key = json_digest([KEPT_OUT_VERSION, unidata_version, corpus, kept_out, reading])
    return cache_folder() / "kept-out" / f"{key[:24]}.json"


def kept_out_files(names: Sequence[str]) -> list[Path]:
    """Returns the files of text that must stay unseen; of a pair of files the one with texts."""
    texts = (
        name.partition(PAIR_SEPARATOR)[0] if not Path(name).exists() else name for name in names
    )
    return find_files(list(texts))


def kept_out_texts(config: CorpusConfig, names: Sequence[str]) -> list[Example]:
    """Returns the texts of tables and text files, whatever their labels.

    A test has a text a line, whatever the documents of a corpus are; a file may also be as those.
    """
    found: dict[tuple[str, str], Example] = {}
    for path in kept_out_files(names):
        kinds: set[DocumentKind] = {"lines"}
        if not has_rows(path) and not is_cut(path):
            kinds.add(config.documents)
        for kind in sorted(kinds):
            reading = replace(config.reading(), documents=kind)
            for document in Watch().read([path], reading, ""):
                example = Example(document.plain, "", document.place)
                # A line may be a paragraph too.
                found.setdefault((str(document.place), document.plain), example)
    return list(found.values())
