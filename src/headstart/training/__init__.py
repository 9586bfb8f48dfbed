"""The loop: steps over an objective; it knows no file."""
