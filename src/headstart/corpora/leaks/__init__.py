"""The leak guard: what a test shares with what was trained on, and what else is odd in the data."""

# What the file of hashes is called in the folder of a run; here, where its name costs nothing.
SKETCH_FILE = "corpus.sketch"
