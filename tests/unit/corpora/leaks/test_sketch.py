"""A sketch is bounded, depends on nothing but the set of 8-grams, and estimates without bias."""

import random
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks import sketch as sketch_module
from headstart.corpora.leaks.hashing import WordHashes, ngrams
from headstart.corpora.leaks.sketch import (
    LARGEST_HASH,
    NUM_KEPT_HASHES,
    Sketch,
    Sketcher,
    merged,
    thinned,
)
from headstart.corpora.leaks.sketch_file import HEADER, NUM_DIGEST_BYTES, read_sketch, write_sketch
from headstart.corpora.leaks.sketch_overlap import Overlap, overlaps, together
from headstart.errors import DamagedFileError, FileError

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=25), max_size=12)


def sketch_of(texts, num_kept=NUM_KEPT_HASHES):
    sketcher = Sketcher(num_kept)
    for text in texts:
        sketcher.see(text)
    return sketcher.sketch()


def same(one: Sketch, other: Sketch) -> bool:
    return (one.limit, one.hashes.tolist()) == (other.limit, other.hashes.tolist())


def fresh_words(generator, num_words):
    return [f"w{generator.randrange(10**9)}" for _ in range(num_words)]


@settings(deadline=None)
@given(texts=TEXTS, num_kept=st.integers(1, 40))
def test_a_sketch_has_exactly_the_small_hashes_of_the_corpus(texts, num_kept):
    sketch = sketch_of(texts, num_kept)
    every = ngrams(WordHashes().rows(texts), 8).values.tolist()
    assert sketch.num_ngrams_seen == len(every)
    assert sketch.hashes.tolist() == sorted({hash_ for hash_ in every if hash_ <= sketch.limit})
    assert len(sketch.hashes) == min(num_kept, len(set(every)))
    assert (sketch.limit == LARGEST_HASH) == (len(set(every)) <= num_kept)


@settings(deadline=None)
@given(texts=TEXTS, num_kept=st.integers(1, 40), data=st.data())
def test_a_sketch_depends_neither_on_order_nor_on_repetition_nor_on_batches(texts, num_kept, data):
    sketch = sketch_of(texts, num_kept)
    reordered = data.draw(st.permutations(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketch_module, "NUM_BATCH_WORDS", 10)
        assert same(sketch_of(reordered, num_kept), sketch)
        assert same(sketch_of(texts + reordered, num_kept), sketch)


@settings(deadline=None)
@given(texts=TEXTS, num_kept=st.integers(1, 40), fewer=st.integers(1, 40))
def test_a_thinned_sketch_is_the_one_that_fewer_hashes_would_have_made(texts, num_kept, fewer):
    thin = thinned(sketch_of(texts, num_kept), fewer)
    assert same(thin, sketch_of(texts, min(num_kept, fewer)))
    assert thin.num_ngrams_seen == sketch_of(texts).num_ngrams_seen


@settings(deadline=None)
@given(first=TEXTS, second=TEXTS, sizes=st.tuples(st.integers(1, 40), st.integers(1, 40)))
def test_a_merged_sketch_has_exactly_the_small_hashes_of_both_corpora(first, second, sizes):
    one, other = sketch_of(first, sizes[0]), sketch_of(second, sizes[1])
    both = merged(one, other)
    every = set(ngrams(WordHashes().rows(first + second), 8).values.tolist())
    assert both.hashes.tolist() == sorted(hash_ for hash_ in every if hash_ <= both.limit)
    assert both.limit == min(one.limit, other.limit)
    assert both.num_ngrams_seen == one.num_ngrams_seen + other.num_ngrams_seen
    # Of equal room, it is the sketch that one reading of both would have made.
    room = sizes[0]
    together_ = merged(one, sketch_of(second, room), room)
    assert same(together_, sketch_of(first + second, room))


def test_a_large_corpus_takes_bounded_memory_and_less_than_a_megabyte(tmp_path):
    generator = np.random.default_rng(0)
    sketcher = Sketcher()
    for _ in range(30):
        sketcher.see([f"w{word}" for word in generator.integers(10**6, size=10_000)])
    sketch = sketcher.sketch()
    assert len(sketch.hashes) == NUM_KEPT_HASHES
    write_sketch(tmp_path / "corpus.sketch", sketch)
    assert (tmp_path / "corpus.sketch").stat().st_size <= 1_000_000
    num_distinct_estimated = len(sketch.hashes) / sketch.share_sampled
    assert num_distinct_estimated == pytest.approx(30 * 9_993, rel=0.01)


def test_the_share_is_exact_where_the_sketch_has_everything():
    generator = random.Random(0)
    known, new = fresh_words(generator, 50), fresh_words(generator, 50)
    sketch = sketch_of([known])
    (overlap,) = overlaps(sketch, [known + new])
    assert overlap == Overlap(num_ngrams=93, num_sampled=93, num_found=43)
    assert overlap.share == 43 / 93
    assert not overlap.has_few_samples


@pytest.mark.parametrize("true_share", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_the_estimated_share_is_unbiased(true_share):
    generator = random.Random(7)
    shares = []
    for _ in range(150):
        corpus = [fresh_words(generator, 8) for _ in range(200)]
        sketch = sketch_of(corpus, num_kept=100)
        num_known = round(100 * true_share)
        item = corpus[:num_known] + [fresh_words(generator, 8) for _ in range(100 - num_known)]
        # A text of separate 8-grams has its share exactly; together they are one item.
        overlap = together(overlaps(sketch, item))
        assert overlap.num_ngrams == 100
        shares.append(overlap.share)
    error = statistics.stdev(shares) / len(shares) ** 0.5
    # The limit follows the corpus' own hashes: a bias of at most one part in those kept.
    assert abs(statistics.mean(shares) - true_share) <= 4 * error + true_share / 100


def test_the_estimate_does_not_prefer_long_runs_to_scattered_ones():
    generator = random.Random(3)
    shares = []
    for _ in range(300):
        known = fresh_words(generator, 107)
        sketch = sketch_of([known, fresh_words(generator, 300)], num_kept=100)
        (overlap,) = overlaps(sketch, [known + fresh_words(generator, 100)])
        assert overlap.num_ngrams == 200
        shares.append(overlap.share)
    error = statistics.stdev(shares) / len(shares) ** 0.5
    assert abs(statistics.mean(shares) - 0.5) <= 4 * error + 0.005


def test_a_text_that_repeats_itself_counts_each_8_gram_once():
    words = fresh_words(random.Random(0), 8)
    (overlap,) = overlaps(sketch_of([words]), [words * 3])
    assert overlap == Overlap(num_ngrams=8, num_sampled=8, num_found=1)


def test_few_samples_are_called_few():
    assert Overlap(num_ngrams=500, num_sampled=3, num_found=3).has_few_samples
    assert Overlap(num_ngrams=0, num_sampled=0, num_found=0).has_few_samples
    assert not Overlap(num_ngrams=3, num_sampled=3, num_found=0).has_few_samples
    assert not Overlap(num_ngrams=500, num_sampled=20, num_found=0).has_few_samples


def test_a_text_of_fewer_than_eight_words_cannot_be_judged():
    (overlap,) = overlaps(sketch_of([list("abcdefgh")]), [list("abcdefg")])
    assert overlap == Overlap(0, 0, 0)
    assert overlap.share is None
    assert together([]) == Overlap(0, 0, 0)


@settings(deadline=None, max_examples=20)
@given(texts=TEXTS, num_kept=st.integers(1, 40))
def test_a_sketch_survives_the_disk(tmp_path_factory, texts, num_kept):
    path = tmp_path_factory.mktemp("sketch") / "corpus.sketch"
    sketch = sketch_of(texts, num_kept)
    write_sketch(path, sketch)
    read = read_sketch(path)
    assert same(read, sketch)
    assert read.num_ngrams_seen == sketch.num_ngrams_seen


def test_any_damaged_byte_and_any_cut_is_noticed(tmp_path):
    path = tmp_path / "corpus.sketch"
    write_sketch(path, sketch_of([list("abcdefghijkl")]))
    data = path.read_bytes()
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(FileError):
            read_sketch(path)
        path.write_bytes(data[:position])
        with pytest.raises(DamagedFileError) as caught:
            read_sketch(path)
    assert str(path) in str(caught.value)
    path.write_bytes(data + b"\0" * 8)
    with pytest.raises(DamagedFileError):
        read_sketch(path)


def test_a_sketch_of_another_version_and_a_missing_one_are_told_apart_from_damage(tmp_path):
    path = tmp_path / "corpus.sketch"
    path.write_bytes(HEADER.pack(b"HSSKETCH", 2, 0, 0, 0) + bytes(NUM_DIGEST_BYTES))
    with pytest.raises(FileError, match="version 2") as caught:
        read_sketch(path)
    assert not isinstance(caught.value, DamagedFileError)
    with pytest.raises(FileError, match="Cannot read"):
        read_sketch(tmp_path / "missing")
