"""Rows of a paper's table, measured one after the other and kept: a run that was stopped goes on where it was.

A row is a dict with `data`, `method`, `published`, `settings`, a `status` and, if that is "measured", what came out, by
which sources of the package and under which circumstances. Every row is on disk before the next one begins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cladist
from benchmarks import harness
from cladist import progress
from cladist.errors import DatasetError, ParameterError

Row = dict[str, Any]
MEASURED, NO_DATA, NO_METHOD = "measured", "data not found", "method not there yet"


def run_rows(
    name: str,
    plan: list[Row],
    measure: Callable[[Row], Row],
    *,
    order: list[tuple[str, str]],
    again: bool = False,
    **facts: Any,
) -> tuple[list[Row], dict[str, Any]]:
    """Measure the rows of a plan that ``results/<name>.json`` does not have yet; return the plan's rows and the file.

    Parameters
    ----------
    name : str
        Of the file.
    plan : list of rows
        With `data`, `method`, `published` and `settings`; one that cannot be measured has its `status` already. A row
        that is there with the same settings is kept; a setting that is None in the plan may be anything there.
    measure : callable
        Row of the plan → what to add to it; at least `status`.
    order : list of (data, method)
        How the file's rows are sorted; others come last.
    again : bool
        Whether to measure rows anew that are there.
    **facts
        Written beside the rows.
    """
    content = stored(name)
    kept = _by_key(content)
    found = []
    for planned in plan:
        old = kept.get(_key(planned))
        if old is not None and not again and is_still_good(old, planned):
            row = old | {"published": planned["published"]}
        elif "status" in planned:
            row = _plain(planned)
        else:
            with progress.task(f"{planned['data']}, {planned['method']}"):
                row = _plain(planned | measure(planned))
            if row["status"] == MEASURED:
                row |= {"sources": sources(), **harness.circumstances()}
        found.append(row)
        # What was measured where the data were is worth more than the news that here they are not.
        if row != old and (old is None or row["status"] == MEASURED or old["status"] != MEASURED):
            kept = _by_key(stored(name)) | {_key(row): row}  # another run may have written its rows meanwhile
            content = harness.write_results(name, _sorted(kept, order), quiet=True, **facts)
    return found, content


def run_pairs(
    name: str,
    pairs: list[tuple[str, str]],
    planned: Callable[[str, str], Row],
    measure: Callable[[str, str], Row],
    **options: Any,
) -> tuple[list[Row], dict[str, Any]]:
    """Plan and measure a row for each data set and method, named as on the command line; see `run_rows`."""
    plan = [planned(*pair) for pair in pairs]
    pair_of = {_key(row): pair for row, pair in zip(plan, pairs, strict=True)}
    return run_rows(name, plan, lambda row: measure(*pair_of[_key(row)]), **options)


def stored(name: str) -> dict[str, Any]:
    """Return what a file of results has; nothing if there is none."""
    path = harness.RESULTS / f"{name}.json"
    if not path.exists():
        return {}
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for row in content["rows"]:
            _key(row), row["status"], row["settings"]
    except (ValueError, KeyError, TypeError) as problem:
        shown = path.relative_to(harness.RESULTS.parent.parent)
        raise DatasetError(f"{shown}: not a file of results ({problem!r}); remove it or put it right.") from problem
    return content


def known(paper: str, what: str, names: list[str] | None, there: Iterable[str]) -> list[str]:
    """Return the names asked for, all of them if None; one that is not known is refused."""
    if names is None:
        return list(there)
    for name in names:
        if name not in there:
            raise ParameterError(f"bench {paper}: there is no {what} {name!r}; there are {', '.join(there)}.")
    return list(dict.fromkeys(names))


def known_pairs(
    paper: str, data: list[str] | None, methods: list[str] | None, there: tuple[Iterable[str], Iterable[str]]
) -> list[tuple[str, str]]:
    """Return every data set asked for with every method, of those that are there."""
    data_sets = known(paper, "data set", data, there[0])
    return [(d, m) for d in data_sets for m in known(paper, "method", methods, there[1])]


def sources() -> str:
    """Return a short hash of the package's sources: rows measured with others may differ."""
    digest = hashlib.sha256()
    folder = Path(cladist.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def is_still_good(old: Row, planned: Row) -> bool:
    """Tell whether a row was measured with the settings of the plan."""
    settings = {name: value for name, value in _plain(planned["settings"]).items() if value is not None}
    return old["status"] == MEASURED and all(old["settings"].get(name) == value for name, value in settings.items())


def _sorted(rows: dict[tuple[str, str], Row], order: list[tuple[str, str]]) -> list[Row]:
    place = {key: k for k, key in enumerate(order)}
    return [rows[key] for key in sorted(rows, key=lambda key: place.get(key, len(place)))]


def _by_key(content: dict[str, Any]) -> dict[tuple[str, str], Row]:
    return {_key(row): row for row in content.get("rows", [])}


def _key(row: Row) -> tuple[str, str]:
    return row["data"], row["method"]


def _plain(content: Any) -> Any:
    """Return values as a file gives them back, so that those measured and those kept compare equal."""
    return json.loads(json.dumps(content))
