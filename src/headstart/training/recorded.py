"""Whole steps as one launch: recorded once for each shape of batch, then played for each batch.

A small model on a GPU waits for its processor, which launches a thousand short kernels a step. A
recorded step (a CUDA graph) is launched at once. It does exactly what was recorded, so that all
that changes from step to step is either a tensor that it reads again (the batch, the rate, the
seed of draws) or a reason for another recording (the shapes, the number of answers).
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headstart.objectives.objective import StepBatch

# Steps that are done as usual before one of their shape is recorded: the first ones load kernels
# and make what an optimiser remembers.
NUM_STEPS_BEFORE = 2
# Each recording takes a moment and some memory; what comes in more shapes is done as usual.
MOST_RECORDED = 64

Learn = Callable[[Any], Tensor]
Key = tuple[object, ...]


class Recording(NamedTuple):
    """A step that was recorded, with the tensors that it reads and those it writes."""

    graph: torch.cuda.CUDAGraph
    batch: StepBatch
    value_V: Tensor


class RecordedSteps:
    """Does steps of a batch each, from a recording where there is one of its shape."""

    def __init__(
        self, learn: Learn, forget_gradients: Callable[[], None], weights: Sequence[nn.Parameter]
    ) -> None:
        self._learn = learn
        self._weights = weights
        self._learns: list[bool] = []
        self._forget_gradients = forget_gradients
        self._num_seen: Counter[Key] = Counter()
        self._recordings: dict[Key, Recording] = {}
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # PyTorch's own
        self._pool = torch.cuda.graph_pool_handle()
        self.is_able = True
        """Whether no recording has failed yet."""
        self.num_played = 0
        """The steps that were launched as a whole."""

    def do(self, batch: StepBatch) -> Tensor:
        """Does one step and returns its values, on the device."""
        self._forget_if_others_learn()
        key = key_of(batch)
        if key not in self._recordings and self._is_due(key):
            self._record(key, batch)
        recording = self._recordings.get(key)
        if recording is None:
            with self._aside():
                value_V = self._learn(batch)
            self._forget_gradients()
            return value_V
        for kept, new in zip(tensors_of(recording.batch), tensors_of(batch), strict=True):
            kept.copy_(new, non_blocking=True)
        recording.graph.replay()
        self.num_played += 1
        return recording.value_V

    def _forget_if_others_learn(self) -> None:
        """Drops what was recorded while other weights learned, as in a gradual transfer."""
        learns = [weights.requires_grad for weights in self._weights]
        if learns != self._learns:
            self._learns = learns
            self._recordings.clear()
            self._num_seen.clear()
            # The room of recordings is given up with the last of them.
            self._pool = torch.cuda.graph_pool_handle()

    def _is_due(self, key: Key) -> bool:
        """Whether a shape has been met often enough to be recorded, and there is room."""
        self._num_seen[key] += 1
        has_room = len(self._recordings) < MOST_RECORDED
        return self.is_able and has_room and self._num_seen[key] > NUM_STEPS_BEFORE

    def _record(self, key: Key, batch: StepBatch) -> None:
        """Records a step of this shape without doing it; a failure means that none is recorded."""
        kept: Any = with_tensors(batch, iter([tensor.clone() for tensor in tensors_of(batch)]))
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            with self._aside():
                # Batches are made ahead in another thread, which may go on meanwhile.
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    value_V = self._learn(kept)
                finally:
                    graph.capture_end()
        except RuntimeError as error:
            self.is_able = False
            # Others would go on with the draws of before, which nobody seeds from here on.
            self._recordings.clear()
            give_draws_back()
            reason = " ".join(str(error).split())[:200]
            logging.getLogger(__name__).warning("Steps are launched one by one: %s", reason)
            return
        finally:
            self._forget_gradients()
        self._recordings[key] = Recording(graph, kept, value_V)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Has work done on a stream of its own, as recording wants it, in the usual order."""
        usual = torch.cuda.current_stream()
        self._stream.wait_stream(usual)
        with torch.cuda.stream(self._stream):
            yield
        usual.wait_stream(self._stream)


def give_draws_back() -> None:
    """Takes the state of a GPU's draws from a recording that failed, which would keep it."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    # A copy knows nothing of recordings; without it the next dropout is refused.
    generator.graphsafe_set_state(generator.clone_state())


def key_of(batch: StepBatch) -> Key:
    """Returns all that a recording of a batch takes for granted: shapes, types, counts."""
    shapes = tuple(shape_of(part) for part in parts_of(batch))
    return (type(batch), shapes, tuple(batch.counts.items()))


def shape_of(part: Any) -> object:
    """Returns the shape and type of a tensor, and of its parts where it has some."""
    if isinstance(part, Tensor):
        return (tuple(part.shape), part.dtype)
    return tuple(map(shape_of, part)) if is_named_tuple(part) else None


def tensors_of(batch: Any) -> Iterator[Tensor]:
    """Yields the tensors of a batch in the order of its fields, those of a pair's texts too."""
    for part in parts_of(batch) if is_dataclass(batch) else batch:
        if isinstance(part, Tensor):
            yield part
        elif is_named_tuple(part):
            yield from tensors_of(part)


def with_tensors(batch: Any, tensors: Iterator[Tensor]) -> Any:
    """Returns a batch with other tensors in the places of its own."""

    def renewed(part: Any) -> Any:
        if isinstance(part, Tensor):
            return next(tensors)
        return type(part)(*map(renewed, part)) if is_named_tuple(part) else part

    return replace(
        batch, **{each.name: renewed(getattr(batch, each.name)) for each in fields(batch)}
    )


def parts_of(batch: object) -> list[Any]:
    """Returns the fields of a batch."""
    assert is_dataclass(batch)
    return [getattr(batch, each.name) for each in fields(batch)]


def is_named_tuple(part: object) -> bool:
    """Whether a part has parts of its own, such as a text."""
    return isinstance(part, tuple) and hasattr(part, "_fields")
