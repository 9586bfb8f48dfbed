"""What a run has learned from, told without folders, and the command that would make it again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from headstart.files import read_sealed_json
from headstart.pipeline.command_of import command_of, translator_command_of
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.run_files import START_FACTS_FILE
from headstart.pipeline.run_folder import Run, read_corpus, write_corpus
from headstart.pipeline.translating.pairs import (
    PairsConfig,
    read_pairs_config,
    write_pairs_config,
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where what a run knows came from."""

    sources: dict[str, str]
    """The SHA-256 of each file by its bare name, and the fingerprints of tokenizers."""
    command: str


def write_origin(run: Run, folder: Path) -> Origin:
    """Writes what a run has learned from into the folder of its packed form."""
    start = start_of(run.folder)
    if run.recipe.task == "translation":
        pairs, sources = pairs_without_paths(*read_pairs_config(run.folder))
        write_pairs_config(folder, pairs, sources)
        has_two = run.own_target_tokenizer is not None
        command = translator_command_of(run.recipe, pairs, start, has_two_vocabularies=has_two)
        return Origin(sources=sources, command=command)
    corpus, sources = corpus_without_paths(*read_corpus(run.folder))
    write_corpus(folder, corpus, sources)
    return Origin(sources=sources, command=command_of(run.recipe, corpus, start))


def corpus_without_paths(
    config: CorpusConfig, sources: dict[str, str]
) -> tuple[CorpusConfig, dict[str, str]]:
    """Returns where a text came from by the names of its files; folders are nobody's business."""
    bare = bare_names([*config.corpus, *config.valid, *sources])
    named = replace(
        config,
        corpus=tuple(bare[name] for name in config.corpus),
        valid=tuple(bare[name] for name in config.valid),
    )
    return named, {bare[name]: digest for name, digest in sources.items()}


def pairs_without_paths(
    config: PairsConfig, sources: dict[str, str]
) -> tuple[PairsConfig, dict[str, str]]:
    """Returns where pairs came from, likewise."""
    bare = bare_names(sources)
    valid_source, valid_target = (
        None if name is None else bare[name] for name in (config.valid_source, config.valid_target)
    )
    named = replace(
        config,
        source=bare[config.source],
        target=bare[config.target],
        valid_source=valid_source,
        valid_target=valid_target,
    )
    return named, {bare[name]: digest for name, digest in sources.items()}


def bare_names(paths: Iterable[str]) -> dict[str, str]:
    """Returns what each file is called, with as few of its folders as tell all files apart."""
    parts = {path: Path(path).parts for path in paths}
    for num_told in count(1):
        found = {path: Path(*each[-num_told:]).as_posix() for path, each in parts.items()}
        if len(set(found.values())) == len(parts) or num_told > max(map(len, parts.values())):
            break
    return found


def start_of(folder: Path) -> str | None:
    """Returns the name of the run that a run went on from, where it did."""
    if not (folder / START_FACTS_FILE).exists():
        return None
    facts = read_sealed_json(folder / START_FACTS_FILE)
    return Path(str(facts["from"])).name if isinstance(facts, dict) else None
