"""1,000 leaves in a tree of three levels: recursive regularisation beside flat LinearSVC, CPU seconds of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.harness import in_new_process
from benchmarks.speed.recursive_studies.measuring import Row, fitted, recursive, say, warm
from benchmarks.speed.recursive_studies.shapes import THOUSAND, data_of
from cladist.taxonomy import Taxonomy


@dataclass(frozen=True)
class Method:
    """A learner, and how many times less than LinearSVC it is meant to take: with its own loss, or with the hinge."""

    loss: str
    tol: float | None = None  # None: LinearSVC
    mark: float | None = None

    @property
    def title(self) -> str:
        """What tables call it."""
        if self.tol is None:
            return f"LinearSVC, {self.loss}"
        return (
            f"RecursiveLogistic, {self.tol:g}"
            if self.loss == "logistic"
            else f"RecursiveSVM, {self.loss}, {self.tol:g}"
        )

    @property
    def against(self) -> str:
        """The title of the LinearSVC it is compared with."""
        return Method("hinge" if self.loss == "logistic" else self.loss).title

    def model(self, taxonomy: Taxonomy) -> Any:
        """Return the learner."""
        if self.tol is None:
            return LinearSVC(C=1.0, loss=self.loss, dual=True, fit_intercept=False, random_state=0)
        return recursive(self.loss, taxonomy, tol=self.tol)


METHODS = (
    Method("hinge"),
    Method("squared_hinge"),
    Method("hinge", 1e-2, mark=4),
    Method("squared_hinge", 1e-2, mark=4),
    Method("hinge", 1e-3, mark=2),
    Method("squared_hinge", 1e-3, mark=2),
    Method("logistic", 1e-2, mark=1),
)


def measured(number: int, scale: float) -> Row:
    """Fit one method; in a process of its own."""
    data = data_of(THOUSAND.scaled(scale))
    model = METHODS[number].model(data.taxonomy)
    warm(model, data)
    row = fitted(model, data)
    return {**row, "accuracy": float(np.mean(model.predict(data.X_test) == data.y_test))}


def study(scale: float, turns: int) -> list[Row]:
    """Return a row for each method: the shortest of several turns, and how it compares."""
    found: list[list[Row]] = [[] for _ in METHODS]
    for turn in range(turns):  # everyone's turn, then everyone's next: a noisy minute hits no one alone
        for number, method in enumerate(METHODS):
            say(f"{method.title}, turn {turn + 1} …")
            found[number].append(in_new_process(f"{__name__}:measured", number, scale))
    rows = [{"method": method.title, **shortest(of_method)} for method, of_method in zip(METHODS, found, strict=True)]
    return compared(rows)


def shortest(turns: list[Row]) -> Row:
    """Return the turn of least CPU time, with the least wall time beside it."""
    best = min(turns, key=lambda row: row["fit CPU s"])
    return {**best, "fit wall s": min(row["fit wall s"] for row in turns)}


def compared(rows: list[Row]) -> list[Row]:
    """Add how many times the CPU time of LinearSVC is that of each, and whether it is as many as it should be."""
    seconds = {row["method"]: row["fit CPU s"] for row in rows}
    for row, method in zip(rows, METHODS, strict=True):
        if method.mark is not None:
            row["LinearSVC / ours"] = ratio = seconds[method.against] / row["fit CPU s"]
            row["wanted"] = method.mark
            row["mark"] = "met" if ratio >= method.mark else "not met"
    return rows
