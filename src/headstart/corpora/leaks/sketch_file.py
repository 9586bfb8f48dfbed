"""Sketches on disk: a short header, the hashes, and a digest that notices any damage."""

import hashlib
import struct
from pathlib import Path

import numpy as np

from headstart.corpora.leaks.sketch import Sketch
from headstart.errors import DamagedFileError, FileError
from headstart.files import write_bytes

MAGIC = b"HSSKETCH"
VERSION = 1
# Little-endian: magic, version, number of hashes, 8-grams seen, limit; then the digest of all else.
HEADER = struct.Struct("<8sIIQQ")
NUM_DIGEST_BYTES = 32
REMEDY = "Restore it from a copy, or make it again from the corpus."


def write_sketch(path: Path, sketch: Sketch) -> str:
    """Writes a sketch durably and returns the file's SHA-256."""
    header = HEADER.pack(MAGIC, VERSION, len(sketch.hashes), sketch.num_ngrams_seen, sketch.limit)
    payload = sketch.hashes.astype("<u8").tobytes()
    return write_bytes(path, header + hashlib.sha256(header + payload).digest() + payload)


def read_sketch(path: Path) -> Sketch:
    """Reads a sketch, or says in a sentence why it cannot."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror or error}.") from error
    if not data.startswith(MAGIC) or len(data) < HEADER.size + NUM_DIGEST_BYTES:
        raise DamagedFileError(f"{path} is no sketch of a corpus, or it is cut short. {REMEDY}")
    header, rest = data[: HEADER.size], data[HEADER.size :]
    digest, payload = rest[:NUM_DIGEST_BYTES], rest[NUM_DIGEST_BYTES:]
    _, version, num_hashes, num_ngrams_seen, limit = HEADER.unpack(header)
    if version != VERSION:
        raise FileError(
            f"{path} is a sketch of version {version}; this Headstart reads version {VERSION}. "
            "Use the Headstart that wrote it."
        )
    if hashlib.sha256(header + payload).digest() != digest or len(payload) != 8 * num_hashes:
        raise DamagedFileError(f"{path} is damaged: its bytes are not those written. {REMEDY}")
    return Sketch(num_ngrams_seen, limit, np.frombuffer(payload, "<u8").astype(np.uint64))
