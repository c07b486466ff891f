"""AU(PRC) on genes of yeast by the protocol of CLUS: published beside measured. README.md beside this file has it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks import cells
from benchmarks.cells import NO_DATA, Cell
from benchmarks.data_sets import DATA, EXACT, filled_in, standardised, with_validation_part
from benchmarks.papers.published import Cell as Printed
from benchmarks.papers.published import read
from benchmarks.studies import Study
from benchmarks.tables import HEADER, NOTHING, Part, line, printed_values
from cladist import FlatLogistic
from cladist.datasets import load_genes_fun
from cladist.metrics import average_precision

NAME, TABLE, RESAMPLES, SEED = "hmc", "table 2", 200, 0
TITLES = {"genes-fun": "cellcycle FUN", "genes-fun-derisi": "derisi FUN"}
WHICH = {"genes-fun": "cellcycle", "genes-fun-derisi": "derisi"}
METHODS = ("lr",)
PARAMETERS = {"targets": "nodes"}
FORMATS = {"AU(PRC)": ".3f", "interpolated": ".3f"}
REMARK = (
    "AU(PRC) of one curve of all pairs of test row and node without the root, by steps as C-HMCNN's authors compute "
    "it / interpolated as CLUS does. C is chosen by average precision in cross-validation on training and validation "
    "part together, on which the model is then trained. Intervals: 95 % bootstrap over test rows. CLUS-HMC's own "
    "figures are left out, as their table could not be looked up."
)


def settings(_: str, __: str) -> dict[str, Any]:
    """Return everything that decides a cell's figures."""
    chosen_by = "average precision in up to 5-fold cross-validation on the rows trained on"
    return {
        "learner": "FlatLogistic",
        "chosen by": chosen_by,
        "parameters": PARAMETERS,
        "resamples": RESAMPLES,
    }


def measure(data_set: str, _: str) -> Cell:
    """Train on training and validation part, with the C chosen there, and rank the nodes of the test rows."""
    data = standardised(filled_in(with_validation_part(load_genes_fun(which=WHICH[data_set]))))  # type: ignore[arg-type]
    taxonomy, started = data.taxonomy, time.process_time()
    model = FlatLogistic(taxonomy, C="cv", random_state=SEED, **PARAMETERS).fit(data.X_train, data.y_train)
    seconds = time.process_time() - started
    scores = model.decision_function(data.X_test)
    area = partial(average_precision, taxonomy=taxonomy, classes=list(model.classes_))
    y_test = list(data.y_test)
    measured = {"AU(PRC)": area(y_test, scores), "interpolated": area(y_test, scores, interpolate=True)}
    random = np.random.default_rng(SEED)
    drawn = [random.integers(len(y_test), size=len(y_test)) for _ in range(RESAMPLES)]
    resampled = [area([y_test[i] for i in rows], scores[rows]) for rows in drawn]
    return {
        "kind": EXACT,
        "rows": repr(data),
        "C": model.C_,
        "measured": {name: round(value, 4) for name, value in measured.items()},
        "interval": {"AU(PRC)": np.percentile(resampled, [2.5, 97.5]).round(4).tolist()},
        "macro": round(area(y_test, scores, average="macro"), 4),
        "weighted": round(area(y_test, scores, average="weighted"), 4),
        "seconds": {"fit": round(seconds, 2)},
    }


STUDY = Study(
    NAME,
    lambda: [(d, m) for d in TITLES for m in METHODS],
    settings,
    lambda d, _: "" if DATA[d].source() is not None else NO_DATA,
    "benchmarks.papers.hmc.run:measure",
)
STUDIES = (STUDY,)


def parts() -> list[Part]:
    """Return the table, from the cells as they are."""
    found, rows = cells.read(NAME), []
    for key, title in TITLES.items():
        printed: dict[str, Printed] = read(NAME).tables[TABLE].rows[title,]
        figures = {"AU(PRC)": printed["C-HMCNN"]}
        shown = printed_values(figures, {"AU(PRC)": ".3f"})
        rows.append([f"{title}, C-HMCNN", shown, *[NOTHING] * (len(HEADER) - 2)])
        rows += [line(f"{title}, {method}", "", found.get((key, method)), FORMATS) for method in METHODS]
    return [Part("Yeast genes: AU(PRC)", list(HEADER), rows, [REMARK])]
