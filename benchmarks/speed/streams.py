"""The online family on ICD-10-CM: rows a second, what H-RLS costs and stores, memory over a million rows.

Targets: in one call 10,000 rows a second for Hieron and 20,000 for H-PERC at category level, one call per row 3,000,
and at least 20 times river's softmax regression in the same run; H-RLS in dual form on 10,000 rows at block level at
most 3 times one dense Cholesky factorisation a node of the final size; SH-RLS stores at most 60 % of that at an
H-loss within 2 %, here and on the paper's label model; memory flat over a million rows. Each part runs in a process
of its own:
``python benchmarks/speed/streams.py [rates|rls|label_model|memory]``. Times are of the processor, which other programs
on the machine disturb least.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import in_new_process, print_rows, write_results

ROUNDS = 10_000
SINGLE_ROWS, RIVER_ROWS = 2000, 100
STREAM_ROWS, CHECKS = 1_000_000, 10
PAPER_RIDGE: dict[str, Any] = {"alpha": 1.0, "fit_intercept": False}


def shuffled(level: str, n_rows: int) -> Any:
    """Return rows and labels of the training part in a fixed random order, and the taxonomy."""
    import numpy as np

    from cladist.datasets import load_icd10cm

    data = load_icd10cm(level=level)  # type: ignore[arg-type]
    order = np.random.default_rng(0).permutation(data.X_train.shape[0])[:n_rows]
    return data.X_train[order], data.y_train[order], data.taxonomy


def timed(work: Any) -> float:
    """Return the processor's seconds."""
    started = time.process_time()
    work()
    return time.process_time() - started


# ---------------------------------------------------------------- rows a second


def rates() -> list[dict[str, Any]]:
    """Measure rows a second of Hieron, H-PERC and river's softmax regression."""
    from cladist import HierarchicalPerceptron, Hieron

    X, y, taxonomy = shuffled("category", 40_000)
    rows: list[dict[str, Any]] = []
    for build in (Hieron, HierarchicalPerceptron):
        build(taxonomy).partial_fit(X[:10], y[:10])  # compiles, or loads what is compiled
        model = build(taxonomy)
        once = timed(lambda model=model: model.partial_fit(X, y))  # type: ignore[misc]
        pieces = [(X[[i]], y[i : i + 1]) for i in range(SINGLE_ROWS)]
        single = timed(lambda model=model, pieces=pieces: [model.partial_fit(*piece) for piece in pieces])  # type: ignore[misc]
        rows.append({"learner": build.__name__, "rows a second, one call": X.shape[0] / once,
                     "rows a second, a call a row": SINGLE_ROWS / single})  # fmt: skip
    rows.append({"learner": "river SoftmaxRegression", "rows a second, a call a row": _river_rate(X, y)})
    for row in rows[:-1]:
        row["times river, one call"] = row["rows a second, one call"] / rows[-1]["rows a second, a call a row"]
        row["times river, a call a row"] = row["rows a second, a call a row"] / rows[-1]["rows a second, a call a row"]
    return rows


def _river_rate(X: Any, y: Any) -> float:
    """Let river's softmax regression see every class once, then time further rows."""
    import numpy as np
    from river.linear_model import SoftmaxRegression

    def dictionary(i: int) -> dict[str, float]:
        row = X[[i]]
        return dict(zip(map(str, row.indices), row.data.tolist(), strict=True))

    model = SoftmaxRegression()
    _, first = np.unique(y, return_index=True)
    for i in first.tolist():
        model.learn_one(dictionary(i), y[i])
    given = [(dictionary(i), y[i]) for i in range(RIVER_ROWS)]
    return RIVER_ROWS / timed(lambda: [model.learn_one(*row) for row in given])


# ---------------------------------------------------------------- H-RLS


def rls() -> list[dict[str, Any]]:
    """Measure H-RLS in dual form against dense Cholesky factorisations, and what SH-RLS stores."""
    from cladist import HierarchicalRLS

    X, y, taxonomy = shuffled("block", ROUNDS)
    HierarchicalRLS(taxonomy, solver="dual", **PAPER_RIDGE).partial_fit(X[:300], y[:300])
    model = HierarchicalRLS(taxonomy, solver="dual", **PAPER_RIDGE)
    seconds = timed(lambda: model.partial_fit(X, y))
    stored = model.n_stored_
    del model.ridge_
    cholesky, shared = _cholesky_seconds(stored, taxonomy)
    sparse = HierarchicalRLS(taxonomy, solver="dual", **PAPER_RIDGE, sparse=True)
    sparse_seconds = timed(lambda: sparse.partial_fit(X, y))
    loss, sparse_loss = model.history_[-1]["objective"], sparse.history_[-1]["objective"]
    return [
        {"learner": "H-RLS, dual", "rows": ROUNDS, "seconds": seconds, "stored, all nodes": int(stored.sum()),
         "H-loss": loss, "a Cholesky a node, seconds": cholesky, "ratio": seconds / cholesky,
         "a Cholesky a family, seconds": shared},
        {"learner": "SH-RLS, c = 5", "rows": ROUNDS, "seconds": sparse_seconds,
         "stored, all nodes": int(sparse.n_stored_.sum()), "H-loss": sparse_loss,
         "stored, of H-RLS's": float(sparse.n_stored_.sum() / stored.sum()), "H-loss, of H-RLS's": sparse_loss / loss},
    ]  # fmt: skip


def label_model() -> list[dict[str, Any]]:
    """Measure what SH-RLS stores and loses where the paper's own label model makes the rows, over five draws."""
    from cladist import HierarchicalRLS
    from cladist.datasets import make_label_model

    rows = []
    for seed in range(5):
        data = make_label_model(n_samples=6_000, n_features=10, random_state=seed)
        full, few = (
            HierarchicalRLS(data.taxonomy, sparse=sparse, **PAPER_RIDGE).partial_fit(data.X, data.y)
            for sparse in (False, True)
        )
        losses = [model.history_[-1]["objective"] for model in (full, few)]
        rows.append(
            {"seed": seed, "rows": 6_000, "H-loss of H-RLS": losses[0], "H-loss of SH-RLS, c = 5": losses[1],
             "H-loss, of H-RLS's": losses[1] / losses[0],
             "stored, of H-RLS's": float(few.n_stored_.sum() / full.n_stored_.sum())}
        )  # fmt: skip
    return rows


def _cholesky_seconds(stored: Any, taxonomy: Any) -> tuple[float, float]:
    """Return what one dense factorisation of each node's final size costs, and one of each family's."""
    import numpy as np
    from scipy.linalg import cholesky
    from threadpoolctl import threadpool_limits

    of_size: dict[int, float] = {}
    with threadpool_limits(1, user_api="blas"):
        for size in np.unique(stored[stored > 0]).tolist():
            matrix = np.full((size, size), 0.01)
            matrix[np.diag_indices(size)] = 2.0
            work = lambda matrix=matrix: cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)  # noqa: E731
            of_size[size] = timed(work)
    families = {int(p): int(n) for p, n in zip(taxonomy.parent, stored, strict=True)}
    each = sum(of_size.get(int(n), 0.0) for n in stored)
    return each, sum(of_size.get(n, 0.0) for n in families.values())


# ---------------------------------------------------------------- memory


def memory(learner: str, n_rows: int) -> dict[str, Any]:
    """Learn so many rows, round and round, and note the resident memory on the way."""
    import numpy as np

    from cladist import HierarchicalPerceptron, HierarchicalRLS, Hieron

    kinds = {
        "Hieron": ("category", lambda t: Hieron(t)),
        "H-PERC": ("category", lambda t: HierarchicalPerceptron(t)),
        "SH-RLS, budget 30": ("chapter", lambda t: HierarchicalRLS(t, sparse=True, budget=30, **PAPER_RIDGE)),
    }
    level, build = kinds[learner]
    X, y, taxonomy = shuffled(level, 98_000)
    model, random, curve = build(taxonomy), np.random.default_rng(0), []
    seconds = 0.0
    for done in range(0, n_rows, 10_000):
        chosen = random.integers(0, X.shape[0], 10_000)
        rows, labels = X[chosen], y[chosen]
        seconds += timed(lambda rows=rows, labels=labels: model.partial_fit(rows, labels))  # type: ignore[misc]
        if (done + 10_000) % (n_rows // CHECKS) == 0:
            curve.append(round(_resident() / 2**20))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"learner": learner, "level": level, "rows": n_rows, "rows a second": n_rows / seconds,
            "resident MiB by tenths": " ".join(map(str, curve)), "last / third tenth": curve[-1] / curve[2],
            "peak MiB": peak}  # fmt: skip


def _resident() -> int:
    """Return the resident size of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main(*parts: str) -> None:
    """Run the parts asked for, all by default, and write each to a file of its own."""
    wanted = parts or ("rates", "rls", "label_model", "memory")
    for part in wanted:
        if part == "memory":
            names = ("Hieron", "H-PERC", "SH-RLS, budget 30")
            rows = [in_new_process("benchmarks.speed.streams:memory", name, STREAM_ROWS) for name in names]
        else:
            rows = in_new_process(f"benchmarks.speed.streams:{part}")
        print_rows(rows)
        data = "make_label_model" if part == "label_model" else "ICD-10-CM, training part, in random order"
        write_results(f"streams-{part.replace('_', '-')}", rows, data=data, times="of the processor")


if __name__ == "__main__":
    main(*sys.argv[1:])
