"""``python -m cladist.cli``."""

from cladist.cli import main

main()
