"""Cross-entropy over a large vocabulary: exact in chunks, or against sampled candidates."""
