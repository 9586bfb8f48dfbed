"""Named tensors as a safetensors file: streamed to the disk and hashed on the way.

The safetensors library would build the whole file in memory, and does not notice a flipped bit.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from headstart.errors import DamagedFileError
from headstart.files import durable_file, read_checked

# The names that the format has for the types that we keep.
TYPE_NAMES: Mapping[torch.dtype, str] = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
NUM_ALIGNED_BYTES = 8


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Writes tensors durably, one at a time, and returns the file's SHA-256."""
    # By name: tensors that were read from a file and those that never were make the same bytes.
    in_order = dict(sorted(tensors.items()))
    header = header_of(in_order)
    with durable_file(path) as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for tensor in in_order.values():
            if tensor.numel():
                values = tensor.detach().cpu().contiguous().view(-1)
                file.write(values.view(torch.uint8).numpy().data)
    return file.sha256


def header_of(tensors: Mapping[str, Tensor]) -> bytes:
    """Returns the part of the file that says what stands where."""
    rows: dict[str, object] = {}
    start = 0
    for name, tensor in tensors.items():
        stop = start + tensor.numel() * tensor.element_size()
        rows[name] = {
            "dtype": TYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    text = json.dumps(rows, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % NUM_ALIGNED_BYTES)


def read_tensors(path: Path, sha256: str) -> dict[str, Tensor]:
    """Reads tensors from a file that must be, byte for byte, the one that was written."""
    # Not mapped from the file: what was checked is what is used, whatever becomes of it later.
    data = read_checked(path, sha256)
    try:
        return safetensors.torch.load(data)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} is no file of tensors ({error}). Make it again.") from error
