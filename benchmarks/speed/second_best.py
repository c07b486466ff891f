"""Second-best labelling of 10,000 examples × 200 nodes on one core, beside the best one and margins of given labels.

Target: at most 0.5 µs an example for the second-best labellings as a LabelMatrix, with the best one's lead; the margins
of y against the runner-up, all that a perceptron's round needs, are a part of that. All take turns. Times are what the
processor spent on this process, so that others on a busy machine do not count.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from benchmarks.harness import print_rows, write_results
from benchmarks.speed.labelling import EXAMPLES, NODES, TURNS
from cladist import Taxonomy
from cladist.decoders import best_labelling, second_best_labelling
from cladist.solvers.structured.perceptron import ScoreCache

TARGET = 0.5  # µs an example


def timed(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) / EXAMPLES * 1e6


def measure(shape: str, taxonomy: Taxonomy, shift: float) -> list[dict[str, Any]]:
    """Time every layout and type; `shift` lowers the scores, so that fewer nodes are on."""
    rows = []
    base = np.random.default_rng(0).standard_normal((EXAMPLES, NODES)) - shift
    for dtype in (np.float64, np.float32):
        for layout in ("example-major", "node-major"):
            scores = base.astype(dtype)
            turned = np.ascontiguousarray(scores.T)
            node_major = layout == "node-major"
            values = turned if node_major else scores
            labels = best_labelling(values, taxonomy, node_major=node_major)
            board = ScoreCache(labels, turned)  # type: ignore[arg-type]
            work = {
                "best µs": lambda v=values, m=node_major: best_labelling(v, taxonomy, node_major=m),
                "second µs": lambda v=values, m=node_major: second_best_labelling(v, taxonomy, node_major=m),
                "margins µs": lambda b=board: b.margins_of(b.scores),
            }
            for call in work.values():
                call()  # compiled, and warm
            times: dict[str, list[float]] = {name: [] for name in work}
            for _ in range(TURNS):
                for name, call in work.items():
                    times[name].append(timed(call))
            least = {name: min(found) for name, found in times.items()}
            rows.append(
                {
                    "tree": shape,
                    "type": np.dtype(dtype).name,
                    "layout": layout,
                    **least,
                    "second µs median": statistics.median(times["second µs"]),
                    "second / best": least["second µs"] / least["best µs"],
                    "target met": least["second µs"] <= TARGET,
                }
            )
    return rows


def main() -> None:
    ternary = Taxonomy.from_parents({v: (v - 1) // 3 if v else None for v in range(NODES)})
    star = Taxonomy.from_parents(dict.fromkeys(range(NODES)))
    rows = [
        *measure("ternary", ternary, 0.0),
        *measure("ternary, sparse", ternary, 1.0),
        *measure("star", star, 0.0),
    ]
    print_rows(rows)
    write_results(
        "second-best",
        rows,
        data=f"{EXAMPLES:,} examples × {NODES} nodes, normal scores; times are µs an example, one thread, the least of "
        f"{TURNS}",
        target_us=TARGET,
    )


if __name__ == "__main__":
    main()
