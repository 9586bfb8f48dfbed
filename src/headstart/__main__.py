"""Runs the command line as `python -m headstart`."""

from headstart.apps.cli.main import main

if __name__ == "__main__":
    main()
