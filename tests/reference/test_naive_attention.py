"""Our attention equals loops over batch, heads and positions, with the softmax by hand.

Legend: B batch, T positions asking, S positions answering, D width, K width of a head.
"""

import cmath
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from headstart.models.attention import CrossAttention, SelfAttention
from headstart.models.config import LayerConfig
from headstart.models.inputs import Text
from headstart.models.masks import across, within
from headstart.models.positions import RotaryPositions, count_positions

Vector = list[float]
MaySee = Callable[[int, int, int], bool]
"""Of a row, a position that asks and a position that answers."""

WIDTH, NUM_HEADS = 12, 3
HEAD_WIDTH = WIDTH // NUM_HEADS
BOTH_WAYS, BACKWARD = "bidirectional", "causal"


def config(has_bias: bool = True) -> LayerConfig:
    return LayerConfig(
        width=WIDTH,
        num_heads=NUM_HEADS,
        feed_forward_width=4,
        feed_forward="relu",
        norm="layer",
        norm_place="post",
        has_bias=has_bias,
    )


def draw(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def prepare(module: nn.Module, seed: int) -> nn.Module:
    """Large weights, so that attention is far from a plain average."""
    for index, parameter in enumerate(module.parameters()):
        parameter.data = draw(*parameter.shape, seed=seed + index) / math.sqrt(WIDTH) * 2
    return module.double().eval()


def linear(layer: nn.Linear, vector: Vector, first_row: int = 0, num_rows: int = WIDTH) -> Vector:
    """Rows `first_row` and on of a matrix times a vector, plus their biases."""
    answer = []
    for row in range(first_row, first_row + num_rows):
        weights = layer.weight[row].tolist()
        bias = 0.0 if layer.bias is None else layer.bias[row].item()
        answer.append(sum(w * x for w, x in zip(weights, vector, strict=True)) + bias)
    return answer


def of_head(vector: Vector, head: int) -> Vector:
    return vector[head * HEAD_WIDTH : (head + 1) * HEAD_WIDTH]


def turn(vector: Vector, position: int) -> Vector:
    """Turns number i, as the real part, with number i + K/2, as the imaginary part."""
    num_pairs = len(vector) // 2
    turned = [0.0] * len(vector)
    for pair in range(num_pairs):
        angle = position * 10_000 ** (-2 * pair / len(vector))
        number = complex(vector[pair], vector[pair + num_pairs]) * cmath.exp(1j * angle)
        turned[pair], turned[pair + num_pairs] = number.real, number.imag
    return turned


def mix(query: Vector, keys: list[Vector], values: list[Vector], seen: list[int]) -> Vector:
    scores = [
        sum(q * k for q, k in zip(query, keys[place], strict=True)) / math.sqrt(HEAD_WIDTH)
        for place in seen
    ]
    weights = [math.exp(score - max(scores)) for score in scores]
    shares = [weight / sum(weights) for weight in weights]
    return [
        sum(share * values[place][column] for share, place in zip(shares, seen, strict=True))
        for column in range(HEAD_WIDTH)
    ]


def attend_one_by_one(
    queries: list[Vector],
    keys: list[Vector],
    values: list[Vector],
    may_see: Callable[[int, int], bool],
    positions: list[int] | None = None,
) -> list[Vector]:
    """The context of each position that asks, all heads side by side."""
    contexts: list[Vector] = [[] for _ in queries]
    for head in range(NUM_HEADS):
        head_queries = [of_head(query, head) for query in queries]
        head_keys = [of_head(key, head) for key in keys]
        head_values = [of_head(value, head) for value in values]
        if positions is not None:
            head_queries = list(map(turn, head_queries, positions))
            head_keys = list(map(turn, head_keys, positions))
        for asking, query in enumerate(head_queries):
            seen = [place for place in range(len(keys)) if may_see(asking, place)]
            # Only padding may see nothing, and nobody looks at what padding answers.
            contexts[asking] += mix(query, head_keys, head_values, seen) if seen else [0.0] * 4
    return contexts


def naive_self_attention(
    module: SelfAttention, hidden_BTD: Tensor, may_see: MaySee, positions: list[list[int]] | None
) -> Tensor:
    answers = []
    for row, vectors in enumerate(hidden_BTD.tolist()):
        queries, keys, values = (
            [linear(module.query_key_value, vector, first_row) for vector in vectors]
            for first_row in (0, WIDTH, 2 * WIDTH)
        )
        contexts = attend_one_by_one(
            queries,
            keys,
            values,
            lambda asking, place, row=row: may_see(row, asking, place),
            None if positions is None else positions[row],
        )
        answers.append([linear(module.output, context) for context in contexts])
    return torch.tensor(answers, dtype=torch.float64)


def naive_cross_attention(
    module: CrossAttention, hidden_BTD: Tensor, source_BSD: Tensor, may_see: MaySee
) -> Tensor:
    answers = []
    for row, (asking, answering) in enumerate(
        zip(hidden_BTD.tolist(), source_BSD.tolist(), strict=True)
    ):
        contexts = attend_one_by_one(
            [linear(module.query, vector) for vector in asking],
            [linear(module.key_value, vector) for vector in answering],
            [linear(module.key_value, vector, WIDTH) for vector in answering],
            lambda asking, place, row=row: may_see(row, asking, place),
        )
        answers.append([linear(module.output, context) for context in contexts])
    return torch.tensor(answers, dtype=torch.float64)


def assert_equal_where(is_token_BT: Tensor, ours: Tensor, naive: Tensor) -> None:
    torch.testing.assert_close(ours[is_token_BT], naive[is_token_BT], atol=1e-5, rtol=0)


IS_TOKEN = [[True] * 5 + [False] * 2, [False] * 3 + [True] * 4]
DOCUMENT = [[0, 0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 0, 1, 1]]
# Counted by hand: real pieces of each document from 0; the places of padding are never looked at.
POSITIONS = {
    "plain": [[0, 1, 2, 3, 4, 5, 6]] * 2,
    "padded": [[0, 1, 2, 3, 4, 0, 0], [0, 0, 0, 0, 1, 2, 3]],
    "packed": [[0, 1, 2, 0, 1, 0, 1], [0, 1, 2, 3, 4, 0, 1]],
    "padded and packed": [[0, 1, 2, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0, 1]],
}


@pytest.mark.parametrize("is_rotary", [False, True], ids=["unturned", "rotary"])
@pytest.mark.parametrize("direction", [BACKWARD, BOTH_WAYS])
@pytest.mark.parametrize("kind", POSITIONS)
def test_self_attention_equals_loops(kind, direction, is_rotary):
    is_token = IS_TOKEN if "padded" in kind else [[True] * 7] * 2
    document = DOCUMENT if "packed" in kind else [[0] * 7] * 2
    text = Text(
        torch.zeros(2, 7, dtype=torch.long),
        is_token_BT=torch.tensor(is_token) if "padded" in kind else None,
        document_BT=torch.tensor(document) if "packed" in kind else None,
    )

    def may_see(row: int, asking: int, place: int) -> bool:
        is_past = place <= asking or direction == BOTH_WAYS
        is_same_document = document[row][place] == document[row][asking]
        return is_past and is_same_document and is_token[row][place]

    module = prepare(SelfAttention(config()), seed=10)
    hidden_BTD = draw(2, 7, WIDTH, seed=20)
    rotation = RotaryPositions(7, HEAD_WIDTH)(count_positions(text)) if is_rotary else None
    ours = module(hidden_BTD, within(text, direction), rotation)
    naive = naive_self_attention(
        module, hidden_BTD, may_see, POSITIONS[kind] if is_rotary else None
    )
    assert_equal_where(torch.tensor(is_token), ours, naive)


def test_self_attention_without_biases_equals_loops():
    module = prepare(SelfAttention(config(has_bias=False)), seed=11)
    hidden_BTD = draw(2, 5, WIDTH, seed=21)
    ours = module(hidden_BTD, within(Text(torch.zeros(2, 5)), BACKWARD), None)
    naive = naive_self_attention(module, hidden_BTD, lambda _, t, s: s <= t, None)
    assert_equal_where(torch.ones(2, 5, dtype=torch.bool), ours, naive)


@pytest.mark.parametrize("has_padding", [False, True], ids=["full", "padded"])
def test_cross_attention_equals_loops(has_padding):
    module = prepare(CrossAttention(config()), seed=12)
    hidden_BTD, source_BSD = draw(2, 4, WIDTH, seed=22), draw(2, 7, WIDTH, seed=23)
    is_token = IS_TOKEN if has_padding else [[True] * 7] * 2
    source = Text(torch.zeros(2, 7), torch.tensor(is_token) if has_padding else None)
    ours = module(hidden_BTD, source_BSD, across(source))
    naive = naive_cross_attention(
        module, hidden_BTD, source_BSD, lambda row, _, place: is_token[row][place]
    )
    assert_equal_where(torch.ones(2, 4, dtype=torch.bool), ours, naive)
