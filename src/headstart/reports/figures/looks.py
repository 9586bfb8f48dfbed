"""How each system of a comparison is drawn: by colour, sign and line, so that one may be lost."""

from collections.abc import Mapping
from dataclasses import dataclass

from headstart.reports.comparison.record import Comparison
from headstart.reports.figures.palette import COLOURS

# The first trunk's colour first; after the last they begin again, with another line.
COLOURS_OF: Mapping[str, tuple[str, ...]] = {
    "warm": ("vermilion", "rose", "ochre"),
    "taught": ("violet", "moss", "ochre"),
    "frozen": ("teal", "violet", "moss"),
    "gradual": ("ochre", "moss", "rose"),
    "cold": ("blue", "sky"),
    "tfidf": ("graphite",),
    "majority": ("mist",),
}
SIGN_OF: Mapping[str, str] = {
    "warm": "o",
    "taught": "P",
    "frozen": "D",
    "gradual": "X",
    "cold": "s",
    "tfidf": "^",
    "majority": "v",
}
LINES = ("-", "--", "-.", ":")
# Lines that stand still are broken, so that they are not taken for something that learned.
LINE_OF: Mapping[str, str] = {"tfidf": "--", "majority": ":"}


@dataclass(frozen=True, kw_only=True)
class Look:
    """The colour by name, the sign at each point, and the kind of line."""

    colour_name: str
    sign: str
    line: str

    @property
    def colour(self) -> str:
        """The colour as it is drawn on white."""
        return COLOURS[self.colour_name].light


def looks(comparison: Comparison) -> dict[str, Look]:
    """Returns the look of every system by its key."""
    found = {}
    for kind, names in COLOURS_OF.items():
        for number, system in enumerate(comparison.of_kind(kind)):
            line = LINES[number // len(names) % len(LINES)]
            found[system.key] = Look(
                colour_name=names[number % len(names)],
                sign=SIGN_OF[kind],
                line=LINE_OF.get(kind, line),
            )
    return found
