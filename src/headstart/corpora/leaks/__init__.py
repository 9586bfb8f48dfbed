"""The leak guard: what a test shares with what was trained on, and what else is odd in the data."""
