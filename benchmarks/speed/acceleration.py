"""Regularisation on a graph of labels with a large C, with and without acceleration of the components' means.

    python benchmarks/speed/acceleration.py

2,000 texts of three words, 150 labels of 30 relations each, C = 100, to a gap of 3e-3 by coloured sweeps on one thread,
for each loss; once as it is, and once with acceleration switched off. Writes acceleration.json.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from scipy import sparse

from benchmarks.harness import print_rows, write_results
from cladist.linear_model.training_rows import TrainingRows
from cladist.solvers import Settings
from cladist.solvers.graph import block_descent
from cladist.solvers.graph.quadratic_form import Graph
from cladist.solvers.graph.solver import solve_graph
from cladist.solvers.problem import OneVsRest, members_by_class

N_ROWS, N_WORDS, N_NODES, DEGREE, LENGTH, C = 2_000, 2_000, 150, 30, 3, 100.0
TOPIC, OWN = 12, 0.6  # words of a label, and the share of a text's words that are among them
TOL, MOST_SWEEPS = 3e-3, 400
LOSSES = ("hinge", "squared_hinge", "logistic")


def short_texts() -> tuple[OneVsRest, Graph]:
    """Return texts of few words and many relations: what related labels share is held by rows alone."""
    random = np.random.default_rng(0)
    labels, topics = random.integers(0, N_NODES, N_ROWS), random.integers(0, N_WORDS, (N_NODES, TOPIC))
    own = topics[labels[:, None], random.integers(0, TOPIC, (N_ROWS, LENGTH))]
    words = np.where(random.random((N_ROWS, LENGTH)) < OWN, own, random.integers(0, N_WORDS, (N_ROWS, LENGTH)))
    places = np.repeat(np.arange(N_ROWS), LENGTH), words.ravel()
    counts = sparse.csr_array((np.ones(words.size), places), shape=(N_ROWS, N_WORDS))
    X = sparse.diags_array(1 / np.sqrt(counts.multiply(counts).sum(axis=1))) @ counts
    rows = TrainingRows.from_matrix(sparse.csr_matrix(X, dtype=np.float32), constant=True)
    related = np.triu(random.random((N_NODES, N_NODES)) < DEGREE / N_NODES, 1).astype(float)
    problem = OneVsRest(rows, members_by_class(labels, N_NODES), "hinge", np.full((2, N_NODES), C))
    return problem, Graph(sparse.csr_array(related + related.T), np.arange(N_NODES))


def measure(loss: str, accelerated: bool) -> dict[str, Any]:
    """Return one row: what the gap took, and where it ended."""
    problem, graph = short_texts()
    problem = replace(problem, loss=loss)
    with mock.patch.object(block_descent, "SLOW", block_descent.SLOW if accelerated else np.inf):
        solve_graph(problem, graph, Settings(max_iter=2))  # loads what is compiled
        started = time.process_time()
        last = solve_graph(problem, graph, Settings(tol=TOL, max_iter=MOST_SWEEPS)).history[-1]
        seconds = time.process_time() - started
    told = {name: last[name] for name in ("objective", "gap")}
    return {"loss": loss, "accelerated": accelerated, "sweeps": last["passes"], "CPU s": seconds, **told}


def main() -> None:
    rows = [measure(loss, accelerated) for loss in LOSSES for accelerated in (True, False)]
    print_rows(rows)
    sizes = {
        "rows": N_ROWS,
        "words": N_WORDS,
        "labels": N_NODES,
        "relations of a label": DEGREE,
        "words of a row": LENGTH,
    }
    write_results("acceleration", rows, data=sizes, setting={"C": C, "tol": TOL})


if __name__ == "__main__":
    main()
