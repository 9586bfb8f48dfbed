"""Which validation examples may judge teachers: those from which none of them has learned."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headstart.corpora.examples import Example
from headstart.errors import HeadstartError
from headstart.pipeline.examples import (
    ExamplesConfig,
    Labelled,
    example_hashes,
    read_examples_config,
    read_labelled,
)
from headstart.pipeline.run_files import SEEN_FILE
from headstart.pipeline.seen import read_seen
from headstart.pipeline.taught import read_teaching
from headstart.pipeline.unlabelled import held_out_marks
from headstart.pipeline.watch import Watch


@dataclass(frozen=True)
class Judges:
    """Examples that may judge teachers, and the fingerprints of all that these have seen."""

    examples: list[Example]
    seen: frozenset[bytes]


def judges_of(
    teachers: Sequence[Path], config: ExamplesConfig, labelled: Labelled, watch: Watch
) -> Judges:
    """Returns who may judge teachers, and says where what a student chooses by was learned.

    A classifier that was given away may no longer know what it has seen; then nobody judges.
    """
    # Copies of what anybody may draw to learn from: whoever knows them by heart is always right.
    learned = held_out_marks(labelled.learnable)
    fresh = held_out_marks(labelled.valid) - learned
    seen: set[bytes] = set()
    for teacher in teachers:
        if not (teacher / SEEN_FILE).is_file():
            watch.say(
                f"The teacher {teacher} has no {SEEN_FILE}: what it has learned from is unknown, "
                "and may stand in the validation texts and in the clean test. So all teachers "
                "count alike."
            )
            learned |= fresh
            continue
        known = read_seen(teacher)
        seen |= known
        suspect = fresh & known
        told = suspect & learned_by(teacher, config, known) if suspect else set()
        if told:
            watch.say(
                f"The teacher {teacher} may have learned from {len(told):,} of the "
                f"{len(labelled.valid):,} validation texts: what validation shows will be too "
                "good, and these judge no teacher. Name one validation file for both with --valid."
            )
            learned |= told
    judging = [one for one in labelled.valid if learned.isdisjoint(held_out_marks([one]))]
    return Judges(judging, frozenset(seen))


def learned_by(teacher: Path, config: ExamplesConfig, seen: frozenset[bytes]) -> set[bytes]:
    """Returns the fingerprints of what a teacher may have learned from that its student may not.

    It has seen more than that, for it has chosen by some of it. But where its files are no longer
    what they were, or teachers of its own may have told it more, that is all there is to go by.
    """
    theirs, sources = read_examples_config(teacher)
    is_known = is_unchanged(theirs, sources)
    if is_known and shared_part(theirs) == shared_part(config):
        return set()
    if not is_known or read_teaching(teacher) is not None:
        return set(seen)
    return held_out_marks(read_labelled(replace(theirs, test=None)).train)


def shared_part(config: ExamplesConfig) -> ExamplesConfig:
    """Returns what decides from which examples one may draw."""
    is_split = config.valid is None
    return replace(
        config,
        test=None,
        size=None,
        num_valid=None,
        labels=None,
        draw=config.draw if is_split else 0,
    )


def is_unchanged(config: ExamplesConfig, sources: dict[str, str]) -> bool:
    """Whether the files that a teacher has learned from are there, as they were."""
    try:
        now = example_hashes(replace(config, test=None))
    except HeadstartError:
        return False
    return all(sources.get(name) == digest for name, digest in now.items())
