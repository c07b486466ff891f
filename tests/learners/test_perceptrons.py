"""HP, SP and KSP against the paper's algorithms, written out, and against what the paper proves of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import cladist
from cladist import HardPerceptron, KernelStochasticPerceptron, LabelMatrix, StochasticPerceptron, Taxonomy
from cladist.decoders import best_labelling, node_margins, second_best_labelling
from cladist.learners.structured.parameters import number_of_rounds
from cladist.persistence.models import pack_learner, unpack_learner
from tests.learners.perceptron_reference import Primal, best_margin, kernel_run
from tests.strategies import consistent_sets

TREE = Taxonomy.from_paths(["a/b", "a/c", "d/e"])
FOREST = Taxonomy.from_paths(["a/b/c", "a/d", "e", "f/g"])
PRINTED = {"step": "1/sqrt(T)", "fit_intercept": False}  # the paper's algorithms, beside the number of rounds


def random_taxonomy(rng, most=6):
    n_nodes = int(rng.integers(1, most))
    return Taxonomy.from_parents(
        {v: None if v == 0 or rng.random() < 0.3 else int(rng.integers(v)) for v in range(n_nodes)}
    )


def separable(taxonomy, rng, n=12, d=6):
    """Rows labelled by some weights, hence with a positive margin."""
    X = rng.normal(size=(n, d))
    marks = best_labelling(X @ rng.normal(size=(d, len(taxonomy))), taxonomy).to_indicator().toarray()
    return X, marks


def sets(marks, taxonomy):
    return LabelMatrix.from_indicator(marks, taxonomy)


def noisy(taxonomy, rng, n=25, d=4):
    """Rows with labels at random: no weights have a positive margin."""
    every = consistent_sets(taxonomy.parent)
    return rng.normal(size=(n, d)), every[rng.integers(0, len(every), n)]


# ---------------------------------------------------------------- against the algorithms, written out


@given(seed=st.integers(0, 2**32 - 1), T=st.integers(1, 40), step=st.sampled_from(["1/sqrt(T)", "1/(R sqrt(T))", 0.2]))
def test_sp_is_algorithm_2(seed, T, step):
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng)
    X, marks = noisy(taxonomy, rng)
    y = sets(marks, taxonomy)
    options = {"max_iter": T, "step": step, "fit_intercept": False, "random_state": seed}
    model = StochasticPerceptron(taxonomy, **options).fit(X, y)
    uniforms = np.random.RandomState(seed).random_sample(T)
    radius = np.sqrt((X**2).sum(axis=1).max() * len(taxonomy))
    assert model.radius_ == pytest.approx(radius)
    assert model.step_ == pytest.approx({"1/sqrt(T)": T**-0.5, "1/(R sqrt(T))": T**-0.5 / radius}.get(step, step))
    assert model.eta_ == pytest.approx(min(1 / (2 * radius), np.sqrt(np.log(len(X)) / T)))
    reference = Primal(taxonomy, X, marks, rounds=T, step=model.step_, rate=model.eta_, uniforms=uniforms)
    np.testing.assert_allclose(model.node_coef_, reference.mean, atol=1e-10)
    last = StochasticPerceptron(taxonomy, average=False, **options).fit(X, y)
    np.testing.assert_allclose(last.node_coef_, reference.last, atol=1e-10)
    assert model.history_[0]["objective"] == 0  # round 1 begins at 0
    margins = np.array(reference.v)
    assert np.all(np.abs(margins) <= 2 * radius + 1e-9)
    assert np.all(reference.u > 0)
    assert all(np.linalg.norm(W) <= 1 + 1e-12 for W in reference.states)
    assert np.linalg.norm(model.node_coef_) <= 1 + 1e-12
    for entry, v in zip(model.history_[:-1], margins, strict=True):
        assert entry["objective"] == pytest.approx(v.min(), abs=1e-10)
        assert entry["errors"] == pytest.approx(np.mean(v <= 1e-12), abs=0.2)  # rounding decides near 0


@given(seed=st.integers(0, 2**32 - 1), T=st.integers(1, 40))
def test_hp_is_algorithm_1(seed, T):
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng)
    X, marks = separable(taxonomy, rng)
    model = HardPerceptron(taxonomy, max_iter=T, early_stopping=False, init="random", random_state=seed, **PRINTED)
    model.fit(X, sets(marks, taxonomy))  # a random start: no two rows tie for the least margin
    random = np.random.RandomState(seed)
    rows = np.sort(random.permutation(len(X))[:32])
    start = random.standard_normal((len(rows), len(taxonomy))).T @ X[rows]
    start *= min(1.0, 1e-3 / np.linalg.norm(start))
    reference = Primal(taxonomy, X, marks, rounds=T, step=T**-0.5, start=start)
    np.testing.assert_allclose(model.node_coef_, reference.mean, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_ksp_is_algorithm_3(kernel, seed):
    rng, T = np.random.default_rng(seed), 40
    taxonomy = random_taxonomy(rng)
    X, marks = noisy(taxonomy, rng)
    K = {"linear": X @ X.T, "rbf": rbf_kernel(X, gamma=0.3), "poly": polynomial_kernel(X, degree=2, gamma=0.3)}[kernel]
    options = {"kernel": kernel, "gamma": 0.3, "degree": 2, "max_iter": T, "random_state": seed, **PRINTED}
    y = sets(marks, taxonomy)
    model = KernelStochasticPerceptron(taxonomy, average=False, **options).fit(X, y)
    uniforms = np.random.RandomState(seed).random_sample(T)
    reference = kernel_run(taxonomy, K, marks, rounds=T, rate=model.eta_, uniforms=uniforms)
    assert set(model.support_) <= set(reference["drawn"])
    scores = K[:, model.support_] @ model.dual_coef_.T
    np.testing.assert_allclose(
        scores / np.linalg.norm(scores), reference["a"] / np.linalg.norm(reference["a"]), atol=1e-10
    )
    norms = [entry["norm"] ** 2 for entry in model.history_[:-1]]
    np.testing.assert_allclose(norms, reference["alpha"], atol=1e-9)  # α_t = ‖W̄_t‖²
    mean = KernelStochasticPerceptron(taxonomy, **options).fit(X, y)
    states, a = [], np.zeros_like(reference["a"])
    for i, c, beta in zip(reference["drawn"], reference["c"], reference["beta"], strict=True):
        states.append(a / beta)
        a = a + np.outer(K[i], c)
    np.testing.assert_allclose(K[:, mean.support_] @ mean.dual_coef_.T, np.mean(states, axis=0), atol=1e-10)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("init", ["zeros", "random", "class_mean"])
@pytest.mark.parametrize("n_chunks", [1, 3])
def test_sp_and_ksp_are_the_same_with_the_same_draws(average, init, n_chunks):
    rng = np.random.default_rng(0)
    X, marks = noisy(FOREST, rng, n=60, d=8)
    options = {"average": average, "init": init, "n_chunks": n_chunks, "max_iter": 200, "random_state": 3}
    primal = StochasticPerceptron(FOREST, **options).fit(X, marks)
    dual = KernelStochasticPerceptron(FOREST, **options).fit(X, marks)
    np.testing.assert_allclose(dual.dual_coef_ @ X[dual.support_], primal.node_coef_, atol=1e-10)
    unknown = rng.normal(size=(20, 8))
    np.testing.assert_allclose(dual.decision_function(unknown), primal.decision_function(unknown), atol=1e-10)
    assert dual.n_support_ == primal.n_support_
    assert dual.history_[-1]["objective"] == pytest.approx(primal.history_[-1]["objective"], abs=1e-10)
    constants = primal.model_.intercepts / np.sqrt(primal.constant_)  # the weights of the constant feature
    norm = np.linalg.norm(np.c_[primal.node_coef_, constants])
    assert norm <= 1 + 1e-12
    if not average:
        assert norm == pytest.approx(min(1.0, primal.history_[-1]["norm"]))


def test_the_history_ends_with_the_model():
    rng = np.random.default_rng(1)
    X, marks = noisy(FOREST, rng, n=40, d=5)
    for average in (True, False):
        for n_chunks in (1, 2, 7):
            model = StochasticPerceptron(FOREST, max_iter=100, average=average, n_chunks=n_chunks).fit(X, marks)
            right = (model.predict(X) == marks).all(axis=1)
            scores = model.node_scores(X)
            values = (scores * marks).sum(axis=1)
            top = (best_labelling(scores, FOREST).to_indicator().toarray() * scores).sum(axis=1)
            margins = 2 * np.where(right, second_best_labelling(scores, FOREST).leads, values - top)
            assert model.history_[-1]["errors"] == pytest.approx(1 - right.mean())
            assert model.history_[-1]["objective"] == pytest.approx(margins.min())
            assert model.converged_ == right.all()
            assert model.history_[-1]["round"] == model.n_iter_ == 100


# ---------------------------------------------------------------- what is proved of them


@pytest.mark.parametrize("seed", range(6))
def test_margins_approach_the_largest(seed):
    """margin(mean W) ≥ δ − (1/(step·T) + step·R_Δ²)/2: (1 + R_Δ²)/(2√T) for 1/√T, R_Δ/√T for 1/(R_Δ√T)."""
    rng = np.random.default_rng(seed)
    taxonomy = TREE if seed % 2 else FOREST
    X, marks = separable(taxonomy, rng)
    X /= 3.0
    delta, largest = best_margin(taxonomy, X, marks)
    reached = []
    for T in (100, 1000, 4000):
        for step in ("1/sqrt(T)", "1/(R sqrt(T))", 1 / (largest * np.sqrt(T))):
            model = HardPerceptron(taxonomy, max_iter=T, step=step, fit_intercept=False, early_stopping=False).fit(
                X, marks
            )
            last = model.history_[-1]
            shortfall = (1 / (model.step_ * T) + model.step_ * largest**2) / 2
            assert delta - shortfall - 1e-9 <= last["objective"] <= delta + 1e-9 <= last["bound"] + 2e-9
            assert last["gap"] == last["bound"] - last["objective"]
        reached.append(last["objective"])
    assert reached[-1] > 0.5 * delta
    assert reached[0] < reached[1] < reached[2]
    assert largest <= 2 * model.radius_ + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_sp_approaches_the_largest_margin_too(seed):
    rng = np.random.default_rng(seed)
    X, marks = separable(TREE, rng)
    delta, _ = best_margin(TREE, X, marks)
    found = [
        StochasticPerceptron(TREE, max_iter=T, random_state=seed, **PRINTED).fit(X, marks).history_[-1]["objective"]
        for T in (100, 20_000)
    ]
    assert found[0] < found[1] <= delta + 1e-9
    assert found[1] > 0.5 * delta


@given(st.integers(0, 2**32 - 1))
def test_an_early_exit_of_hp_means_no_training_error(seed):
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng)
    X, marks = separable(taxonomy, rng)
    model = HardPerceptron(taxonomy, max_iter=5000).fit(X, sets(marks, taxonomy))
    if model.n_iter_ < 5000:
        assert model.converged_
        np.testing.assert_array_equal(model.predict(X).to_indicator().toarray(), marks)
        assert model.history_[-1]["objective"] > 0
        assert model.history_[-1]["errors"] == 0
        assert np.linalg.norm(model.node_coef_) <= 1 + 1e-12


def test_hp_that_never_separates_makes_all_rounds():
    X, marks = np.ones((2, 1)), np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    model = HardPerceptron(TREE, max_iter=30).fit(X, marks)
    assert model.n_iter_ == 30
    assert not model.converged_


@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_kernel_scaling(factor):
    """K → κ²K, step and η → 1/κ: the same draws and the same labels, W over κ."""
    rng = np.random.default_rng(0)
    X, marks = noisy(FOREST, rng, n=50, d=6)
    plain = KernelStochasticPerceptron(FOREST, max_iter=150, step=0.1, eta=0.05, average=False).fit(X, marks)
    # W̄ is the same matrix on rows κ times as long, if the step is κ times as short; margins then agree, so does η.
    scaled = KernelStochasticPerceptron(
        FOREST,
        kernel=lambda A, B: factor**2 * (A @ B.T),
        max_iter=150,
        step=0.1 / factor,
        eta=0.05 / factor,
        average=False,
    ).fit(X, marks)
    np.testing.assert_array_equal(scaled.support_, plain.support_)
    unknown = rng.normal(size=(30, 6))
    np.testing.assert_array_equal(scaled.predict(unknown), plain.predict(unknown))


# ---------------------------------------------------------------- the defaults


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed"])
@pytest.mark.parametrize("n_chunks", [1, 3])
def test_an_intercept_is_a_constant_feature(kernel, n_chunks):
    """With the intercept, K is K + κ, κ a hundredth of the mean K(x, x): the same model as with this kernel given."""
    rng = np.random.default_rng(0)
    X, marks = noisy(FOREST, rng, n=50, d=6)
    unknown = rng.normal(size=(20, 6))
    functions = {"poly": lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.3), "rbf": rbf_kernel}
    function = functions.get(kernel, lambda A, B: A @ B.T)
    gamma = {"poly": 0.3, "rbf": 1 / 6}.get(kernel, 1.0)
    constant = 0.01 * np.diag(function(X, X)).mean()
    options = {"max_iter": 200, "n_chunks": n_chunks}
    rows = (function(X, X), function(unknown, X)) if kernel == "precomputed" else (X, unknown)
    model = KernelStochasticPerceptron(FOREST, kernel=kernel, gamma=gamma, degree=2, **options).fit(rows[0], marks)
    given = KernelStochasticPerceptron(
        FOREST, kernel=lambda A, B: function(A, B) + constant, fit_intercept=False, **options
    ).fit(X, marks)
    assert model.constant_ == pytest.approx(constant)
    np.testing.assert_array_equal(model.support_, given.support_)
    np.testing.assert_allclose(model.decision_function(rows[1]), given.decision_function(unknown), atol=1e-10)


def test_kernels_are_explained_by_support_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    names = np.array(["b", "c", "e"])[(X @ rng.normal(size=(6, 3))).argmax(axis=1)]
    model = KernelStochasticPerceptron(TREE, kernel="rbf").fit(X, names)
    explained, scores = model.explain(X[:5]), model.decision_function(X[:5]).max(axis=1)
    np.testing.assert_allclose([why.score for why in explained], scores, atol=1e-10)
    assert explained[0].contributions[explained[0].label].keys() <= {f"row {k}" for k in model.support_.tolist()}


def test_intercepts_belong_to_the_weights(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    names = np.array(["b", "c", "e"])[(X @ rng.normal(size=(6, 3))).argmax(axis=1)]
    for cls in (HardPerceptron, StochasticPerceptron):
        model = cls(TREE).fit(X, names)
        scores = model.decision_function(X)
        assert np.any(model.intercept_)
        np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, scores, atol=1e-10)
        explained = model.explain(X[:5])
        np.testing.assert_allclose([e.score for e in explained], scores[:5].max(axis=1), atol=1e-10)
        cladist.save(model, tmp_path / cls.__name__)
        np.testing.assert_array_equal(cladist.load(tmp_path / cls.__name__).decision_function(X), scores)


@pytest.mark.parametrize("cls", [HardPerceptron, StochasticPerceptron, KernelStochasticPerceptron])
def test_files_from_before_the_intercept(cls, tmp_path):
    rng = np.random.default_rng(0)
    X, marks = separable(TREE, rng, n=40)
    model = cls(TREE, max_iter=None, **PRINTED).fit(X, marks)
    content, arrays = pack_learner(model)
    assert content["parameters"].pop("fit_intercept") is False
    assert content["state"].pop("constant") == 0.0
    old = unpack_learner(content, arrays)
    assert old.get_params()["fit_intercept"] is False
    np.testing.assert_array_equal(old.decision_function(X), model.decision_function(X))


def test_rounds_and_chunks_by_default():
    assert number_of_rounds(None, 0.1, 3000) == np.ceil(np.log(3000) * 100)
    assert number_of_rounds("auto", 0.1, 3000) == 12_000
    assert number_of_rounds("auto", 0.1, 20) == np.ceil(np.log(20) * 100)
    X, y = np.ones((4097, 1)), ["a", "b"] * 2048 + ["a"]
    two = StochasticPerceptron(max_iter=20, n_chunks=2).fit(X, y)
    auto = StochasticPerceptron(max_iter=20).fit(X, y)
    np.testing.assert_array_equal(auto.decision_function(X), two.decision_function(X))
    one = StochasticPerceptron(max_iter=20, n_chunks=1).fit(X[:4096], y[:4096])
    auto = StochasticPerceptron(max_iter=20).fit(X[:4096], y[:4096])
    np.testing.assert_array_equal(auto.decision_function(X), one.decision_function(X))


# ---------------------------------------------------------------- edges


def test_one_node_is_an_ordinary_perceptron():
    rng = np.random.default_rng(0)
    alone = Taxonomy.from_parents({"a": None})
    X = rng.normal(size=(40, 3))
    marks = (X @ [1.0, -2.0, 0.5] > 0).astype(int)[:, None]
    y = [{"a"} if on else set() for on in marks[:, 0]]
    for cls in (HardPerceptron, StochasticPerceptron, KernelStochasticPerceptron):
        model = cls(alone, max_iter=3000).fit(X, y)
        assert model.score(X, y) > 0.9


def test_rows_of_zeros_add_nothing():
    rng = np.random.default_rng(0)
    X, marks = separable(TREE, rng)
    with_zeros = np.vstack([X, np.zeros((3, X.shape[1]))])
    more = np.vstack([marks, np.eye(len(TREE), dtype=int)[[0, 0, 0]]])
    model = StochasticPerceptron(TREE, max_iter=300).fit(with_zeros, more)
    assert np.all(np.isfinite(model.node_coef_))
    nothing = StochasticPerceptron(TREE).fit(np.zeros((4, 2)), marks[:4])
    assert not np.any(nothing.node_coef_)


def test_a_root_that_is_always_on_is_harmless():
    rng = np.random.default_rng(0)
    tree = Taxonomy.from_paths(["r/a", "r/b"])
    X = np.c_[rng.normal(size=(60, 3)), np.ones(60)]
    marks = np.c_[np.ones(60), X[:, 0] > 0, X[:, 1] > 0].astype(int)
    model = StochasticPerceptron(tree, max_iter=4000).fit(X, marks)
    assert np.mean(model.predict(X) == marks) > 0.9


def test_weights_of_rows_stay_in_range():
    """A large η and many rounds: weights grow and shrink without end, and are scaled back."""
    rng = np.random.default_rng(0)
    X, marks = separable(TREE, rng, n=20)
    model = StochasticPerceptron(TREE, max_iter=20_000, eta=3.0).fit(X, marks)
    assert np.all(np.isfinite(model.node_coef_))
    assert model.n_support_ > 1


@pytest.mark.parametrize("cls", [HardPerceptron, StochasticPerceptron, KernelStochasticPerceptron])
def test_scores_of_sets_are_margins_of_nodes(cls):
    rng = np.random.default_rng(0)
    X, marks = separable(FOREST, rng, n=40)
    model = cls(FOREST, max_iter=300).fit(X, marks)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores > 0, model.predict(X) == 1)
    np.testing.assert_allclose(scores, node_margins(model.model_.scores(X), FOREST))


def test_dense_and_sparse_rows_give_the_same():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 30)) < 0.3, rng.normal(size=(80, 30)), 0.0)
    marks = best_labelling(X @ rng.normal(size=(30, len(FOREST))), FOREST).to_indicator().toarray()
    for kernel in ("linear", "poly", "rbf"):
        options = {"kernel": kernel, "gamma": 0.1, "max_iter": 150}
        dense = KernelStochasticPerceptron(FOREST, **options).fit(X, marks)
        thin = KernelStochasticPerceptron(FOREST, **options).fit(sparse.csr_array(X), marks)
        np.testing.assert_array_equal(thin.support_, dense.support_)
        np.testing.assert_allclose(thin.dual_coef_.toarray(), dense.dual_coef_.toarray(), atol=1e-13)
