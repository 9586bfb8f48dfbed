"""Choosing pieces: greedy and sampling, over anything that scores the next one."""

from collections.abc import Mapping

from headstart.decoding.greedy import Greedy
from headstart.decoding.sampling import Sampling
from headstart.decoding.strategy import Strategy

STRATEGIES: Mapping[str, type[Strategy]] = {"greedy": Greedy, "sample": Sampling}
