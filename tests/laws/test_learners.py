"""The laws every learner obeys, over the registry: a method added there is tested here without a word."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import cladist
from cladist import Taxonomy
from cladist.datasets import make_topics
from cladist.execution import Serial, Threads
from cladist.registry import METHODS

# Methods whose result depends on the order of the rows by definition: one pass, one update a row; or rows drawn by
# number, and of several that are equally bad the first.
ORDER_MATTERS = {"hieron", "h-perc", "hp", "sp", "ksp"}
# Methods that start with equal scores, where the first node in the taxonomy's order wins.
TIES_GO_BY_ORDER = {"hieron", "hp", "sp", "ksp"}


@pytest.fixture(scope="module")
def data():
    return make_topics(n_samples=400, n_test=150, n_features=300, branching=(3, 2, 2), random_state=0)


@pytest.fixture(params=METHODS, ids=lambda method: method.name)
def method(request):
    return request.param


def build(method, taxonomy, **options):
    """An unfitted learner with a fixed seed where it has one."""
    cls = method.load()
    if "random_state" in cls._get_param_names():
        options["random_state"] = 0
    return cls(taxonomy, **options)


@pytest.fixture
def model(method, data):
    return build(method, data.taxonomy)


def scores(model, data, rows=None):
    return model.fit(data.X_train, data.y_train).decision_function(data.X_test if rows is None else rows)


def test_the_registry_names_a_public_class(method):
    assert getattr(cladist, method.class_name) is method.load()
    assert method.paper
    assert method.summary


def test_constructors_only_store_their_arguments(model):
    for name, value in model.get_params(deep=False).items():
        assert getattr(model, name) is value


def test_fit_is_repeatable(model, data):
    np.testing.assert_array_equal(scores(clone(model), data), scores(clone(model), data))


def test_clone_keeps_the_very_taxonomy(model):
    assert clone(model).taxonomy is model.taxonomy


def test_a_pickled_model_answers_the_same(model, data):
    before = scores(model, data)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(data.X_test), before)


def test_a_saved_model_answers_the_same(model, data, tmp_path):
    before = scores(model, data)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(data.X_test), before)
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))


def test_it_learns(model, data):
    model.fit(data.X_train, data.y_train)
    assert model.score(data.X_test, data.y_test) > 3 / len(data.taxonomy.leaves)


def test_dense_and_sparse_rows_agree(model, data):
    sparse_scores = scores(clone(model), data)
    dense = clone(model).fit(data.X_train.toarray(), data.y_train)
    np.testing.assert_allclose(dense.decision_function(data.X_test.toarray()), sparse_scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("convert", [sparse.csc_matrix, sparse.coo_array, sparse.csr_matrix])
def test_any_sparse_format_will_do(model, data, convert):
    expected = scores(clone(model), data)
    found = clone(model).fit(convert(data.X_train), data.y_train).decision_function(convert(data.X_test))
    np.testing.assert_array_equal(found, expected)


def test_rows_given_are_not_changed(model, data):
    X = data.X_train.copy()
    model.fit(X, data.y_train)
    model.predict(X)
    assert (data.X_train != X).nnz == 0


@pytest.mark.parametrize("executor", [Serial(), Threads(2), Threads(5)], ids=repr)
def test_every_executor_returns_the_same_weights(method, data, executor):
    if "executor" not in method.load()._get_param_names():
        pytest.skip(f"{method.class_name} runs in one piece and has no executor")
    expected = scores(build(method, data.taxonomy), data)
    found = scores(build(method, data.taxonomy, executor=executor), data)
    np.testing.assert_array_equal(found, expected)


def renamed_data(data, *, reverse):
    """The same problem with other names, and with siblings in reverse order if asked."""
    taxonomy = data.taxonomy
    other_name = {name: f"z{k}" for k, name in enumerate(reversed(taxonomy.names))}
    parents = {
        other_name[name]: None if p < 0 else other_name[taxonomy.names[p]]
        for name, p in zip(taxonomy.names, taxonomy.parent, strict=True)
    }
    order = reversed(parents.items()) if reverse else parents.items()
    return other_name, Taxonomy.from_parents(dict(order)), [other_name[label] for label in data.y_train]


@pytest.mark.parametrize("reverse", [False, True], ids=["renaming", "reordering"])
def test_renaming_or_reordering_nodes_permutes_the_output_and_nothing_else(method, data, reverse):
    if reverse and method.name in TIES_GO_BY_ORDER:
        pytest.skip(f"{method.class_name} begins with all scores equal, and breaks ties by the nodes' order")
    other_name, taxonomy, y = renamed_data(data, reverse=reverse)
    # Classes are solved in blocks, and which share one depends on their order; how far, the tolerance says.
    exact = {"tol": 1e-6} if "tol" in method.load()._get_param_names() else {}
    plain = build(method, data.taxonomy, **exact).fit(data.X_train, data.y_train)
    other = build(method, taxonomy, **exact).fit(data.X_train, y)
    columns = [other.classes_.tolist().index(other_name[name]) for name in plain.classes_]
    found, expected = other.decision_function(data.X_test)[:, columns], plain.decision_function(data.X_test)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3 if reverse else 1e-12)


def test_reordering_rows_changes_nothing(method, data):
    if method.name in ORDER_MATTERS:
        pytest.skip(f"{method.class_name} is defined by the order of its rounds")
    order = np.random.default_rng(0).permutation(data.X_train.shape[0])
    plain = build(method, data.taxonomy).fit(data.X_train, data.y_train)
    shuffled = build(method, data.taxonomy).fit(data.X_train[order], data.y_train[order])
    np.testing.assert_allclose(shuffled.decision_function(data.X_test), plain.decision_function(data.X_test), atol=0.1)


def test_without_a_taxonomy_the_labels_make_a_star(method):
    rows, y = np.eye(3), np.array([30, 10, 20])
    model = build(method, None).fit(np.tile(rows, (5, 1)), np.tile(y, 5))
    assert model.classes_.tolist() == [10, 20, 30]
    assert model.taxonomy_.kind == "forest"
    np.testing.assert_array_equal(model.predict(rows), y)


def test_prediction_in_pieces_is_prediction_at_once(model, data):
    model.fit(data.X_train, data.y_train)
    pieces = [model.predict(data.X_test[k : k + 13]) for k in range(0, 150, 13)]
    np.testing.assert_array_equal(np.concatenate(pieces), model.predict(data.X_test))
