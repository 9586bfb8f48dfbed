"""What a person runs: ready-made recipes and the command line."""
