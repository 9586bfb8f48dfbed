"""How pieces are drawn where nobody says how; free of torch."""

# Small trunks go in circles when greedy, and leave the language when nothing is cut.
TEMPERATURE, TOP_P = 0.8, 0.95
