"""Showing it: tables, figures and JSON, drawn from records; nothing here computes or prints."""
