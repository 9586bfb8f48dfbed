"""A quick look at what a translator writes: the most probable piece each time, for many texts."""

from collections.abc import Callable, Sequence

import torch

from headstart.decoding.greedy import Greedy
from headstart.decoding.scoring import CachedScores
from headstart.decoding.strategy import Limits
from headstart.models.inputs import Text
from headstart.objectives.translation import TranslationModel, source_text
from headstart.pipeline.feeding import special_ids
from headstart.tokenizers.pieces import END_ID, START_ID
from headstart.tokenizers.tokenizer import Ids, Tokenizer

NUM_ROWS = 128
# Few translations are longer than this, and one that goes in circles has to end somewhere.
LONGEST_SHARE, NUM_SPARE_PIECES = 2, 16


@torch.no_grad()
def greedy_translations(
    model: TranslationModel,
    sources: Sequence[Ids],
    tokenizer: Tokenizer,
    device: str,
    before_each: Callable[[], None] = lambda: None,
) -> list[str]:
    """Returns a translation of each source, in their order; `before_each` is called per batch."""
    order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
    written: dict[int, str] = {}
    forbidden = tuple(set(special_ids(tokenizer)) - {END_ID})
    # Texts of any length are not worth compiling for.
    with torch.compiler.set_stance("force_eager"):
        for start in range(0, len(order), NUM_ROWS):
            before_each()
            numbers = order[start : start + NUM_ROWS]
            rows = [sources[number] for number in numbers]
            room = model.trunk.config.decoder.max_length - 1
            limits = Limits(
                num_pieces=min(room, LONGEST_SHARE * len(rows[-1]) + NUM_SPARE_PIECES),
                end_id=END_ID,
                forbidden_ids=forbidden,
            )
            source = model.trunk.encode(source_text(rows, device))
            scores = CachedScores(model.trunk.decoder, model.head, source)
            prefix = Text(torch.full((len(rows), 1), START_ID, device=device))
            found = Greedy().decode(scores, prefix, limits)
            for number, hypotheses in zip(numbers, found, strict=True):
                written[number] = tokenizer.decode(hypotheses[0].ids)
    return [written[number] for number in range(len(sources))]
