"""The papers whose tables a checkout can reproduce: where they lie, what they are, and what runs them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from cladist.errors import DatasetError, ParameterError

PAPERS = Path("benchmarks", "papers")
SOURCE_TREE = Path(__file__).absolute().parents[3]  # the checkout, where the package runs from one

Runner = Callable[..., Any]


@dataclass(frozen=True)
class Paper:
    """One paper: the folder that has its published tables, and whether there is a runner beside them."""

    name: str
    paper: str
    methods: str
    runs: bool


def checkout() -> Path:
    """Return the checkout whose benchmarks are run: that of the package, or else the current folder.

    Benchmarks are no part of an installed package.
    """
    for folder in (SOURCE_TREE, Path.cwd()):
        if (folder / PAPERS).is_dir():
            return folder
    raise DatasetError(
        f"There is no folder {PAPERS.as_posix()} here; benchmarks do not come with the installed package, so run this "
        "in a checkout of cladist."
    )


def papers(root: Path) -> list[Paper]:
    """Return the papers of a checkout, by name."""
    return [_paper(path) for path in sorted((root / PAPERS).glob("*/published.json"))]


def _paper(path: Path) -> Paper:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        about = str(content["paper"]), str(content["methods"])
    except (ValueError, KeyError, TypeError) as problem:
        raise DatasetError(f"{path}: not a file of published tables ({problem!r}).") from problem
    return Paper(path.parent.name, *about, runs=path.with_name("run.py").is_file())


def find(root: Path, name: str) -> Paper:
    """Return the paper with this name; one that cannot be run is refused."""
    known = papers(root)
    for paper in known:
        if paper.name == name and paper.runs:
            return paper
    running = ", ".join(paper.name for paper in known if paper.runs)
    if any(paper.name == name for paper in known):
        raise ParameterError(
            f"{PAPERS.as_posix()}/{name} has published tables but nothing to run yet; those that run: {running}."
        )
    raise ParameterError(f"There is no paper {name!r}; those that run: {running}.")


def runner(root: Path, name: str, script: str = "run") -> Runner:
    """Import a script of a paper from its checkout and return the function that measures its rows."""
    wanted = root / PAPERS / name / f"{script}.py"
    if not wanted.is_file():
        raise ParameterError(f"There are no {script} for {name}: {PAPERS.as_posix()}/{name} has no {script}.py.")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    module = import_module(f"benchmarks.papers.{name}.{script}")
    if not Path(str(module.__file__)).samefile(wanted):
        raise DatasetError(
            f"{wanted} cannot be run: another folder called benchmarks hides it ({module.__file__}); take that folder "
            "out of PYTHONPATH."
        )
    bench: Runner = module.bench
    return bench
