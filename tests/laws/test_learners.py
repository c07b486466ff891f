"""The laws every learner obeys: cladist's own, those of installed packages, and the example package's."""

from __future__ import annotations

import pickle
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import cladist
from cladist import Taxonomy, registry
from cladist.datasets import make_topics
from cladist.execution import Serial, Threads
from cladist.solvers.structured import columns

PACKAGE = Path(__file__).parents[2] / "examples" / "nearest-centroid" / "src" / "nearest_centroid" / "__init__.py"
EXAMPLE = registry.Method(
    "nearest-centroid", "nearest_centroid:NearestCentroid", "an example", "an example", package="x"
)
# Methods whose result depends on the order of the rows by definition: one update per row; or rows drawn by number, and
# the first of several that are equally bad.
ORDER_MATTERS = {"hieron", "h-perc", "hp", "sp", "ksp"}
# Methods that start with equal scores, where the first node in the taxonomy's order wins.
TIES_GO_BY_ORDER = {"hieron", "hp", "sp", "ksp"}


@pytest.fixture(scope="module")
def data():
    return make_topics(n_samples=400, n_test=150, n_features=300, branching=(3, 2, 2), random_state=0)


@pytest.fixture(params=[*registry.methods(), EXAMPLE], ids=lambda method: method.name)
def method(request, monkeypatch):
    if request.param is EXAMPLE:
        spec = spec_from_file_location("nearest_centroid", PACKAGE)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(sys.modules, "nearest_centroid", module)
        monkeypatch.setitem(registry._registered, EXAMPLE.name, EXAMPLE)
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
    assert registry.find(method.name) is registry.find_class(method.class_name) is method
    assert issubclass(method.load(), cladist.HierarchicalClassifier)
    assert method.package or getattr(cladist, method.class_name) is method.load()
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


def separated_rows(taxonomy, n_rows, rng):
    """Rows near the indicator of their label's path: every leaf is a cone far from the others."""
    labels = np.arange(n_rows) % len(taxonomy.leaves)
    paths = np.zeros((len(taxonomy.leaves), taxonomy.n_nodes))
    for row, leaf in zip(paths, taxonomy.leaves, strict=True):
        row[taxonomy.path_ids(int(leaf))] = 1.0
    X = paths[labels] + rng.uniform(-0.1, 0.1, (n_rows, taxonomy.n_nodes))
    return X, np.array(taxonomy.names)[taxonomy.leaves][labels]


def test_separated_labels_are_learned_without_an_error(model, data):
    rng = np.random.default_rng(0)
    X, y = separated_rows(data.taxonomy, 240, rng)
    X_test, y_test = separated_rows(data.taxonomy, 120, rng)
    assert model.fit(X, y).score(X_test, y_test) == 1.0


def test_most_labels_are_learned_from_overlapping_rows(model, data):
    """Half of the rows at least, where a guess among twelve leaves has one in twelve."""
    assert model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test) > 0.5


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


class Counting:
    """An executor that remembers the most tasks it was given at once."""

    def __init__(self, inner):
        self.inner, self.most = inner, 0

    def map(self, function, tasks):
        tasks = list(tasks)
        self.most = max(self.most, len(tasks))
        return self.inner.map(function, tasks)


@pytest.fixture(scope="module")
def wide_data():
    """More leaves than fit into one block of classes, and more rows than the blocks of rows below hold."""
    return make_topics(n_samples=300, n_test=60, n_features=200, branching=(4, 5), random_state=0)


@pytest.mark.parametrize("executor", [Serial(), Threads(2), Threads(5)], ids=repr)
def test_every_executor_returns_the_same_weights(method, wide_data, executor, monkeypatch):
    if "executor" not in method.load()._get_param_names():
        pytest.skip(f"{method.class_name} runs in one piece and has no executor")
    monkeypatch.setattr(columns, "BLOCK", 64)
    counting = Counting(executor)
    expected = scores(build(method, wide_data.taxonomy), wide_data)
    found = scores(build(method, wide_data.taxonomy, executor=counting), wide_data)
    np.testing.assert_array_equal(found, expected)
    assert counting.most > 1


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
    """The solution is unique, and both fits are within their tolerance of it."""
    if method.name in ORDER_MATTERS:
        pytest.skip(f"{method.class_name} is defined by the order of its rounds")
    order = np.random.default_rng(0).permutation(data.X_train.shape[0])
    exact = {"tol": 1e-7} if "tol" in method.load()._get_param_names() else {}
    plain = build(method, data.taxonomy, **exact).fit(data.X_train, data.y_train)
    shuffled = build(method, data.taxonomy, **exact).fit(data.X_train[order], data.y_train[order])
    found, expected = shuffled.decision_function(data.X_test), plain.decision_function(data.X_test)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


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
