"""DMOZ-2010's size: time, and memory beside what the formula says."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from benchmarks.speed.peers.shared import timed
from benchmarks.speed.recursive_studies.measuring import Row, Sweeps, fitted, recursive, say, told_of_checks, warm
from benchmarks.speed.recursive_studies.memory import Sizes, predicted
from benchmarks.speed.recursive_studies.shapes import DMOZ, data_of
from cladist import Relations, progress
from cladist.datasets import Dataset
from cladist.linear_model.problem_tree import ProblemTree, build_leaf_blocks
from cladist.metrics import accuracy, macro_f1, micro_f1

TOL, WORKERS = 1e-2, 2


class Watched:
    """Says what each check found, and remembers the most α that were in memory."""

    def __init__(self) -> None:
        self.pairs = self.active = 0

    def check(self, search: Any) -> None:
        """Look at a search that has just been checked."""
        states, best = search.joint.states, search.best
        own = best.own if best is not None and best.own is not None else []
        listed = [sum(len(alphas.rows) for alphas in found) for found in ([s.alphas for s in states], own)]
        self.pairs = max(self.pairs, *listed)
        self.active = max(self.active, sum(len(state.active) for state in states))
        now = search.history[-1]
        say(
            f"check after {now['passes']} sweeps: {now['seconds']:.1f} s, gap {now['gap']:.2e}, "
            f"objective {now['objective']:.6g}, dual {now['dual']:.6g}, {listed[0]:,} rows of blocks with α"
        )


def study(scale: float, loss: str, blocks_per_round: int) -> tuple[Row, Row]:
    """Return what was measured, and what the results say of the data."""
    shape = DMOZ.scaled(scale)
    data = data_of(shape)
    relations = Relations(blocks_per_round=blocks_per_round)
    model = recursive(loss, data.taxonomy, tol=TOL, n_jobs=WORKERS, relations=relations, weights="dual")
    warm(model, data)
    say(f"{data}, {data.X.nnz / data.X.shape[0]:.1f} nonzeros a row")
    watched = Watched()
    with told_of_checks(watched.check), progress.report_to(Sweeps()):
        row = {
            "loss": loss,
            "blocks_per_round": blocks_per_round,
            "workers": WORKERS,
            "tol": TOL,
            **fitted(model, data),
        }
    row["predict CPU s"], row["predict wall s"], found = timed(lambda: model.predict(data.X_test))
    for name, metric in {"accuracy": accuracy, "micro F1": micro_f1, "macro F1": macro_f1}.items():
        row[name] = float(metric(data.y_test, found, data.taxonomy))
    terms = {name: size / 1e6 for name, size in predicted(sizes(data, blocks_per_round, watched), loss).items()}
    row["malloc threshold"] = os.environ.get("MALLOC_MMAP_THRESHOLD_", "not set")
    row |= {"predicted MB": sum(terms.values()), "predicted MB, terms": terms, "history": model.history_}
    return row, shape.described(data)


def sizes(data: Dataset, blocks_per_round: int, watched: Watched) -> Sizes:
    """Return what the memory of a fit to these data depends on."""
    taxonomy, X = data.taxonomy, data.X_train
    assert taxonomy is not None
    return Sizes.of(
        build_leaf_blocks(ProblemTree(taxonomy.parent.astype(np.int64), taxonomy.leaves), "zero"),
        rows=X.shape[0],
        nonzeros=X.nnz,
        features=len(np.unique(X.indices)),
        workers=WORKERS,
        blocks_per_round=blocks_per_round,
        pairs=watched.pairs,
        active=watched.active,
    )
