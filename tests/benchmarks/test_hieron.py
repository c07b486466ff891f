"""The study of Dekel et al. 2004's tables: every published row, measured where there are data."""

import numpy as np
import pytest

from benchmarks import cells, studies
from benchmarks.papers.hieron import run
from cladist.datasets import make_hieron_synthetic


@pytest.fixture
def small(results, monkeypatch, in_this_process):
    monkeypatch.setattr(run, "SETS", 2)
    monkeypatch.setattr(
        run,
        "make_hieron_synthetic",
        lambda **options: make_hieron_synthetic(n_train=2, n_test=2, **options),
    )


def test_every_published_row_is_there(small):
    one, two, figure = run.parts()
    assert (len(one.rows), len(two.rows), figure.rows) == (6 + 2, 18 + 6, [])
    published = {line[0]: (line[1], line[4]) for part in (one, two) for line in part.rows}
    assert published["Synthetic (tree), online, variance 0.16"] == ("0.83 / 44.5", "near")
    assert published["DMOZ (greedy), last"] == ("3.86 / 81.8", "not to be had")
    assert published["Phonemes (tree), batch"] == ("1.30 / 40.6", "not to be had")


def test_cells_have_errors_and_how_far_off_predictions_are(small):
    assert studies.run([run.STUDY], data=["variance-0.04"]) == (8, 0, [])
    for cell in cells.read("hieron").values():
        shares = np.array(cell["share by distance"])
        assert shares.sum() == pytest.approx(1, abs=1e-3)
        assert shares @ np.arange(9) == pytest.approx(cell["measured"]["tree-induced error"], abs=1e-3)
        assert 100 * (1 - shares[0]) == pytest.approx(cell["measured"]["multiclass error"], abs=0.1)
    figure = run.parts()[-1]
    assert [line[0] for line in figure.rows] == ["variance 0.04, tree − flat", "variance 0.04, tree − greedy"]
    assert sum(map(float, figure.rows[0][1:])) == pytest.approx(0, abs=0.5)
