"""How long KSP needs for the test F1 of a flat SVM whose scores are decoded to the best labelling.

``python benchmarks/papers/sp/equal_f1.py``. There are 1, 4 and 16 times as many rounds as by default, until the F1 on
the test part is the SVM's or more. They are thus chosen on the test part: this says what equal F1 costs, not what to
expect of new data. The SVM's C is chosen on a part of the training rows, as in the table.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.harness import Part, in_words, print_rows, write_results
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.measuring import choose
from benchmarks.papers.sp.methods import METHODS
from cladist import FlatSVM
from cladist.learners.structured.parameters import number_of_rounds
from cladist.metrics import micro_f1

NAME = "sp-equal-f1"
TITLE = "Time to the F1 of a flat SVM (all nodes, scores decoded to the best labelling)"
FACTORS = (1, 4, 16)  # times the default number of rounds
PERCEPTRONS = {"HP": METHODS["hp"], "KSP-linear": METHODS["ksp-linear"]}
RATIO = "times the SVM's"
HEADER = ["data set", "method", "rounds", "F1", "fit s", RATIO]


def measure(name: str) -> list[dict[str, Any]]:
    """Return a row for the SVM and one for each perceptron and number of rounds, up to the SVM's F1."""
    source = DATA[name].source()
    if source is None:
        return []
    data = source.load()
    C = choose(data, METHODS["svm"])[0]["C"]
    FlatSVM(data.taxonomy, targets="nodes").fit(data.X_train[:50], data.y_train[:50])  # compiled, and warm
    rows = [_fitted(DATA[name].title, f"flat SVM, C={C:g}", METHODS["svm"].make(data.taxonomy, {"C": C}, 0), data)]
    for title, method in PERCEPTRONS.items():
        n_rows = data.X_train.shape[0]
        default = number_of_rounds(None, method.learner().eps, n_rows)
        method.make(data.taxonomy, {"max_iter": 2}, n_rows).fit(data.X_train[:50], data.y_train[:50])
        for factor in FACTORS:
            model = method.make(data.taxonomy, {"rounds": factor}, n_rows)
            rows.append(_fitted(DATA[name].title, title, model, data))
            if rows[-1]["F1"] >= rows[0]["F1"] or model.n_iter_ < factor * default:
                break
    return [row | {RATIO: row["fit s"] / rows[0]["fit s"]} for row in rows]


def _fitted(data_set: str, title: str, model: Any, data: Any) -> dict[str, Any]:
    started = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - started
    f1 = micro_f1(data.y_test, model.predict(data.X_test), data.taxonomy, nodes="all")
    return {"data set": data_set, "method": title, "rounds": int(model.n_iter_), "F1": float(f1), "fit s": seconds}


def part(rows: list[dict[str, Any]]) -> Part:
    """Return the rows as a further table of ``cladist bench sp``."""
    cells = in_words(rows, dict(zip(HEADER, ("", "", ",", ".4f", ".2f", ".2f"), strict=True)))
    return Part(TITLE, HEADER, cells, ["One core each; the number of rounds is chosen on the test part."])


def main() -> None:
    rows = [row | {"status": "measured", "settings": {}} for name in ("news20", "ccat") for row in measure(name)]
    rows = [{**row, "data": row["data set"]} for row in rows]
    print_rows([{name: row[name] for name in HEADER} for row in rows])
    write_results(NAME, rows, data="NEWS20 by date; CCAT of the RCV1 stand-in", measures="micro-F1 over all nodes")


if __name__ == "__main__":
    main()
