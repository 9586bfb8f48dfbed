"""How good it is: scores of a model on text and examples that it has not learned from."""
