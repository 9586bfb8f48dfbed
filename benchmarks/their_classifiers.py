"""The documents' classifier as others would have it: plain torch.nn, and Hugging Face's DistilBERT.

DistilBERT is the plainest of Hugging Face's encoders: no pooler beyond one linear layer, no types
of tokens, and sinusoids for positions.
"""

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedTokenizerFast,
    TextClassificationPipeline,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    pipeline,
)

from headstart import Recipe
from headstart.models.positions import sinusoids
from headstart.pipeline.label_split import Split
from headstart.tokenizers.pieces import PADDING, PADDING_ID, START, UNKNOWN, UNKNOWN_ID
from headstart.tokenizers.tokenizer import Tokenizer

NUM_LABELS = 2
EXAMPLES_PER_STEP = 16


class DocumentsClassifier(nn.Module):
    """What the documents wrote: nn.TransformerEncoder, sequence first, the mask a matrix."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        trunk, layer = recipe.model.trunk, recipe.model.trunk.layer
        self.width = layer.width
        self.embedding = nn.Embedding(trunk.vocabulary_size, layer.width)
        self.register_buffer("positions", sinusoids(recipe.length, layer.width).float()[:, None])
        one = nn.TransformerEncoderLayer(
            layer.width, layer.num_heads, layer.feed_forward_width, dropout=0.0
        )
        self.encoder = nn.TransformerEncoder(one, trunk.num_layers, enable_nested_tensor=False)
        self.head = nn.Linear(layer.width, NUM_LABELS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns the logits of each text, read at its last position."""
        mask = nn.Transformer.generate_square_subsequent_mask(len(tokens))
        hidden = self.embedding(tokens) * math.sqrt(self.width) + self.positions[: len(tokens)]
        return self.head(self.encoder(hidden, mask)[-1])


class DocumentsLoop:
    """Their loop: every review padded to one length, AdamW over every weight."""

    def __init__(self, recipe: Recipe, split: Split) -> None:
        self.model = DocumentsClassifier(recipe)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        rows = [text[0] for text in split.rows]
        self.tokens = torch.full((len(rows), recipe.length), PADDING_ID)
        for number, row in enumerate(rows):
            # Padded before, since the last position is what is judged.
            self.tokens[number, -len(row) :] = torch.tensor(row)
        self.targets = torch.from_numpy(split.targets)

    def epoch(self) -> float:
        """Reads every review once, and returns the seconds."""
        started_at = time.perf_counter()
        self.model.train()
        for chosen in torch.randperm(len(self.tokens)).split(EXAMPLES_PER_STEP):
            loss = F.cross_entropy(self.model(self.tokens[chosen].T), self.targets[chosen])
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()
            self.optimiser.zero_grad()
        return time.perf_counter() - started_at


def their_model(recipe: Recipe) -> DistilBertForSequenceClassification:
    """Returns Hugging Face's model of a recipe's shape."""
    trunk, layer = recipe.model.trunk, recipe.model.trunk.layer
    config = DistilBertConfig(
        vocab_size=trunk.vocabulary_size,
        max_position_embeddings=recipe.length,
        sinusoidal_pos_embds=True,
        n_layers=trunk.num_layers,
        n_heads=layer.num_heads,
        dim=layer.width,
        hidden_dim=layer.feed_forward_width,
        activation="relu",
        # PyTorch's fused attention drops nothing on a processor: with dropout they would be slower.
        attention_dropout=0.0,
        seq_classif_dropout=0.1,
        pad_token_id=PADDING_ID,
        num_labels=NUM_LABELS,
    )
    return DistilBertForSequenceClassification(config)


class Reviews(torch.utils.data.Dataset):
    """Reviews as Hugging Face's Trainer takes them."""

    def __init__(self, split: Split) -> None:
        self.rows, self.targets = [text[0] for text in split.rows], split.targets.tolist()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"input_ids": self.rows[index], "labels": self.targets[index]}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))


def padded(reviews: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
    """Returns reviews as a batch, padded to the longest of them and no further."""
    rows = [torch.tensor(review["input_ids"]) for review in reviews]
    tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING_ID)
    return {
        "input_ids": tokens,
        "attention_mask": (tokens != PADDING_ID).long(),
        "labels": torch.tensor([review["labels"] for review in reviews]),
    }


class EpochClock(TrainerCallback):
    """The seconds of an epoch, without what comes before and behind it."""

    seconds = 0.0

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Begins to count."""
        self.seconds -= time.perf_counter()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        """Ends counting."""
        self.seconds += time.perf_counter()


class TheirLoop:
    """Hugging Face's Trainer at its best: like lengths together, padded no further than needed."""

    def __init__(self, recipe: Recipe, split: Split, folder: Path, *, is_half: bool) -> None:
        self.clock = EpochClock()
        settings = TrainingArguments(
            output_dir=str(folder),
            per_device_train_batch_size=EXAMPLES_PER_STEP,
            num_train_epochs=1,
            learning_rate=1e-3,
            weight_decay=0.01,
            max_grad_norm=1.0,
            train_sampling_strategy="group_by_length",
            logging_strategy="no",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            bf16=is_half,
        )
        self.trainer = Trainer(
            model=their_model(recipe),
            args=settings,
            train_dataset=Reviews(split),
            data_collator=padded,
            callbacks=[self.clock],
        )

    def epoch(self) -> float:
        """Reads every review once, and returns the seconds."""
        before = self.clock.seconds
        self.trainer.train()
        return self.clock.seconds - before


def their_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """Returns Hugging Face's own tokenizer with the same vocabulary and the same scores."""
    processor = tokenizer.processor
    scores = {
        processor.id_to_piece(number): processor.get_score(number)
        for number in range(processor.get_piece_size())
    }
    vocabulary = [(piece, scores.get(piece, 0.0)) for piece in tokenizer.vocabulary]
    fast = FastTokenizer(models.Unigram(vocabulary, unk_id=UNKNOWN_ID, byte_fallback=True))
    fast.pre_tokenizer = pre_tokenizers.Metaspace()
    fast.decoder = decoders.Metaspace()
    fast.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", special_tokens=[(START, tokenizer.id_of[START])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, bos_token=START, unk_token=UNKNOWN, pad_token=PADDING
    )


def their_pipeline(
    recipe: Recipe, tokenizer: Tokenizer, dtype: torch.dtype = torch.float32
) -> TextClassificationPipeline:
    """Returns Hugging Face's pipeline around its model of a recipe's shape."""
    fast = their_tokenizer(tokenizer)
    fast.model_max_length = recipe.length
    # Without these a text that is too long ends in an error.
    return pipeline(
        "text-classification",
        model=their_model(recipe).eval().to(dtype),
        tokenizer=fast,
        truncation=True,
        max_length=recipe.length,
    )
