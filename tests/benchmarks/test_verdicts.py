"""Whether the tree helps: kept predictions compared, models fitted again where there are none, a verdict each."""

import json

import numpy as np
import pytest

from benchmarks.papers.hr import measuring, predictions, run, verdicts
from benchmarks.papers.rows import MEASURED, NO_DATA
from cladist import LabelMatrix
from cladist.errors import DatasetError, ParameterError
from cladist.metrics import accuracy, tree_induced_error
from cladist.metrics.significance import Interval
from tests.benchmarks import toys


def measure(*data, methods=("lr", "hr-lr"), **options):
    return run.bench(data=list(data), methods=list(methods), measure=measuring.measure, **options)


def judge(*data, methods=("hr-lr",), by=verdicts.judge_pair, **options):
    return verdicts.bench(data=list(data), methods=list(methods), judge=by, **options)


class Judging:
    def __init__(self):
        self.calls = []

    def __call__(self, data_set, method, pair):
        self.calls.append((data_set, method))
        return verdicts.judge_pair(data_set, method, pair)


@pytest.fixture
def fits(monkeypatch):
    """The methods that were fitted again."""
    fitted = []

    def spy(data, source, method, C):
        fitted.append((method, C))
        return measuring.refitted(data, source, method, C)

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
    (row,) = measure("other", methods=["lr"]).content["rows"]
    assert row["status"].startswith("not run: Predictions cannot be kept")


def test_without_a_variable_it_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert predictions.folder() == tmp_path / ".cache" / "cladist" / "bench"


# ---------------------------------------------------------------- differences


def test_kept_predictions_are_compared_and_nothing_is_fitted(toy_table, fits):
    rows = measure("other").content["rows"]
    (row,) = judge("other").content["rows"]
    assert fits == []
    assert (row["status"], row["method"], row["fitted again"]) == (MEASURED, "HR-LR − LR", [])
    assert row["C"] == {found["method"]: found["C"] for found in rows}
    data = toys.toy()
    hr, flat = (
        measuring.refitted(data, toys.source("x"), method, row["C"][title])
        for method, title in (("hr-lr", "HR-LR"), ("lr", "LR"))
    )
    micro, tree = row["differences"]["micro-F1"], row["differences"]["tree-induced error"]
    right = [100 * accuracy(data.y_test, found, toys.TREE) for found in (hr, flat)]
    wrong = [tree_induced_error(data.y_test, found, toys.TREE) for found in (hr, flat)]
    assert [micro["HR"], micro["flat"], micro["difference"]] == pytest.approx([*right, right[0] - right[1]])
    assert [tree["HR"], tree["flat"], tree["difference"]] == pytest.approx([*wrong, wrong[0] - wrong[1]])
    for found in row["differences"].values():
        assert found["low"] <= found["difference"] <= found["high"]


def test_rows_without_kept_predictions_are_fitted_with_their_c(toy_table, fits):
    rows = measure("other").content["rows"]
    for path in predictions.folder().iterdir():
        path.unlink()
    (row,) = judge("other").content["rows"]
    assert sorted(fits) == sorted((method, found["C"]) for method, found in zip(("lr", "hr-lr"), rows, strict=True))
    assert sorted(row["fitted again"]) == ["HR-LR", "LR"]
    judge("other", again=True)
    assert len(fits) == 2  # they are kept now


def test_predictions_that_do_not_give_the_rows_figures_are_not_believed(toy_table, fits):
    measure("other")
    content = json.loads(toy_table.read_text())
    content["rows"][0]["measured"]["micro"] = 1.23  # as if measured by other sources
    toy_table.write_text(json.dumps(content))
    (row,) = judge("other").content["rows"]
    assert [method for method, _ in fits] == ["lr"]
    assert row["fitted again"] == ["LR"]
    assert any("Fitted again" in remark and "toy, LR" in remark for remark in judge("other").remarks)


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


# ---------------------------------------------------------------- rows


def test_what_cannot_be_judged_says_why(toy_table):
    measure("other", methods=["lr"])
    outcome = judge("other", "missing")
    statuses = [row["status"] for row in outcome.content["rows"]]
    assert statuses == ["not measured yet: cladist bench hr --data other --methods hr-lr", NO_DATA]
    assert outcome.rows[0][1] == statuses[0]
    assert outcome.rows[1][4] == "+3.34 / +4.75"  # SWIKI-2011


def test_what_is_refused_is_said(toy_table):
    measure("other")
    pair = {row["method"].lower(): row for row in json.loads(toy_table.read_text())["rows"]}
    assert verdicts.judge_pair("damaged", "hr-lr", pair)["status"].startswith("not run: toy.csv, line 3")


def test_a_run_goes_on_where_it_was_stopped(toy_table):
    measure("other", "near")

    def stopping(data_set, method, pair):
        if data_set == "near":
            raise KeyboardInterrupt
        return verdicts.judge_pair(data_set, method, pair)

    with pytest.raises(KeyboardInterrupt):
        judge("other", "near", by=stopping)
    rest = Judging()
    rows = judge("other", "near", by=rest).content["rows"]
    assert rest.calls == [("near", "hr-lr")]
    assert [row["status"] for row in rows] == [MEASURED, MEASURED]
    content = json.loads(toy_table.with_name("hr-verdicts.json").read_text())
    assert {"command", "machine", "paper", "rows"} <= set(content)
    assert rows[1]["published"]["micro-F1"] == {"difference": 0.17, "mark": ""}


def test_a_row_measured_anew_is_judged_anew(toy_table):
    measure("other")
    judge("other")
    content = json.loads(toy_table.read_text())
    content["rows"][1]["sources"] = "changed"
    toy_table.write_text(json.dumps(content))
    again = Judging()
    judge("other", by=again)
    assert again.calls == [("other", "hr-lr")]


def test_rows_of_other_settings_are_not_judged(toy_table, monkeypatch):
    measure("other")
    monkeypatch.setattr(measuring, "CS", (1.0,))
    assert "not measured yet" in judge("other").rows[0][1]


def test_the_table_counts_its_verdicts(toy_table):
    measure("other")
    outcome = judge("other")
    ((name, micro, *_, published, kind),) = outcome.rows
    assert (name, published, kind) == ("toy, HR-LR − LR", "—", "not in the paper")
    assert micro.endswith(("helps", "hurts", "no evidence"))
    assert any(remark.startswith("Of 1 comparisons, micro-F1: helps ") for remark in outcome.remarks)


def test_published_differences():
    assert verdicts.published("CLEF", "hr-svm") == {
        "micro-F1": {"difference": 2.49, "mark": "††"},
        "macro-F1": {"difference": 5.33, "mark": "††"},
    }
    assert verdicts.published("toy", "hr-svm") is None


def test_the_six_data_sets_have_one_leaf_a_row():
    from benchmarks.papers.hr.data_sets import DATA

    compared = ("icd10cm", "naics2017", "lshtc-small", "clinc150", "news20", "clef")
    assert compared == verdicts.COMPARED
    assert not any(source.multilabel for name in compared for source in DATA[name].sources)


def test_unknown_names_are_refused(toy_table):
    with pytest.raises(ParameterError, match="there is no data set 'rcv1'; there are other"):
        judge("rcv1")
    with pytest.raises(ParameterError, match="there is no method 'td'; there are hr-svm, hr-lr"):
        judge("other", methods=["td"])


def test_the_script_prints_the_table(toy_table, monkeypatch, capsys):
    measure("other")
    monkeypatch.setattr(verdicts, "judge_apart", verdicts.judge_pair)
    monkeypatch.setattr("sys.argv", ["verdicts.py", "--data", "other", "--methods", "hr-lr"])
    verdicts.main()
    assert "toy, HR-LR − LR" in capsys.readouterr().out


def test_a_real_pair_is_judged_in_a_process_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setattr(verdicts, "in_new_process", lambda *call: asked.append(call) or {"status": MEASURED})
    assert verdicts.judge_apart("clef", "hr-svm", {}) == {"status": MEASURED}
    assert asked == [("benchmarks.papers.hr.verdicts:judge_pair", "clef", "hr-svm", {})]
