"""Maps are PNGs that any reader of PNGs reads as the shares they were made of."""

import base64
import io
import re

import matplotlib.image
import numpy as np

from headstart.reports.page.heat_map import COLOUR, heat_map, png


def test_a_png_reads_back_as_its_shares():
    shares = np.random.default_rng(1).random((5, 9)).astype(np.float32)
    shares[0, 0], shares[4, 8] = 0, 1
    read = matplotlib.image.imread(io.BytesIO(png(shares)), format="png")
    assert read.shape == (5, 9, 4)
    np.testing.assert_allclose(read[..., 3], shares, atol=0.5 / 255 + 1e-6)
    np.testing.assert_allclose(read[..., :3], np.broadcast_to(np.array(COLOUR) / 255, (5, 9, 3)))
    assert read[0, 0, 3] == 0
    assert read[4, 8, 3] == 1


def test_a_map_holds_its_png_and_its_name():
    shares = np.eye(4, dtype=np.float32)
    made = heat_map(shares, 'Head "1" <b>')
    found = re.search(r'href="data:image/png;base64,([^"]+)"', made)
    assert base64.b64decode(found[1]) == png(shares)
    assert "Head &quot;1&quot; &lt;b&gt;" in made
    assert "<b>" not in made
    assert 'viewBox="0 0 4 4"' in made
