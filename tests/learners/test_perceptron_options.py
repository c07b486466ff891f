"""HP, SP and KSP: forms of y, kernels, threads, chunks, choosing c, saving, and what is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import cladist
from cladist import HardPerceptron, KernelStochasticPerceptron, StochasticPerceptron, Taxonomy
from cladist.datasets import make_topics
from cladist.errors import LabelError, ModelFormatError, ParameterError, TaxonomyError
from cladist.execution import Threads
from cladist.learners.structured import labelling_classifier
from cladist.learners.structured.parameters import number_of_rounds
from tests.learners.flat_rows import best_entry

ALL = [HardPerceptron, StochasticPerceptron, KernelStochasticPerceptron]
DRAWING = [StochasticPerceptron, KernelStochasticPerceptron]
every = pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
drawing = pytest.mark.parametrize("cls", DRAWING, ids=lambda cls: cls.__name__)


@pytest.fixture(scope="module")
def data():
    return make_topics(n_samples=300, n_test=80, n_features=200, branching=(3, 2), random_state=0)


# ---------------------------------------------------------------- forms of y


@every
def test_single_labels_decode_one_path(cls, data):
    model = cls(data.taxonomy, max_iter=400).fit(data.X_train, data.y_train)
    predicted, scores = model.predict(data.X_test), model.decision_function(data.X_test)
    assert set(predicted) <= set(data.y_train)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], predicted)
    assert model.classes_.tolist() == [name for name in data.taxonomy.names if name in set(data.y_train)]
    assert all(len(path) == 2 for path in model.predict_paths(data.X_test))
    assert model.score(data.X_test, data.y_test) > 0.5


@every
def test_sets_decode_freely(cls, data):
    y = [{label} for label in data.y_train]
    model = cls(data.taxonomy, max_iter=400).fit(data.X_train, y)
    assert model.classes_.tolist() == list(data.taxonomy.names)
    predicted = model.predict(data.X_test)
    assert all(isinstance(labels, set) for labels in predicted)
    assert len({len(labels) for labels in predicted}) > 1  # none, one or several
    one = cls(data.taxonomy, max_iter=400, decode="single").fit(data.X_train, y).predict(data.X_test)
    assert all(len(labels) == 1 for labels in one)


@every
def test_inner_nodes_are_labels_too(cls):
    tree = Taxonomy.from_paths(["a/b", "a/c"])
    rows, y = np.eye(3), ["a", "b", "c"]
    model = cls(tree, max_iter=300).fit(np.tile(rows, (4, 1)), y * 4)
    assert model.predict(rows).tolist() == y


@every
def test_several_labels_need_a_form_that_holds_them(cls, data):
    with pytest.raises(ParameterError, match="decode='multi' answers sets"):
        cls(data.taxonomy, decode="multi").fit(data.X_train, data.y_train)
    names = data.taxonomy.names
    with pytest.raises(LabelError, match=f"{cls.__name__} needs exactly one label per row; row 0 has 2 labels"):
        cls(data.taxonomy, decode="single").fit(np.eye(2), [{names[-1], names[-2]}, {names[-1]}])


@every
def test_a_dag_is_refused_by_name(cls):
    diamond = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    with pytest.raises(TaxonomyError, match=rf"{cls.__name__}.*FlatSVM"):
        cls(diamond).fit(np.eye(2), ["b", "d"])


# ---------------------------------------------------------------- kernels


def test_a_kernel_is_a_name_a_function_or_a_matrix(data):
    X, X_test = data.X_train.toarray(), data.X_test.toarray()
    # A function returns float32 here: R, hence the constant and the other step, would differ by rounding.
    options = {"max_iter": 200, "random_state": 1, "step": "1/sqrt(T)", "fit_intercept": False}
    named = KernelStochasticPerceptron(data.taxonomy, kernel="rbf", gamma=0.5, **options).fit(X, data.y_train)
    given = KernelStochasticPerceptron(data.taxonomy, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5), **options)
    given.fit(X, data.y_train)
    gram = KernelStochasticPerceptron(data.taxonomy, kernel="precomputed", **options)
    gram.fit(rbf_kernel(X, gamma=0.5), data.y_train)
    expected = named.decision_function(X_test)
    np.testing.assert_allclose(given.decision_function(X_test), expected, atol=1e-9)
    np.testing.assert_allclose(gram.decision_function(rbf_kernel(X_test, X, gamma=0.5)), expected, atol=1e-9)
    np.testing.assert_array_equal(gram.support_, named.support_)
    assert gram.support_vectors_.tolist() == named.support_[:, None].tolist()
    thin = KernelStochasticPerceptron(data.taxonomy, kernel=lambda A, B: A @ B.T, **options)
    linear = KernelStochasticPerceptron(data.taxonomy, **options)
    np.testing.assert_allclose(
        thin.fit(data.X_train, data.y_train).decision_function(data.X_test),
        linear.fit(data.X_train, data.y_train).decision_function(data.X_test),
        atol=1e-9,
    )


@pytest.mark.parametrize("kernel", ["precomputed", "poly"])
def test_chunks_and_starts_of_kernels(kernel, data):
    X = data.X_train.toarray()
    rows = X @ X.T if kernel == "precomputed" else X
    for init in ("zeros", "random", "class_mean"):
        model = KernelStochasticPerceptron(data.taxonomy, kernel=kernel, n_chunks=4, init=init, max_iter=200, gamma=0.2)
        model.fit(rows, data.y_train)
        assert model.score(rows, data.y_train) > 0.5
        assert (model.n_support_ == len(rows)) == (init == "class_mean")


def test_a_cache_of_one_column_changes_nothing(data):
    options = {"kernel": "rbf", "max_iter": 300}
    large = KernelStochasticPerceptron(data.taxonomy, **options).fit(data.X_train, data.y_train)
    small = KernelStochasticPerceptron(data.taxonomy, cache_size=1e-6, **options).fit(data.X_train, data.y_train)
    np.testing.assert_array_equal(small.dual_coef_.toarray(), large.dual_coef_.toarray())


# ---------------------------------------------------------------- threads, chunks, rounds


@every
def test_threads_give_the_same_bits(cls):
    """5,000 rows are two blocks."""
    rng = np.random.default_rng(0)
    tree = Taxonomy.from_paths(["a/b", "a/c", "d/e"])
    X = sparse.random_array((5000, 50), density=0.2, rng=rng, format="csr")
    y = rng.choice(["b", "c", "e"], 5000)
    weights = []
    for options in ({}, {"n_jobs": 2}, {"n_jobs": 5}, {"executor": Threads(3)}):
        model = cls(tree, max_iter=40, **options).fit(X, y)
        weights.append(model.decision_function(X[:100]))
    for other in weights[1:]:
        np.testing.assert_array_equal(other, weights[0])


@drawing
def test_chunks_go_on_from_each_other(cls, data):
    whole = cls(data.taxonomy, max_iter=900).fit(data.X_train, data.y_train)
    parts = cls(data.taxonomy, max_iter=900, n_chunks=3).fit(data.X_train, data.y_train)
    assert parts.n_iter_ == whole.n_iter_ == 900
    assert parts.score(data.X_test, data.y_test) > whole.score(data.X_test, data.y_test) - 0.1
    more_than_rows = cls(data.taxonomy, max_iter=20, n_chunks=99).fit(data.X_train[:10], data.y_train[:10])
    assert more_than_rows.n_iter_ == 20


@every
def test_the_default_number_of_rounds(cls, data):
    model = cls(data.taxonomy, eps=0.5, **({"early_stopping": False} if cls is HardPerceptron else {}))
    assert model.fit(data.X_train, data.y_train).n_iter_ == 4 * 300
    model.set_params(max_iter=None)
    assert model.fit(data.X_train, data.y_train).n_iter_ == int(np.ceil(np.log(300) / 0.25))


def test_the_default_for_the_papers_ccat():
    assert number_of_rounds(None, StochasticPerceptron().eps, 10786) == 929


# ---------------------------------------------------------------- choosing c


@drawing
def test_choosing_c(cls, data):
    model = cls(data.taxonomy, c="cv", max_iter=60).fit(data.X_train, data.y_train)
    assert {entry["c"] for entry in model.cv_results_} >= {1.0, 10.0}
    best = best_entry(model.cv_results_)
    assert model.c_ == best["c"]
    fixed = cls(data.taxonomy, c=model.c_, max_iter=60).fit(data.X_train, data.y_train)
    np.testing.assert_array_equal(fixed.decision_function(data.X_test), model.decision_function(data.X_test))
    assert not hasattr(fixed, "c_")


def test_choosing_c_for_sets_and_for_a_matrix_of_kernel_values(data):
    gram = (data.X_train @ data.X_train.T).toarray()
    sets = [{label} for label in data.y_train]
    of_rows = KernelStochasticPerceptron(data.taxonomy, c="cv", max_iter=40).fit(data.X_train, sets)
    of_gram = KernelStochasticPerceptron(data.taxonomy, kernel="precomputed", c="cv", max_iter=40).fit(gram, sets)
    assert of_gram.c_ == of_rows.c_
    for one, other in zip(of_gram.cv_results_, of_rows.cv_results_, strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=1e-6)


# ---------------------------------------------------------------- size, memory, explanations


def test_model_sizes_and_bounded_memory(data, monkeypatch):
    weights = StochasticPerceptron(data.taxonomy, max_iter=200).fit(data.X_train, data.y_train)
    assert weights.model_size_ == 8 * 200 * len(data.taxonomy)
    rows = KernelStochasticPerceptron(data.taxonomy, kernel="rbf", max_iter=200).fit(data.X_train, data.y_train)
    held = rows.support_vectors_
    assert rows.model_size_ >= held.data.nbytes + rows.dual_coef_.data.nbytes
    expected = rows.predict(data.X_test)
    monkeypatch.setattr(labelling_classifier, "CHUNK_BYTES", 8 * 7 * rows.n_support_)
    assert len(list(rows._chunks(data.X_test))) == int(np.ceil(80 / 7))
    np.testing.assert_array_equal(rows.predict(data.X_test), expected)


def test_no_matrix_of_all_pairs_of_rows():
    """6,000 rows would make 288 MB; scores and labels are 6,000 × 4."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((6000, 40), density=0.1, rng=rng, format="csr")
    y = rng.choice(["a", "b", "c", "d"], 6000)
    model = KernelStochasticPerceptron(kernel="rbf", max_iter=30, cache_size=1.0)
    model.fit(X[:100], y[:100])
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_explanations_sum_to_the_score(data):
    model = StochasticPerceptron(data.taxonomy, max_iter=300).fit(data.X_train, data.y_train)
    scores = model.decision_function(data.X_test)
    for why, row, label in zip(model.explain(data.X_test), scores, model.predict(data.X_test), strict=True):
        assert why.label == label
        assert why.score == pytest.approx(row.max())
    np.testing.assert_allclose(data.X_test @ model.coef_.T + model.intercept_, scores, atol=1e-12)
    of_sets = HardPerceptron(data.taxonomy, max_iter=20).fit(data.X_train, [{label} for label in data.y_train])
    assert of_sets.coef_.shape == (len(data.taxonomy), 200)
    best = of_sets.decision_function(data.X_test).max(axis=1)
    assert [why.score for why in of_sets.explain(data.X_test)] == pytest.approx(best.tolist())


# ---------------------------------------------------------------- being saved


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed"])
def test_a_saved_kernel_model(kernel, data, tmp_path):
    precomputed = kernel == "precomputed"
    rows = (data.X_train @ data.X_train.T).toarray() if precomputed else data.X_train
    unknown = (data.X_test @ data.X_train.T).toarray() if precomputed else data.X_test
    model = KernelStochasticPerceptron(data.taxonomy, kernel=kernel, c="cv", max_iter=40).fit(rows, data.y_train)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(unknown), model.decision_function(unknown))
    assert (again.c_, again.cv_results_) == (model.c_, model.cv_results_)
    assert (again.gamma_, again.eta_, again.history_) == (model.gamma_, model.eta_, model.history_)
    assert again.model_size_ == model.model_size_


def test_a_function_cannot_be_saved(data, tmp_path):
    model = KernelStochasticPerceptron(data.taxonomy, kernel=lambda A, B: A @ B.T, max_iter=5)
    model.fit(data.X_train, data.y_train)
    with pytest.raises(ModelFormatError, match="kernel"):
        model.save(tmp_path / "model")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (HardPerceptron, {"max_iter": 0}, "max_iter must be a whole number from 1 up, .auto. or None; got 0"),
        (HardPerceptron, {"eps": 0}, "eps must be positive; got 0"),
        (HardPerceptron, {"step": "1/T"}, "step must be one of '1/sqrt"),
        (HardPerceptron, {"init": "ones"}, "init must be one of 'zeros', 'random', 'class_mean'; got 'ones'"),
        (HardPerceptron, {"decode": "best"}, "decode must be one of"),
        (HardPerceptron, {"n_jobs": 0}, "n_jobs must not be 0"),
        (StochasticPerceptron, {"eta": -1}, "eta must be positive or 'auto'; got -1"),
        (StochasticPerceptron, {"c": "best"}, "c must be positive, or 'cv' to choose it; got 'best'"),
        (StochasticPerceptron, {"n_chunks": 0}, "n_chunks must be a whole number from 1 up or .auto.; got 0"),
        (StochasticPerceptron, {"cache_size": 0}, "cache_size must be positive, in MB; got 0"),
        (StochasticPerceptron, {"random_state": "x"}, "random_state must be a whole number"),
        (KernelStochasticPerceptron, {"kernel": "cubic"}, "kernel must be one of"),
        (KernelStochasticPerceptron, {"kernel": "precomputed"}, "a precomputed kernel is a square matrix in fit"),
    ],
)
def test_parameters_that_make_no_sense(cls, options, message):
    with pytest.raises(ParameterError, match=message):
        cls(**options).fit(np.eye(3)[:, :2], ["a", "b", "c"])
