"""What every benchmark shares: the machine's size, peak memory, and results written by machine."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.choosing import Chosen, choose_C, walks_path
from benchmarks.processes import in_new_process
from cladist.files import open_for_writing
from cladist.versions import versions

__all__ = [
    "Chosen",
    "best_of",
    "choose_C",
    "circumstances",
    "command",
    "in_new_process",
    "machine",
    "peak_memory",
    "print_rows",
    "walks_path",
    "write_results",
]

RESULTS = Path(__file__).parent / "results"

# ---------------------------------------------------------------- results


def machine() -> dict[str, Any]:
    """Return the size of the machine, not its name; of its cores, those that this process may use."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
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
    # Where a machine keeps its files is nobody's business.
    given = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return " ".join([*called, *given])


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
    with open_for_writing(path) as file:  # whole or not at all, so that an interruption cannot spoil what is there
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
