"""Vectors of words and texts, held against the trunk read one text at a time."""

import json

import numpy as np
import pytest
import torch

from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.errors import DataError, FileError, RecipeError, RunError
from headstart.models.inputs import Text
from headstart.models.pooling import POOLINGS
from headstart.pipeline import vector_file
from headstart.pipeline.embed import embed_texts, embed_words, passages
from headstart.pipeline.neighbours import bare, neighbours
from headstart.pipeline.vector_file import rows_path, write_vectors

MARKS = {"causal": (["<sos>"], []), "masked": ([], []), "masked+next": (["<first>"], ["<sep>"])}
every_run = pytest.mark.parametrize("objective", MARKS)


def documents(texts: list[str]) -> list[Document]:
    return [Document(text, Place("some.txt", line)) for line, text in enumerate(texts, start=1)]


def alone(run, text: str) -> tuple[np.ndarray, int]:
    """The vectors of one text, marks included, and how many marks stand before it."""
    before, behind = (
        [run.tokenizer.id_of[piece] for piece in part] for part in MARKS[run.recipe.objective]
    )
    row = [*before, *run.tokenizer.encode(text).tolist(), *behind]
    with torch.no_grad():
        return run.model.trunk(Text(torch.tensor([row])))[0].numpy(), len(before)


@every_run
def test_word_vector_is_the_mean_of_its_pieces(runs, texts, objective):
    run, chosen = runs[objective], [*texts[:40], "chatte lechat.", "  le", "été"]
    parts = passages(run, documents(chosen))
    found = [
        (use, vector)
        for vectors, uses in embed_words(run, parts)
        for use, vector in zip(uses, vectors, strict=True)
    ]
    assert [use.text for use, _ in found] == [word for text in chosen for word in text.split()]
    for text in chosen:
        hidden, place = alone(run, text)
        for use, vector in [pair for pair in found if pair[0].passage.text == text]:
            end = place + len(use.word.ids)
            np.testing.assert_allclose(vector, hidden[place:end].mean(axis=0), atol=1e-5)
            assert text[use.word.begin : use.word.end] == use.text
            place = end
        found = [pair for pair in found if pair[0].passage.text != text] or found


@every_run
@pytest.mark.parametrize("pooling", POOLINGS)
def test_text_vector_is_pooled_as_it_would_be_alone(runs, texts, objective, pooling):
    run = runs[objective]
    found = list(embed_texts(run, passages(run, documents(texts[:60])), pooling))
    assert [part.text for _, part in found] == texts[:60]
    for vector, part in found:
        hidden_TD = torch.from_numpy(alone(run, part.text)[0])[None]
        expected = POOLINGS[pooling](hidden_TD, torch.ones(hidden_TD.shape[:2], dtype=torch.bool))
        np.testing.assert_allclose(vector, expected[0], atol=1e-5)


@every_run
def test_long_texts_are_read_in_parts_that_lose_no_word(runs, texts, objective):
    run = runs[objective]
    long_text = " ".join(texts[:50])
    parts = list(passages(run, documents([long_text, texts[0]])))
    longest = max(len(part.ids) for part in parts)
    assert len(parts) > 5
    assert longest + sum(map(len, MARKS[objective])) <= run.recipe.length
    words = [use.text for _, uses in embed_words(run, parts) for use in uses]
    assert words == [*long_text.split(), *texts[0].split()]
    assert [part.number for _, part in embed_texts(run, parts, "mean")] == [0, 1]


def test_word_longer_than_a_row_is_known_by_its_beginning(runs):
    (part,) = passages(runs["masked"], documents(["x" * 500]))
    assert len(part.ids) == runs["masked"].recipe.length
    assert (part.words[0].begin, part.words[0].end) == (0, 500)


def test_texts_are_read_only_as_they_are_needed(runs, texts):
    num_read = 0

    def counted():
        nonlocal num_read
        for document in documents(texts * 100):
            num_read += 1
            yield document

    blocks = embed_words(runs["masked"], passages(runs["masked"], counted()))
    vectors, uses = next(blocks)
    assert len(vectors) == len(uses)
    assert num_read <= 1 + len({use.passage.number for use in uses}) < 2_000


def test_text_without_words_has_no_vector(runs):
    parts = list(passages(runs["masked"], documents(["le chat", "   ", "la"])))
    assert [part.number for part in parts] == [0, 2]


def test_translators_read_no_single_texts(runs):
    class Translator:
        recipe = type("Recipe", (), {"objective": "translation", "length": 9})
        tokenizer, model = runs["masked"].tokenizer, runs["masked"].model

    with pytest.raises(RunError, match="objective is translation"):
        list(passages(Translator(), documents(["le chat"])))


def blocks(*sizes: int):
    row = iter(range(sum(sizes)))
    return [
        (
            np.full((size, 3), size, dtype=np.float32),
            [{"word": f"w{next(row)}"} for _ in range(size)],
        )
        for size in sizes
    ]


def test_vectors_written_in_blocks_are_read_as_one(tmp_path):
    path = tmp_path / "vectors.npy"
    write_vectors(path, 6, 3, iter(blocks(1, 2, 3)))
    vectors = np.load(path, mmap_mode="r")
    assert vectors.shape == (6, 3)
    assert vectors.dtype == np.float32
    assert vectors[:, 0].tolist() == [1, 2, 2, 3, 3, 3]
    owners = [json.loads(line) for line in rows_path(path).read_text().splitlines()]
    assert owners == [{"row": row, "word": f"w{row}"} for row in range(6)]


def test_text_that_changed_while_it_was_read_leaves_no_file(tmp_path):
    with pytest.raises(DataError, match="5 vectors when it was counted and 6 when"):
        write_vectors(tmp_path / "vectors.npy", 5, 3, iter(blocks(1, 2, 3)))
    assert list(tmp_path.iterdir()) == []


def test_vectors_that_do_not_fit_are_refused_at_once(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(vector_file.shutil, "disk_usage", lambda _folder: usage)
    with pytest.raises(FileError, match="need 72 bytes"):
        write_vectors(tmp_path / "new" / "vectors.npy", 6, 3, iter(blocks(6)))
    assert list(tmp_path.iterdir()) == []


def test_vectors_are_written_as_npy_only(tmp_path):
    with pytest.raises(RecipeError, match=r"Name a \.npy file"):
        rows_path(tmp_path / "vectors.txt")


def test_neighbours_are_uses_of_the_word_by_their_cosine(runs, texts):
    run = runs["masked"]
    found = neighbours(run, passages(run, documents(texts[:80])), "Chat", count=4)
    num_chats = sum(word.strip(".") == "chat" for text in texts[:80] for word in text.split())
    assert found.num_uses == num_chats == len(found.uses)
    vectors = {}
    for rows, uses in embed_words(run, passages(run, documents(texts[:80]))):
        vectors |= {(u.passage.number, u.word.begin): v for u, v in zip(uses, rows, strict=True)}

    def vector(use):
        return vectors[use.passage.number, use.word.begin]

    def cosine(one, other):
        return one @ other / np.linalg.norm(one) / np.linalg.norm(other)

    for use in found.uses:
        others = [other.use for other in found.uses if other is not use]
        cosines = sorted((cosine(vector(use.use), vector(other)) for other in others), reverse=True)
        assert [like.cosine for like in use.nearest] == pytest.approx(cosines[:4], abs=1e-5)
        assert use.use not in [like.use for like in use.nearest]


@pytest.mark.parametrize("word", ["", "...", "le chat"])
def test_what_is_no_word_has_no_neighbours(runs, word):
    with pytest.raises(RecipeError, match="is no word"):
        neighbours(runs["masked"], [], word, count=3)


def test_word_used_once_has_no_neighbours(runs):
    parts = passages(runs["masked"], documents(["le chat", "la ville"]))
    with pytest.raises(DataError, match="1 different uses of the word 'ville'"):
        neighbours(runs["masked"], parts, "ville", count=3)


def test_copies_of_a_text_are_compared_once(runs):
    parts = passages(runs["masked"], documents(["le chat lit", "le chat lit", "la ville, le chat"]))
    found = neighbours(runs["masked"], parts, "chat", count=3)
    assert found.num_uses == 3
    assert [use.use.passage.number for use in found.uses] == [0, 2]


def test_signs_and_capitals_around_a_word_are_no_part_of_it():
    assert [bare(word) for word in ("Bank,", "(bank)", "«BANK»", "l'eau.")] == [
        "bank",
        "bank",
        "bank",
        "l'eau",
    ]
