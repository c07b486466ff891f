"""RecursiveSVM and RecursiveLogistic on graphs of labels: objectives, DAGs, files, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cladist
from cladist import (
    FlatLogistic,
    FlatSVM,
    LabelMatrix,
    RecursiveLogistic,
    RecursiveSVM,
    RelationGraph,
    Relations,
    Taxonomy,
    Thresholded,
)
from cladist.datasets import load_genes_go
from cladist.errors import ModelFormatError, ParameterError, TaxonomyError, TooLargeError
from cladist.labels import to_indicator
from cladist.metrics import micro_f1, report
from cladist.persistence.models import pack_relations, unpack_relations
from tests.learners.flat_rows import TAXONOMY, single
from tests.learners.recursive_models import CLOSE, DEEP, LEARNERS, both, every_learner, losses_of

RELATED = RelationGraph.from_edges([("tennis", "chess", 2.0), ("chess", "film"), ("film", "music", 0.5)])
DAG = Taxonomy.from_edges(
    [("top", "a"), ("top", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("a", "e"), ("b", "f"), ("f", "g")]
)
FLAT = {RecursiveSVM: FlatSVM, RecursiveLogistic: FlatLogistic}


def objective_of(model, X, y, ridge=0.0):
    """By the definition, for single labels; no intercept. Labels without relations are pulled to 0."""
    taxonomy, graph = model.taxonomy_, model.relations_
    W = model.node_coef_.toarray().astype(np.float64)
    found = sum(
        0.5 * weight * np.sum((W[taxonomy.index(u)] - W[taxonomy.index(v)]) ** 2) for u, v, weight in graph.edges()
    )
    found += 0.5 * ridge * np.sum(W**2)
    for label, w in zip(model.classes_, model.coef_, strict=True):
        if label not in graph and not ridge:
            found += 0.5 * np.sum(w.astype(np.float64) ** 2)
        signs = np.where(np.asarray(y) == label, 1, -1)
        found += model.C * np.sum(losses_of(model, signs * (X @ w.astype(np.float64))))
    return found


def rows_of_dag(n=80, sets=False, seed=0):
    random = np.random.default_rng(seed)
    labels = random.choice(["d", "e", "g", "c"], n)
    X = random.normal(size=(n, 6)) / 4 + np.array([[ord(label) % (k + 2) for k in range(6)] for label in labels]) / 4
    return sparse.csr_array(X), [{label} for label in labels] if sets else labels


# ---------------------------------------------------------------- what is learnt


@every_learner
@pytest.mark.parametrize("schedule", ["coloured", "jacobi", "joint"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_objective_is_that_of_the_definition(learner, loss, schedule, ridge):
    X, y = single()
    relations = Relations(RELATED, schedule=schedule, ridge=ridge, intercept="pulled")
    options = {"relations": relations, "fit_intercept": False}
    model = learner(TAXONOMY, **options, **loss, **CLOSE).fit(X, y)
    assert model.converged_
    assert model.history_[-1]["objective"] == pytest.approx(objective_of(model, X, y, ridge), rel=2e-5)
    assert model.history_[-1]["gap"] <= CLOSE["tol"]
    assert model.relations_ == RELATED


@every_learner
def test_labels_without_relations_are_flat(learner, loss):
    X, y = single()
    options = {"relations": Relations([("tennis", "chess"), ("chess", "film")], ridge=0.5), "C": 0.1}
    model = learner(TAXONOMY, **options, **loss, **CLOSE).fit(X, y)
    flat = FLAT[learner](TAXONOMY, C=0.1 / 0.5, **loss, tol=1e-6, max_iter=5000).fit(X, y)
    alone = list(model.classes_).index("music")
    np.testing.assert_allclose(model.coef_[alone], flat.coef_[alone], atol=5e-3)
    assert np.abs(model.coef_ - flat.coef_).max() > 0.05


@every_learner
def test_a_tree_read_as_a_graph_is_a_tree_with_a_free_root(learner, loss):
    X, y = single()
    close = {"C": 0.1, "tol": 1e-4, "max_iter": 2000, **loss}
    graph = learner(DEEP, relations=Relations(RelationGraph.from_taxonomy(DEEP), intercept="pulled"), **close)
    graph.fit(X, y)
    tree = learner(DEEP, relations=Relations(root="free"), solver="alternating", **close).fit(X, y)
    assert graph.history_[-1]["objective"] == pytest.approx(tree.history_[-1]["objective"], rel=2e-4)
    np.testing.assert_allclose(graph.coef_, tree.coef_, atol=2e-2)


@every_learner
def test_more_pull_brings_related_labels_together(learner, loss):
    X, y = single()
    names = list(learner(TAXONOMY, **loss).fit(X, y).classes_)
    pair = [names.index("tennis"), names.index("chess")]
    apart = []
    for weight in (0.1, 10, 1000):
        graph = RelationGraph.from_edges([("tennis", "chess", weight)])
        relations = Relations(graph, ridge=0.1, schedule="joint", intercept="pulled")
        one, other = learner(TAXONOMY, relations=relations, **loss).fit(X, y).coef_[pair]
        apart.append(np.linalg.norm(one - other))
    assert apart[0] > apart[1] > apart[2]


@both
def test_nodes_that_only_relations_know_join_others(learner):
    """Without a taxonomy, labels of y are all there is; a node between two of them still carries what they share."""
    X, y = single()
    all_of_them = [("tennis", "chess", 0.5), ("film", "music"), ("tennis", "music")]
    through = RelationGraph.from_edges([("tennis", "games"), ("games", "chess"), *all_of_them[1:]])
    direct = RelationGraph.from_edges(all_of_them)  # two edges of 1 in a row pull as one of ½
    options = {"C": 0.1, "tol": 1e-6, "max_iter": 2000}
    related = (Relations(graph, schedule="joint", intercept="pulled") for graph in (through, direct))
    one, other = (learner(relations=relations, **options).fit(X, y) for relations in related)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-2)
    assert "games" not in one.classes_


@both
def test_rows_in_another_form_give_the_same(learner, tmp_path):
    X, y = single()
    RELATED.write(tmp_path / "relations.tsv")
    model = learner(TAXONOMY, relations=RELATED).fit(X, y)
    for given in (str(tmp_path / "relations.tsv"), list(RELATED.edges())):
        np.testing.assert_array_equal(learner(TAXONOMY, relations=given).fit(X, y).coef_, model.coef_)
    np.testing.assert_array_equal(learner(TAXONOMY, relations=RELATED, n_jobs=2).fit(X, y).coef_, model.coef_)
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)


@both
def test_c_is_chosen_on_a_graph_too(learner):
    X, y = single()
    relations = Relations(RELATED, schedule="joint", ridge=0.1, intercept="pulled")
    model = learner(TAXONOMY, relations=relations, C="cv").fit(X, y)
    assert model.C_ in {entry["C"] for entry in model.cv_results_}
    exact = learner(TAXONOMY, relations=Relations(RELATED, ridge=0.1), tol=1e-7, max_iter=2000)
    path = list(exact.C_path(X, y, [0.1, 1.0]))
    np.testing.assert_allclose(path[1].coef_, exact.fit(X, y).coef_, atol=2e-3)


# ---------------------------------------------------------------- DAGs


@every_learner
def test_a_dag_is_read_as_its_undirected_graph(learner, loss):
    X, y = rows_of_dag()
    model = learner(DAG, **loss).fit(X, y)
    given = learner(DAG, relations=RelationGraph.from_taxonomy(DAG), **loss).fit(X, y)
    np.testing.assert_array_equal(model.coef_, given.coef_)
    assert model.score(X, y) > 0.8
    assert set(model.classes_) == {"c", "d", "e", "g"}  # c has d below it, and rows of its own


@every_learner
@pytest.mark.parametrize("repair", ["top_down", "bottom_up"])
def test_all_nodes_of_a_dag_may_learn(learner, loss, repair):
    X, y = rows_of_dag(sets=True)
    has = LabelMatrix.from_sets(y, DAG).to_indicator().toarray()
    model = learner(DAG, relations=Relations(targets="nodes", repair=repair), **loss).fit(X, has)
    assert set(model.classes_) == set(DAG.names)
    predicted = np.asarray(model.predict(X))
    for parent, child in DAG.edges():
        assert np.all(predicted[:, DAG.index(parent)] >= predicted[:, DAG.index(child)])
    assert np.mean(predicted == has) > 0.9


def test_single_labels_of_all_nodes_are_sums_along_paths():
    X, y = rows_of_dag()
    model = RecursiveSVM(DAG, relations=Relations(targets="nodes")).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(y), 4)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("strategy", ["scut", "instance"])
def test_thresholds_are_learnt_on_a_dag(strategy):
    X, y = rows_of_dag(sets=True)
    has = LabelMatrix.from_sets(y, DAG).to_indicator().toarray()
    scorer = RecursiveSVM(DAG, relations=Relations(targets="nodes", ridge=0.1), C=0.01)
    model = Thresholded(scorer, strategy=strategy, cv=3, random_state=0).fit(X, has)
    predicted = np.asarray(model.predict(X))
    for parent, child in DAG.edges():
        assert np.all(predicted[:, DAG.index(parent)] >= predicted[:, DAG.index(child)])
    assert micro_f1(has, predicted, DAG, nodes="all") > 0.8


@pytest.mark.data
def test_genes_go_is_learnt_and_judged(data_folder):
    """The Gene Ontology, a DAG of 4,125 nodes: better than what most genes have."""
    data = load_genes_go()
    features = make_pipeline(SimpleImputer(), StandardScaler())
    X, y = features.fit_transform(data.X_train)[::4], data.y_train[::4]
    model = RecursiveSVM(data.taxonomy, relations=Relations(targets="nodes"), C=0.1, tol=0.05).fit(X, y)
    X_test, y_test = features.transform(data.X_test)[:300], data.y_test[:300]
    has = to_indicator(y, data.taxonomy).toarray()
    usual = LabelMatrix.from_indicator(np.tile(has.mean(axis=0) > 0.5, (300, 1)), data.taxonomy)
    told = report(y_test, model.predict(X_test), data.taxonomy)
    assert told.metrics["micro_f1_all"] > 0.9 * micro_f1(y_test, usual, data.taxonomy, nodes="all")


# ---------------------------------------------------------------- files


@both
@pytest.mark.parametrize("given", [RELATED, None])
def test_a_loaded_model_knows_its_relations(learner, given, tmp_path):
    taxonomy, (X, y) = (TAXONOMY, single()) if given is not None else (DAG, rows_of_dag())
    model = learner(taxonomy, relations=Relations(given, ridge=0.1)).fit(X, y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.node_coef_.toarray(), model.node_coef_.toarray())
    assert again.relations_ == model.relations_
    assert again.relations == Relations(given, ridge=0.1)
    again.fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    ("key", "relations"),
    [
        ("hr-svm-graph-1", Relations(RELATED, ridge=0.25, schedule="joint", intercept="pulled")),
        ("hr-lr-free-1", Relations(root="free", blocks_per_round=2)),
    ],
)
def test_files_in_which_options_were_parameters_of_the_learner_load(key, relations):
    golden = Path(__file__).parents[1] / "persistence" / "golden"
    expected = json.loads((golden / f"{key}.json").read_text())
    model = cladist.load(golden / key)
    assert model.relations == relations
    assert model.predict(expected["rows"]).tolist() == expected["labels"]
    np.testing.assert_allclose(model.decision_function(expected["rows"]), expected["scores"], rtol=1e-6)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("indices", lambda a: a + 1),
        ("indices", lambda a: np.zeros_like(a)),
        ("indptr", lambda a: a[::-1].copy()),
        ("weights", lambda a: -a),
        ("weights", lambda a: a + np.arange(len(a))),
        ("weights", lambda a: a[:-1]),
    ],
)
def test_a_damaged_graph_is_refused(part, change):
    arrays = pack_relations(RELATED)
    assert unpack_relations(arrays) == RELATED
    with pytest.raises(ModelFormatError, match="label graph"):
        unpack_relations(arrays | {part: change(arrays[part])})


# ---------------------------------------------------------------- refusals


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relations": Relations(RELATED, root="free")}, "root='free' is for trees"),
        ({"relations": RELATED, "sharing": "cv"}, "sharing='cv' is for trees"),
        ({"relations": Relations(RELATED, blocks_per_round=2)}, "blocks_per_round=2 is for trees"),
        ({"relations": RELATED, "warm_start": True}, "every fit starts anew"),
        ({"relations": RELATED, "weights": "dual"}, "dense or sparse"),
        ({"relations": Relations(RELATED, ridge=-1)}, "ridge must be 0 or positive"),
        ({"relations": Relations(RELATED, schedule="all")}, "schedule"),
        ({"relations": Relations(ridge=1.0)}, "ridge=1.0 is for labels related by a graph"),
        ({"relations": Relations(schedule="jacobi")}, "for labels related by a graph"),
        ({"relations": Relations(targets="nodes")}, "RelationGraph.from_taxonomy"),
    ],
)
def test_what_makes_no_sense_is_refused(learner, options, message):
    X, y = single()
    with pytest.raises(ParameterError, match=message):
        learner(TAXONOMY, **options).fit(X, y)


@both
@pytest.mark.parametrize("name", ["root", "blocks_per_round", "targets", "repair", "schedule", "ridge"])
def test_options_of_relations_given_to_a_learner_are_refused_in_words(learner, name):
    with pytest.raises(TypeError, match=rf"write relations=Relations\({name}=1\)"):
        learner(TAXONOMY, **{name: 1})
    assert name not in learner().get_params()
    assert len(learner().get_params()) <= 27


def test_options_are_parameters_in_scikit_learns_notation():
    model = RecursiveSVM(TAXONOMY, relations=Relations(RELATED, ridge=0.5))
    copy = clone(model).set_params(relations__ridge=0.25)
    assert copy.relations == Relations(RELATED, ridge=0.25)
    assert model.get_params()["relations__ridge"] == 0.5


@both
@pytest.mark.parametrize("given", [RELATED, None])
def test_a_plain_graph_is_what_is_loaded(learner, given, tmp_path):
    X, y = single()
    model = learner(TAXONOMY, relations=given).fit(X, y)
    model.save(tmp_path / "model")
    assert cladist.load(tmp_path / "model").relations == given


@both
def test_relations_of_other_labels_are_refused(learner):
    X, y = single()
    with pytest.raises(TaxonomyError, match="'golf' is not one"):
        learner(TAXONOMY, relations=[("tennis", "golf")]).fit(X, y)
    with pytest.raises(TaxonomyError, match="none of y's is among them"):
        learner(relations=[("golf", "polo")]).fit(X, y)


@both
def test_too_many_weights_are_refused(learner, monkeypatch):
    monkeypatch.setattr("cladist.solvers.problem.MOST_DENSE_BYTES", 100)
    X, y = single()
    with pytest.raises(TooLargeError, match="too many weights to relate"):
        learner(TAXONOMY, relations=RELATED).fit(X, y)
    sparse_model = learner(TAXONOMY, relations=RELATED, weights="sparse", prune=1e-3).fit(X, y)
    assert sparse.issparse(sparse_model.coef_)


def test_every_learner_is_covered():
    assert {learner for learner, _ in LEARNERS.values()} == set(FLAT)
