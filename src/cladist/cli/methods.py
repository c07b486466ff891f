"""``cladist methods``: the list of methods, with the paper of each."""

from __future__ import annotations

from rich.table import Column, Table
from rich.text import Text

from cladist import registry
from cladist.cli.output import Terminal

EXAMPLE = "Example: [bold]cladist methods[/bold]"


def command(terminal: Terminal) -> None:
    """List the methods, with the paper of each."""
    rows = methods()
    terminal.answer(rows)
    drawing = Table.grid(Column(style="bold", no_wrap=True), Column(max_width=60), padding=(0, 2, 0, 0))
    for row in rows:
        source = Text(f"{row['class']} · {row['paper']}", style="dim")
        drawing.add_row(row["name"], Text.assemble(row["summary"], "\n", source))
    terminal.show(drawing)


def methods() -> list[dict[str, str]]:
    """Return the name, class, paper and summary of each method, those of installed packages included."""
    return [{"name": m.name, "class": m.class_name, "paper": m.paper, "summary": m.summary} for m in registry.methods()]
