"""The example of regret: its curves lie below the paper's bound and grow like a logarithm."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_regret.py"


def test_the_regret_is_logarithmic_and_below_the_bound(monkeypatch):
    example = runpy.run_path(str(EXAMPLE))
    for name, value in (("ROWS", 1500), ("DRAWS", 3)):
        monkeypatch.setitem(example["curves"].__globals__, name, value)
    found = example["curves"]()
    bound = found.pop("the paper's bound")
    assert np.all(np.diff(bound) >= 0)
    for values in found.values():
        assert np.all(values <= bound)
    ours = found["H-RLS"]
    # As much in the last decade as in the one before, give or take the noise; linear growth would be ten times that.
    assert ours[-1] - ours[149] < 4 * max(ours[149] - ours[14], 10)


def test_it_draws(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    example = runpy.run_path(str(EXAMPLE))
    for name, value in (("ROWS", 200), ("DRAWS", 1)):
        monkeypatch.setitem(example["main"].__globals__, name, value)
    example["main"](str(tmp_path / "regret.png"))
    assert (tmp_path / "regret.png").stat().st_size > 5000
