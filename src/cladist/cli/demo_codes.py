"""The demo at the level of codes: one model of all diagnoses, trained, saved, memory-mapped, and evaluated."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladist.cli.demo_comparison import DIAGNOSES, RECURSIVE, classify
from cladist.report import Sample, Table, table_of_measures

if TYPE_CHECKING:
    from cladist.datasets import Dataset
    from cladist.metrics import Report

MODEL = "icd10cm-codes"
TOP_K = 5
BEAMS = (None, 10, 3)  # None: all codes are scored
MEASURES = {
    "accuracy": ("accuracy", "{:.4f}", max),
    "among_best": (f"correct among {TOP_K}", "{:.4f}", max),
    "tree_induced_error": ("tree-induced error", "{:.4f}", min),
    "same_first": ("same first as all codes", "{:.4f}", max),
    "rows_a_second": ("rows per second", "{:,.0f}", max),
}


@dataclass(frozen=True)
class Search:
    """One way to find the best codes of the test rows, and its result."""

    beam: int | None
    report: Report
    among_best: float
    same_first: float
    rows_a_second: float

    @property
    def name(self) -> str:
        """Its name in tables."""
        return "all codes scored" if self.beam is None else f"beam {self.beam}"

    @property
    def measures(self) -> dict[str, float]:
        """The compared numbers, by name."""
        metrics = self.report.metrics
        return {name: metrics[name] if name in metrics else getattr(self, name) for name in MEASURES}


@dataclass(frozen=True)
class CodeModel:
    """The model of all codes, its costs, and its results by kind of search."""

    data: Dataset
    model: Path
    fit_seconds: float
    gap: float
    model_bytes: int
    load_seconds: float
    peak_bytes: int | None
    ways: list[Search]
    samples: list[Sample]
    name: str = RECURSIVE

    @property
    def report(self) -> Report:
        """The report of the search that scores all codes."""
        return self.ways[0].report

    @property
    def table(self) -> Table:
        """The table of searches."""
        return table_of_measures("search", MEASURES, [(way.name, way.measures) for way in self.ways])

    @property
    def verdict(self) -> str:
        """One sentence about time, memory and disk space."""
        memory = "" if self.peak_bytes is None else f", with at most {self.peak_bytes / 2**30:.1f} GiB of memory"
        return (
            f"{self.name} was trained in {self.fit_seconds:,.0f} s to a gap of {self.gap:.1e}{memory}; its model is "
            f"{self.model_bytes / 2**20:,.0f} MiB on disk, and opens memory-mapped in {self.load_seconds:.2f} s."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as values for JSON."""
        names = ("fit_seconds", "gap", "model_bytes", "load_seconds", "peak_bytes")
        ways = [{"name": way.name, "beam": way.beam, **way.measures} for way in self.ways]
        return {"model": str(self.model)} | {name: getattr(self, name) for name in names} | {"ways": ways}


def train_codes(data: Dataset, folder: Path, *, texts: tuple[str, ...] = DIAGNOSES) -> CodeModel:
    """Train a model, save it to `folder`, load it memory-mapped, and predict the test rows and `texts`."""
    from cladist import progress
    from cladist.learners.recursive import RecursiveSVM
    from cladist.persistence.models import load
    from cladist.solvers.relations import Relations

    # Weights are stored as differences from the parents' weights, without the small ones.
    model = RecursiveSVM(
        data.taxonomy,
        loss="squared_hinge",
        relations=Relations(blocks_per_round=8),
        weights="differences",
        prune=0.01,
        tol=0.1,
        n_jobs=-1,
    )
    with progress.task(RECURSIVE):
        start = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds, gap = time.perf_counter() - start, float(model.history_[-1]["gap"])
    with progress.task("Saving"):
        model.save(folder)
    del model  # all predictions are made from the disk
    start = time.perf_counter()
    mapped = load(folder, mmap=True)
    load_seconds = time.perf_counter() - start
    ways: list[Search] = []
    exact = None
    for beam in BEAMS:
        with progress.task("Scoring all codes" if beam is None else f"Searching with a beam of {beam}"):
            labels, way = _search(mapped, data, beam, exact)
            exact = labels if exact is None else exact
            ways.append(way)
    with progress.task("Classifying the samples"):
        samples = classify(mapped, data, texts)
    size = sum(file.stat().st_size for file in folder.iterdir())
    return CodeModel(data, folder, seconds, gap, size, load_seconds, peak_memory(), ways, samples)


def _search(model: Any, data: Dataset, beam: int | None, exact: Any) -> tuple[Any, Search]:
    from cladist.metrics import report

    assert data.taxonomy is not None
    k = min(TOP_K, len(model.classes_))
    model.predict_top_k(data.X_test[:1], k, beam=beam)  # compilation and caches are not timed
    start = time.perf_counter()
    labels, _ = model.predict_top_k(data.X_test, k, beam=beam)
    seconds = time.perf_counter() - start
    among_best = float((labels == data.y_test[:, None]).any(axis=1).mean())
    same_first = 1.0 if exact is None else float((labels[:, 0] == exact[:, 0]).mean())
    evaluation = report(data.y_test, labels[:, 0], data.taxonomy)
    return labels, Search(beam, evaluation, among_best, same_first, len(labels) / seconds)


def peak_memory() -> int | None:
    """Return the largest resident size of this process so far, in bytes, or None if it is unknown."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
