"""Best labelling of 10,000 examples × 200 nodes on one core, beside the same dynamic program written in numpy.

Target: under 0.8 µs an example, scores given example-major or node-major. The time includes building the result,
a LabelMatrix. Twin and ours take turns, so that a busy machine slows both.
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
import numpy.typing as npt

from benchmarks.harness import print_rows, write_results
from cladist import LabelMatrix, Taxonomy
from cladist.decoders import best_labelling

EXAMPLES, NODES = 10_000, 200
TURNS = 25
TARGET = 0.8  # µs an example


def in_numpy(scores: npt.NDArray[Any], taxonomy: Taxonomy) -> LabelMatrix:
    """Make the same two passes over a node-major copy, each step one numpy call over all examples."""
    gain = np.array(scores.T, order="C")
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        if taxonomy.parent[v] >= 0:
            gain[taxonomy.parent[v]] += np.maximum(gain[v], 0)
    on = gain > 0
    for v in range(taxonomy.n_nodes):
        if taxonomy.parent[v] >= 0:
            on[v] &= on[taxonomy.parent[v]]
    rows, nodes = np.nonzero(on.T)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(scores)))])
    return LabelMatrix(indptr, nodes.astype(np.int32), taxonomy)


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) / EXAMPLES * 1e6


def measure(shape: str, taxonomy: Taxonomy, shift: float) -> list[dict[str, Any]]:
    """Time every layout and type; `shift` lowers the scores, so that fewer nodes are on."""
    rows = []
    base = np.random.default_rng(0).standard_normal((EXAMPLES, NODES)) - shift
    for dtype in (np.float64, np.float32):
        scores = base.astype(dtype)
        twin = in_numpy(scores, taxonomy)
        for layout, values in (("example-major", scores), ("node-major", np.ascontiguousarray(scores.T))):
            node_major = layout == "node-major"
            given = values.T if node_major else values
            assert best_labelling(values, taxonomy, node_major=node_major) == twin
            ours, numpys = [], []
            for _ in range(TURNS):
                ours.append(timed(lambda v=values, m=node_major: best_labelling(v, taxonomy, node_major=m)))
                numpys.append(timed(lambda g=given: in_numpy(g, taxonomy)))
            rows.append(
                {
                    "tree": shape,
                    "type": np.dtype(dtype).name,
                    "layout": layout,
                    "nodes on": len(twin.indices) / EXAMPLES,
                    "µs min": min(ours),
                    "µs median": statistics.median(ours),
                    "numpy µs min": min(numpys),
                    "numpy µs median": statistics.median(numpys),
                    "ratio": min(numpys) / min(ours),
                    "target met": min(ours) < TARGET,
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
        "labelling",
        rows,
        data=f"{EXAMPLES:,} examples × {NODES} nodes, normal scores; times are µs an example, one thread",
        peer="the same dynamic program in numpy",
        target_us=TARGET,
    )


if __name__ == "__main__":
    main()
