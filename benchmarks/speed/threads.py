"""FlatSVM with one thread and with two, turn by turn in one process: wall seconds, and how many times faster two are.

    python benchmarks/speed/threads.py --turns 9

20,000 rows, 50,000 features, about 80 nonzeros a row, 1,000 classes, C = 1, as in `benchmarks/speed/peers`. In every
turn each problem is solved with one thread and right after with two, so that a slow minute hits both. "ratio" is that
of the medians, "of the shortest" that of the shortest times, "CPU" how much more CPU time two threads take in the
median: what the cores cost each other.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import print_rows, write_results
from cladist import FlatSVM
from cladist.datasets import Dataset, make_topics

SIZE: dict[str, Any] = {"n_samples": 20_000, "n_features": 50_000, "random_state": 0}
THREADS = (1, 2)


def timed(fit: Callable[[int], Any], threads: int) -> tuple[float, float]:
    """Return wall and CPU seconds of one fit."""
    wall, cpu = time.perf_counter(), time.process_time()
    fit(threads)
    return time.perf_counter() - wall, time.process_time() - cpu


def by_turns(fit: Callable[[int], Any], turns: int) -> dict[str, Any]:
    """Fit with one thread and with two by turns; return the medians, every turn's seconds, and the ratios."""
    fit(2)  # loads what is compiled
    found = [[timed(fit, threads) for threads in THREADS] for _ in range(turns)]
    (one, cpu_one), (two, cpu_two) = (zip(*(turn[k] for turn in found), strict=True) for k in range(2))
    return {
        "one thread s": statistics.median(one),
        "two threads s": statistics.median(two),
        "ratio": statistics.median(one) / statistics.median(two),
        "of the shortest": min(one) / min(two),
        "CPU": statistics.median(cpu_two) / statistics.median(cpu_one),
        "turns": {"one thread s": list(one), "two threads s": list(two)},
    }


def measured(data: Dataset, loss: str, intercept: bool, turns: int) -> dict[str, Any]:
    """Return one row: what was solved, and how long it took."""

    def fit(threads: int) -> Any:
        model = FlatSVM(data.taxonomy, loss=loss, fit_intercept=intercept, n_jobs=threads)
        return model.fit(data.X, data.y)

    return {"loss": loss, "intercept": intercept, **by_turns(fit, turns)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9)
    turns = max(1, parser.parse_args().turns)
    data = make_topics(**SIZE)
    rows = [measured(data, loss, b, turns) for loss in ("hinge", "squared_hinge") for b in (False, True)]
    print_rows([{key: value for key, value in row.items() if key != "turns"} for row in rows])
    write_results("threads", rows, data={"make_topics": SIZE, "classes": len(set(data.y))}, C=1.0)


if __name__ == "__main__":
    main()
