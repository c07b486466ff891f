"""The demo's work at the level of codes: one model of all diagnoses, learnt, saved, mapped, and asked in three ways."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladist.cli.demo_comparison import DIAGNOSES, classify
from cladist.report import Sample

if TYPE_CHECKING:
    from cladist.datasets import Dataset
    from cladist.metrics import Report

MODEL = "icd10cm-codes"
BEST = 5
BEAMS = (None, 10, 3)  # None: all codes are scored


@dataclass(frozen=True)
class Asked:
    """One way to ask for the best codes of the test rows, and what came of it."""

    beam: int | None
    report: Report
    among_best: float
    same_first: float
    rows_a_second: float

    @property
    def name(self) -> str:
        """What tables call it."""
        return "all codes scored" if self.beam is None else f"beam {self.beam}"

    @property
    def measures(self) -> dict[str, float]:
        """The numbers compared, by name."""
        found = {name: self.report.metrics[name] for name in ("accuracy", "tree_induced_error")}
        return found | {
            "among_best": self.among_best,
            "same_first": self.same_first,
            "rows_a_second": self.rows_a_second,
        }


@dataclass(frozen=True)
class CodeLevel:
    """The model of all codes, and how it answered."""

    data: Dataset
    model: Path
    fit_seconds: float
    gap: float
    model_bytes: int
    load_seconds: float
    peak_bytes: int | None
    ways: list[Asked]
    samples: list[Sample]


def new_learner(taxonomy: Any) -> Any:
    """Return the unfitted learner; its weights are differences from the parents', small ones dropped."""
    from cladist.learners.recursive.svm import RecursiveSVM

    return RecursiveSVM(
        taxonomy, loss="squared_hinge", weights="differences", prune=0.01, tol=0.1, blocks_per_round=8, n_jobs=-1
    )


def show_codes(data: Dataset, folder: Path, *, texts: tuple[str, ...] = DIAGNOSES) -> CodeLevel:
    """Fit, save to `folder`, load mapped, and ask for the best codes of the test rows and for those of `texts`."""
    from cladist import progress
    from cladist.persistence.models import load

    model = new_learner(data.taxonomy)
    with progress.task("RecursiveSVM"):
        started = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds, gap = time.perf_counter() - started, float(model.history_[-1]["gap"])
    with progress.task("Saving"):
        model.save(folder)
    del model  # what follows is answered from the disk
    started = time.perf_counter()
    mapped = load(folder, mmap=True)
    load_seconds = time.perf_counter() - started
    ways: list[Asked] = []
    exact = None
    for beam in BEAMS:
        with progress.task("Asking for all codes" if beam is None else f"Asking with a beam of {beam}"):
            found, way = _asked(mapped, data, beam, exact)
            exact = found if exact is None else exact
            ways.append(way)
    with progress.task("Classifying the samples"):
        samples = classify(mapped, data, texts)
    size = sum(file.stat().st_size for file in folder.iterdir())
    return CodeLevel(data, folder, seconds, gap, size, load_seconds, peak_memory(), ways, samples)


def _asked(model: Any, data: Dataset, beam: int | None, exact: Any) -> tuple[Any, Asked]:
    from cladist.metrics import report

    assert data.taxonomy is not None
    k = min(BEST, len(model.classes_))
    model.predict_top_k(data.X_test[:1], k, beam=beam)  # what is compiled or made once is not timed
    started = time.perf_counter()
    labels, _ = model.predict_top_k(data.X_test, k, beam=beam)
    seconds = time.perf_counter() - started
    among = float((labels == data.y_test[:, None]).any(axis=1).mean())
    same = 1.0 if exact is None else float((labels[:, 0] == exact[:, 0]).mean())
    judged = report(data.y_test, labels[:, 0], data.taxonomy)
    return labels, Asked(beam, judged, among, same, len(labels) / seconds)


def peak_memory() -> int | None:
    """Return the largest resident size of this process so far, in bytes; None where it cannot be told."""
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
