"""Results in a folder of the test's own, and a table small enough to be measured in seconds."""

from pathlib import Path

import pytest

import cladist
from benchmarks import harness
from benchmarks.papers.hr import data_sets, measuring, verdicts
from benchmarks.papers.hr.data_sets import EXACT, NEAR, OTHER, STAND_IN, DataSet
from benchmarks.papers.hr.methods import METHODS, Method
from cladist.datasets.loaders.catalogue import VARIABLE, CatalogueEntry
from tests.benchmarks import toys

NOWHERE = CatalogueEntry("nowhere", "Nowhere", folder="nowhere", files=("x",), loader="", source="nobody", licence="")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "benchmarks" / "results"
    folder.parent.mkdir()
    monkeypatch.setattr(harness, "RESULTS", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # where predictions are kept
    return folder


@pytest.fixture
def toy_table(results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runners of hr with toys for data, two Cs and few resamples; the learner that "svm" names is a toy too."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(measuring, "CS", (0.1, 1.0))
    monkeypatch.setattr(measuring, "RESAMPLES", 20)
    monkeypatch.setattr(verdicts, "RESAMPLES", 20)
    monkeypatch.setattr(verdicts, "COMPARED", ("other", "near", "missing", "damaged"))
    monkeypatch.setattr(cladist, "FlatSVM", toys.Flat, raising=False)
    for name, data_set in {
        "claims-exact": DataSet("CLEF", (toys.source(EXACT),)),
        "near": DataSet("LSHTC-small", (toys.source(NEAR),)),
        "standin": DataSet("RCV1", (toys.source(EXACT, layout=NOWHERE), toys.source(STAND_IN))),
        "missing": DataSet("SWIKI-2011", (toys.source(EXACT, layout=NOWHERE),)),
        "other": DataSet("toy", (toys.source(OTHER),)),
        "damaged": DataSet("damaged", (toys.source(OTHER, toys.damaged),)),
    }.items():
        monkeypatch.setitem(data_sets.DATA, name, data_set)
    monkeypatch.setitem(METHODS, "later", Method("HBLR", "NoSuchLearner"))
    return results / "hr.json"
