"""The text that a command is given, as it was typed or as it comes in."""

import sys

import pytest

from headstart.apps.cli.translate import incoming_lines
from headstart.apps.cli.using import given_text
from headstart.errors import DataError


def test_standard_input_that_is_closed_is_told(monkeypatch):
    # As `<&-` leaves it.
    monkeypatch.setattr(sys, "stdin", None)
    assert given_text("a text") == "a text"
    with pytest.raises(DataError, match="Standard input is closed"):
        given_text("-")
    with pytest.raises(DataError, match="Standard input is closed"):
        next(incoming_lines())
