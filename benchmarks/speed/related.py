"""RecursiveSVM on the graph of related occupations, one thread and two by turns: what the colouring is worth.

    python benchmarks/speed/related.py --turns 5

O*NET's titles (all 52,754), words and word pairs, 1,016 labels of which 923 are related by 13,255 edges; C = 10. Nodes
of one colour are solved side by side. "efficiency" is half of how many times faster two threads are, by medians.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import print_rows, write_results
from benchmarks.speed.threads import by_turns
from cladist import RecursiveSVM
from cladist.datasets import load_onet_titles
from cladist.features import text_features

C = 10.0


def measured(X: Any, data: Any, loss: str, sweeps: int, turns: int) -> dict[str, Any]:
    """Return one row: some sweeps, which cost the same whatever the gap."""
    seen: list[RecursiveSVM] = []

    def fit(threads: int) -> None:
        model = RecursiveSVM(data.taxonomy, relations=data.relations, C=C, loss=loss, max_iter=sweeps, n_jobs=threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seen.append(model.fit(X, data.y))

    row = by_turns(fit, turns)
    colours = np.bincount(seen[-1]._graph().colours)
    told = {"loss": loss, "sweeps": seen[-1].n_iter_, "gap": seen[-1].history_[-1]["gap"], "colours": len(colours)}
    return {**told, **row, "efficiency": row["ratio"] / 2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--losses", nargs="+", default=["hinge"], choices=["hinge", "squared_hinge"])
    parser.add_argument("--sweeps", type=int, default=4, help="at most; fewer if the gap is closed")
    given = parser.parse_args()
    data = load_onet_titles()
    X = text_features(characters=False).fit_transform(data.X)
    rows = [measured(X, data, loss, given.sweeps, max(1, given.turns)) for loss in given.losses]
    print_rows([{key: value for key, value in row.items() if key != "turns"} for row in rows])
    write_results("related", rows, data={"onet_titles": list(X.shape), "labels": len(set(data.y))}, C=C)


if __name__ == "__main__":
    main()
