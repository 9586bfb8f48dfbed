"""What is being learned: one file each, listed in table.py."""
