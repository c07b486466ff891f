"""Predicting: models opened mapped, and the ways to the best five side by side, on one thread."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import in_new_process, peak_memory, print_rows, write_results
from benchmarks.speed.many_classes.shapes import MEANS, PRUNE, TOL, C, shape_of
from benchmarks.speed.recursive_studies.measuring import Row, say
from benchmarks.speed.recursive_studies.shapes import data_of
from cladist import load
from cladist.linear_model.node_differences import DifferenceWeights

BEST, BEAMS, TURNS = 5, (1, 2, 5, 10, 20), 3
ROWS, SCIPY_ROWS = 2_000, 200  # scipy's product of all rows would take minutes

Way = Callable[[Any], Any]


def measure(n_leaves: int, folder: Path) -> None:
    """Measure every model in the folder, each in a process of its own, and write the results."""
    found = {name: folder / f"{name}.json" for name in (*TOL, MEANS) if (folder / f"{name}.json").exists()}
    trained = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items()}
    function = "benchmarks.speed.many_classes.measuring:measured"
    rows = [in_new_process(function, name, n_leaves, str(folder)) for name in trained]
    for row in rows:
        print_rows([{"measured": key, row["learner"]: value} for key, value in row.items() if key != "ways"])
        print()
        print_rows(row["ways"])
        print()
    intercepts = {name: name == "FlatSVM" for name in trained}
    setting = {"C": C, "prune": PRUNE, "fit_intercept": intercepts, "tol": TOL, "best": BEST, "turns": TURNS}
    write_results(
        f"many-classes-{n_leaves}",
        rows,
        data=shape_of(n_leaves).described(),
        setting=setting,
        training={name: {**content, "command": _called(name, n_leaves)} for name, content in trained.items()},
    )


def _called(name: str, n_leaves: int) -> str:
    return f"python benchmarks/speed/many_classes/run.py --leaves {n_leaves} --folder FOLDER --train {name}"


def measured(name: str, n_leaves: int, folder: str) -> Row:
    """Open a model, and ask it in all ways, turn by turn; the shortest time of each counts."""
    data = data_of(shape_of(n_leaves))
    model_folder = Path(folder) / name
    seconds = []
    for _ in range(TURNS):
        started = time.perf_counter()
        model = load(model_folder, mmap=True)
        seconds.append(time.perf_counter() - started)
    X, y = sparse.csr_array(data.X_test[:ROWS]), data.y_test[:ROWS]
    exact = model.predict_top_k(X, BEST)[0]
    row: Row = {
        "learner": name,
        "weights": _count(model),
        "model MB": sum(file.stat().st_size for file in model_folder.iterdir()) / 1e6,
        "load mmap s": min(seconds),
        "accuracy": float(np.mean(exact[:, 0] == y)),
        f"among {BEST}": float(np.mean((exact == y[:, None]).any(axis=1))),
        "ways": _ways(model, X, exact),
    }
    row["peak MB"] = peak_memory() / 1e6
    return row


def _count(model: Any) -> int:
    weights = model.weights_
    return int(weights.n_weights if isinstance(weights, DifferenceWeights) else len(weights.index[3]))


def _ways(model: Any, X: Any, exact: Any) -> list[Row]:
    product = ScipyProduct(model)
    walks = BEAMS if isinstance(model.weights_, DifferenceWeights) else ()
    ways: dict[str, tuple[Way, int]] = {
        "index": (lambda rows: model.predict_top_k(rows, BEST)[0], ROWS),
        **{f"beam {beam}": (_walk(model, beam), ROWS) for beam in walks},
        "scipy's product, best five": (product.best, SCIPY_ROWS),
        "scipy's product alone": (product.products, SCIPY_ROWS),
    }
    shortest = dict.fromkeys(ways, np.inf)
    for turn in range(TURNS):
        for name, (way, n_rows) in ways.items():
            rows = X[:n_rows]
            way(rows[:2])
            started = time.thread_time()
            way(rows)
            shortest[name] = min(shortest[name], (time.thread_time() - started) / rows.shape[0])
            say(f"turn {turn + 1}, {name}: {1 / shortest[name]:,.0f} rows a second")
    found = []
    for name, (way, n_rows) in ways.items():
        row: Row = {
            "way": name,
            "rows a second": 1 / shortest[name],
            "times the index": shortest["index"] / shortest[name],
            "times scipy": shortest["scipy's product, best five"] / shortest[name],
        }
        if name != "scipy's product alone":
            labels, wanted = way(X[:n_rows]), exact[:n_rows]
            row["same first"] = float(np.mean(labels[:, 0] == wanted[:, 0]))
            row["shared"] = float(np.mean((labels[:, :, None] == wanted[:, None, :]).any(axis=2)))
        found.append(row)
    return found


def _walk(model: Any, beam: int) -> Way:
    return lambda rows: model.predict_top_k(rows, BEST, beam=beam)[0]


class ScipyProduct:
    """The exact best five by scipy: rows times weights, both sparse, and the highest of what comes of it.

    Of a recursive model the weights are the differences of all nodes, and a second product adds them up along paths:
    that is faster than one product with the sums, which are some fifteen times as many.
    """

    def __init__(self, model: Any) -> None:
        self.classes, self.paths = model.classes_, None
        weights = model.weights_
        self.intercepts = weights.intercepts
        if not isinstance(weights, DifferenceWeights):
            self.matrix = sparse.csr_array(weights.matrix().T)
            return
        whose, above = weights.order.list_paths(weights.order.leaf_positions)
        shape = (len(self.classes), len(weights.bias))
        self.paths = sparse.csr_array((np.ones(len(whose), np.float32), (whose, above)), shape=shape)
        self.matrix = sparse.csr_array(weights.vectors().T)

    def products(self, rows: Any) -> Any:
        """Return the product with all weights."""
        return rows @ self.matrix

    def best(self, rows: Any) -> Any:
        """Return the labels of the five highest scores."""
        scores = self.products(rows)
        dense = scores.toarray() if self.paths is None else (self.paths @ scores.toarray().T).T
        dense = dense + self.intercepts
        found = np.argpartition(-dense, BEST, axis=1)[:, :BEST]
        order = np.argsort(-np.take_along_axis(dense, found, axis=1), axis=1, kind="stable")
        return self.classes[np.take_along_axis(found, order, axis=1)]
