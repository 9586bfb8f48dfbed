"""A SentencePiece model with a dictionary of its own ids, as the documents' model had them."""

from pathlib import Path

import sentencepiece

from headstart.errors import TokenizerError
from headstart.tokenizers.pieces import BASIC_PIECES
from headstart.tokenizers.tokenizer import Tokenizer

# Letters that dictionaries are known to lack, and what stands for them there.
USUAL_REPLACEMENTS = {"—": "-"}


def import_tokenizer(model_path: Path, dictionary_path: Path) -> Tokenizer:
    """Returns the tokenizer whose ids are the lines of a dictionary, behind the basic pieces."""
    try:
        model = model_path.read_bytes()
        if not model:
            raise TokenizerError(f"{model_path} is no SentencePiece model: it is empty.")
        sentencepiece.SentencePieceProcessor(model_proto=model)
    except OSError as error:
        raise TokenizerError(
            f"Cannot read {model_path}: {error.strerror}. Name a SentencePiece model, such as "
            "french.model."
        ) from error
    except RuntimeError as error:
        raise TokenizerError(f"{model_path} is no SentencePiece model.") from error
    pieces = dictionary_pieces(dictionary_path)
    known = set(pieces)
    replacements = {old: new for old, new in USUAL_REPLACEMENTS.items() if old not in known}
    return Tokenizer(model, (*BASIC_PIECES, *pieces), replacements)


def dictionary_pieces(path: Path) -> list[str]:
    """Reads a dictionary: a piece and its count on each line, each piece once."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as error:
        raise TokenizerError(
            f"Cannot read the dictionary {path}: {error.strerror}. Name a file that has a piece "
            "and its count on each line."
        ) from error
    except UnicodeDecodeError as error:
        raise TokenizerError(f"The dictionary {path} is not UTF-8.") from error
    pieces: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line and number == len(lines):
            break
        piece, separator, count = line.rpartition(" ")
        if not separator or not piece or not count.strip().isdigit():
            raise TokenizerError(f"{path}, line {number:,}: {line!r} is no piece with its count.")
        if piece in pieces or piece in BASIC_PIECES:
            raise TokenizerError(f"{path}, line {number:,}: the piece {piece!r} is there twice.")
        pieces[piece] = number
    if not pieces:
        raise TokenizerError(f"The dictionary {path} is empty.")
    return list(pieces)
