"""Builds the compiled kernels with the package, where there is a compiler for them.

The package works without: what fails here is told to whoever asks pip for more, and nothing is
refused for it.
"""

import contextlib
import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src/headstart/models/kernels")
SOURCES = (
    *("rows.c", "attention.c", "dropout.c", "residual.c", "relu.c"),
    *("vocabulary.c", "moved_rows.c", "fingerprint.c"),
)
# For each file the instructions that a processor must know; `kernels/library.py` picks one of them.
INSTRUCTIONS = {
    "kernels.avx512.so": [
        *("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"),
        "-mprefer-vector-width=512",
    ],
    "kernels.avx2.so": ["-mavx2", "-mfma"],
}
# A product and the sum it goes into are rounded once: that is what such processors are fast at.
FLAGS = ["-std=c11", "-O3", "-ffp-contract=fast", "-shared", "-fPIC"]


class KernelsBuildHook(BuildHookInterface):
    """Compiles the kernels for each kind of processor."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds what could be compiled to the package."""
        folder = Path(self.root) / KERNELS
        built = [name for name in INSTRUCTIONS if compile_kernels(folder, name)]
        if built and version != "editable":
            build_data["pure_python"] = False
            system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{system}"
        build_data["artifacts"].extend(str(KERNELS / name) for name in built)


def is_for_this_machine() -> bool:
    """Says whether this is a processor and a system that the code is for.

    Elsewhere it was never run: GCC on Windows, for one, lays stacks out so that long vectors fail.
    """
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def compiler() -> list[str]:
    """Returns the C compiler that is asked for, or the one there is, as a command begins."""
    return shlex.split(os.environ.get("CC", "")) or [
        next(filter(shutil.which, ("cc", "gcc", "clang")), "cc")
    ]


def compile_kernels(folder: Path, name: str) -> bool:
    """Compiles one file beside its target, and says whether that went well."""
    if not is_for_this_machine():
        return False
    beside = folder / f"{name}.{os.getpid()}.tmp"
    sources = runpy.run_path(str(folder / "fingerprint.py"))["fingerprint"](folder)
    command = [*compiler(), *FLAGS, *INSTRUCTIONS[name], f"-DSOURCES={sources}u"]
    try:
        # What another version left is of no use.
        (folder / name).unlink(missing_ok=True)
        subprocess.run(
            [*command, *(str(folder / name) for name in SOURCES), "-o", str(beside), "-lm"],
            check=True,
            capture_output=True,
            text=True,
        )
        beside.replace(folder / name)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        print(f"{name} was not built, and is done without: {reason}", file=sys.stderr)
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        return False
    return True
