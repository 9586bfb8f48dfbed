"""Storing a corpus of any size, even of the shortest lines, holds less than a gigabyte."""

import subprocess
import sys

import pytest

# More than a shard of documents of one word each; prints the peak in kilobytes.
STORE_AND_WEIGH = """
import random, resource, sys
from pathlib import Path
from headstart.batches.store_format import Manifest
from headstart.batches.store_writing import NUM_SHARD_TOKENS, write_store
from headstart.corpora.documents import Document
from headstart.corpora.places import Place
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
draw = random.Random(0)
words = ["".join(draw.choices("abcdefgh", k=4)) for _ in range(300)]
tokenizer = learn_tokenizer(words, TokenizerConfig(size=300))
place = Place(Path("words.txt"), 1)
num_tokens = sum(len(tokenizer.encode(word)) + 1 for word in words)
lines = words * (NUM_SHARD_TOKENS // num_tokens + 1)
documents = (Document(line, place) for line in lines)
made = Manifest(
    tokenizer=tokenizer.fingerprint, vocabulary_size=tokenizer.size, sources={}, reading={}
)
write_store(documents, tokenizer, Path(sys.argv[1]), made, num_threads=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory otherwise")
def test_a_corpus_of_one_word_a_line_takes_less_than_a_gigabyte(tmp_path):
    command = [sys.executable, "-c", STORE_AND_WEIGH, str(tmp_path)]
    assert int(subprocess.check_output(command, text=True)) < 1 << 20
