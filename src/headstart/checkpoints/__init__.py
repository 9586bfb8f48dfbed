"""Keeping what was learned: named tensors and JSON on disk, whole or not at all."""
