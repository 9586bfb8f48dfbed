"""The map: what a recipe is, and one file a verb that wires the parts below."""
