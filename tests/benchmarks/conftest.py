"""Results in a folder of the test's own, and a comparison small enough to be measured in seconds."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import cladist
from benchmarks import comparison, data_sets, harness, studies
from benchmarks.comparison import METHODS, Method
from benchmarks.data_sets import EXACT, NEAR, OTHER, STAND_IN, DataSet
from benchmarks.papers.hr import verdicts
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


def call_here(function, *arguments, limit=None):
    """Stand in for a process of its own."""
    module, _, name = function.partition(":")
    return json.loads(json.dumps(getattr(import_module(module), name)(*arguments)))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "in_new_process", call_here)


@pytest.fixture
def toy_table(results: Path, monkeypatch: pytest.MonkeyPatch, in_this_process: None) -> Iterator[Path]:
    """The comparison with toys for data, two Cs and few resamples; the learner that "svm" names is a toy too."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(comparison, "CS", (0.1, 1.0))
    monkeypatch.setattr(comparison, "RESAMPLES", 20)
    monkeypatch.setattr(verdicts, "RESAMPLES", 20)
    monkeypatch.setattr(verdicts, "COMPARED", ("other", "near", "missing", "damaged"))
    monkeypatch.setattr(cladist, "FlatSVM", toys.Flat, raising=False)
    toys_for_data = {
        "claims-exact": DataSet("CLEF", (toys.source(EXACT),)),
        "near": DataSet("LSHTC-small", (toys.source(NEAR),)),
        "standin": DataSet("RCV1", (toys.source(EXACT, layout=NOWHERE), toys.source(STAND_IN))),
        "missing": DataSet("SWIKI-2011", (toys.source(EXACT, layout=NOWHERE),), is_licensed=True),
        "other": DataSet("toy", (toys.source(OTHER),)),
        "damaged": DataSet("damaged", (toys.source(OTHER, toys.damaged),)),
    }
    titles = {data_set.title for data_set in toys_for_data.values()}
    real = dict(data_sets.DATA)
    data_sets.DATA.clear()
    data_sets.DATA.update({k: d for k, d in real.items() if d.title not in titles} | toys_for_data)
    monkeypatch.setitem(METHODS, "later", Method("later", ""))
    monkeypatch.setattr("benchmarks.papers.hr.run.KEYS", {d.title: key for key, d in data_sets.DATA.items()})
    yield results / "cells" / "comparison"
    data_sets.DATA.clear()  # put back in their order
    data_sets.DATA.update(real)
