"""Work on several batches at once, a core for each.

Small products gain little from a second core, and all that stands between them nothing; whole
batches beside each other gain all of it.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

import torch

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")


def side_by_side(answer: Callable[[Batch], Answer], batches: Sequence[Batch]) -> Iterator[Answer]:
    """Yields the answer about each batch as it comes, on as many cores as PyTorch may use."""
    num_threads = torch.get_num_threads()
    # With fewer batches than cores those that are left have more to gain from all of them.
    if num_threads == 1 or len(batches) < num_threads:
        yield from map(answer, batches)
        return
    pool = ThreadPoolExecutor(num_threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        for done in as_completed([pool.submit(answer, batch) for batch in batches]):
            yield done.result()
    finally:
        # Where something went wrong, or somebody has seen enough, nothing more is begun.
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(num_threads)
