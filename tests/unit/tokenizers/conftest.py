"""Toy texts and toy tokenizers, made once for all tests of this folder."""

import io
import random

import pytest
import sentencepiece

from headstart.tokenizers.importing import import_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import MASK

NUM_TEXTS, NUM_WORDS, SIZE = 600, 400, 420


def toy_texts() -> list[str]:
    draw = random.Random(3)
    letters = "aaabcdeeefghiiijklmnoopqrsttuuvwxyz\u00e9\u00e8\u00e0"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 8))) for _ in range(NUM_WORDS)]
    return [" ".join(draw.choices(words, k=draw.randint(5, 30))) + "." for _ in range(NUM_TEXTS)]


@pytest.fixture(scope="session")
def texts():
    return toy_texts()


@pytest.fixture(scope="session", params=["unigram", "bpe"])
def learned(request, texts):
    return learn_tokenizer(texts, TokenizerConfig(size=SIZE, kind=request.param))


@pytest.fixture(scope="session")
def foreign_model(texts):
    """A SentencePiece model as others make them: other special ids, normalising, no bytes."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=200, minloglevel=2
    )
    return model.getvalue()


@pytest.fixture(scope="session")
def foreign_pieces(foreign_model):
    """The pieces of that model, without its special ones, in an order of their own."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=foreign_model)
    pieces = processor.id_to_piece(list(range(3, processor.get_piece_size())))
    random.Random(4).shuffle(pieces)
    return pieces


@pytest.fixture(scope="session", params=["unigram", "bpe", "imported"])
def tokenizer(request, texts, foreign_model, foreign_pieces, tmp_path_factory):
    """Every kind of tokenizer there is; each knows the blank."""
    if request.param != "imported":
        return learn_tokenizer(texts, TokenizerConfig(size=SIZE, kind=request.param))
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "foreign.model").write_bytes(foreign_model)
    (folder / "dict.txt").write_text("".join(f"{piece} 1\n" for piece in foreign_pieces))
    return import_tokenizer(folder / "foreign.model", folder / "dict.txt").with_pieces([MASK])
