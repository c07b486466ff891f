"""The runner of Gopal & Yang 2013's table, on toys: what it measures, what it cannot, what it calls exact."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import cladist
from benchmarks.papers.hr import data_sets, measuring, run
from benchmarks.papers.hr.data_sets import DATA, EXACT, NEAR, OTHER, STAND_IN, DataSet
from benchmarks.papers.hr.methods import METHODS
from benchmarks.papers.hr.times import ratio_table, times
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED
from benchmarks.rcv1_standin import STANDIN
from cladist import RelationGraph, Taxonomy
from cladist.datasets import Dataset
from cladist.errors import ParameterError
from cladist.metrics import accuracy, macro_f1
from cladist.metrics.significance import Interval
from tests.benchmarks import toys

COLUMNS = ["data set, method", "published", "measured", "95 % interval", "data", "settings", "seconds", "MiB"]


def bench(*data, methods=("td",), measure=measuring.measure, **options):
    return run.bench(data=list(data), methods=list(methods), measure=measure, **options)


def test_a_row_has_all_its_columns(toy_table):
    outcome = bench("other", methods=["svm", "td"])
    assert outcome.header == COLUMNS
    for line, row in zip(outcome.rows, outcome.content["rows"], strict=True):
        name, published, measured, interval, kind, settings, seconds, memory = line
        assert (published, kind) == ("—", OTHER)
        assert measured == f"{row['measured']['micro']:.2f} / {row['measured']['macro']:.2f}"
        assert interval.count("–") == 2
        assert f"C={row['C']:g} (CV)" in settings
        assert float(seconds) >= 0
        assert int(memory.replace(",", "")) > 10
        assert name == f"toy, {row['method']}"
    assert "loss=hinge" in outcome.rows[0][5]


def test_the_figures_are_those_of_the_model_with_the_chosen_c(toy_table):
    (row,) = bench("other", methods=["svm"]).content["rows"]
    data = toys.toy()
    model = toys.Flat(C=row["C"], loss="hinge", random_state=0).fit(data.X_train, data.y_train)
    predicted = model.predict(data.X_test)
    assert row["measured"]["micro"] == pytest.approx(100 * accuracy(data.y_test, predicted, data.taxonomy), abs=0.01)
    assert row["measured"]["macro"] == pytest.approx(100 * macro_f1(data.y_test, predicted, data.taxonomy), abs=0.01)
    low, high = row["interval"]["micro"]
    assert low <= row["measured"]["micro"] <= high
    assert set(row["scores"]) == {"0.1", "1"}
    assert set(row["seconds"]) == {"choosing C", "fit", "predict"}


def test_methods_that_know_the_tree_are_measured(toy_table):
    rows = bench("other", methods=["hr-svm", "hr-lr"]).content["rows"]
    assert [(row["method"], row["status"]) for row in rows] == [("HR-SVM", MEASURED), ("HR-LR", MEASURED)]
    assert [row["settings"]["learner"] for row in rows] == ["RecursiveSVM", "RecursiveLogistic"]
    assert all(row["converged"] and row["choosing"] == {"threads": 3, "C_path": True} for row in rows)
    assert [row["tol"] for row in rows] == [cladist.RecursiveSVM().tol, cladist.RecursiveLogistic().tol]


# ---------------------------------------------------------------- times


def timed(data, method, seconds, **more):
    return {
        "data": data,
        "method": method,
        "status": MEASURED,
        "seconds": {"fit": seconds},
        "machine": {"cores": 2},
        "kind": EXACT,
    } | more


def test_times_stand_beside_the_published_ones_and_so_do_ratios():
    rows = [timed("CLEF", "SVM", 10.0, tol=0.001), timed("CLEF", "HR-SVM", 5.0), timed("toy", "HR-LR", 2.0)]
    part = times(rows, rows)
    assert part.header == ["data set, method", "published minutes", "seconds", *part.header[3:5], "gap", "data"]
    assert part.rows == [
        ["CLEF, SVM", "0.15", "10.0", "—", "—", "0.001", EXACT],
        ["CLEF, HR-SVM", "0.42", "5.0", "2.80", "0.50", "—", EXACT],
        ["toy, HR-LR", "—", "2.0", "—", "—", "—", EXACT],
    ]
    header, lines = ratio_table(rows)
    assert lines == [["CLEF, HR-SVM / SVM", "0.42 / 0.15 = 2.80", "5.0 / 10.0 = 0.50", "— / 0.001", EXACT]]
    assert len(header) == 5


def test_a_ratio_needs_both_on_one_machine():
    rows = [timed("toy", "LR", 10.0), timed("toy", "HR-LR", 5.0, machine={"cores": 64})]
    assert [line[3:5] for line in times(rows, rows).rows] == [["—", "—"], ["—", "—"]]
    assert ratio_table(rows)[1][0][1:3] == ["—", "—"]


def test_the_flat_row_of_a_ratio_may_be_one_measured_before(toy_table):
    bench("other", methods=["lr"])
    (part,) = bench("other", methods=["hr-lr"]).further
    ((name, published, seconds, *ratio, _, _),) = part.rows
    assert (name, published, ratio[0]) == ("toy, HR-LR", "—", "—")
    assert float(seconds) >= 0
    assert float(ratio[1]) > 0


def test_a_doubtful_time_is_marked():
    part = times([timed("SWIKI-2011", "TD", 1.0)], [])
    assert part.rows[0][1] == "21.34 (!)"
    assert part.remarks[1].startswith("(!) SWIKI-2011, TD: Eight times are printed")


def test_nothing_measured_has_no_times(toy_table):
    assert bench("missing").further == ()


def test_c_is_chosen_without_the_test_part(toy_table, monkeypatch):
    chosen = []

    def spy(make, X, y, Cs, **options):
        chosen.append((X.shape[0], len(y), tuple(Cs)))
        return 1.0, {1.0: 0.5}

    monkeypatch.setattr(measuring, "choose_C", spy)
    (row,) = bench("other").content["rows"]
    assert chosen == [(60, 60, (0.1, 1.0))]
    assert row["C"] == 1.0


def test_the_file_of_results_is_valid_and_complete(toy_table):
    outcome = bench("near", "missing", methods=["td", "later"])
    content = json.loads(toy_table.read_text())
    assert content == outcome.content
    assert [row["status"] for row in content["rows"]] == [
        MEASURED,
        "method not there yet",
        "data not found",
        "data not found",
    ]
    assert content["paper"] == "Gopal & Yang 2013"
    assert content["rows"][0]["published"] == {"micro": 38.48, "macro": 20.01, "uncertain": ""}


def test_what_is_not_there_is_said_in_the_table(toy_table):
    outcome = bench("near", "missing", methods=["later", "td"])
    cells = {line[0]: line[1:] for line in outcome.rows}
    assert cells["LSHTC-small, HBLR"][:2] == ["46.03 / 30.81", "method not there yet"]
    assert cells["SWIKI-2011, TD"][:2] == ["36.65 / 17.39 (!)", "data not found"]
    assert set(cells["SWIKI-2011, TD"][2:]) == {"—"}
    assert any(remark.startswith("(!) SWIKI-2011, TD: Eight pairs") for remark in outcome.remarks)


def test_what_is_refused_is_said_in_the_table_and_tried_again(toy_table):
    for _ in range(2):
        damaged, toy = bench("damaged", "other").rows
        assert damaged[2] == "not run: toy.csv, line 3: there is no label."
        assert "/" in toy[2]


def test_a_run_goes_on_where_it_was_stopped(toy_table):
    calls = []

    def stopping(data_set, method, by):
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(data_set)
        return measuring.measure(data_set, method, by)

    with pytest.raises(KeyboardInterrupt):
        bench("other", "near", measure=stopping)
    assert [row["data"] for row in json.loads(toy_table.read_text())["rows"]] == ["toy"]
    calls = []
    outcome = bench("other", "near", measure=lambda *names: calls.append(names) or measuring.measure(*names))
    assert calls == [("near", "td", "micro")]
    assert [row["status"] for row in outcome.content["rows"]] == [MEASURED, MEASURED]
    bench("other", measure=lambda *names: calls.append(names) or measuring.measure(*names), again=True)
    assert calls == [("near", "td", "micro"), ("other", "td", "micro")]


def test_c_can_be_chosen_for_the_other_measure(toy_table, monkeypatch):
    asked = []

    def judged(name, y_true, y_pred, taxonomy, **_):
        asked.append(name)
        return 0.5

    monkeypatch.setattr(
        measuring, "measures", lambda source: {name: partial(judged, name) for name in ("micro", "macro")}
    )
    monkeypatch.setattr(measuring, "bootstrap_interval", lambda metric, *_, **__: Interval(0.5, 0.4, 0.6))
    outcome = bench("other", methods=["lr"], choose_by="macro")
    assert set(asked) == {"macro"}
    assert outcome.content["rows"][0]["settings"]["chosen by"].startswith("macro-F1")
    assert "by macro-F1" in outcome.remarks[0]
    assert not toy_table.exists()
    assert toy_table.with_name("hr-by-macro.json").exists()
    with pytest.raises(ParameterError, match="there is no measure 'mean'; there are micro, macro"):
        bench("other", choose_by="mean")


def test_other_sources_of_the_package_are_pointed_out(toy_table, monkeypatch):
    assert not any("other sources" in remark for remark in bench("other").remarks)
    monkeypatch.setattr("benchmarks.papers.hr.showing.sources", lambda: "changed")
    assert any("other sources" in remark and "toy, TD" in remark for remark in bench("other").remarks)


def test_a_worse_figure_is_pointed_out(toy_table, monkeypatch):
    worse = [r for r in bench("near", "standin", "other").remarks if r.startswith("The published figure lies above")]
    assert worse == []
    monkeypatch.setattr(run, "published", lambda *_: {"micro": 100.1, "macro": 0.0, "uncertain": ""})
    (said,) = [r for r in bench("near", "standin").remarks if r.startswith("The published figure lies above")]
    assert said.endswith(": LSHTC-small, TD (micro, near data).")


# ---------------------------------------------------------------- what is called exact


def test_a_stand_in_has_a_column_of_its_own(toy_table):
    outcome = bench("near", "standin")
    assert outcome.header == [*COLUMNS[:3], STAND_IN, *COLUMNS[3:]]
    near, stand_in = (dict(zip(outcome.header, line, strict=True)) for line in outcome.rows)
    assert (stand_in["measured"], stand_in["data"]) == ("—", STAND_IN)
    assert "/" in stand_in[STAND_IN]
    assert (near[STAND_IN], near["data"]) == ("—", NEAR)
    assert EXACT not in str(outcome.rows)


def test_exact_is_only_what_has_the_papers_sizes(toy_table):
    (row,) = bench("claims-exact").content["rows"]
    assert row["kind"] == NEAR
    tree = Taxonomy.from_paths([f"{k % 9}/{k}" for k in range(9, 72)])
    y = np.array([str(9 + k % 63) for k in range(11_006)])
    sized = Dataset(np.zeros((11_006, 1)), y, tree, train_rows=slice(0, 10_000), test_rows=slice(10_000, 11_006))
    assert measuring.kind(toys.source(EXACT), sized, "CLEF") == EXACT
    assert measuring.kind(toys.source(EXACT), sized, "IPC") == NEAR
    assert measuring.kind(toys.source(STAND_IN), sized, "CLEF") == STAND_IN


def test_the_table_has_every_data_set_of_the_paper_and_says_what_is_not_in_it():
    titles = {data_set.title for data_set in DATA.values()}
    in_paper = {key[0] for key in read("hr").tables["table 3"].rows}
    assert in_paper <= titles
    for data_set in DATA.values():
        kinds = {source.kind for source in data_set.sources}
        assert kinds <= {EXACT, NEAR, STAND_IN} if data_set.title in in_paper else kinds == {OTHER}
        for source in data_set.sources:
            assert (source.layout is STANDIN) == (source.kind == STAND_IN)


def test_every_method_is_a_column_of_the_paper():
    columns = read("hr").tables["table 3"].columns
    printed = {name: method for name, method in METHODS.items() if not method.on_graph}
    assert all(f"{method.title} micro-F1" in columns for method in printed.values())
    titles = [column.removesuffix(" micro-F1") for column in columns if column.endswith(" micro-F1")]
    assert [method.title for method in printed.values()] == titles[: len(printed)]  # in the paper's order
    assert list(printed) == ["svm", "hr-svm", "lr", "hr-lr", "td", "hsvm", "ot", "hblr"]


def test_a_method_without_C_has_another_parameter_chosen():
    made = METHODS["hblr"].make(toys.source(OTHER), toys.toy(), 10.0)
    assert made.b0 == 10.0
    assert measuring.settings("hblr", None)["chosen as C"] == "b0"
    assert "chosen as C" not in measuring.settings("ot", None)


def test_a_label_graph_has_rows_of_its_own(toy_table, monkeypatch):
    related = RelationGraph.from_edges([("cat", "dog")])

    def with_relations():
        return replace(toys.toy(), relations=related)

    monkeypatch.setitem(DATA, "related", DataSet("related", (toys.source(OTHER, with_relations),), has_graph=True))
    rows = bench("related", methods=["svm", "hr-svm", "hr-svm-graph"]).content["rows"]
    assert [row["method"] for row in rows] == ["SVM", "HR-SVM", "HR-SVM, graph"]
    assert all(row["status"] == MEASURED for row in rows)
    made = METHODS["hr-svm-graph"].make(toys.source(OTHER, with_relations), with_relations(), 1.0)
    assert made.relations == related
    assert [row["method"] for row in bench("other", methods=["svm", "hr-svm-graph"]).content["rows"]] == ["SVM"]


# ---------------------------------------------------------------- features, choices


def test_features_are_learnt_from_the_training_part_alone():
    data = toys.toy()
    scaled = data_sets.standardised(data)
    np.testing.assert_allclose(scaled.X_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.X_train.std(axis=0), 1)
    assert abs(scaled.X_test.mean(axis=0)).max() > 1e-3


def test_counts_become_tfidf_of_the_training_parts_frequencies():
    from scipy import sparse

    counts = sparse.csr_matrix(np.array([[1, 0], [2, 1], [5, 5], [0, 3]]))
    data = Dataset(counts, ["a", "b", "a", "b"], train_rows=slice(0, 2), test_rows=slice(2, 4))
    weighed = data_sets.tfidf(data)
    assert weighed.X.dtype == np.float32
    np.testing.assert_allclose(np.sqrt(weighed.X.multiply(weighed.X).sum(axis=1)), 1, rtol=1e-6)
    idf = np.log(3 / 2) + 1  # the second word is in one of the two training rows
    assert weighed.X[2, 1] / weighed.X[2, 0] == pytest.approx(idf)


def test_a_quarter_is_held_out_before_words_are_counted():
    texts = np.array([f"word{k} common" for k in range(16)], dtype=object)
    data = Dataset(texts, np.array(["cat", "dog"] * 8), toys.TREE, source="texts")
    split = data_sets.quarter_held_out(data)
    assert (split.X_train.shape[0], split.X_test.shape[0]) == (12, 4)
    held_out = {text.split()[0] for text in split.texts_test}
    assert not held_out & set(split.feature_names)
    assert list(data_sets.quarter_held_out(data).texts_test) == list(split.texts_test)


def test_the_validation_part_is_trained_on_where_the_paper_did():
    parts = {"X_validation": np.full((2, 4), 7.0), "y_validation": ["oak", "cat"]}
    data = Dataset.from_parts(np.eye(4), ["cat", "dog", "oak", "rose"], np.ones((1, 4)), ["dog"], **parts)
    joined = data_sets.with_validation_part(data)
    assert joined.y_train == ["cat", "dog", "oak", "rose", "oak", "cat"]
    assert joined.X_train.shape == (6, 4)
    assert joined.y_test == ["dog"]


def test_sets_of_labels_go_to_the_learner_of_sets():
    td = METHODS["td"]
    assert td.learner_for(toys.source(OTHER)) == "TopDown"
    assert td.learner_for(toys.source(OTHER, multilabel=True)) == "NodewiseSVM"


def test_unknown_names_are_refused(toy_table):
    with pytest.raises(ParameterError, match="there is no data set 'clev'; there are clef, rcv1"):
        bench("clev")
    with pytest.raises(ParameterError, match="there is no method 'svn'; there are svm, hr-svm, hr-svm-graph, lr"):
        bench("other", methods=["svn"])
    assert not toy_table.exists()


def test_the_script_prints_the_table(toy_table, monkeypatch, capsys):
    monkeypatch.setattr(run, "measure_apart", measuring.measure)
    monkeypatch.setattr("sys.argv", ["run.py", "--data", "other,missing", "--methods", "td"])
    run.main()
    assert "toy, TD" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["run.py", "--data", "other", "--methods", "td", "--json"])
    run.main()
    assert json.loads(capsys.readouterr().out)["rows"][0]["data"] == "toy"


def test_a_real_row_is_measured_in_a_process_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setattr(run, "in_new_process", lambda *call: asked.append(call) or {"status": MEASURED})
    assert run.measure_apart("clef", "td", "macro") == {"status": MEASURED}
    assert asked == [("benchmarks.papers.hr.measuring:measure", "clef", "td", "macro")]
