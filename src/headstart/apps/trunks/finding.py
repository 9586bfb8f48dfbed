"""Finding a run by what a person typed: its folder, or the name of a trunk in the box."""

from pathlib import Path

from headstart.apps.trunks import TRUNKS
from headstart.choices import nearest
from headstart.errors import RunError


def find_run(name: str | Path) -> Path:
    """Returns the folder of a run; a folder that is there wins over a trunk of the same name."""
    text, path = str(name), Path(name)
    if text and path.is_dir():
        return path
    if text in TRUNKS:
        return TRUNKS[text]
    raise RunError(
        f"There is no run in {text or 'a folder without a name'}: there is no such folder, and no "
        f"trunk in the box is called so.{nearest(text, TRUNKS)} Name the folder of a run or a "
        f"trunk in the box ({', '.join(TRUNKS)}), or begin a run with: headstart pretrain CORPUS "
        "--out RUN"
    )
