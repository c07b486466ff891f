"""The command line: one file per command, and in each the parsing and the work are two functions."""

import atexit
import gc
import sys


def main() -> None:
    """Run ``cladist`` with the arguments of this process; does not return."""
    # Imports create many objects that stay: it takes long to look for garbage among them, again and again and at exit.
    gc.set_threshold(100_000)
    atexit.register(_leave_garbage)
    from cladist.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Where the terminal cannot show a letter, a question mark is better than none of the others.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app(prog_name="cladist")


def _leave_garbage() -> None:
    """Spare the search for garbage at exit, but for duckdb, which counts its objects then and lists those left."""
    if "duckdb" not in sys.modules:
        gc.freeze()
