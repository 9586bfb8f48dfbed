"""Vectors on the disk: a .npy written as they come, and beside it whose vector each row is."""

import io
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from headstart.errors import DataError, FileError, RecipeError
from headstart.files import durable_file

Owner = Mapping[str, object]
Rows = Iterable[tuple[NDArray[np.float32], list[Owner]]]
SUFFIX, ROWS_SUFFIX = ".npy", ".jsonl"


def rows_path(path: Path) -> Path:
    """Returns the file that says whose vector each row is."""
    if path.suffix != SUFFIX:
        raise RecipeError(f"Vectors are written as {SUFFIX}, not as {path}. Name a {SUFFIX} file.")
    return path.with_suffix(ROWS_SUFFIX)


def write_vectors(path: Path, num_rows: int, width: int, rows: Rows) -> None:
    """Writes so many vectors and what each belongs to, holding no more than a block of them."""
    require_space(path, num_rows * width * np.dtype(np.float32).itemsize)
    num_written = 0
    # The one that is opened first appears last: a .npy in its place has its rows beside it.
    with durable_file(path) as vectors, durable_file(rows_path(path)) as belonging:
        vectors.write(header(num_rows, width))
        for block, owners in rows:
            vectors.write(np.ascontiguousarray(block, dtype="<f4").tobytes())
            for owner in owners:
                line = json.dumps({"row": num_written, **owner}, ensure_ascii=False)
                belonging.write(line.encode(errors="backslashreplace") + b"\n")
                num_written += 1
        if num_written != num_rows:
            raise DataError(
                f"The text had {num_rows:,} vectors when it was counted and {num_written:,} when "
                "it was read: it changed on the way. Try again when nothing writes to it."
            )


def header(num_rows: int, width: int) -> bytes:
    """Returns how a .npy of so many vectors begins."""
    stream = io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (num_rows, width)}
    npy_format.write_array_header_1_0(stream, shape)
    return stream.getvalue()


def require_space(path: Path, num_bytes: int) -> None:
    """Raises an error where a file of this size would not fit."""
    folder = next(parent for parent in path.absolute().parents if parent.is_dir())
    num_free_bytes = shutil.disk_usage(folder).free
    if num_bytes > num_free_bytes:
        raise FileError(
            f"The vectors need {num_bytes:,} bytes, but {folder} has {num_free_bytes:,} free. "
            "Free some space, or choose another folder."
        )
