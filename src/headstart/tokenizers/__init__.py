"""Text to ids and back: learned from text, or imported with a dictionary."""
