"""Choosing pieces: greedy, beam and sampling, over anything that scores the next one."""

from collections.abc import Mapping

from headstart.decoding.beam import Beam
from headstart.decoding.greedy import Greedy
from headstart.decoding.sampling import Sampling
from headstart.decoding.strategy import Strategy

STRATEGIES: Mapping[str, type[Strategy]] = {"greedy": Greedy, "beam": Beam, "sample": Sampling}
