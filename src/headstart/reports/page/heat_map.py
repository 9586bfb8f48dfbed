"""Small maps of shares from 0 to 1, one square a number, that look right by day and by night."""

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from headstart.reports.page.html import Html, element, escape

# Between the blues of day and night. A share is how much of it covers the page.
COLOUR = (58, 128, 212)
NUM_SHADES = 256


def heat_map(shares: NDArray[np.float32], title: str) -> Html:
    """Returns a map as a drawing as wide as its place; the title is read aloud."""
    height, width = shares.shape
    inside = [element("title", escape(title)), *heat_map_image(shares, width, height)]
    size = {"viewBox": f"0 0 {width} {height}", "role": "img", "aria-label": title}
    return element("svg", inside, size)


def heat_map_image(shares: NDArray[np.float32], width: int, height: int) -> list[Html]:
    """Returns a map of a size inside a drawing, in a frame."""
    address = "data:image/png;base64," + base64.b64encode(png(shares)).decode()
    size = {"width": str(width), "height": str(height)}
    image = {"href": address, **size, "style": "image-rendering:pixelated"}
    frame = {
        **size,
        "fill": "none",
        "stroke": "var(--line)",
        "vector-effect": "non-scaling-stroke",
    }
    return [element("image", (), image), element("rect", (), frame)]


def png(shares: NDArray[np.float32]) -> bytes:
    """Returns a map as a PNG of one colour, the clearer the smaller the share."""
    height, width = shares.shape
    shades = np.clip(np.rint(shares * (NUM_SHADES - 1)), 0, NUM_SHADES - 1).astype(np.uint8)
    # Before each line stands how it was filtered: not at all.
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), shades], axis=1)
    # Eight bits a square, by its place in a palette.
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            chunk(b"IHDR", head),
            chunk(b"PLTE", bytes(COLOUR) * NUM_SHADES),
            chunk(b"tRNS", bytes(range(NUM_SHADES))),
            chunk(b"IDAT", zlib.compress(lines.tobytes(), level=9)),
            chunk(b"IEND", b""),
        ]
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    """Returns a part of a PNG with its length and its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
