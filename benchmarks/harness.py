"""What every benchmark shares: the machine's size, peak memory, and results written by machine."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cladist.versions import versions

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """Return the size of the machine, not its name."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages * page / 2**30, 1),
        "architecture": platform.machine(),
    }


def write_results(name: str, rows: list[dict[str, Any]], **facts: Any) -> None:
    """Write a benchmark's rows with the command, the data and the machine's size beside them."""
    RESULTS.mkdir(exist_ok=True)
    command = " ".join(["python", os.path.relpath(sys.argv[0], Path(__file__).parent.parent), *sys.argv[1:]])
    content = {
        "command": command,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {k: v for k, v in versions().items() if k != "platform"},
        **facts,
        "rows": rows,
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\nwritten: {path.relative_to(RESULTS.parent.parent)}")


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print rows as an aligned table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_shown(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[k]) for line in [columns, *cells]) for k in range(len(columns))]
    for line in [columns, ["-" * width for width in widths], *cells]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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


def in_new_process(function: str, *arguments: Any) -> Any:
    """Call ``module:function`` in a process of its own and return its JSON result; memory peaks stay apart."""
    module, _, name = function.partition(":")
    root = Path(__file__).parent.parent
    code = (
        "import json, sys; sys.path[:0] = [sys.argv[1]]; from importlib import import_module; "
        f"print('\\n' + json.dumps(import_module({module!r}).{name}(*json.loads(sys.argv[2]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root), json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
