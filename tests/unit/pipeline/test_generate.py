"""Generating from a run: what is read, what is written, what is refused."""

import pytest
import torch

from headstart.decoding.greedy import Greedy
from headstart.decoding.sampling import Sampling
from headstart.errors import RecipeError, RunError
from headstart.models.inputs import Text
from headstart.pipeline.generate import generate
from headstart.tokenizers.pieces import END_ID, START_ID, UNKNOWN_ID


def plain_greedy(run, prompt: str, num_pieces: int) -> str:
    """One piece after another, everything read again, nothing special ever taken."""
    special = [run.tokenizer.id_of[piece] for piece in run.tokenizer.special_pieces]
    ids = run.tokenizer.encode(prompt).tolist()
    for _ in range(num_pieces):
        with torch.no_grad():
            logits_V = run.model(Text(torch.tensor([[START_ID, *ids]])))[0, -1]
        logits_V[[number for number in [*special, UNKNOWN_ID] if number != END_ID]] = -torch.inf
        if (best := int(logits_V.argmax())) == END_ID:
            break
        ids.append(best)
    return run.tokenizer.decode(ids)


@pytest.mark.parametrize("prompt", ["le chat", "", "la maison rouge voit le petit"])
def test_greedy_text_is_that_of_a_plain_loop(runs, prompt):
    (found,) = generate(runs["causal"], prompt, Greedy(), num_pieces=20)
    assert found.text == plain_greedy(runs["causal"], prompt, 20)
    assert found.text == prompt + found.continuation


def test_samples_differ_and_come_back_with_their_seed(runs):
    first, again, other = (
        generate(runs["causal"], "le chat", Sampling(seed=seed), num_pieces=12, count=5)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert len({found.text for found in first}) == 5
    assert all(found.num_pieces <= 12 for found in first)


def test_fewer_samples_are_the_first_of_many(runs):
    many, few = (
        generate(runs["causal"], "le", Sampling(seed=3), num_pieces=12, count=count)
        for count in (6, 2)
    )
    assert [found.text for found in many[:2]] == [found.text for found in few]


def test_text_that_ends_itself_says_so(runs):
    found = generate(runs["causal"], "le", Sampling(temperature=4.0), num_pieces=300, count=20)
    ended = [one for one in found if one.has_ended]
    assert ended
    assert all(one.num_pieces == 300 for one in found if not one.has_ended)
    assert all(one.log_probability < 0 for one in found)


@pytest.mark.parametrize("objective", ["masked", "masked+next"])
def test_masked_run_cannot_write(runs, objective):
    with pytest.raises(RunError, match="cannot write on"):
        generate(runs[objective], "le chat", Greedy(), num_pieces=3)


def test_more_than_the_positions_allow_is_refused(runs):
    with pytest.raises(RecipeError, match=r"9,000 more were asked for.* end at 8,192"):
        generate(runs["causal"], "le chat", Greedy(), num_pieces=9_000)
