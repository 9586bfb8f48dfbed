"""A store that was interrupted goes on where it was, and notices what has changed meanwhile."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headstart.batches import store_writing
from headstart.batches.store import TokenStore
from headstart.batches.store_writing import write_store
from headstart.corpora.documents import Reading, read_documents
from headstart.errors import DamagedFileError, DataError, LockedError
from headstart.pipeline.token_store import make_store

NUM_KILLS = 4

WRITE_SLOWLY = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from headstart.batches import store_writing
from headstart.corpora.documents import Reading, read_documents
from headstart.pipeline.token_store import make_store
from headstart.tokenizers.folder import load_tokenizer
store_writing.NUM_SHARD_TOKENS, store_writing.NUM_BATCH_LETTERS = 60, 100
path, tokenizer, folder = Path(sys.argv[1]), load_tokenizer(Path(sys.argv[2])), Path(sys.argv[3])
reading = Reading.plain()
def slowly():
    for document in read_documents([path], reading):
        print(".", flush=True)
        time.sleep(0.01)
        yield document
make_store([path], slowly(), reading, tokenizer, folder, num_threads=2)
"""


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(store_writing, "NUM_SHARD_TOKENS", 60)
    monkeypatch.setattr(store_writing, "NUM_BATCH_LETTERS", 100)


@pytest.fixture
def text_file(tmp_path, documents):
    path = tmp_path / "toy.txt"
    path.write_text("".join(f"{document.text}\n" for document in documents))
    return path


def contents(folder) -> dict[str, bytes]:
    """Returns the bytes of all files of a store but its lock and what a killed writer left."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }


def make(paths, tokenizer, folder, **options):
    reading = Reading.plain(**options)
    return make_store(
        paths, read_documents(paths, reading), reading, tokenizer, folder, num_threads=2
    )


def refused(make_it) -> str:
    with pytest.raises(DataError) as caught:
        make_it()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_interruption_anywhere_leaves_what_a_second_attempt_finishes(
    tmp_path, documents, tokenizer, manifest
):
    write_store(documents, tokenizer, tmp_path / "whole", manifest, num_threads=1)
    whole = contents(tmp_path / "whole")
    for count in range(0, len(documents), 8):

        def interrupted(count=count):
            yield from documents[:count]
            raise OSError("the disk went away")

        folder = tmp_path / f"after {count}"
        with pytest.raises(OSError, match="the disk went away"):
            write_store(interrupted(), tokenizer, folder, manifest, num_threads=1)
        write_store(documents, tokenizer, folder, manifest, num_threads=2)
        assert contents(folder) == whole


def test_what_is_finished_is_not_done_again(tmp_path, documents, tokenizer, manifest):
    def interrupted():
        yield from documents[:40]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(interrupted(), tokenizer, tmp_path, manifest, num_threads=1)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("shard-*")}
    assert before
    write_store(documents, tokenizer, tmp_path, manifest, num_threads=1)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_finished_store_is_not_even_read_for(tmp_path, documents, tokenizer, manifest):
    first = write_store(documents, tokenizer, tmp_path, manifest, num_threads=1)

    def never():
        raise AssertionError
        yield

    assert write_store(never(), tokenizer, tmp_path, manifest, num_threads=1) == first


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_writer_leaves_what_a_second_attempt_finishes(tmp_path, text_file, tokenizer):
    from headstart.tokenizers.folder import save_tokenizer

    save_tokenizer(tokenizer, tmp_path / "tokenizer")
    make([text_file], tokenizer, tmp_path / "whole")
    folder, draw = tmp_path / "killed", random.Random(1)
    command = [sys.executable, "-c", WRITE_SLOWLY, text_file, tmp_path / "tokenizer", folder]
    for _ in range(NUM_KILLS):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout.readline()
            time.sleep(draw.uniform(0.05, 0.4))
            child.send_signal(signal.SIGKILL)
    make([text_file], tokenizer, folder)
    assert contents(folder) == contents(tmp_path / "whole")
    TokenStore(folder).check()


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(
    tmp_path, documents, tokenizer, manifest, num_threads
):
    for name, threads in (("one", 1), ("many", num_threads)):
        write_store(documents, tokenizer, tmp_path / name, manifest, threads)
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


def test_a_changed_tokenizer_is_refused_with_both_names(tmp_path, text_file, tokenizer):
    make([text_file], tokenizer, tmp_path / "store")
    other = tokenizer.with_pieces(["<new>"])
    sentence = refused(lambda: make([text_file], other, tmp_path / "store"))
    for word in (str(tmp_path / "store"), tokenizer.fingerprint[:12], other.fingerprint[:12]):
        assert word in sentence


def test_a_changed_source_is_refused_with_both_names(tmp_path, text_file, tokenizer):
    from headstart.files import sha256_of

    make([text_file], tokenizer, tmp_path / "store")
    before = sha256_of(text_file)
    text_file.write_text(text_file.read_text() + "One more line.\n")
    sentence = refused(lambda: make([text_file], tokenizer, tmp_path / "store"))
    for word in (text_file.name, before[:12], sha256_of(text_file)[:12]):
        assert word in sentence
    for whole in (before, sha256_of(text_file)):
        assert whole[:13] not in sentence
    assert len(sentence) < 500


def test_only_the_sources_that_changed_are_named_and_few_of_them(tmp_path, text_file, tokenizer):
    paths = [tmp_path / f"part-{number}.txt" for number in range(9)]
    for path in paths:
        path.write_text("Nobody knew why.\n")
    make([text_file, *paths], tokenizer, tmp_path / "store")
    for path in paths[2:]:
        path.write_text("Nobody knew.\n")
    sentence = refused(lambda: make([text_file, *paths], tokenizer, tmp_path / "store"))
    assert text_file.name not in sentence
    assert [name for name in range(9) if f"part-{name}.txt" in sentence] == [2, 3, 4]
    assert "4 more" in sentence


def test_a_source_that_is_gone_is_called_absent(tmp_path, text_file, tokenizer):
    other = tmp_path / "other.txt"
    other.write_text("Nobody knew why.\n")
    make([text_file, other], tokenizer, tmp_path / "store")
    sentence = refused(lambda: make([text_file], tokenizer, tmp_path / "store"))
    assert "other.txt' absent" in sentence
    assert text_file.name not in sentence


def test_another_way_of_reading_is_refused_with_both(tmp_path, text_file, tokenizer):
    make([text_file], tokenizer, tmp_path / "store")
    refused(lambda: make([text_file], tokenizer, tmp_path / "store", skips_bad=True))


def test_sources_in_another_order_are_not_the_same_text(tmp_path, text_file, tokenizer):
    other = tmp_path / "other.txt"
    other.write_text("Nobody knew why. It was there.\n" * 20)
    make([text_file, other], tokenizer, tmp_path / "whole")

    def interrupted():
        yield from list(read_documents([text_file, other], reading))[:40]
        raise KeyboardInterrupt

    reading, folder = Reading.plain(), tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        make_store([text_file, other], interrupted(), reading, tokenizer, folder, num_threads=1)
    refused(lambda: make([other, text_file], tokenizer, folder))


def test_a_second_writer_is_refused_while_the_first_is_at_work(
    tmp_path, documents, tokenizer, manifest
):
    def meddled():
        yield from documents[:30]
        with pytest.raises(LockedError, match=str(tmp_path)):
            write_store(documents, tokenizer, tmp_path, manifest, num_threads=1)
        yield from documents[30:]

    write_store(meddled(), tokenizer, tmp_path, manifest, num_threads=1)
    TokenStore(tmp_path).check()


def test_fewer_documents_than_are_stored_are_noticed(tmp_path, documents, tokenizer, manifest):
    def interrupted():
        yield from documents[:40]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(interrupted(), tokenizer, tmp_path, manifest, num_threads=1)
    sentence = refused(lambda: write_store(documents[:3], tokenizer, tmp_path, manifest, 1))
    assert "3 documents" in sentence


@pytest.mark.parametrize("kind", ["tokens", "documents", "sentences"])
@pytest.mark.parametrize("damage", ["bit", "cut"])
def test_an_earlier_shard_damaged_between_two_attempts_is_noticed(
    tmp_path, documents, tokenizer, manifest, kind, damage
):
    def interrupted():
        yield from documents[:40]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(interrupted(), tokenizer, tmp_path, manifest, num_threads=1)
    path = tmp_path / f"shard-00000.{kind}"
    data = path.read_bytes()
    path.write_bytes(data[:-2] if damage == "cut" else bytes([data[0] ^ 1]) + data[1:])
    before = contents(tmp_path)
    with pytest.raises(DamagedFileError, match=path.name):
        write_store(documents, tokenizer, tmp_path, manifest, num_threads=1)
    assert contents(tmp_path) == before


def test_a_finished_store_that_was_damaged_is_not_used_again(tmp_path, text_file, tokenizer):
    make([text_file], tokenizer, tmp_path / "store")
    path = tmp_path / "store" / "shard-00001.tokens"
    path.write_bytes(b"\1" + path.read_bytes()[1:])
    with pytest.raises(DamagedFileError, match=path.name):
        make([text_file], tokenizer, tmp_path / "store")
