"""Parts of a long source hold all of it, fit, and begin where sentences do."""

from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.pipeline.translating.source_parts import parts_of


@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(data=st.data(), room=st.integers(1, 30))
def test_parts_are_the_whole_in_order_and_fit(tokenizer, texts, data, room):
    text = " ".join(data.draw(st.lists(st.sampled_from(texts), max_size=5)))
    ids = tokenizer.encode(text)
    parts = parts_of(ids, room, tokenizer.vocabulary)
    assert [piece for part in parts for piece in part.ids] == ids.tolist()
    assert all(len(part.ids) <= max(room, 1) for part in parts)
    begins = [0]
    for part in parts[:-1]:
        begins.append(begins[-1] + len(part.ids))
    assert [part.begin for part in parts] == begins


def test_sentences_are_kept_whole_and_together_where_they_fit(tokenizer):
    sentences = ["Le chat lit.", "La ville est grand.", "Le chien voit.", "Le livre."]
    lengths = [len(tokenizer.encode(each)) for each in sentences]
    ids = tokenizer.encode(" ".join(sentences))
    room = max(lengths[0] + lengths[1], lengths[2] + lengths[3])
    parts = parts_of(ids, room, tokenizer.vocabulary)
    assert [tokenizer.decode(part.ids) for part in parts] == [
        " ".join(sentences[:2]),
        " ".join(sentences[2:]),
    ]


def test_sentence_without_end_is_cut_at_a_word(tokenizer):
    ids = tokenizer.encode(" ".join(["maison"] * 40))
    parts = parts_of(ids, 10, tokenizer.vocabulary)
    assert len(parts) > 1
    assert all(tokenizer.decode(part.ids).strip().startswith("maison") for part in parts)
