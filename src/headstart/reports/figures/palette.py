"""The colours of figures, each with its like on a dark page; also told apart by the colour-blind.

Text in any of them is readable: at least 4.5 to 1 on white, and its like on the dark page.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Colour:
    """A colour as it is drawn on white, and on a dark page."""

    light: str
    dark: str


COLOURS: Mapping[str, Colour] = {
    "vermilion": Colour(light="#b8430b", dark="#ff9a61"),
    "blue": Colour(light="#1f5fae", dark="#7db4f5"),
    "teal": Colour(light="#00756a", dark="#45cdbb"),
    "violet": Colour(light="#7a3fb0", dark="#c79bf2"),
    "ochre": Colour(light="#7d5c00", dark="#e3bd4f"),
    "rose": Colour(light="#b0246f", dark="#f58bc0"),
    "moss": Colour(light="#47690b", dark="#a8cf5b"),
    "sky": Colour(light="#006f8f", dark="#62cbea"),
    "graphite": Colour(light="#20252c", dark="#f0f2f5"),
    "mist": Colour(light="#6a727c", dark="#98a1ac"),
    "hairline": Colour(light="#d5dae0", dark="#3a414b"),
}
