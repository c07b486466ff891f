"""The runner of Dekel et al. 2004's tables: every published row, measured where there are data."""

import pytest

from benchmarks.papers.hieron import run
from cladist.errors import ParameterError


def test_every_published_row_is_there(results, monkeypatch):
    monkeypatch.setattr(run, "measured", lambda method, variance: f"at {variance}")
    outcome = run.bench()
    rows = outcome.content["rows"]
    assert (results / "hieron-paper.json").exists()
    assert len(rows) == len(outcome.rows) == 6 + 9 + 9
    assert outcome.header == list(rows[0])
    assert rows[0] == {
        "table": "table 1 (online)",
        "data": "Synthetic (tree)",
        "published": "0.83 / 44.5",
        "variance 0.16 (printed)": "at 0.16",
        "variance 0.04 (fitted)": "at 0.04",
    }
    published = {(row["table"], row["data"]): row["published"] for row in rows}
    assert published["table 2 (last)", "DMOZ (greedy)"] == "3.86 / 81.8"
    assert published["table 2 (batch)", "Phonemes (tree)"] == "1.30 / 40.6"
    for row in rows:
        assert ("data not found" in row.values()) != row["data"].startswith("Synthetic")


def test_it_measures_all_or_nothing(results):
    with pytest.raises(ParameterError, match="leave out --data and --methods"):
        run.bench(data=["dmoz"])
    assert not results.exists()
