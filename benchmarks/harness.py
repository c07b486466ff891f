"""What every benchmark shares: the machine's size, peak memory, the choice of C, and results written by machine."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import in_new_process
from cladist.files import written
from cladist.versions import versions

__all__ = [
    "Chosen",
    "Outcome",
    "best_of",
    "choose_C",
    "circumstances",
    "command",
    "in_new_process",
    "machine",
    "peak_memory",
    "print_rows",
    "write_results",
]

RESULTS = Path(__file__).parent / "results"

# ---------------------------------------------------------------- results


def machine() -> dict[str, Any]:
    """Return the size of the machine, not its name."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages * page / 2**30, 1),
        "architecture": platform.machine(),
    }


def command() -> str:
    """Return how this process was called, without the folders of this machine."""
    program = Path(sys.argv[0]).absolute()
    root = Path(__file__).absolute().parent.parent
    if program.name == "cladist" or program.parts[-2:] == ("cli", "__main__.py"):
        called = ["cladist"]
    else:
        called = ["python", str(program.relative_to(root) if program.is_relative_to(root) else program.name)]
    return " ".join([*called, *sys.argv[1:]])


def circumstances() -> dict[str, Any]:
    """Return the command, the date, the machine's size and the versions of what was run."""
    return {
        "command": command(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {k: v for k, v in versions().items() if k != "platform"},
    }


def write_results(name: str, rows: list[dict[str, Any]], *, quiet: bool = False, **facts: Any) -> dict[str, Any]:
    """Write a benchmark's rows with the command, the data and the machine's size beside them; return all of it."""
    RESULTS.mkdir(exist_ok=True)
    content = {**circumstances(), **facts, "rows": rows}
    path = RESULTS / f"{name}.json"
    with written(path) as file:  # whole or not at all, so that an interruption cannot spoil what is there
        file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    if not quiet:
        print(f"\nwritten: {path.relative_to(RESULTS.parent.parent)}")
    return content


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print rows as an aligned table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_shown(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[k]) for line in [columns, *cells]) for k in range(len(columns))]
    for line in [columns, ["-" * width for width in widths], *cells]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Outcome(NamedTuple):
    """What the runner of a paper hands to ``cladist bench``: a table in words, remarks on it, and all as values."""

    header: list[str]
    rows: list[list[str]]
    remarks: list[str]
    content: dict[str, Any]


# ---------------------------------------------------------------- measuring


def best_of(times: int, work: Callable[[], Any]) -> float:
    """Return the shortest of several runs in seconds: the one the rest of the machine disturbed least."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Chosen(NamedTuple):
    """The C that scored best, and the mean score of each."""

    C: float
    scores: dict[float, float]


def choose_C(  # noqa: N802 - C is the papers' letter
    make: Callable[[float], Any],
    X: Any,
    y: Any,
    Cs: Iterable[float],
    *,
    score: Callable[[Any, Any], float] | None = None,
    folds: int = 3,
    random_state: int = 0,
) -> Chosen:
    """Choose C by cross-validation on these rows; of several that score best, the smallest.

    Values are tried from small to large until two in a row gain nothing, once the score has risen by a standard error:
    the rule of ``C="cv"`` in cladist. Large values cost most.

    Parameters
    ----------
    make : callable
        C → unfitted estimator.
    X, y : training rows and their labels, in any form that has rows
    Cs : iterable of float
    score : callable, optional
        ``score(y_true, y_pred)``, the larger the better; None: the share of labels that are right.
    folds, random_state : int
        Rows are shuffled once; every C sees the same folds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> X, y = np.array([[0.0], [1.0]] * 9), np.array(["no", "yes"] * 9)
    >>> choose_C(lambda C: LinearSVC(C=C), X, y, [0.1, 1, 10])
    Chosen(C=0.1, scores={0.1: 1.0, 1: 1.0, 10: 1.0})
    """
    # Imported here: other benchmarks measure what starts without these.
    import numpy as np
    from sklearn.model_selection import KFold

    from cladist import progress
    from cladist.datasets.rows import length, taken
    from cladist.learners.choosing import is_past

    judge = _share_right if score is None else score
    parts = list(KFold(folds, shuffle=True, random_state=random_state).split(np.empty(length(X))))
    ascending = sorted(Cs)
    found: dict[float, float] = {}
    tried: list[dict[str, float]] = []
    with progress.task("Choosing C", total=len(ascending) * folds) as running:
        for C in ascending:
            scores = []
            for train, test in parts:
                model = make(C).fit(taken(X, train), taken(y, train))
                scores.append(float(judge(taken(y, test), model.predict(taken(X, test)))))
                running.advance()
            found[C] = float(np.mean(scores))
            error = float(np.std(scores, ddof=1) / np.sqrt(folds))
            tried.append({"C": C, "score": found[C], "standard_error": error})
            if is_past(tried):
                break
    return Chosen(max(found, key=lambda C: (found[C], -C)), found)


def _share_right(y_true: Any, y_pred: Any) -> float:
    right = [true == pred for true, pred in zip(y_true, y_pred, strict=True)]
    return float(sum(right) / len(right))
