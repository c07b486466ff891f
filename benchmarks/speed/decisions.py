"""Rules on 10,000 rows × 10,000 leaves, and covers of at most three nodes beside an integer program.

Rows are lists of the 50 most probable leaves, or dense. The integer program (scipy's milp) solves the same rows.

Targets: the node of least expected tree distance in under 1 s from lists and under 10 s from dense rows on two cores,
and covers at least 1,000 times faster than the integer program, with the same sizes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from scipy import optimize, sparse

from benchmarks.harness import best_of, peak_memory, print_rows, write_results
from cladist import Taxonomy
from cladist.decisions import Confidence, Conformal, MinimumRisk, RiskControl
from cladist.labels import LabelMatrix, TopK

N_ROWS, BRANCHING, K = 10_000, (10, 10, 10, 10), 50
SMALL, N_SMALL, N_PROGRAMS, REPEATS = (3, 3, 3), 10_000, 10_000, 10
LEVEL = 0.9


def balanced(branching: tuple[int, ...]) -> Taxonomy:
    """Return a forest in which every node of a level has the same number of children."""
    paths = [""]
    for n_children in branching:
        paths = [f"{path}/{c}".lstrip("/") for path in paths for c in range(n_children)]
    return Taxonomy.from_paths(paths)


def draw_rows(random: Any, n_rows: int, n_leaves: int, k: int) -> TopK:
    """Return k probable leaves per row, most of them close to each other in the tree."""
    centre = random.integers(0, n_leaves, (n_rows, 1))
    spread = (random.pareto(0.7, (n_rows, 2 * k)) * random.choice([-1, 1], (n_rows, 2 * k))).astype(np.int64)
    columns = np.empty((n_rows, k), np.int64)
    for i, near in enumerate((centre + spread) % n_leaves):
        distinct = np.unique(near)
        others = random.choice(n_leaves, 2 * k, replace=False)
        columns[i] = np.concatenate([distinct, np.setdiff1d(others, distinct)])[:k]
    values = -np.sort(-random.dirichlet(np.full(k, 0.1), n_rows), axis=1)
    return TopK(columns, values)


def smallest_by_program(masses: Any, sizes: Any, on_path: Any, r: int, level: float) -> float:
    """Return the least number of leaves below at most r disjoint nodes whose masses exceed a level."""
    constraints = [
        optimize.LinearConstraint(sparse.csr_array(masses[None]), lb=level + 1e-9),
        optimize.LinearConstraint(sparse.csr_array(np.ones((1, len(sizes)))), ub=r),
        optimize.LinearConstraint(on_path, ub=1),
    ]
    found = optimize.milp(sizes, constraints=constraints, integrality=np.ones(len(sizes)), bounds=(0, 1))
    return float(round(found.fun)) if found.success else float("inf")


def compare_with_program() -> dict[str, Any]:
    """Compare whole answers with the integer program on small trees, and the CPU seconds of both, as means."""
    random, taxonomy = np.random.default_rng(1), balanced(SMALL)
    n_leaves = len(taxonomy.leaves)
    top = TopK.of(random.dirichlet(np.full(n_leaves, 0.2), N_SMALL), n_leaves)
    y = [taxonomy.names[taxonomy.leaves[c]] for c in top.columns[:, 0]]
    rule = Conformal(kind="nodes", r=3).fit(top, y, taxonomy)
    rule.threshold_ = LEVEL
    sets = rule.answer(top).nodes
    started = time.process_time()
    for _ in range(REPEATS):
        rule.answer(top)
    seconds = (time.process_time() - started) / (REPEATS * N_SMALL)
    sizes = rule._tree().n_classes_below.astype(float)
    on_path = sparse.csr_array(LabelMatrix.from_nodes(taxonomy.leaves, taxonomy).to_indicator().astype(float))
    P = np.zeros((N_SMALL, n_leaves))
    np.put_along_axis(P, top.columns, top.probabilities, axis=1)
    masses = P @ on_path
    indptr, nodes = sets.frontier
    started, differences = time.process_time(), 0
    for i in range(N_PROGRAMS):
        ours = sizes[nodes[indptr[i] : indptr[i + 1]]].sum()
        differences += ours != smallest_by_program(masses[i], sizes, on_path, 3, LEVEL)
    program = (time.process_time() - started) / N_PROGRAMS
    return {
        "rule": f"at most 3 nodes, {n_leaves} leaves, beside an integer program",
        "CPU µs a row": seconds * 1e6,
        "CPU µs a row, program": program * 1e6,
        "ratio": program / seconds,
        "rows compared": N_PROGRAMS,
        "other sizes": int(differences),
    }


def main() -> None:
    random, taxonomy = np.random.default_rng(0), balanced(BRANCHING)
    n_leaves = len(taxonomy.leaves)
    top = draw_rows(random, N_ROWS, n_leaves, K)
    names = [taxonomy.names[taxonomy.leaves[c]] for c in top.columns[:, 0]]
    rules: dict[str, Any] = {
        "least tree distance, nodes": MinimumRisk("tree-distance"),
        "least tree distance, leaves": MinimumRisk("tree-distance", over="leaves"),
        "least H-loss": MinimumRisk("h-loss"),
        "greatest F1": MinimumRisk("hierarchical-f1"),
        "confidence": Confidence(LEVEL),
        "risk control": RiskControl(at_most=0.3),
        "smallest node": Conformal(kind="node"),
        "at most 3 nodes": Conformal(kind="nodes", r=3),
    }
    rows = []
    for name, rule in rules.items():
        rule.fit(top, names, taxonomy)
        decide: Callable[[], Any] = lambda rule=rule: rule.answer(top)  # noqa: E731
        decide()
        rows.append({"rule": name, "from": f"lists of {K}", "seconds": best_of(3, decide)})
    P = np.full((N_ROWS, n_leaves), 1e-6 / n_leaves)
    np.put_along_axis(P, top.columns, top.probabilities * (1 - 1e-6), axis=1)
    for name in ("least tree distance, nodes", "least tree distance, leaves", "confidence"):
        rule = rules[name]
        rows.append({"rule": name, "from": "dense rows", "seconds": best_of(2, lambda rule=rule: rule.answer(P))})
    program = compare_with_program()
    print_rows(rows)
    print_rows([program])
    write_results(
        "decisions-speed",
        [*rows, program],
        data=f"{N_ROWS:,} rows × {n_leaves:,} leaves, one thread; covers: {N_SMALL:,} rows",
        peak_mib=round(peak_memory() / 2**20),
    )


if __name__ == "__main__":
    main()
