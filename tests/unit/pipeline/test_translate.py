"""Translating: in order, each text as if alone, long ones in parts, unknown words copied."""

from dataclasses import replace
from itertools import islice

import pytest
import torch

from headstart.errors import DataError, RecipeError, RunError
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import new_model
from headstart.pipeline import translate
from headstart.pipeline.run_folder import Run
from headstart.pipeline.translate import translate_texts
from headstart.pipeline.translating import copied_words
from headstart.pipeline.translating.source_parts import SourcePart
from headstart.pipeline.translating.translation_settings import TranslationSettings
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import END_ID, START_ID, UNKNOWN_ID

GREEDY = TranslationSettings(strategy="greedy", most_pieces=8)
BEAM = TranslationSettings(most_pieces=8, num_best=3)
SAMPLE = TranslationSettings(strategy="sample", most_pieces=8, temperature=1.5, seed=4)
every_way = pytest.mark.parametrize("how", [GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])


def texts_of(run: Run, sources: list[str], how: TranslationSettings) -> list[str]:
    return [found.text for found in translate_texts(run, sources, how)]


def plain_greedy(run: Run, source: str, num_pieces: int, prefix: str = "") -> str:
    """One text, one piece after another, everything read again, nothing special ever taken."""
    special = {run.tokenizer.id_of[piece] for piece in run.tokenizer.special_pieces}
    unwanted = sorted({*special, UNKNOWN_ID} - {END_ID})
    read = Text(torch.tensor([[*run.tokenizer.encode(source).tolist(), END_ID]]))
    ids = run.tokenizer.encode(prefix).tolist() if prefix else []
    for _ in range(num_pieces):
        with torch.no_grad():
            pair = SourceAndTarget(read, Text(torch.tensor([[START_ID, *ids]])))
            logits_V = run.model(pair)[0, -1]
        logits_V[unwanted] = -torch.inf
        if (best := int(logits_V.argmax())) == END_ID:
            break
        ids.append(best)
    return run.tokenizer.decode(ids)


def test_greedy_translations_are_those_of_a_plain_loop(translator, texts):
    expected = [plain_greedy(translator, text, 8) for text in texts[:12]]
    assert texts_of(translator, texts[:12], GREEDY) == expected
    assert len(set(expected)) > 3


@every_way
def test_translation_begins_with_its_prefix(translator, texts, how):
    found = texts_of(translator, texts[:6], replace(how, prefix="le chat"))
    assert all(text.startswith("le chat") for text in found)


def test_greedy_behind_a_prefix_is_that_of_a_plain_loop(translator, texts):
    expected = [plain_greedy(translator, text, 8, "le chat voit") for text in texts[:6]]
    assert texts_of(translator, texts[:6], replace(GREEDY, prefix="le chat voit")) == expected


@every_way
def test_each_text_is_translated_as_if_alone_and_in_order(translator, texts, how, monkeypatch):
    together = list(translate_texts(translator, texts[:20], how))
    assert [found.source for found in together] == texts[:20]
    monkeypatch.setattr(translate, "NUM_ROWS", 3)
    monkeypatch.setattr(translate, "NUM_TEXTS_AT_ONCE", 7)
    apart = list(translate_texts(translator, texts[:20], how))
    assert [found.text for found in apart] == [found.text for found in together]
    for one, other in zip(apart, together, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)


def test_blank_texts_stay_blank_where_they_stand(translator, texts):
    found = list(translate_texts(translator, ["", texts[0], " \t ", texts[1]], BEAM))
    assert [one.text for one in found[::2]] == ["", ""]
    assert [one.text for one in found[1::2]] == texts_of(translator, texts[:2], BEAM)
    assert found[0].alternatives == ()
    assert list(translate_texts(translator, [], BEAM)) == []


def test_best_translations_come_in_the_order_of_their_scores(translator, texts):
    for found in translate_texts(translator, texts[:5], BEAM):
        scores = [one.score for one in found.alternatives]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert found.alternatives[0].text == found.text
        assert found.alternatives[0].log_probability == found.log_probability


def test_no_more_texts_are_read_than_are_translated_at_once(translator, texts, monkeypatch):
    monkeypatch.setattr(translate, "NUM_TEXTS_AT_ONCE", 4)
    num_read = 0

    def endless():
        nonlocal num_read
        while True:
            num_read += 1
            yield texts[num_read % 9]

    done = []
    found = list(islice(translate_texts(translator, endless(), GREEDY, done.append), 6))
    assert len(found) == 6
    assert num_read == 8
    assert sum(done) == 8


def short_positions(run: Run, max_length: int) -> Run:
    """The same translator, but for how long its texts may be."""
    trunk = run.recipe.model.trunk
    halves = {
        name: replace(getattr(trunk, name), max_length=max_length)
        for name in ("encoder", "decoder")
    }
    model = replace(run.recipe.model, trunk=replace(trunk, **halves))
    return replace(run, recipe=replace(run.recipe, model=model, length=max_length))


def test_text_that_is_too_long_is_split_at_sentences_and_says_so(translator):
    sentences = ["Le chat voit la maison.", "La ville est grand.", "Le chien lit."]
    long_text = " ".join(sentences)
    lengths = [len(translator.tokenizer.encode(each)) for each in sentences]
    run = short_positions(translator, max(lengths) + 2)
    (found,) = translate_texts(run, [long_text], GREEDY)
    assert "split in 3" in found.notes[0]
    assert found.text == " ".join(texts_of(run, sentences, GREEDY))
    (short,) = translate_texts(run, sentences[:1], GREEDY)
    assert not any("split" in note for note in short.notes)


def test_prefix_of_a_split_text_is_said_once(translator):
    run = short_positions(translator, 16)
    (found,) = translate_texts(run, ["Le chat lit. " * 9], replace(GREEDY, prefix="bleu"))
    assert "split in" in found.notes[0]
    assert found.text.startswith("bleu")


def test_translation_that_does_not_end_says_so(translator, texts):
    found = list(translate_texts(translator, texts[:20], replace(GREEDY, most_pieces=2)))
    assert any(one.notes == ("cut off before its end",) for one in found)


def test_unknown_words_are_copied_from_where_the_translator_looked(translator, monkeypatch):
    source = "le grand chat voit"
    tokenizer = translator.tokenizer
    ids = tokenizer.encode(source).tolist()
    words = copied_words.word_of_piece(tokenizer, source)
    assert len(words) == len(ids)
    assert list(dict.fromkeys(words)) == source.split()
    looked_at = words.index("chat")
    monkeypatch.setattr(copied_words, "most_attended", lambda *_: [0, looked_at, looked_at, 0, 0])
    written = [
        tokenizer.id_of["▁la"],
        UNKNOWN_ID,
        UNKNOWN_ID,
        tokenizer.id_of["."],
        tokenizer.id_of["▁la"],
    ]
    part = SourcePart(0, tuple(ids))
    text = copied_words.with_copied_words(translator, source, part, written)
    assert text == "la chat. la"


def test_most_attended_piece_is_that_of_the_mean_over_layers_and_heads(translator):
    part = SourcePart(0, tuple(translator.tokenizer.encode("le chat voit la ville").tolist()))
    ids = translator.tokenizer.encode("la maison").tolist()
    found = copied_words.most_attended(translator, part, ids)
    assert len(found) == len(ids)
    total = 0
    for block in translator.model.trunk.decoder.layers:
        seen = []
        handle = block.cross_attention.register_forward_pre_hook(
            lambda module, args, seen=seen: seen.append(args)
        )
        pair = SourceAndTarget(
            Text(torch.tensor([[*part.ids, END_ID]])), Text(torch.tensor([[START_ID, *ids]]))
        )
        with torch.no_grad():
            translator.model(pair)
            handle.remove()
            total = total + block.cross_attention.weights(*seen[0])[0].sum(dim=0)
    assert found == total[: len(ids), : len(part.ids)].argmax(dim=1).tolist()


def test_unknown_piece_is_written_only_to_be_copied(translator, texts):
    shouting = replace(translator, model=translator.model)
    head = translator.model.head
    with torch.no_grad():
        before = head.weight[UNKNOWN_ID].clone()
        head.weight[UNKNOWN_ID] = 30 * head.weight[UNKNOWN_ID] / head.weight[UNKNOWN_ID].norm()
    try:
        plain = texts_of(shouting, texts[:8], GREEDY)
        copied = texts_of(shouting, texts[:8], replace(GREEDY, copies_unknown=True))
    finally:
        with torch.no_grad():
            head.weight[UNKNOWN_ID] = before
    assert not any("⁇" in text for text in plain + copied)
    assert plain != copied
    words = {word for text in texts[:8] for word in text.split()}
    assert any(set(text.split()) & words for text in copied)


def test_translation_is_written_in_the_pieces_of_its_own_tokenizer(translator, texts):
    other = learn_tokenizer(["zig zag zug zog"] * 30, TokenizerConfig(size=270))
    trunk = translator.recipe.model.trunk
    decoder = replace(trunk.decoder, vocabulary_size=other.size)
    two = replace(trunk, decoder=decoder, shares_embedding=False)
    config = replace(translator.recipe.model, trunk=two)
    model = new_model(config)
    initialise(model, seed=1)
    recipe = replace(translator.recipe, model=config)
    run = Run(translator.folder, recipe, translator.tokenizer, model.eval(), other)
    for found in translate_texts(run, texts[:3], replace(BEAM, prefix="zig zug")):
        assert found.text.startswith("zig zug")
        assert found.text == other.decode(found.ids)


@pytest.mark.parametrize("name", ["causal", "masked"])
def test_run_that_is_no_translator_is_refused(runs, name):
    with pytest.raises(RunError, match=rf"language-model run .*objective is {name}.*cannot trans"):
        next(translate_texts(runs[name], ["le chat"], BEAM))


def test_settings_that_make_no_sense_are_refused(translator):
    with pytest.raises(RecipeError, match="best 2 were asked for, but greedy"):
        TranslationSettings(strategy="greedy", num_best=2)
    with pytest.raises(RecipeError, match="Translations of 0 pieces"):
        TranslationSettings(most_pieces=0)
    with pytest.raises(RecipeError, match="strategy is 'best'"):
        TranslationSettings(strategy="best")
    with pytest.raises(RecipeError, match=r"The prefix has .* end at 15"):
        next(
            translate_texts(
                short_positions(translator, 16), ["a"], replace(BEAM, prefix="le " * 99)
            )
        )


def test_half_a_letter_is_refused(translator):
    with pytest.raises(DataError, match="half a surrogate pair"):
        next(translate_texts(translator, ["le \ud800"], BEAM))
