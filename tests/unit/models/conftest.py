"""The compiled kernels that this processor can run."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from headstart.models import learned_attention, learned_relu, learned_residual
from headstart.models.kernels import library
from headstart.models.kernels.library import FILES, compiled_kernels, load_kernels


@pytest.fixture(scope="session")
def every_kernel() -> list[Any]:
    """The kernels for this processor, and for those that know less than it does."""
    if compiled_kernels() is None:
        pytest.skip("no code was built for this machine")
    kinds = list(FILES)
    # A processor that knows the first of these knows those behind it too.
    runnable = kinds[kinds.index(torch.backends.cpu.get_cpu_capability()) :]
    return [load_kernels(Path(library.__file__).with_name(FILES[kind])) for kind in runnable]


@pytest.fixture(scope="session")
def by_kernels() -> Callable[[Any], AbstractContextManager[None]]:
    """Has what learns be done by certain kernels for a while; None leaves all to PyTorch."""

    @contextmanager
    def done_by(kernels: Any) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patched:
            for module in (library, learned_attention, learned_residual, learned_relu):
                patched.setattr(module, "compiled_kernels", lambda: kernels)
            yield

    return done_by
