"""The comparison and Gopal & Yang's tables, on toys: what is measured, what cannot be, what is called exact."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import cladist
from benchmarks import bench, cells, comparison, data_sets, studies
from benchmarks.cells import MEASURED, NO_DATA, NO_METHOD, REFUSED
from benchmarks.comparison import METHODS
from benchmarks.data_sets import DATA, EXACT, NEAR, OTHER, STAND_IN, DataSet
from benchmarks.papers.hr import run
from benchmarks.papers.published import read
from benchmarks.rcv1_standin import STANDIN
from cladist import RelationGraph, Taxonomy, registry
from cladist.datasets import Dataset
from cladist.metrics import accuracy, macro_f1, tree_induced_error
from cladist.metrics.significance import Interval
from tests.benchmarks import toys


def measure(*data, methods=("top-down",), study=comparison.STUDY, **options):
    """Measure cells and return them."""
    done = studies.run([study], data=list(data), methods=list(methods), **options)
    found = cells.read(study.name)
    return [found[d, m] for d in data for m in methods if (d, m) in found], done


def test_the_figures_are_those_of_the_model_with_the_chosen_c(toy_table):
    ((cell,), _) = measure("other", methods=["svm"])
    data = toys.toy()
    model = toys.Flat(C=cell["C"], loss="hinge", random_state=0).fit(data.X_train, data.y_train)
    predicted = model.predict(data.X_test)
    for name, metric, unit in (("micro", accuracy, 100), ("macro", macro_f1, 100), ("tree", tree_induced_error, 1)):
        assert cell["measured"][name] == pytest.approx(unit * metric(data.y_test, predicted, data.taxonomy), abs=0.01)
        low, high = cell["interval"][name]
        assert low <= cell["measured"][name] <= high
    assert set(cell["scores"]) == {"0.1", "1"}
    assert set(cell["seconds"]) == {"choosing", "fit", "predict"}
    assert cell["status"] == MEASURED
    assert cell["peak_memory_mib"] > 10


def test_every_method_of_the_registry_is_measured_or_says_why_not(toy_table, monkeypatch):
    few = {name: replace(m, stages=m.stages and {k: v[:2] for k, v in m.stages.items()}) for name, m in METHODS.items()}
    monkeypatch.setattr(comparison, "METHODS", few)
    names = [method.name for method in registry.METHODS]
    found, done = measure("other", methods=names)
    assert done.failures == []
    assert [cell["method"] for cell in found] == names
    for cell in found:
        assert cell["status"] == MEASURED or (cell["status"] == REFUSED and cell["reason"])
        if cell["status"] == MEASURED:
            assert ("C" in cell) != ("chosen" in cell)
    assert sum(cell["status"] == MEASURED for cell in found) > 10


def test_methods_of_the_paper_that_the_registry_lacks_have_rows(toy_table):
    assert [comparison.name_of_column(title) for title in comparison.columns()][-2:] == ["ot", "hblr"]
    assert {"ot", "hblr"} <= set(comparison.list_methods())
    assert comparison.missing("near", "later") == NO_METHOD
    assert comparison.missing("missing", "svm") == NO_DATA
    lines = {line[0]: line for line in run.table_3({}, "3", "").rows}
    assert {"LSHTC-small, OT", "LSHTC-small, HBLR"} <= set(lines)
    for name in ("ot", "hblr"):
        there = name in {method.name for method in registry.METHODS}
        assert (lines[f"LSHTC-small, {METHODS[name].title}"][2] == NO_METHOD) != there
    assert ("near", "later") in comparison.pairs()
    assert ("missing", "hieron") not in comparison.pairs()


def test_methods_that_know_the_tree_are_measured(toy_table):
    found, _ = measure("other", methods=["hr-svm", "hr-lr"])
    assert [cell["settings"]["learner"] for cell in found] == ["RecursiveSVM", "RecursiveLogistic"]
    assert all(cell["converged"] and cell["choosing"]["C_path"] for cell in found)
    assert [cell["tol"] for cell in found] == [cladist.RecursiveSVM().tol, cladist.RecursiveLogistic().tol]


def test_parameters_are_chosen_without_the_test_part(toy_table, monkeypatch):
    chosen = []

    def of_C(make, X, y, Cs, **options):
        chosen.append((X.shape[0], len(y), tuple(Cs)))
        return 1.0, {1.0: 0.5}

    def of_stages(make, stages, X, y, **options):
        chosen.append((X.shape[0], len(y), tuple(stages)))
        return {"max_iter": 1}, []

    monkeypatch.setattr(comparison, "choose_C", of_C)
    monkeypatch.setattr(comparison, "choose_in_stages", of_stages)
    measure("other", methods=["lr", "h-perc"])
    assert sorted(chosen, key=str) == [(60, 60, ("max_iter", "average")), (60, 60, (0.1, 1.0))]


def test_c_can_be_chosen_for_the_other_measure(toy_table, monkeypatch):
    asked = []

    def judged(name, y_true, y_pred, taxonomy, **_):
        asked.append(name)
        return 0.5

    monkeypatch.setattr(
        comparison, "metrics_of", lambda source: {n: (partial(judged, n), 1.0, 2) for n in ("micro", "macro")}
    )
    monkeypatch.setattr(comparison, "bootstrap_interval", lambda metric, *_, **__: Interval(0.5, 0.4, 0.6))
    study = replace(comparison.MACRO_STUDY, pairs=lambda: [("other", "lr")])
    ((cell,), _) = measure("other", methods=["lr"], study=study)
    assert set(asked) == {"macro"}
    assert cell["settings"]["chosen by"].startswith("macro-F1")
    assert cells.read(comparison.NAME) == {}


def test_what_is_damaged_is_told_and_tried_again(toy_table):
    for _ in range(2):
        found, done = measure("damaged", "other")
        assert [cell["data"] for cell in found] == ["other"]
        assert done.failures == ["comparison: damaged, top-down: toy.csv, line 3: there is no label."]


# ---------------------------------------------------------------- the paper's tables


def test_published_and_measured_stand_side_by_side(toy_table):
    measure("near", "standin", methods=["top-down", "h-svm", "lr", "hr-lr"])
    found = cells.read(comparison.NAME)
    lines = {line[0]: dict(zip(run.HEADER, line, strict=True)) for line in run.table_3(found, "3", "").rows}
    near = lines["LSHTC-small, HR-LR"]
    assert near["published"] == "45.11 / 28.48"
    assert near["measured"] == "{micro:.2f} / {macro:.2f}".format(**found["near", "hr-lr"]["measured"])
    assert near["data"] == NEAR
    assert f"C={found['near', 'hr-lr']['C']:g}; 3-fold CV" in near["settings, how chosen"]
    assert lines["RCV1, LR"]["data"] == STAND_IN
    assert lines["SWIKI-2011, TD"]["published"] == "36.65 / 17.39 (!)"
    assert lines["SWIKI-2011, TD"]["data"] == "not to be had"
    times = {line[0]: line for line in run.table_4(found).rows}
    assert times["LSHTC-small, HR-LR"][1] == "3.73 min = 1.93 × LR"
    assert times["LSHTC-small, HR-LR"][2].endswith("× LR")
    assert times["CLEF, HR-SVM"][1:3] == ["0.42 min = 2.80 × SVM", "not measured yet"]
    assert any(text.startswith("(!) SWIKI-2011, TD: Eight times") for text in run.table_4(found).remarks)
    assert len(run.table_2(found).rows) == 15


def test_a_worse_figure_is_pointed_out(toy_table):
    measure("near", "standin")
    found = cells.read(comparison.NAME)
    for cell in found.values():
        cell["interval"] = {"micro": [0, 1], "macro": [0, 100]}
    worse = [text for text in run.table_3(found, "3", "").remarks if text.startswith("The published figure lies above")]
    assert worse == ["The published figure lies above our interval: LSHTC-small, TD (micro, near data)."]


# ---------------------------------------------------------------- what is called exact


def test_exact_is_only_what_has_the_papers_sizes(toy_table):
    ((cell,), _) = measure("claims-exact")
    assert cell["kind"] == NEAR
    tree = Taxonomy.from_paths([f"{k % 9}/{k}" for k in range(9, 72)])
    y = np.array([str(9 + k % 63) for k in range(11_006)])
    sized = Dataset(np.zeros((11_006, 1)), y, tree, train_rows=slice(0, 10_000), test_rows=slice(10_000, 11_006))
    assert comparison.kind(toys.source(EXACT), sized, "CLEF") == EXACT
    assert comparison.kind(toys.source(EXACT), sized, "IPC") == NEAR
    assert comparison.kind(toys.source(STAND_IN), sized, "CLEF") == STAND_IN


def test_the_data_sets_have_those_of_the_paper_and_say_what_is_not_in_it():
    titles = {data_set.title for data_set in DATA.values()}
    in_paper = {key[0] for key in read("hr").tables["table 3"].rows}
    assert in_paper <= titles
    for data_set in DATA.values():
        kinds = {source.kind for source in data_set.sources}
        assert kinds <= {EXACT, NEAR, STAND_IN} if data_set.title in in_paper else kinds == {OTHER}
        for source in data_set.sources:
            assert (source.layout is STANDIN) == (source.kind == STAND_IN)


def test_a_label_graph_has_cells_of_its_own(toy_table, monkeypatch):
    related = RelationGraph.from_edges([("cat", "dog")])

    def with_relations():
        return replace(toys.toy(), relations=related)

    monkeypatch.setitem(DATA, "related", DataSet("related", (toys.source(OTHER, with_relations),), has_graph=True))
    found, _ = measure("related", methods=["hr-svm", "hr-svm-graph"])
    assert [cell["status"] for cell in found] == [MEASURED] * 2
    made = METHODS["hr-svm-graph"].make(toys.source(OTHER, with_relations), with_relations(), C=1.0)
    assert made.relations == related
    assert ("other", "hr-svm-graph") not in comparison.pairs()


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


def test_unknown_names_are_refused(toy_table):
    with pytest.raises(cladist.errors.ParameterError, match="bench hr: there is no data set 'clev'; there are ipc"):
        bench.bench("hr", data=["clev"])
    with pytest.raises(cladist.errors.ParameterError, match="there is no method 'svn'; there are svm, hr-svm, lr"):
        bench.bench("hr", methods=["svn"])
    assert not toy_table.exists()
