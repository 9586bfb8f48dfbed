"""A look at what a run has learned so far: a text it writes, or a blank it fills."""

import torch

from headstart.batches.store import TokenStore
from headstart.decoding.sampling import Sampling
from headstart.pipeline.feeding import marks_of
from headstart.pipeline.fill import fill
from headstart.pipeline.generate import generate
from headstart.pipeline.run_folder import Run
from headstart.pipeline.usual_draw import TEMPERATURE, TOP_P
from headstart.randomness import derive_seed
from headstart.tokenizers.pieces import END_ID, MASK

NUM_PIECES = 32


def sample_of(run: Run, store: TokenStore, seed: int) -> str:
    """Returns a short text by the run, the same for the same weights and seed."""
    # Short texts of any length are not worth compiling for.
    with torch.compiler.set_stance("force_eager"):
        if run.recipe.objective == "causal":
            strategy = Sampling(
                temperature=TEMPERATURE, top_p=TOP_P, seed=derive_seed(seed, "sample")
            )
            return generate(run, "", strategy, min(NUM_PIECES, room_of(run)))[0].text
        return filled_blank(run, store)


def filled_blank(run: Run, store: TokenStore) -> str:
    """Returns the beginning of the held-out text with a word hidden and found again."""
    # Half the room, since a text that is cut anew may have more pieces.
    num_pieces = max(1, min(NUM_PIECES, room_of(run) // 2))
    ids = store.tokens(0, min(num_pieces, store.num_tokens))
    words = run.tokenizer.decode(ids[ids != END_ID]).split() or [""]
    place = len(words) // 2
    hidden = words[place]
    words[place] = MASK
    best = fill(run, " ".join(words), 1).blanks[0][0]
    return f"{' '.join(words)} ({hidden}? {best.text.strip()}, {best.probability:.0%})"


def room_of(run: Run) -> int:
    """Returns how many pieces the positions of a run's trunk have room for."""
    max_length: int = run.model.trunk.config.max_length
    return max_length - marks_of(run).num_pieces
