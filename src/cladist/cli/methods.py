"""``cladist methods``: the list of methods, with the paper of each."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from cladist import registry
from cladist.cli.output import Terminal

EXAMPLE = "Example: [bold]cladist methods[/bold]"


def command(terminal: Terminal) -> None:
    """List the methods, with the paper of each."""
    rows = methods()
    terminal.answer(rows)
    name, kind = Column("name", style="bold", no_wrap=True), Column("class", no_wrap=True)
    drawing = Table(name, kind, "paper", "summary", box=SIMPLE_HEAD)
    for row in rows:
        drawing.add_row(*row.values())
    terminal.show(drawing)


def methods() -> list[dict[str, str]]:
    """Return the name, class, paper and summary of each method, those of installed packages included."""
    return [{"name": m.name, "class": m.class_name, "paper": m.paper, "summary": m.summary} for m in registry.methods()]
