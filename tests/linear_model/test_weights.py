"""Weights of many classifiers: every form gives the scores of the plain matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist.linear_model import sparse as sparse_form
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import DenseWeights, DualWeights
from cladist.solvers import Settings, TrainingRows, solve_one_vs_rest
from tests.solvers.problems import LOSSES, random_case, random_rows

TIGHT = Settings(tol=1e-6, max_iter=10_000)
every_loss = pytest.mark.parametrize("loss", LOSSES)


@st.composite
def classifiers(draw):
    """A matrix (classes × features) with zeros, intercepts or none, and the same as `DenseWeights`.

    The numbers are small integers and their halves: sums are exact, and ties frequent.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, n_features = draw(st.sampled_from([1, 2, 15, 16, 17, 40])), draw(st.integers(1, 12))
    rows = TrainingRows.from_matrix(random_rows(random, 8, n_features, 0.3), constant=draw(st.booleans()))
    W = random.integers(-4, 5, (n_classes, rows.n_used)) / 2 * (random.random((n_classes, rows.n_used)) < 0.6)
    dense = DenseWeights.from_matrix(W, rows)
    plain = np.zeros((n_classes, n_features + 1))
    plain[:, rows.feature_of] = W
    return dense, plain[:, :-1], plain[:, -1]


def new_rows(seed, n_rows, n_features):
    random = np.random.default_rng(seed)
    return random.integers(-3, 4, (n_rows, n_features)) * (random.random((n_rows, n_features)) < 0.5)


def forms_of(dense):
    """The same weights in every form; rows that are the unit vectors make them dual."""
    matrix = sparse.csr_array(dense.matrix())
    yield dense
    yield SparseWeights.from_weights(dense)
    yield SparseWeights.from_matrix(matrix, dense.intercepts)
    yield DualWeights(matrix, sparse.eye_array(matrix.shape[1], dtype=np.float32, format="csr"), dense.intercepts)


@given(classifiers(), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_every_form_scores_like_the_matrix(classifier, seed, is_sparse, through_index):
    dense, W, intercepts = classifier
    X = new_rows(seed, 7, W.shape[1])
    expected = X @ W.T + intercepts
    given_rows = sparse.csr_array(X) if is_sparse else X
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_form, "INDEX_BELOW", 2.0 if through_index else -1.0)
        patch.setattr(sparse_form, "MANY_ROWS", 0)
        patch.setattr(sparse_form, "SCORES_AT_ONCE", 50)
        for form in forms_of(dense):
            matrix = form.matrix()
            np.testing.assert_array_equal(matrix.toarray() if sparse.issparse(matrix) else matrix, W)
            np.testing.assert_array_equal(form.intercepts, intercepts)
            assert (form.n_classes, form.n_features) == W.shape
            scores = form.scores(given_rows)
            assert scores.dtype == np.float32
            np.testing.assert_array_equal(scores, expected)
            np.testing.assert_array_equal(form.best(given_rows), expected.argmax(axis=1))


@given(classifiers(), st.sampled_from([0.0, 0.4, 0.5, 1.2, 9.0]))
def test_pruning_keeps_what_is_larger(classifier, prune):
    dense, W, intercepts = classifier
    pruned = SparseWeights.from_weights(dense, prune)
    kept = np.where(np.abs(W) > prune, W, 0)
    np.testing.assert_array_equal(pruned.matrix().toarray(), kept)
    np.testing.assert_array_equal(pruned.intercepts, intercepts)
    assert pruned.density == pytest.approx(np.count_nonzero(kept) / kept.size)
    features, indptr, classes, values = pruned.index
    assert np.all(np.diff(features) > 0)
    assert len(indptr) == len(features) + 1
    assert len(classes) == len(values) == np.count_nonzero(kept)


@pytest.mark.parametrize("form", [sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.lil_array])
def test_rows_may_come_in_any_sparse_format(form):
    X = new_rows(0, 6, 6)
    dense = DenseWeights.from_matrix(new_rows(1, 3, 6), TrainingRows.from_matrix(np.ones((2, 6)), constant=False))
    for weights_of_a_form in forms_of(dense):
        np.testing.assert_array_equal(weights_of_a_form.scores(form(X)), X @ dense.matrix().T)


def test_indices_need_not_be_sorted():
    unsorted = sparse.csr_array((np.array([2.0, 1.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    dense = DenseWeights.from_matrix(new_rows(1, 3, 3), TrainingRows.from_matrix(np.ones((2, 3)), constant=False))
    for form in forms_of(dense):
        np.testing.assert_array_equal(form.scores(unsorted), unsorted @ dense.matrix().T)


def test_features_never_seen_are_ignored():
    problem = random_case(1, "squared_hinge", density=0.2)
    X = problem.given.toarray()
    X[:, :4] = 0
    rows = TrainingRows.from_matrix(X, constant=True)
    assert not np.isin(range(4), rows.feature_of).any()
    dense = DenseWeights.from_matrix(np.ones((3, rows.n_used)), rows)
    with_them = X.copy()
    with_them[:, :4] = 100
    for form in forms_of(dense):
        np.testing.assert_array_equal(form.scores(with_them), form.scores(X))


def test_no_rows_have_no_scores():
    dense = DenseWeights.from_matrix(np.ones((3, 2)), TrainingRows.from_matrix(np.ones((2, 2)), constant=False))
    for form in forms_of(dense):
        assert form.scores(np.zeros((0, 2))).shape == (0, 3)
        assert form.best(np.zeros((0, 2))).shape == (0,)


# ---------------------------------------------------------------- what solvers leave


@every_loss
@pytest.mark.parametrize("density", [0.2, 1.0])
@pytest.mark.parametrize("constant", [True, False])
def test_solutions_of_every_form_have_equal_scores(loss, density, constant):
    problem = random_case(9, loss, n_classes=18, density=density, C=1.0, constant=constant)
    X = random_rows(np.random.default_rng(0), 300, problem.given.shape[1], density)
    solutions = [solve_one_vs_rest(problem.problem, TIGHT, form=form) for form in ("dense", "sparse", "dual")]
    dense = solutions[0]
    # w and the w(α) of the dual form come together as the square root of the gap does.
    apart = 0.05 if density == 1.0 else 1e-3
    expected = X @ dense.weights.matrix().T.astype(np.float64) + dense.intercepts
    for solution in solutions:
        scores = solution.weights.scores(X)
        np.testing.assert_allclose(scores, expected, atol=apart)
        np.testing.assert_array_equal(solution.weights.best(X), scores.argmax(axis=1))
        np.testing.assert_array_equal(solution.weights.intercepts, solution.intercepts)
        np.testing.assert_allclose(solution.intercepts, dense.intercepts, atol=apart)
        assert solution.weights.matrix().shape == (18, X.shape[1])


@every_loss
@pytest.mark.parametrize("density", [0.2, 1.0])
@pytest.mark.parametrize("form", ["dense", "sparse", "dual"])
def test_history_tells_of_the_weights_returned(loss, density, form):
    for seed in range(4):
        problem = random_case(seed, loss, density=density, C=1.0)
        solution = solve_one_vs_rest(problem.problem, Settings(tol=1e-3), form=form)
        assert solution.converged
        W = problem.weights(solution)
        for k in problem.classes:
            assert solution.history[k]["objective"] == pytest.approx(problem.primal(k, W[k]), rel=1e-3)


@every_loss
@pytest.mark.parametrize("density", [0.2, 1.0])
def test_pruned_solutions_miss_small_weights_alone(loss, density):
    problem = random_case(10, loss, n_classes=18, density=density, C=1.0)
    dense, pruned = (solve_one_vs_rest(problem.problem, form=form, prune=0.05) for form in ("dense", "sparse"))
    whole = dense.weights.matrix()
    kept = np.where(np.abs(whole) > 0.05, whole, 0)
    assert 0 < np.count_nonzero(kept) < np.count_nonzero(whole)
    np.testing.assert_array_equal(pruned.weights.matrix().toarray(), kept)
    np.testing.assert_array_equal(pruned.intercepts, dense.intercepts)
    assert pruned.history == dense.history
