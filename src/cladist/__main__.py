"""``python -m cladist``: the command line."""

from cladist.cli import main

main()
