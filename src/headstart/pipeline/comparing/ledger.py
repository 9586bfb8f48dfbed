"""What each system of a comparison costs: parameters, operations a text, memory."""

from collections.abc import Sequence
from dataclasses import replace

from headstart.corpora.examples import Example
from headstart.models.accounting.memory import model_memory
from headstart.models.accounting.operations import model_work
from headstart.models.accounting.parameters import model_parts, trainable_count
from headstart.models.accounting.step import StepShape
from headstart.models.heads.config import LabelHeadConfig
from headstart.pipeline.comparing.trunks import ComparedTrunk
from headstart.pipeline.feeding import marks_for
from headstart.pipeline.text_rows import TextReader
from headstart.tokenizers.folder import load_tokenizer
from headstart.transfers.settings import TransferSettings

# Enough texts to know how long they are.
NUM_TEXTS = 1_000


def trunk_ledger(
    trunk: ComparedTrunk, settings: TransferSettings, texts: Sequence[Example], num_labels: int
) -> dict[str, object]:
    """Returns the cost of a trunk with a head for the labels, on texts as long as these."""
    recipe = trunk.recipe
    num_pieces = mean_pieces(trunk, settings, texts[:NUM_TEXTS])
    head = LabelHeadConfig(num_labels=num_labels, pooling=settings.pooling or recipe.pooling)
    model = replace(recipe.model, head=head)
    step = StepShape(length=max(1, round(num_pieces)), sequences=settings.examples_per_step)
    parts, work = model_parts(model), model_work(model, step)
    return {
        "parameters": sum(part.count for part in parts),
        "learning_when_full": trainable_count(parts, is_frozen=False),
        "learning_when_frozen": trainable_count(parts, is_frozen=True),
        "pieces_per_text": round(num_pieces, 1),
        "flops_per_text": round(step.length * sum(part.forward.value for part in work)),
        "flops_per_text_learned": round(step.length * sum(part.total for part in work)),
        "bytes_per_step": model_memory(model, step).peak,
    }


def mean_pieces(
    trunk: ComparedTrunk, settings: TransferSettings, texts: Sequence[Example]
) -> float:
    """Returns how many pieces a text has on average, as it is read."""
    tokenizer = load_tokenizer(trunk.tokenizer)
    marks = marks_for(trunk.recipe.objective, tokenizer)
    length = settings.length or trunk.recipe.length
    reader = TextReader(tokenizer, marks, length, settings.transfer.long_texts)
    rows = reader.rows_of_all([each.text for each in texts])
    return sum(len(row) for text in rows for row in text) / len(rows)
