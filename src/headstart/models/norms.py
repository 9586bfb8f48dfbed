"""Normalisation of hidden vectors."""

from torch import nn

from headstart.models.config import LayerConfig

# Large enough for bf16 activations and small beside a variance of one.
EPSILON = 1e-5


def new_norm(config: LayerConfig) -> nn.LayerNorm | nn.RMSNorm:
    """Returns a norm of the layer's kind, with gain one and shift zero."""
    if config.norm == "rms":
        return nn.RMSNorm(config.width, eps=EPSILON)
    return nn.LayerNorm(config.width, eps=EPSILON, bias=config.has_bias)
