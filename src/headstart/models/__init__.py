"""The network: attention, blocks, trunks, masks, heads, and the accounting of all of them."""
