"""Reusing a trunk: the head swap and its proof, what stays frozen, and what the result is worth."""
