"""What is compared: trunks, examples, numbers of labels, seeds, settings and a budget."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TypeVar

from headstart.errors import RecipeError
from headstart.models.config import MOST, require_whole
from headstart.models.heads.config import Pooling
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.planning import Place
from headstart.transfers.config import LongTexts
from headstart.transfers.settings import COLD, FROZEN, GRADUAL, TAUGHT, WARM, TransferSettings
from headstart.transfers.sweep import MOST_TIMES_ITS_RATE, USUAL_KINDS, Kind, checked_kinds

# Who teaches a student: networks of its own trunk that have learned the same labels, as far as they
# are compared, and TF-IDF of these labels.
TEACHERS: tuple[Kind, ...] = ("warm", "gradual")
OTHER_TEACHERS: tuple[str, ...] = ("tfidf",)

Number = TypeVar("Number", int, float)


def to_the_end(settings: TransferSettings) -> TransferSettings:
    """Returns settings that never end early: every system has the same steps, every curve ends."""
    return replace(settings, transfer=replace(settings.transfer, patience=0))


@dataclass(frozen=True, kw_only=True)
class SaidOfAll:
    """What is said of all networks at once; None leaves each its own."""

    epochs: int | None = None
    """Of all but a taught one, which reads other texts in them too."""
    fewest_steps: int | None = None
    length: int | None = None
    long_texts: LongTexts | None = None
    pooling: Pooling | None = None
    dropout: float | None = None
    """Of all but a frozen trunk, which drops nothing."""
    warm_up: float | None = None
    """The share of the steps in which the rate rises."""


@dataclass(frozen=True, kw_only=True)
class ComparedSettings:
    """How each kind of network learns; warm and cold have the same steps over the same batches."""

    warm: TransferSettings = field(default_factory=lambda: to_the_end(WARM))
    cold: TransferSettings = field(default_factory=lambda: to_the_end(COLD))
    frozen: TransferSettings = field(default_factory=lambda: to_the_end(FROZEN))
    gradual: TransferSettings = field(default_factory=lambda: to_the_end(GRADUAL))
    taught: TransferSettings = field(default_factory=lambda: to_the_end(TAUGHT))

    def of(self, kind: Kind) -> TransferSettings:
        """Returns the settings of one kind."""
        settings: TransferSettings = getattr(self, kind)
        return settings

    def for_all(self, said: SaidOfAll) -> "ComparedSettings":
        """Returns the same with what is said put in the place of every network's own."""

        def changed(kind: str, own: TransferSettings) -> TransferSettings:
            return replace(
                own,
                epochs=own.epochs if kind == "taught" else said.epochs or own.epochs,
                fewest_steps=said_or(own.fewest_steps, said.fewest_steps),
                length=said.length or own.length,
                pooling=said.pooling or own.pooling,
                dropout=own.dropout if kind == "frozen" else said_or(own.dropout, said.dropout),
                learning=replace(
                    own.learning, warm_up_share=said_or(own.learning.warm_up_share, said.warm_up)
                ),
                transfer=replace(
                    own.transfer, long_texts=said.long_texts or own.transfer.long_texts
                ),
            )

        return ComparedSettings(
            **{row.name: changed(row.name, getattr(self, row.name)) for row in fields(self)}
        )


def said_or(own: Number, said: Number | None) -> Number:
    """Returns what was said, which may be 0, or what one has where nothing was."""
    return own if said is None else said


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A question about pretraining, and how it is to be answered."""

    starts: tuple[Path, ...]
    """The runs whose trunks are compared; the first is asked about in the verdict."""
    examples: ExamplesConfig
    place: Place
    sizes: tuple[int, ...] | None = None
    """Numbers of labels; None doubles from 100 to all."""
    num_seeds: int = 5
    minutes: float | None = None
    """Leaves out whole seeds, down to two, where all of them would take longer."""
    rates: tuple[float, ...] = ()
    """Rates to try at each size, as multiples of a system's own; validation chooses."""
    systems: tuple[Kind, ...] = USUAL_KINDS
    """The kinds that are compared; warm is always among them."""
    unlabelled: tuple[str, ...] = ()
    """Files of texts without labels, for a taught system beside the others."""
    settings: ComparedSettings = field(default_factory=ComparedSettings)
    num_workers: int | None = None
    """Jobs at once; None takes the cores there are."""
    command: str = ""
    """What was typed, for whoever does it again."""

    def __post_init__(self) -> None:
        checked_kinds(self.systems)
        if "taught" in self.systems and not self.unlabelled:
            raise RecipeError(
                f"The systems are {', '.join(self.systems)}, but there are no texts without labels "
                "for taught. Name some with --unlabelled."
            )
        require_whole(self, "num_seeds", at_least=1, at_most=1_000)
        if self.num_workers is not None:
            require_whole(self, "num_workers", at_least=1, at_most=MOST)
        if any(not 0 < rate <= MOST_TIMES_ITS_RATE for rate in self.rates):
            raise RecipeError(
                f"The rates to try are {', '.join(map(str, self.rates))}; each is a multiple of a "
                f"system's own rate, above 0 and at most {MOST_TIMES_ITS_RATE:,}."
            )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are compared, taught among them where there are texts for it."""
        return checked_kinds((*self.systems, "taught") if self.unlabelled else self.systems)

    @property
    def teachers(self) -> tuple[str, ...]:
        """Who answers for texts without labels."""
        return (*(kind for kind in TEACHERS if kind in self.kinds), *OTHER_TEACHERS)
