"""The token store: the ids of the text and nothing else, however it is cut into shards."""

import json
import random
from itertools import chain, pairwise

import numpy as np
import pytest
import sentencepiece

from headstart.batches import store_writing
from headstart.batches.store import TokenStore
from headstart.batches.store_format import MANIFEST_FILE, Manifest, read_manifest, shard_path
from headstart.batches.store_writing import write_store
from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.errors import HeadstartError
from headstart.tokenizers.pieces import END_ID

# How many tokens a shard has, and how many letters are encoded at once.
SIZES = {"tiny": (1, 1), "small": (200, 400), "usual": (1 << 22, 1 << 21)}


def made(folder, size: str, documents, tokenizer, manifest) -> TokenStore:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_writing, "NUM_SHARD_TOKENS", SIZES[size][0])
        patch.setattr(store_writing, "NUM_BATCH_LETTERS", SIZES[size][1])
        write_store(documents, tokenizer, folder, manifest, num_threads=2)
    return TokenStore(folder)


@pytest.fixture(scope="module", params=SIZES)
def store(request, tmp_path_factory, documents, tokenizer, manifest):
    return made(tmp_path_factory.mktemp("store"), request.param, documents, tokenizer, manifest)


@pytest.fixture
def damageable(tmp_path, documents, tokenizer, manifest):
    """The folder of a store of a few shards that a test may damage."""
    return made(tmp_path, "small", documents, tokenizer, manifest).folder


@pytest.fixture(scope="session")
def rows(documents, tokenizer):
    """The ids of each document by bare SentencePiece, each with an end behind it."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return [[*processor.encode(document.text), END_ID] for document in documents]


def joined(rows) -> list[int]:
    return list(chain.from_iterable(rows))


def refused(make) -> str:
    with pytest.raises(HeadstartError) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_tokens_are_the_documents_one_after_another(store, rows):
    assert store.tokens(0, store.num_tokens).tolist() == joined(rows)


def test_shards_hold_whole_documents_and_no_more_than_asked(store, documents):
    counts = [shard.num_documents for shard in store.manifest.shards]
    assert sum(counts) == len(documents)
    assert len(counts) in (1, len(documents)) or all(
        200 <= shard.num_tokens < 600 for shard in store.manifest.shards[:-1]
    )


def test_any_stretch_can_be_read(store, rows):
    tokens, draw = joined(rows), random.Random(6)
    for _ in range(300):
        start, stop = sorted(draw.choices(range(len(tokens) + 1), k=2))
        assert store.tokens(start, stop).tolist() == tokens[start:stop]


def test_documents_begin_where_they_do(store, rows):
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    assert store.document_starts.tolist() == starts.tolist()


def test_sentences_begin_where_they_do(store, sentence_rows, tokenizer):
    lengths = [
        [len(tokenizer.encode(sentence)) for sentence in row[:-1]]
        + [len(tokenizer.encode(row[-1])) + 1]
        for row in sentence_rows
    ]
    starts = np.concatenate([[0], np.cumsum(joined(lengths))])
    assert store.sentence_starts.tolist() == starts.tolist()
    assert set(store.document_starts.tolist()) <= set(store.sentence_starts.tolist())


def test_the_text_comes_back_document_by_document(store, documents, tokenizer):
    bounds = pairwise(store.document_starts.tolist())
    for document, (start, stop) in zip(documents, bounds, strict=True):
        assert tokenizer.decode(store.tokens(start, stop)) == document.text


def test_bytes_are_those_of_the_text(store, documents):
    assert store.num_bytes == sum(len(document.text.encode()) for document in documents)


def test_the_store_knows_its_tokenizer(store, tokenizer):
    tokenizer.require(store.manifest.tokenizer, "the store")


@pytest.mark.parametrize(("size", "num_bytes"), [(65_535, 2), (65_536, 2), (65_537, 4)])
def test_ids_have_16_bits_where_those_hold_them_all(tmp_path, tokenizer, size, num_bytes):
    larger = tokenizer.with_pieces([f"<extra-{n}>" for n in range(size - tokenizer.size)])
    cut = Document(larger.vocabulary[-1], Place(tmp_path, 1), is_cut=True)
    made = Manifest(
        tokenizer=larger.fingerprint, vocabulary_size=larger.size, sources={}, reading={}
    )
    write_store([cut], larger, tmp_path, made, num_threads=1)
    assert TokenStore(tmp_path).tokens(0, 2).tolist() == [size - 1, END_ID]
    assert (tmp_path / "shard-00000.tokens").stat().st_size == 2 * num_bytes


def test_text_already_cut_keeps_its_pieces(tmp_path, tokenizer, documents, manifest):
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    cut = [
        Document(" ".join(processor.encode(d.text, out_type=str)), d.place, is_cut=True)
        for d in documents[::2]
    ]
    mixed = [pair for both in zip(cut, documents[1::2], strict=True) for pair in both]
    write_store(mixed, tokenizer, tmp_path, manifest, num_threads=2)
    expected = [[*tokenizer.encode(document.text).tolist(), END_ID] for document in documents]
    store = TokenStore(tmp_path)
    assert store.tokens(0, store.num_tokens).tolist() == joined(expected)
    assert store.num_bytes == sum(len(document.text.encode()) for document in documents)


def test_a_folder_without_a_store_is_refused(tmp_path):
    assert str(tmp_path) in refused(lambda: TokenStore(tmp_path))


def test_a_store_that_is_not_finished_is_refused(tmp_path, documents, tokenizer, manifest):
    def interrupted():
        yield documents[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(interrupted(), tokenizer, tmp_path, manifest, num_threads=1)
    assert "not finished" in refused(lambda: TokenStore(tmp_path))


@pytest.mark.parametrize("kind", ["tokens", "documents", "sentences"])
@pytest.mark.parametrize("damage", ["bit", "cut", "longer", "missing"])
def test_a_damaged_file_is_noticed(damageable, kind, damage):
    path = shard_path(damageable, 0, kind)
    data = path.read_bytes()
    if damage == "bit":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "cut":
        path.write_bytes(data[:-2])
    elif damage == "longer":
        path.write_bytes(data + b"\0")
    else:
        path.unlink()
    assert path.name in refused(lambda: TokenStore(damageable).check())


@pytest.mark.parametrize("shard", [0, -1])
@pytest.mark.parametrize("kind", ["tokens", "documents", "sentences"])
def test_a_flipped_bit_is_noticed_when_its_shard_is_first_read(damageable, kind, shard):
    store = TokenStore(damageable)
    number = range(len(store.manifest.shards))[shard]
    path = shard_path(damageable, number, kind)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1 << 3
    path.write_bytes(data)
    use = {
        "tokens": lambda: store.tokens(0, store.num_tokens),
        "documents": lambda: store.document_starts,
        "sentences": lambda: store.sentence_starts,
    }[kind]
    assert path.name in refused(use)
    # What is whole can still be read.
    if kind == "tokens" and number:
        assert len(store.tokens(0, 5)) == 5


@pytest.mark.parametrize("kind", ["tokens", "documents", "sentences"])
def test_a_file_cut_short_is_noticed_before_it_is_read(damageable, kind):
    path = shard_path(damageable, 0, kind)
    path.write_bytes(path.read_bytes()[:-4])

    def use():
        opened = TokenStore(damageable)
        return opened.tokens(0, 1), opened.document_starts, opened.sentence_starts

    assert path.name in refused(use)


def test_a_store_as_it_was_written_passes_its_check(store):
    store.check()


def facts(store: TokenStore) -> list[object]:
    arrays = (store.tokens(0, store.num_tokens), store.document_starts, store.sentence_starts)
    return [*(array.tolist() for array in arrays), store.num_bytes]


def test_a_manifest_with_one_bit_changed_is_refused_or_says_the_same(damageable):
    path, expected = damageable / MANIFEST_FILE, facts(TokenStore(damageable))
    whole, draw = path.read_bytes(), random.Random(9)
    for _ in range(150):
        data = bytearray(whole)
        data[draw.randrange(min(len(data), 4_000))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        try:
            opened = TokenStore(damageable)
            opened.check()
            seen = facts(opened)
        except HeadstartError:
            continue
        assert seen == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [("shards", 3), ("shards", [3]), ("shards", None), ("version", 2), ("vocabulary_size", "many"),
     ("vocabulary_size", None), ("extra", 1)],
)  # fmt: skip
def test_a_manifest_of_other_types_is_refused(damageable, field, value):
    path = damageable / MANIFEST_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    refused(lambda: TokenStore(damageable))


def test_no_manifest_is_no_error_for_a_writer(tmp_path):
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize("text", ["", " ", "\n"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_blank_document_is_an_end_and_no_more_than_its_text(
    tmp_path, tokenizer, manifest, text, is_cut
):
    blank = Document(text, Place(tmp_path, 1), is_cut=is_cut)
    full = Document("The house. The river.", Place(tmp_path, 2))
    write_store([blank, full, blank], tokenizer, tmp_path, manifest, num_threads=1)
    store = TokenStore(tmp_path)
    ids = [] if is_cut else tokenizer.encode(text).tolist()
    rows = [[*ids, END_ID], [*tokenizer.encode(full.text).tolist(), END_ID], [*ids, END_ID]]
    assert store.tokens(0, store.num_tokens).tolist() == joined(rows)
    assert len(store.document_starts) == 4
    assert len(store.sentence_starts) == 5


def test_text_already_cut_has_the_sentences_of_the_text(tmp_path, tokenizer, documents, manifest):
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    cut = [
        Document(" ".join(processor.encode(d.text, out_type=str)), d.place, is_cut=True)
        for d in documents
    ]
    for name, chosen in (("plain", documents), ("cut", cut)):
        write_store(chosen, tokenizer, tmp_path / name, manifest, num_threads=1)
    plain, other = TokenStore(tmp_path / "plain"), TokenStore(tmp_path / "cut")
    assert len(plain.sentence_starts) > 1.5 * len(documents)
    assert plain.sentence_starts.tolist() == other.sentence_starts.tolist()


def test_wrapped_paragraphs_have_sentences_and_come_back(tmp_path, tokenizer, manifest):
    text = "The small house stood.\nNobody knew\nwhy.  The river\r\nand the house.\n\nEver."
    write_store([Document(text, Place(tmp_path, 1))], tokenizer, tmp_path, manifest, num_threads=1)
    store = TokenStore(tmp_path)
    assert tokenizer.decode(store.tokens(0, store.num_tokens)) == text
    assert len(store.sentence_starts) - 1 == 4
