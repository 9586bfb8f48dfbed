"""Tables in a terminal, however narrow."""

import io

from rich.console import Console

from headstart.apps.cli.output import print_rich
from headstart.reports.table import Table


def test_a_narrow_terminal_cuts_no_word_off():
    row = ("parliament-de", "Speeches in the Bundestag")
    table = Table(title="Named", columns=("name", "what for"), rows=(row,))
    file = io.StringIO()
    print_rich(table, Console(file=file, width=18, force_terminal=True, color_system=None))
    assert "\u2026" not in file.getvalue()
    names = "".join(line[:9].strip() for line in file.getvalue().splitlines()[4:])
    assert "parliament-de" in names, file.getvalue()
