"""What every test shares: one thread a process, and a toy language to pretrain on."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

# pytest-xdist already uses every core; torch reads this when it is imported, in the toy's methods.
os.environ.setdefault("OMP_NUM_THREADS", "1")

NOUNS = ["house", "river", "mountain", "teacher", "window", "garden", "uncle", "ship"]
VERBS = ["watches", "remembers", "crosses", "forgets", "paints", "leaves"]
MARKS = ".!?"


@dataclass(frozen=True)
class Toy:
    """A small language with sentences: its tokenizer, stores of it, and models that read it."""

    tokenizer: object
    folder: Path

    @staticmethod
    def documents(count: int, seed: int = 0, sentences: tuple[int, int] = (2, 5)) -> list[str]:
        """Draws documents of so many sentences, from the first number to the last."""
        draw = random.Random(seed)
        return [
            " ".join(sentence(draw) for _ in range(draw.randint(*sentences))) for _ in range(count)
        ]

    def store(self, documents: Sequence[str]):
        from headstart.batches.store import TokenStore
        from headstart.batches.store_format import Manifest
        from headstart.batches.store_writing import write_store
        from headstart.corpora.documents import Document
        from headstart.corpora.places import Place

        folder = self.folder / f"store-{len(list(self.folder.iterdir()))}"
        manifest = Manifest(
            tokenizer=self.tokenizer.fingerprint,
            vocabulary_size=self.tokenizer.size,
            sources={},
            reading={},
        )
        rows = [Document(text, Place(Path("toy.txt"), n)) for n, text in enumerate(documents, 1)]
        write_store(rows, self.tokenizer, folder, manifest, num_threads=1)
        return TokenStore(folder)

    def objective(self, name: str, **hiding: object):
        from headstart.objectives.hiding import HidingConfig
        from headstart.objectives.table import OBJECTIVES
        from headstart.objectives.vocabulary_loss.chunked import summed_loss

        return OBJECTIVES[name](self.tokenizer, summed_loss, HidingConfig(**hiding))

    def recipe(self, name: str, **changes: object):
        """A recipe for an objective, of which a step takes milliseconds."""
        from headstart.apps.recipes.bert import bert
        from headstart.apps.recipes.compact import compact
        from headstart.pipeline.recipe import with_vocabulary

        made = bert() if name == "masked+next" else compact(name)
        layer = replace(made.model.trunk.layer, width=32, num_heads=2, feed_forward_width=48)
        trunk = replace(made.model.trunk, layer=replace(layer, dropout=0.0), num_layers=2)
        made = replace(made, model=replace(made.model, trunk=trunk), length=48)
        made = with_vocabulary(made, self.tokenizer.size)
        return replace(made, **{"sequences_per_step": 4, **changes})

    def model(self, name: str, seed: int = 1):
        """A model for an objective, shaken so that its answers are not all alike."""
        import torch

        from headstart.models.initialisation import initialise
        from headstart.models.model import new_model

        model = new_model(self.recipe(name).model)
        initialise(model, seed)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
        return model.eval()


def sentence(draw: random.Random) -> str:
    words = ["the", draw.choice(NOUNS), draw.choice(VERBS), "the", draw.choice(NOUNS)]
    return " ".join(words[: draw.randint(3, 5)]).capitalize() + draw.choice(MARKS)


@pytest.fixture(scope="session")
def toy_documents():
    """Draws documents of the toy language, for those who need no more of it."""
    return Toy.documents


@pytest.fixture(scope="session")
def toy_tokenizer():
    from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
    from headstart.tokenizers.pieces import SPECIAL_PIECES

    lines = Toy.documents(300, seed=99)
    return learn_tokenizer(lines, TokenizerConfig(size=300)).with_pieces(SPECIAL_PIECES)


@pytest.fixture
def toy(toy_tokenizer, tmp_path) -> Toy:
    folder = tmp_path / "toy"
    folder.mkdir()
    return Toy(toy_tokenizer, folder)


@pytest.fixture
def recorded_on_a_processor(monkeypatch):
    """Has steps done as a GPU does recorded ones, without a GPU; yields one word for each."""
    import torch

    from headstart.training import loop
    from headstart.training.config import PlanConfig

    played: list[str] = []

    class Played:
        """Stands for recorded steps: all is done on the device, to one place for its values."""

        def __init__(self, learn, forget_gradients, _weights) -> None:
            self._learn, self._forget_gradients = learn, forget_gradients
            self._value_V = torch.empty(0)
            self.num_played = 0

        def do(self, batch):
            value_V = self._learn(batch).detach()
            self._forget_gradients()
            if len(self._value_V) != len(value_V):
                self._value_V = torch.empty_like(value_V)
            self.num_played += 1
            played.append("played")
            return self._value_V.copy_(value_V)

    monkeypatch.setattr(PlanConfig, "can_record", True)
    monkeypatch.setattr(loop, "RecordedSteps", Played)
    return played


@pytest.fixture
def single_precision(monkeypatch) -> None:
    """Has plans multiply in single precision, so that an oracle of it can be close, anywhere."""
    from headstart.pipeline import planning

    monkeypatch.setattr(planning, "HALF_PRODUCTS", ())
