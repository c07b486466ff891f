"""A short run of ``fuzz/models.py``: damaged and forged models are refused or work, and nothing else."""

import numpy as np
import pytest
from fuzz import models as fuzzing
from fuzz.model_zoo import answers, models

import cladist
from cladist.errors import ModelFormatError


def test_damaged_and_forged_models_are_refused_or_work():
    counts, broken = fuzzing.run(200, seed=16)
    assert broken == []
    assert sum(counts.values()) == 200
    assert {outcome.partition(",")[0] for outcome in counts} == set(fuzzing.KINDS)


@pytest.fixture
def hieron(tmp_path):
    asked = models()["hieron"]
    cladist.save(asked.model.fit(asked.rows, asked.labels), tmp_path / "model")
    return tmp_path, asked


def fails(*_, **__):
    raise ZeroDivisionError


def refuses(*_, **__):
    raise ModelFormatError("no")


def lies(folder, **_):
    return models()["hieron"].model.fit([[0.0] * 12, [1.0] * 12], ["tennis", "film"])


@pytest.mark.parametrize(
    ("load", "kind", "outcome"),
    [
        (cladist.load, "flip", "refused"),
        (refuses, "array", "refused"),
        (fails, "value", "foreign error"),
        (lies, "flip", "other answers"),
        (lies, "value", "forged: other answers"),
    ],
)
def test_what_becomes_of_a_case_is_told(hieron, monkeypatch, load, kind, outcome):
    folder, asked = hieron
    reference = answers(asked._replace(model=cladist.load(folder / "model")))
    monkeypatch.setattr(cladist, "load", load)
    random = np.random.default_rng(3)
    told = fuzzing.run_case(folder / "model", asked, reference, kind, "read", random, folder / "changed")
    assert told["outcome"] == outcome
    assert (outcome in fuzzing.ALLOWED) == (outcome in ("refused", "forged: other answers"))


def test_a_process_that_ends_is_told(tmp_path, monkeypatch):
    """As it would if a kernel read past the end of an array."""
    monkeypatch.setattr(fuzzing.sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text("#!/bin/sh\necho '{\"ready\": 1}'\nkill -SEGV $$\n")
    (tmp_path / "python").chmod(0o700)
    _, broken = fuzzing.run(2, seed=1, only="hieron star")
    assert [line["outcome"] for line in broken] == ["crash", "crash"]
