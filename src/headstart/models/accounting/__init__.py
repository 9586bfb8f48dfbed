"""The ledger's figures: parameters, operations, bytes, seconds, each from a readable formula."""
