"""The command line: one file per command, and the table of them in `main`."""
