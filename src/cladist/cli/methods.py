"""``cladist methods``: the list of methods, with the paper of each."""

from __future__ import annotations

from cladist.cli.options import Debug, Json, Quiet

EXAMPLE = "Example: [bold]cladist methods[/bold]"


def command(json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """List the methods, with the paper of each."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from cladist.cli.output import Terminal

    terminal = Terminal(json, quiet)
    terminal.answer(methods())
    drawing = Table(box=SIMPLE_HEAD)
    drawing.add_column("name", style="bold", no_wrap=True)
    drawing.add_column("class", no_wrap=True)
    drawing.add_column("paper")
    drawing.add_column("summary")
    for method in methods():
        drawing.add_row(*method.values())
    terminal.show(drawing)


def methods() -> list[dict[str, str]]:
    """Return the name, class, paper and summary of each method, those of installed packages included.

    Examples
    --------
    >>> methods()[0]["name"], methods()[0]["class"]
    ('hr-svm', 'RecursiveSVM')
    """
    from cladist import registry

    return [{"name": m.name, "class": m.class_name, "paper": m.paper, "summary": m.summary} for m in registry.methods()]
