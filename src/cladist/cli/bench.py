"""``cladist bench``: reproduce papers' tables, with the published beside the measured numbers."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from cladist.cli.output import Terminal, argument, option, table
from cladist.errors import DatasetError, ParameterError

EXAMPLE = (
    "Examples: [bold]cladist bench[/bold]"
    "\n\n[bold]cladist bench hr --data clef,news20 --methods svm,top-down[/bold]"
    "\n\n[bold]cladist bench all --budget 60[/bold]"
    "\n\n[bold]cladist bench hr --json[/bold]"
)
PAPERS = Path("benchmarks", "papers")
LONG_MINUTES = 60.0  # of measuring, above which the command asks first
SOURCE_TREE = Path(__file__).absolute().parents[3]  # the checkout, if the package runs from one


def command(
    terminal: Terminal,
    name: Annotated[str | None, argument("NAME", "The paper, or all; without it, the papers are listed.")] = None,
    data: Annotated[str | None, option("--data NAMES", "Only these data sets, separated by commas.")] = None,
    methods: Annotated[str | None, option("--methods NAMES", "Only these methods, separated by commas.")] = None,
    again: Annotated[bool, option("--again", "Measure cells again that have a result already.")] = False,
    budget: Annotated[float | None, option("--budget MINUTES", "Begin no cell that would take longer in all.")] = None,
    limit: Annotated[float | None, option("--limit MINUTES", "CPU time of a cell; with all, 1.5 by default.")] = None,
    yes: Annotated[bool, option("--yes -y", "Do not ask before hours of work.")] = False,
) -> None:
    """Reproduce a paper's tables, published beside measured numbers; or all of them, and write the page of results.

    Runs the benchmarks of a checkout. Every cell is written to benchmarks/results/cells
    as soon as it is measured, and an interrupted run continues from there.
    """
    names = {"--data": _split_names("--data", data), "--methods": _split_names("--methods", methods)}
    root = find_checkout()
    papers = list_papers(root)
    if name is None:
        for flag, value in {**names, "--again": again or None, "--budget": budget, "--limit": limit}.items():
            if value is not None:
                raise ParameterError(f"{flag} needs the name of a paper, as in cladist bench hr.")
        terminal.answer(list(papers.values()))
        rows = [[p["name"], p["paper"], p["methods"], f"cladist bench {p['name']}"] for p in papers.values()]
        terminal.show(table(["name", "paper", "methods", "command"], [*rows, ["all", "", "", "cladist bench all"]]))
        return
    if name not in (*papers, "all"):
        raise ParameterError(f"There is no paper {name!r} to run; those that run: {', '.join(papers)}, all.")
    bench, estimate = load_runner(root)
    options = {"again": again, "budget": budget, "limit": limit}
    confirm(terminal, *estimate(name, data=names["--data"], methods=names["--methods"], **options), yes=yes)
    try:
        with terminal.bars():
            outcome = bench(name, data=names["--data"], methods=names["--methods"], **options)
    except KeyboardInterrupt:
        terminal.note("The cells measured so far are kept; the same command continues from there.")
        raise
    terminal.answer(outcome.content)
    for part in outcome.parts:
        terminal.show("", part.title, table(part.header, part.rows), *part.remarks)
    results, here = root / "benchmarks" / "results" / "cells", Path.cwd()
    place = results.relative_to(here) if results.is_relative_to(here) else results
    terminal.note(*outcome.remarks, f"The cells are in {place}")


def confirm(terminal: Terminal, cells: int, minutes: float, *, yes: bool) -> None:
    """Say how long measuring takes, and ask before hours of it; where nobody can be asked, refuse it without --yes."""
    about = f"{minutes:,.0f} minutes" if minutes < 90 else f"{minutes / 60:,.0f} hours"
    work = f"{cells:,} cell{'s' * (cells != 1)} to measure, about {about if minutes >= 1 else 'a minute'}"
    if cells:
        terminal.note(f"{work}.")
    if minutes <= LONG_MINUTES or yes:
        return
    if not sys.stdin.isatty():
        raise ParameterError(f"{work}: add --yes to begin, or --budget MINUTES to measure only what fits.")
    typer.confirm("Begin?", abort=True, err=True)


def _split_names(flag: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ParameterError(f"{flag}: wanted names separated by commas, as in clef,news20; got {text!r}.")
    return names


# ------------------------------------------------------------------ the papers of a checkout


def find_checkout() -> Path:
    """Return the current folder if it is a checkout, or else the one that contains the package."""
    for folder in (Path.cwd(), SOURCE_TREE):
        if (folder / PAPERS).is_dir():
            return folder
    raise DatasetError(
        f"There is no folder {PAPERS.as_posix()} here; benchmarks are not part of the installed package, so run this "
        "in a checkout of cladist."
    )


def list_papers(root: Path) -> dict[str, dict[str, Any]]:
    """Return the papers of a checkout by name."""
    papers = {}
    for path in sorted((root / PAPERS).glob("*/published.json")):
        try:
            content = json_format.loads(path.read_text(encoding="utf-8"))
            about = {"paper": str(content["paper"]), "methods": str(content["methods"])}
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{path}: not a file of published tables ({error!r}).") from error
        name = path.parent.name
        papers[name] = {"name": name, **about}
    return papers


def load_runner(root: Path) -> tuple[Callable[..., Any], Callable[..., tuple[int, float]]]:
    """Import the benchmarks of a checkout; return their functions `bench` and `estimate`."""
    path = root / "benchmarks" / "bench.py"
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    module = import_module("benchmarks.bench")
    if not path.is_file() or not Path(str(module.__file__)).samefile(path):
        raise DatasetError(
            f"{path} cannot be run: another folder called benchmarks hides it ({module.__file__}); remove that folder "
            "from PYTHONPATH."
        )
    return module.bench, getattr(module, "estimate", lambda *_, **__: (0, 0.0))  # older checkouts have no estimate
