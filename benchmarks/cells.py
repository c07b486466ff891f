"""The store of results: one file for each cell, ``results/cells/<study>/<data>--<method>.json``.

A cell is what one method did on one data set by the protocol of one study: `data` and `method` as named on the command
line, `protocol` (the version of the study's protocol), `settings`, a `status` and, if that is "measured", the figures;
beside them the command, the date, the versions and the machine's size. What papers printed is not stored here but in
their ``published.json``. A figure that several tables show is in one cell, which they all read.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import cladist
from benchmarks import harness
from cladist.errors import DatasetError
from cladist.files import open_for_writing

Cell = dict[str, Any]
Pair = tuple[str, str]  # data set and method
MEASURED, STOPPED, REFUSED = "measured", "stopped at its limit", "does not apply"
NO_DATA, NO_METHOD, NOT_YET = "data not found", "method not there yet", "not measured yet"


def place(study: str, data: str, method: str) -> Path:
    """Return the file of a cell.

    Examples
    --------
    >>> place("comparison", "clef", "hr-svm").relative_to(harness.RESULTS).as_posix()
    'cells/comparison/clef--hr-svm.json'
    """
    return harness.RESULTS / "cells" / study / f"{data}--{method}.json"


def read(study: str) -> dict[Pair, Cell]:
    """Return the cells of a study by data set and method."""
    found = {}
    for path in sorted(place(study, "*", "*").parent.glob("*--*.json")):
        try:
            cell: Cell = json.loads(path.read_text(encoding="utf-8"))
            pair = cell["data"], cell["method"]
            cell["status"], cell["settings"], cell["protocol"]
        except (ValueError, KeyError, TypeError) as problem:
            shown = path.relative_to(harness.RESULTS.parent.parent)
            raise DatasetError(f"{shown}: not a file of results ({problem!r}); remove it or put it right.") from problem
        found[pair] = cell
    return found


def measured(study: str) -> dict[Pair, Cell]:
    """Return the cells of a study that have figures."""
    return {pair: cell for pair, cell in read(study).items() if cell["status"] == MEASURED}


def write(study: str, cell: Cell) -> Cell:
    """Write a cell, whole or not at all, and return it as the file gives it back."""
    path = place(study, cell["data"], cell["method"])
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(cell, indent=1, ensure_ascii=False) + "\n"
    with open_for_writing(path) as file:
        file.write(text.encode())
    plain: Cell = json.loads(text)
    return plain


def is_current(cell: Cell | None, settings: dict[str, Any], version: int, limit: float | None = None) -> bool:
    """Tell whether a cell answers what is asked: the same protocol and settings; None in `settings` may be anything.

    A cell that was stopped does if it had as much time as `limit`, in seconds; None: no limit.
    """
    if cell is None or cell["protocol"] != version:
        return False
    wanted = {name: value for name, value in plain(settings).items() if value is not None}
    if any(cell["settings"].get(name) != value for name, value in wanted.items()):
        return False
    return cell["status"] != STOPPED or (limit is not None and cell["limit_s"] >= limit)


def plain(content: Any) -> Any:
    """Return values as a file gives them back, so that those planned and those stored compare equal."""
    return json.loads(json.dumps(content))


def sources() -> str:
    """Return a short hash of the package's sources; it says what measured a cell and asks for nothing."""
    digest = hashlib.sha256()
    folder = Path(cladist.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
