"""Compiled code for what PyTorch's calls are too slow for, built with the package where it can be.

Without it everything works, by PyTorch alone.
"""
