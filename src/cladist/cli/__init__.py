"""The command line: one file per command, and in each the parsing and the work are two functions."""

import sys


def main() -> None:
    """Run ``cladist`` with the arguments of this process; does not return."""
    from cladist.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Where the terminal cannot show a letter, a question mark is better than none of the others.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app(prog_name="cladist")
