"""``cladist bench``: reproduce a paper's table, with the published beside the measured numbers."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from cladist.cli.output import Terminal, argument, option, table
from cladist.errors import DatasetError, ParameterError

EXAMPLE = (
    "Examples: [bold]cladist bench[/bold]"
    "\n\n[bold]cladist bench hr --data clef,news20 --methods svm,td[/bold]"
    "\n\n[bold]cladist bench hr --verdicts[/bold]"
    "\n\n[bold]cladist bench hr --json[/bold]"
)
PAPERS = Path("benchmarks", "papers")
SOURCE_TREE = Path(__file__).absolute().parents[3]  # the checkout, if the package runs from one


def command(
    terminal: Terminal,
    name: Annotated[str | None, argument("NAME", "The paper; without it, the papers are listed.")] = None,
    data: Annotated[str | None, option("--data NAMES", "Only these data sets, separated by commas.")] = None,
    methods: Annotated[str | None, option("--methods NAMES", "Only these methods, separated by commas.")] = None,
    again: Annotated[bool, option("--again", "Measure rows again that have a result already.")] = False,
    verdicts: Annotated[
        bool, option("--verdicts", "Print whether the tree helps significantly, instead of the table.")
    ] = False,
) -> None:
    """Reproduce a paper's table, with the published beside the measured numbers.

    Runs the benchmarks of a checkout. Every row is written to benchmarks/results
    as soon as it is measured, and an interrupted run continues from there.
    """
    given = {"--data": _split_names("--data", data), "--methods": _split_names("--methods", methods)}
    root = find_checkout()
    papers = list_papers(root)
    if name is None:
        for flag, value in {**given, "--again": again or None, "--verdicts": verdicts or None}.items():
            if value is not None:
                raise ParameterError(f"{flag} needs the name of a paper, as in cladist bench hr.")
        terminal.answer(list(papers.values()))
        usage = {True: "cladist bench {name}", False: "published tables only"}
        rows = [[p["name"], p["paper"], p["methods"], usage[p["runs"]].format(**p)] for p in papers.values()]
        terminal.show(table(["name", "paper", "methods", "command"], rows))
        return
    if name not in papers or not papers[name]["runs"]:
        runnable = ", ".join(paper["name"] for paper in papers.values() if paper["runs"])
        raise ParameterError(f"There is no paper {name!r} to run; those that run: {runnable}.")
    run = load_runner(root, name, "verdicts" if verdicts else "run")
    try:
        with terminal.bars():
            outcome = run(data=given["--data"], methods=given["--methods"], again=again)
    except KeyboardInterrupt:
        terminal.note("The rows measured so far are kept; the same command continues from there.")
        raise
    terminal.answer(outcome.content)
    heading = "{paper} ({methods})".format(**papers[name])
    terminal.show(heading, table(outcome.header, outcome.rows), *outcome.remarks)
    for part in outcome.further:
        terminal.show("", part.title, table(part.header, part.rows), *part.remarks)
    results, here = root / "benchmarks" / "results", Path.cwd()
    terminal.note(f"The rows are in {results.relative_to(here) if results.is_relative_to(here) else results}")


def _split_names(flag: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ParameterError(f"{flag}: wanted names separated by commas, as in clef,news20; got {text!r}.")
    return names


# ------------------------------------------------------------------ the papers of a checkout


def find_checkout() -> Path:
    """Return the checkout that contains the package, or else the current folder if it is one."""
    for folder in (SOURCE_TREE, Path.cwd()):
        if (folder / PAPERS).is_dir():
            return folder
    raise DatasetError(
        f"There is no folder {PAPERS.as_posix()} here; benchmarks are not part of the installed package, so run this "
        "in a checkout of cladist."
    )


def list_papers(root: Path) -> dict[str, dict[str, Any]]:
    """Return the papers of a checkout by name; "runs" says whether there is a script to reproduce the tables."""
    papers = {}
    for path in sorted((root / PAPERS).glob("*/published.json")):
        try:
            content = json_format.loads(path.read_text(encoding="utf-8"))
            about = {"paper": str(content["paper"]), "methods": str(content["methods"])}
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{path}: not a file of published tables ({error!r}).") from error
        name = path.parent.name
        papers[name] = {"name": name, **about, "runs": path.with_name("run.py").is_file()}
    return papers


def load_runner(root: Path, name: str, script: str) -> Callable[..., Any]:
    """Import a script of a paper from its checkout and return its function `bench`."""
    path = root / PAPERS / name / f"{script}.py"
    if not path.is_file():
        raise ParameterError(f"There are no {script} for {name}: {PAPERS.as_posix()}/{name} has no {script}.py.")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    module = import_module(f"benchmarks.papers.{name}.{script}")
    if not Path(str(module.__file__)).samefile(path):
        raise DatasetError(
            f"{path} cannot be run: another folder called benchmarks hides it ({module.__file__}); remove that folder "
            "from PYTHONPATH."
        )
    bench: Callable[..., Any] = module.bench
    return bench
