"""``cladist methods``: what there is, with the paper each comes from."""

from __future__ import annotations

from typing import Any

from cladist.cli.options import Debug, Json, Quiet

EXAMPLE = "Example: [bold]cladist methods[/bold]"


def methods() -> list[dict[str, str]]:
    """Return every method's name, class, paper and summary, those of installed packages included.

    Examples
    --------
    >>> methods()[0]["name"], methods()[0]["class"]
    ('hr-svm', 'RecursiveSVM')
    """
    from cladist import registry

    return [{"name": m.name, "class": m.class_name, "paper": m.paper, "summary": m.summary} for m in registry.methods()]


def command(json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """List the methods, with the paper each comes from."""
    from cladist.cli.terminal import Terminal

    found = methods()
    terminal = Terminal(json, quiet)
    terminal.answer(found)
    terminal.show(_drawn(found))


def _drawn(found: list[dict[str, str]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    drawn = Table(box=SIMPLE_HEAD)
    drawn.add_column("name", style="bold", no_wrap=True)
    drawn.add_column("class", no_wrap=True)
    drawn.add_column("paper")
    drawn.add_column("what it does")
    for method in found:
        drawn.add_row(*method.values())
    return drawn
