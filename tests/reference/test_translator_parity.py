"""Our encoder-decoder is their Marian with norms behind, and their Pegasus with norms before.

With our weights loaded into theirs, logits, greedy translations and beams are the same. Their beam
is told to stop as ours does, when as many texts have ended as it is wide (early_stopping=True);
their default goes on while a live text of the present length would score better, which is neither
exact nor ours. Legend: B batch, S positions of the source, T positions of the target, V pieces.
"""

from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from headstart.apps.recipes.base import base
from headstart.decoding.beam import Beam
from headstart.decoding.greedy import Greedy
from headstart.decoding.scoring import CachedScores, prefix_of
from headstart.decoding.strategy import Hypotheses, Limits, Strategy
from headstart.models.config import NormPlace
from headstart.models.initialisation import initialise
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model, new_model
from headstart.tokenizers.pieces import END_ID, PADDING_ID, START_ID, UNKNOWN_ID

pytest.importorskip("transformers")
from their_translators import hugging_face_translator

VOCABULARY_SIZE, NUM_SENTENCES, MOST_PIECES = 40, 200, 16
NUM_STEPS, NUM_TAUGHT = 80, 32
FORBIDDEN = (START_ID, PADDING_ID, UNKNOWN_ID)
LIMITS = Limits(num_pieces=MOST_PIECES, end_id=END_ID, forbidden_ids=FORBIDDEN)
both_places = pytest.mark.parametrize("place", ["post", "pre"])


@cache
@torch.enable_grad()
def translator(place: NormPlace) -> Model:
    """The recipe base in small, taught for a moment to copy, so that texts differ and end."""
    model_config = base().model
    trunk = model_config.trunk
    layer = replace(
        trunk.encoder.layer, width=48, num_heads=4, feed_forward_width=96, norm_place=place
    )
    encoder = replace(
        trunk.encoder, layer=layer, num_layers=2, vocabulary_size=VOCABULARY_SIZE, max_length=64
    )
    decoder = replace(encoder, direction="causal", attends_to_source=True)
    model = new_model(replace(model_config, trunk=replace(trunk, encoder=encoder, decoder=decoder)))
    initialise(model, seed=3)
    model.eval()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(NUM_STEPS):
        source = Text(*(part[:NUM_TAUGHT] for part in sources(100 + step)))
        target_BT = F.pad(source.tokens_BT[:, :-1], (1, 0), value=START_ID)
        logits_BTV = model(SourceAndTarget(source, Text(target_BT)))
        loss = F.cross_entropy(logits_BTV[source.is_token_BT], source.tokens_BT[source.is_token_BT])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def sources(seed: int = 4) -> tuple[Tensor, Tensor]:
    """Random sentences of different lengths, each with its end, and where they are real."""
    generator = torch.Generator().manual_seed(seed)
    tokens_BS = torch.randint(4, VOCABULARY_SIZE, (NUM_SENTENCES, 14), generator=generator)
    length_B = torch.randint(2, 15, (NUM_SENTENCES,), generator=generator)
    place_S = torch.arange(14)
    tokens_BS[torch.arange(NUM_SENTENCES), length_B - 1] = END_ID
    is_token_BS = place_S < length_B[:, None]
    return tokens_BS.masked_fill(~is_token_BS, PADDING_ID), is_token_BS


@torch.no_grad()
def ours(model: Model, strategy: Strategy) -> Hypotheses:
    source = model.trunk.encode(Text(*sources()))
    scores = CachedScores(model.trunk.decoder, model.head, source)
    return strategy.decode(scores, prefix_of([[START_ID]] * NUM_SENTENCES), LIMITS)


def theirs(model: Model, **settings: object) -> tuple[list[list[int]], list[float] | None]:
    """The pieces of what they write, without marks, and its scores where there are any."""
    tokens_BS, is_token_BS = sources()
    found = hugging_face_translator(model, 64).generate(
        tokens_BS,
        attention_mask=is_token_BS.long(),
        max_new_tokens=MOST_PIECES,
        do_sample=False,
        suppress_tokens=list(FORBIDDEN),
        return_dict_in_generate=True,
        output_scores=True,
        **settings,
    )
    marks = {START_ID, PADDING_ID, END_ID}
    rows = [[piece for piece in row if piece not in marks] for row in found.sequences.tolist()]
    scores = getattr(found, "sequences_scores", None)
    return rows, None if scores is None else scores.tolist()


@both_places
@torch.no_grad()
def test_logits_are_theirs(place):
    model = translator(place)
    tokens_BS, is_token_BS = sources()
    generator = torch.Generator().manual_seed(5)
    target_BT = torch.randint(4, VOCABULARY_SIZE, (NUM_SENTENCES, 11), generator=generator)
    target_BT[:, 0] = START_ID
    mine_BTV = model(SourceAndTarget(Text(tokens_BS, is_token_BS), Text(target_BT)))
    theirs_BTV = hugging_face_translator(model, 64)(
        input_ids=tokens_BS, attention_mask=is_token_BS.long(), decoder_input_ids=target_BT
    ).logits
    torch.testing.assert_close(mine_BTV, theirs_BTV, atol=1e-4, rtol=0)
    assert mine_BTV.std() > 0.5


@both_places
def test_greedy_translations_of_200_sentences_are_theirs(place):
    model = translator(place)
    mine = [best for (best,) in ours(model, Greedy())]
    rows, _ = theirs(model, num_beams=1)
    assert [list(best.ids) for best in mine] == rows
    # Of many lengths, some ended and some cut, or else little would have been compared.
    assert len({len(row) for row in rows}) > 10
    assert {best.has_ended for best in mine} == {True, False}


@both_places
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_beams_of_200_sentences_are_theirs(place, penalty):
    model = translator(place)
    mine = [best for (best,) in ours(model, Beam(width=4, length_penalty=penalty))]
    rows, scores = theirs(model, num_beams=4, length_penalty=penalty, early_stopping=True)
    assert [list(best.ids) for best in mine] == rows
    for best, score in zip(mine, scores, strict=True):
        length = len(best.ids) + best.has_ended
        assert best.log_probability / length**penalty == pytest.approx(score, abs=1e-3)


@both_places
def test_beams_find_translations_that_are_more_probable_than_greedy_ones(place):
    model = translator(place)
    greedy, beam = (
        [best.log_probability for (best,) in ours(model, strategy)]
        for strategy in (Greedy(), Beam(width=4, length_penalty=0.0))
    )
    assert sum(beam) > sum(greedy)
