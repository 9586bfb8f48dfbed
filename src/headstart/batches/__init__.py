"""Ids to batches: the token store, packing, bucketing, padding, and an order known in advance."""
