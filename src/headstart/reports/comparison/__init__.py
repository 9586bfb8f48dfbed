"""A comparison as it was kept, and the words, sections and tables that show it."""
