"""``cladist bench``: a paper's table, published beside measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladist.cli.options import Debug, Json, Quiet
from cladist.errors import ParameterError

if TYPE_CHECKING:
    from cladist.cli.bench_papers import Paper

EXAMPLE = (
    "Examples: [bold]cladist bench[/bold]"
    "\n\n[bold]cladist bench hr --data clef,news20 --methods svm,td[/bold]"
    "\n\n[bold]cladist bench hr --verdicts[/bold]"
    "\n\n[bold]cladist bench hr --json[/bold]"
)


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The paper; without it, the papers are listed.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="NAMES", help="Only these data sets, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="NAMES", help="Only these methods, separated by commas.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure rows anew that are there already.")] = False,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="Instead of the table: does the tree help, and is it more than luck?")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reproduce a paper's table, published beside measured.

    Runs the benchmarks of the checkout it is in. Every row is written to benchmarks/results as soon as it is measured,
    and a run that was stopped goes on where it was.
    """
    from cladist.cli.bench_papers import checkout, find, papers, runner
    from cladist.cli.terminal import Terminal

    terminal = Terminal(json, quiet)
    given = {"--data": _names("--data", data), "--methods": _names("--methods", methods)}
    root = checkout()
    if name is None:
        _check_no_options({**given, "--again": again or None, "--verdicts": verdicts or None})
        found = papers(root)
        terminal.answer([asdict(paper) for paper in found])
        terminal.show(_drawn_papers(found))
        return
    paper = find(root, name)
    run = runner(root, name, "verdicts" if verdicts else "run")
    try:
        with terminal.bars():
            outcome = run(data=given["--data"], methods=given["--methods"], again=again)
    except KeyboardInterrupt:
        terminal.remark("The rows measured so far are kept; the same command goes on from there.")
        raise
    terminal.answer(outcome.content)
    terminal.show(f"{paper.paper} ({paper.methods})", _drawn(outcome), *outcome.remarks)
    for part in outcome.further:
        terminal.show("", part.title, _drawn(part), *part.remarks)
    terminal.remark(f"The rows are in {_shown(root / 'benchmarks' / 'results')}")


def _names(option: str, text: str | None) -> list[str] | None:
    """Return the names in an option's text.

    Examples
    --------
    >>> _names("--data", "clef, news20")
    ['clef', 'news20']
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ParameterError(f"{option}: wanted names separated by commas, as in clef,news20; got {text!r}.")
    return names


def _check_no_options(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise ParameterError(f"{option} needs the name of a paper, as in cladist bench hr.")


def _drawn(outcome: Any) -> Any:
    from cladist.cli.terminal import table
    from cladist.report import Table

    return table(Table(outcome.header, outcome.rows))


def _drawn_papers(found: list[Paper]) -> Any:
    from cladist.cli.terminal import table
    from cladist.report import Table

    rows = [
        [
            paper.name,
            paper.paper,
            paper.methods,
            f"cladist bench {paper.name}" if paper.runs else "published tables only",
        ]
        for paper in found
    ]
    return table(Table(["name", "paper", "methods", "to run it"], rows))


def _shown(path: Path) -> str:
    """Return a path as seen from the current folder, if it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
