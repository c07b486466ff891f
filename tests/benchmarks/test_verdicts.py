"""Whether the tree helps: kept predictions compared, models fitted again where there are none, a verdict each."""

import numpy as np
import pytest

from benchmarks import cells, comparison, predictions, studies
from benchmarks.papers.hr import verdicts
from cladist import LabelMatrix
from cladist.errors import DatasetError
from cladist.metrics import accuracy, tree_induced_error
from cladist.metrics.significance import Interval
from tests.benchmarks import toys


def measure(*data, methods=("lr", "hr-lr")):
    assert studies.run([comparison.STUDY], data=list(data), methods=list(methods)).failures == []
    return cells.read(comparison.NAME)


def judge(*data, **options):
    done = studies.run([verdicts.STUDY], data=list(data), methods=["hr-lr"], **options)
    return done, cells.read(verdicts.NAME)


@pytest.fixture
def fits(monkeypatch):
    """The methods that were fitted again."""
    fitted = []

    def spy(data, source, method, C):
        fitted.append((method, C))
        return comparison.refitted(data, source, method, C)

    monkeypatch.setattr(verdicts, "refitted", spy)
    return fitted


# ---------------------------------------------------------------- kept predictions


def labels(*names):
    return LabelMatrix.from_sets([[name] for name in names], toys.TREE)


def test_what_is_kept_comes_back(results):
    true, predicted = labels("cat", "oak"), labels("dog", "oak")
    predictions.make_folder()
    path = predictions.place("toy", "lr", {"Cs": (0.1, 1)}, 1.0)
    predictions.keep(path, true, predicted)
    assert path == predictions.place("toy", "lr", {"Cs": [0.1, 1]}, 1.0)
    assert path.is_relative_to(predictions.folder())
    assert predictions.kept(path, true) == predicted
    assert predictions.kept(path, labels("cat", "rose")) is None
    for other in (("toy", "lr", {"Cs": [0.1]}, 1.0), ("toy", "lr", {"Cs": [0.1, 1]}, 0.1), ("toy", "svm", {}, 1.0)):
        assert predictions.kept(predictions.place(*other), true) is None


@pytest.mark.parametrize("damage", [b"", b"PK", b"nothing of the kind"])
def test_a_damaged_file_is_as_good_as_none(results, damage):
    predictions.make_folder()
    path = predictions.place("toy", "lr", {}, 1.0)
    path.write_bytes(damage)
    assert predictions.kept(path, labels("cat")) is None


@pytest.mark.parametrize("arrays", [{"predicted_indices": np.array([0, 99])}, {"predicted_indptr": np.array([0, 7])}])
def test_nodes_that_are_not_there_are_not_taken(results, arrays):
    true = labels("cat")
    content = {"true_indptr": true.indptr, "true_indices": true.indices}
    content |= {"predicted_indptr": true.indptr, "predicted_indices": true.indices}
    predictions.make_folder()
    path = predictions.place("toy", "lr", {}, 1.0)
    np.savez(path, **content)
    assert predictions.kept(path, true) == true
    np.savez(path, **content | arrays)
    assert predictions.kept(path, true) is None


def test_a_folder_that_cannot_be_made_is_told_before_the_work(toy_table, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match="let XDG_CACHE_HOME name another folder"):
        predictions.make_folder()
    (failure,) = studies.run([comparison.STUDY], data=["other"], methods=["lr"]).failures
    assert "Predictions cannot be kept" in failure


def test_without_a_variable_it_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert predictions.folder() == tmp_path / ".cache" / "cladist" / "bench"


# ---------------------------------------------------------------- differences


def test_kept_predictions_are_compared_and_nothing_is_fitted(toy_table, fits):
    found = measure("other")
    _, judged = judge("other")
    cell = judged["other", "hr-lr"]
    assert fits == []
    assert cell["fitted again"] == []
    assert cell["C"] == {name: found["other", name]["C"] for name in ("hr-lr", "lr")}
    data = toys.toy()
    hr, flat = (comparison.refitted(data, toys.source("x"), name, cell["C"][name]) for name in ("hr-lr", "lr"))
    right = [100 * accuracy(data.y_test, labels, toys.TREE) for labels in (hr, flat)]
    wrong = [tree_induced_error(data.y_test, labels, toys.TREE) for labels in (hr, flat)]
    assert cell["differences"]["micro-F1"]["difference"] == pytest.approx(right[0] - right[1])
    assert cell["differences"]["tree-induced error"]["difference"] == pytest.approx(wrong[0] - wrong[1])
    for difference in cell["differences"].values():
        assert difference["low"] <= difference["difference"] <= difference["high"]


def test_cells_without_kept_predictions_are_fitted_with_their_c(toy_table, fits):
    found = measure("other")
    for path in predictions.folder().iterdir():
        path.unlink()
    _, judged = judge("other")
    assert sorted(fits) == sorted((name, found["other", name]["C"]) for name in ("lr", "hr-lr"))
    assert sorted(judged["other", "hr-lr"]["fitted again"]) == ["hr-lr", "lr"]
    judge("other", again=True)
    assert len(fits) == 2  # they are kept now


def test_predictions_that_do_not_give_the_cells_figures_are_not_believed(toy_table, fits):
    cell = measure("other")["other", "lr"]
    cells.write(comparison.NAME, cell | {"measured": cell["measured"] | {"micro": 1.23}})  # as by other sources
    judge("other")
    assert [name for name, _ in fits] == ["lr"]
    assert any("Fitted again" in remark and "toy, LR" in remark for remark in verdicts.part().remarks)


def test_the_same_predictions_are_no_evidence():
    found = verdicts.compared("macro-F1", labels("cat", "oak"), labels("cat", "dog"), labels("cat", "dog"))
    assert (found["difference"], found["low"], found["high"], found["verdict"]) == (0, 0, 0, "no evidence")


def test_less_error_helps_and_less_f1_hurts():
    true, wrong = labels(*["cat", "oak"] * 50), labels(*["dog", "oak"] * 50)
    better = {measure: verdicts.compared(measure, true, true, wrong) for measure in verdicts.COMPARISONS}
    worse = {measure: verdicts.compared(measure, true, wrong, true) for measure in verdicts.COMPARISONS}
    assert {found["verdict"] for found in better.values()} == {"helps"}
    assert {found["verdict"] for found in worse.values()} == {"hurts"}
    assert (better["micro-F1"]["difference"], better["tree-induced error"]["difference"]) == (50.0, -1.0)


@pytest.mark.parametrize("ends", [(0.0, 0.1), (-0.1, 0.0), (-0.1, 0.1)])
def test_an_interval_that_reaches_0_is_no_evidence(ends):
    for more_is_better in (True, False):
        assert verdicts.verdict(Interval(0.0, *ends), more_is_better=more_is_better) == "no evidence"


# ---------------------------------------------------------------- cells


def test_what_is_not_measured_is_not_judged(toy_table):
    measure("other", methods=["lr"])
    assert verdicts.missing("other", "hr-lr") == "not measured yet"
    assert verdicts.missing("missing", "hr-lr") == "data not found"
    done, judged = judge("other", "missing")
    assert (done.measured, judged) == (0, {})


def test_cells_and_their_verdicts_come_from_one_run(toy_table):
    chosen = [verdicts.STUDY, comparison.STUDY]
    assert studies.run(chosen, data=["other"], methods=["lr", "hr-lr"]) == (3, 0, [])


def test_a_cell_measured_anew_is_judged_anew(toy_table):
    cell = measure("other")["other", "lr"]
    judge("other")
    assert judge("other")[0].measured == 0
    cells.write(comparison.NAME, cell | {"measured": cell["measured"] | {"micro": 1.23}})
    assert judge("other")[0].measured == 1


def test_cells_of_other_settings_are_not_judged(toy_table, monkeypatch):
    measure("other")
    monkeypatch.setattr(comparison, "CS", (1.0,))
    assert verdicts.missing("other", "hr-lr") == "not measured yet"


def test_the_table_counts_its_verdicts(toy_table):
    measure("other", "near")
    judge("other", "near")
    part = verdicts.part()
    lines = {line[0]: line for line in part.rows}
    assert lines["toy, HR-LR − LR"][1].endswith(("helps", "hurts", "no evidence"))
    assert lines["toy, HR-LR − LR"][4:] == ["—", "not in the paper"]
    assert lines["LSHTC-small, HR-LR − LR"][4] == "+0.17 / +0.36"
    assert any(remark.startswith("Of 2 comparisons, micro-F1: helps ") for remark in part.remarks)


def test_published_differences():
    assert verdicts.published("CLEF", "hr-svm") == "+2.49†† / +5.33††"
    assert verdicts.published("toy", "hr-svm") == "—"


def test_the_six_data_sets_have_one_leaf_a_row():
    from benchmarks.data_sets import DATA

    compared = ("icd10cm", "naics2017", "lshtc-small", "clinc150", "news20", "clef")
    assert compared == verdicts.COMPARED
    assert not any(source.multilabel for name in compared for source in DATA[name].sources)
