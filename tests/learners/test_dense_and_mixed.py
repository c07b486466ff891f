"""Dense and mixed rows: the models of CSR rows, to their tolerance, whatever form the dense columns have."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import cladist
from cladist import (
    FlatLogistic,
    FlatSVM,
    MixedRows,
    NodewiseSVM,
    RecursiveLogistic,
    RecursiveSVM,
    RelationGraph,
    Taxonomy,
    TopDown,
)
from cladist.linear_model import dense_columns

TREE = Taxonomy.from_paths([f"{a}/{a}{b}" for a in "pqr" for b in "123"])
RANDOM = np.random.default_rng(0)
Y = np.array([f"{a}{b}" for a in "pqr" for b in "123"] * 14)
LEAF = np.unique(Y, return_inverse=True)[1]
VECTORS = (RANDOM.normal(size=(9, 5))[LEAF] + RANDOM.normal(size=(126, 5))).astype(np.float16).astype(np.float32)
COUNTS = sparse.csr_array(RANDOM.poisson(0.1 + RANDOM.random((9, 12))[LEAF] ** 4).astype(np.float32))
MIXED = MixedRows([COUNTS[:, :8], VECTORS, COUNTS[:, 8:]])

MODELS = [
    FlatSVM(TREE, tol=1e-6),
    FlatSVM(TREE, loss="hinge", tol=1e-6),
    FlatLogistic(TREE, tol=1e-6),
    TopDown(TREE, tol=1e-6),
    TopDown(TREE, loss="hinge", tol=1e-6),
    TopDown(TREE, loss="logistic", tol=1e-6),
    NodewiseSVM(TREE, tol=1e-6),
    RecursiveSVM(TREE, sharing=1, tol=1e-6, max_iter=2000),
    RecursiveSVM(TREE, sharing=1, loss="squared_hinge", tol=1e-6, max_iter=2000),
    RecursiveLogistic(TREE, sharing=1, tol=1e-6, max_iter=2000),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'loss', '')}")
every_kind = pytest.mark.parametrize("rows", [MIXED, VECTORS], ids=["mixed", "dense"])


@pytest.fixture(autouse=True)
def keep_few_dense_entries(monkeypatch):
    """Let solvers keep dense columns of few rows, too."""
    monkeypatch.setattr(dense_columns, "LEAST_ENTRIES", 1)


def csr_of(rows):
    return rows.tocsr() if isinstance(rows, MixedRows) else sparse.csr_array(rows)


def fitted(model, rows, **options):
    return type(model)(**{**model.get_params(deep=False), **options}).fit(rows, Y)


def array(weights):
    return weights.toarray() if sparse.issparse(weights) else weights


def loss_of(name, margins):
    return {
        "hinge": np.maximum(0, 1 - margins),
        "squared_hinge": np.maximum(0, 1 - margins) ** 2,
        "logistic": np.logaddexp(0, -margins),
    }[name]


# ---------------------------------------------------------------- the optimum


@every_kind
@every_model
def test_models_are_those_of_csr_and_of_newton_steps(model, rows):
    dense = fitted(model, rows, solver="coordinate")
    others = fitted(model, csr_of(rows), solver="coordinate"), fitted(model, rows, solver="newton")
    best = min(one.history_[-1]["objective"] for one in (dense, *others))
    for one in (dense, *others):
        entry = one.history_[-1]
        assert entry["gap"] <= 1e-6
        np.testing.assert_allclose(entry["objective"], best, rtol=1e-5)
        assert entry["objective"] * (1 - entry["gap"]) <= best * (1 + 1e-9)  # the bound holds
    for other in others:
        np.testing.assert_allclose(array(dense.coef_), array(other.coef_), atol=2e-2 * np.abs(array(other.coef_)).max())
    assert np.mean(dense.predict(rows) == others[0].predict(csr_of(rows))) > 0.98


@every_kind
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_objectives_are_those_of_the_definition(rows, loss):
    X = csr_of(rows).toarray().astype(np.float64)
    flat = FlatLogistic(TREE, tol=1e-4) if loss == "logistic" else FlatSVM(TREE, loss=loss, tol=1e-4)
    flat.fit(rows, Y)
    signs = np.where(Y[:, None] == flat.classes_, 1.0, -1.0)
    margins = signs * (X @ array(flat.coef_).T.astype(np.float64) + flat.intercept_)
    energy = np.sum(array(flat.coef_).astype(np.float64) ** 2) + np.sum(flat.intercept_.astype(np.float64) ** 2)
    np.testing.assert_allclose(flat.history_[-1]["objective"], energy / 2 + loss_of(loss, margins).sum(), rtol=1e-5)
    options = {"sharing": 1, "tol": 1e-4, "fit_intercept": False}
    shared = RecursiveLogistic(TREE, **options) if loss == "logistic" else RecursiveSVM(TREE, loss=loss, **options)
    shared.fit(rows, Y)
    W, parent = shared.node_coef_.toarray().astype(np.float64), TREE.parent
    above = np.where(parent[:, None] >= 0, W[parent], 0)
    margins = signs * (X @ array(shared.coef_).T.astype(np.float64))
    expected = np.sum((W - above) ** 2) / 2 + loss_of(loss, margins).sum()
    np.testing.assert_allclose(shared.history_[-1]["objective"], expected, rtol=1e-5)


def test_graphs_and_free_roots():
    graph = RelationGraph.from_edges([(f"{a}1", f"{a}2") for a in "pqr"])
    for relations in (graph, cladist.Relations(root="free")):
        model = RecursiveSVM(TREE, relations=relations, sharing=1, loss="squared_hinge", tol=1e-5)
        one, other = (fitted(model, rows) for rows in (MIXED, MIXED.tocsr()))
        np.testing.assert_allclose(one.history_[-1]["objective"], other.history_[-1]["objective"], rtol=1e-4)


@every_kind
@pytest.mark.parametrize("weights", ["sparse", "dual", "differences"])
def test_forms_of_weights(rows, weights):
    model = RecursiveSVM(TREE, sharing=1, loss="squared_hinge", tol=1e-5)
    one, other = fitted(model, rows, weights=weights), fitted(model, rows)
    np.testing.assert_allclose(one.decision_function(rows), other.decision_function(rows), atol=2e-2)
    best, scores = one.predict_top_k(rows, 2)
    assert best.shape == scores.shape == (126, 2)


# ---------------------------------------------------------------- the same rows in other forms


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3], MODELS[8]], ids=lambda m: type(m).__name__)
def test_types_and_memory_maps_do_not_matter(model, tmp_path, monkeypatch):
    expected = fitted(model, VECTORS)
    np.save(tmp_path / "vectors.npy", VECTORS.astype(np.float16))
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    forms = [VECTORS.astype(np.float64), VECTORS.astype(np.float16), np.asfortranarray(VECTORS), mapped]
    forms += [MixedRows([VECTORS[:, :2], mapped[:, 2:]]), sparse.csr_array(VECTORS)]
    for rows in forms:
        one = fitted(model, rows)
        np.testing.assert_array_equal(array(one.coef_), array(expected.coef_))
        np.testing.assert_array_equal(one.decision_function(rows), expected.decision_function(VECTORS))
    monkeypatch.setattr(dense_columns, "MOST_IN_MEMORY", 0)  # copies of what is mapped stay on disk
    np.testing.assert_array_equal(array(fitted(model, mapped).coef_), array(expected.coef_))


@every_model
def test_scores_do_not_depend_on_the_form_of_rows(model):
    one = fitted(model, VECTORS)
    dense, as_csr = one.decision_function(VECTORS), one.decision_function(sparse.csr_array(VECTORS))
    np.testing.assert_array_equal(dense, as_csr)
    np.testing.assert_array_equal(one.predict(VECTORS), one.predict(sparse.csr_array(VECTORS)))
    other = fitted(model, MIXED)
    np.testing.assert_allclose(other.decision_function(MIXED), other.decision_function(MIXED.tocsr()), atol=1e-4)
    why = other.explain(MIXED[:3])[0]
    assert why.score == pytest.approx(other.explain(MIXED.tocsr()[:3])[0].score, abs=1e-4)


def test_threads_do_not_matter_and_models_are_saved(tmp_path):
    model = fitted(MODELS[8], MIXED, n_jobs=2)
    np.testing.assert_array_equal(array(model.coef_), array(fitted(MODELS[8], MIXED).coef_))
    model.save(tmp_path / "model")
    assert cladist.load(tmp_path / "model").predict(MIXED).tolist() == model.predict(MIXED).tolist()


def test_C_is_chosen_and_warm_starts_go_on():
    model = FlatSVM(TREE, C="cv", random_state=0).fit(MIXED, Y)
    assert model.C_ == FlatSVM(TREE, C="cv", random_state=0).fit(MIXED.tocsr(), Y).C_
    warm = FlatSVM(TREE, warm_start=True, C=0.1).fit(MIXED, Y).set_params(C=0.2).fit(MIXED, Y)
    cold = FlatSVM(TREE, C=0.2).fit(MIXED, Y)
    np.testing.assert_allclose(warm.history_[-1]["objective"], cold.history_[-1]["objective"], rtol=2e-3)


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model", [FlatSVM(tol=0.1), RecursiveSVM(sharing=0.5, tol=0.1), TopDown(tol=0.1)], ids=lambda m: type(m).__name__
)
def test_dense_rows_are_copied_once(model, dtype):
    random = np.random.default_rng(1)
    y = random.integers(0, 3, 6000)
    X = (random.normal(size=(3, 200))[y] + random.normal(size=(6000, 200))).astype(dtype)
    model.fit(X[:100], y[:100]).predict(X[:100])
    tracemalloc.start()
    try:
        model.fit(X, y).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    once = X.size * 4  # in float32; a second copy would make it more than twice that
    assert once < peak < 1.9 * once
