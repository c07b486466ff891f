"""H-M³ and the structural SVM as learners: what they solve, what they answer, what they refuse."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import cladist
from cladist import MaxMarginMarkov, StructuralSVM, Taxonomy
from cladist.datasets import make_topics
from cladist.decoders import node_probabilities
from cladist.errors import LabelError, ParameterError, TaxonomyError
from cladist.labels import encode
from cladist.losses import node_costs
from tests.solvers.structured_reference import (
    edge_features,
    labellings,
    optimum,
    optimum_by_scipy,
    random_forest,
    random_labels,
    simple_loss,
)

FOREST = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music/jazz", "art/film"])
X = np.array([[2, 0, 2, 0, 1], [2, 0, 0, 2, 1], [0, 2, 2, 0, 1], [0, 2, 0, 2, 1], [2, 2, 2, 2, 1], [0, 0, 0, 0, 1]] * 5)
SETS = [{"tennis"}, {"chess"}, {"music"}, {"film"}, {"chess", "film"}, set()] * 5
SINGLE = ["tennis", "chess", "jazz", "film", "music", "art"] * 5
BOTH = (MaxMarginMarkov, StructuralSVM)


def small(seed=0, n_rows=6):
    rng = np.random.default_rng(seed)
    taxonomy = random_forest(rng, 4, 2)
    return taxonomy, rng.normal(size=(n_rows, 3)), random_labels(rng, taxonomy, n_rows)


@pytest.mark.parametrize("learner", BOTH)
def test_sets_and_single_labels(learner):
    model = learner(FOREST, C=10).fit(X, SETS)
    assert model.predict(X) == SETS
    assert model.predict(X[5:6]) == [set()]
    assert model.converged_
    assert 0 <= model.gap_ <= 1e-3
    assert model.dual_objective_ <= model.objective_
    assert model.history_[-1]["objective"] == model.objective_
    single = learner(FOREST, C=10).fit(X, SINGLE)
    assert single.predict(X).tolist() == SINGLE
    assert single.predict_paths(X[2:3]) == [["art", "music", "jazz"]]
    assert single.decision_function(X).shape == (30, 6)


@pytest.mark.parametrize("loss", ["hamming", "hierarchical"])
@pytest.mark.parametrize("train_space", ["all", "consistent"])
def test_the_objective_is_the_documented_one(loss, train_space):
    taxonomy, rows, labels = small()
    model = MaxMarginMarkov(taxonomy, C=0.3, loss=loss, train_space=train_space, tol=1e-8, max_iter=5000)
    model.fit(rows, labels)
    every = labellings(taxonomy.parent, consistent=train_space == "consistent")
    slacks, weights = 0.0, model.edge_coef_.reshape(-1, 3)
    for x, y in zip(rows, labels.to_indicator().toarray(), strict=True):
        scores = edge_features(every, taxonomy.parent) @ (weights @ x)
        own = edge_features(y, taxonomy.parent) @ (weights @ x)
        costs = [simple_loss(y, u, taxonomy.parent, np.ones(4), hierarchical=loss == "hierarchical") for u in every]
        slacks += max(np.array(costs) + scores - own)
    np.testing.assert_allclose(model.objective_, 0.5 * (weights**2).sum() + 0.3 * slacks, rtol=1e-9)


@pytest.mark.parametrize("train_space", ["all", "consistent"])
@pytest.mark.parametrize("node_weights", ["uniform", "sibling", "subtree"])
@pytest.mark.parametrize("loss", ["hamming", "hierarchical"])
def test_the_optimum_and_the_predictions_are_those_of_a_general_solver(loss, node_weights, train_space):
    rng = np.random.default_rng(5)
    taxonomy = Taxonomy.from_parents({"a": None, "b": "a", "c": "b", "d": "a"})
    rows, labels = rng.normal(size=(7, 3)), random_labels(rng, taxonomy, 7)
    model = MaxMarginMarkov(
        taxonomy, C=0.4, loss=loss, node_weights=node_weights, train_space=train_space, tol=1e-9, max_iter=20_000
    ).fit(rows, labels)
    parent, cost = taxonomy.parent, node_costs(node_weights, taxonomy)
    every = labellings(parent, consistent=train_space == "consistent")
    marks = labels.to_indicator().toarray()
    differences = [edge_features(y, parent) - edge_features(every, parent) for y in marks]
    hierarchical = loss == "hierarchical"
    losses = [np.array([simple_loss(y, u, parent, cost, hierarchical=hierarchical) for u in every]) for y in marks]
    expected, W = optimum_by_scipy(rows, differences, losses, 0.4)
    np.testing.assert_allclose([model.objective_, model.dual_objective_], expected, rtol=1e-6)
    np.testing.assert_allclose(model.edge_coef_.reshape(W.shape), W, atol=1e-3)
    consistent, others = labellings(parent, consistent=True), rng.normal(size=(200, 3))
    scores = others @ W.T @ edge_features(consistent, parent).T
    lead = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1).ravel()
    clear = lead > 1e-2  # the two solvers' weights are equal up to rounding, not beyond
    assert clear.mean() > 0.9
    found = model.predict(others).to_indicator().toarray()
    np.testing.assert_array_equal(found[clear], consistent[scores.argmax(axis=1)][clear])


@pytest.mark.parametrize("scale", [0.02, 30.0])
def test_costs_and_C_scaled_alike_change_the_scale_only(scale):
    taxonomy, rows, labels = small(3, 20)
    cost = node_costs("subtree", taxonomy)
    one, other = (
        MaxMarginMarkov(taxonomy, C=0.3 * s, loss="hierarchical", node_weights=s * cost, tol=1e-9, max_iter=20_000).fit(
            rows, labels
        )
        for s in (1.0, scale)
    )
    np.testing.assert_allclose(other.objective_, scale**2 * one.objective_, rtol=1e-6)
    np.testing.assert_allclose(other.edge_coef_, scale * one.edge_coef_, atol=1e-3 * scale)


def test_predictions_are_the_best_consistent_labelling_of_the_edge_model():
    taxonomy, rows, labels = small(1, 20)
    model = MaxMarginMarkov(taxonomy).fit(rows, labels)
    every = labellings(taxonomy.parent, consistent=True)
    scores = rows @ model.edge_coef_.reshape(-1, 3).T @ edge_features(every, taxonomy.parent).T
    found = model.predict(rows).to_indicator().toarray()
    np.testing.assert_array_equal(found, every[scores.argmax(axis=1)])
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(rows), chances @ every, atol=1e-12)
    margins = [
        np.where(every[:, v] == 1, scores, -np.inf).max(axis=1)
        - np.where(every[:, v] == 0, scores, -np.inf).max(axis=1)
        for v in range(4)
    ]
    np.testing.assert_allclose(model.decision_function(rows), np.transpose(margins), atol=1e-9)


def test_probabilities_of_single_labels_are_those_of_their_paths():
    model = MaxMarginMarkov(FOREST).fit(X, SINGLE)
    paths = encode(model.classes_.tolist(), FOREST).labels.to_indicator().toarray().astype(int)
    scores = X @ model.edge_coef_.reshape(-1, 5).T @ edge_features(paths, FOREST.parent).T
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("seed", range(5))
def test_sum_product_is_the_sum_over_all_labellings(seed):
    rng = np.random.default_rng(seed)
    taxonomy, scores = random_forest(rng, 7, 1 + seed % 3), 3 * rng.normal(size=(10, 7))
    every = labellings(taxonomy.parent, consistent=True)
    weights = np.exp(scores @ every.T)
    expected = weights @ every / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(node_probabilities(scores, taxonomy), expected, atol=1e-12)
    scores[:, 0] = -np.inf
    assert node_probabilities(scores, taxonomy)[:, 0].max() == 0
    scores[3, 1] = np.nan
    with pytest.raises(LabelError, match="Example 3"):
        node_probabilities(scores, taxonomy)


def test_large_scores_have_probabilities():
    found = node_probabilities(np.array([[1e4, -1e4, 1e4], [-1e4, 1e4, 1e4]]), Taxonomy.from_paths(["a/b", "c"]))
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_kernels(kernel, tmp_path):
    model = MaxMarginMarkov(FOREST, C=10, kernel=kernel, gamma=0.2).fit(X, SETS)
    assert model.predict(X) == SETS
    assert model.dual_coef_.shape == (4 * FOREST.n_nodes, model.n_support_)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.history_ == model.history_
    with pytest.raises(AttributeError, match="linear"):
        _ = model.edge_coef_


def test_kernel_form_and_weights_agree():
    linear = MaxMarginMarkov(FOREST, tol=1e-7, max_iter=5000).fit(X, SETS)
    given = MaxMarginMarkov(FOREST, tol=1e-7, max_iter=5000, kernel=lambda A, B: A @ B.T).fit(X, SETS)
    gram = MaxMarginMarkov(FOREST, tol=1e-7, max_iter=5000, kernel="precomputed").fit(X @ X.T, SETS)
    for other, rows in ((given, X), (gram, X @ X.T)):
        np.testing.assert_allclose(other.objective_, linear.objective_, rtol=1e-6)
        np.testing.assert_allclose(other.decision_function(rows), linear.decision_function(X), atol=1e-2)


def test_a_star_with_zero_one_loss_is_crammer_singer():
    data = make_topics(n_samples=150, n_features=100, branching=(4,), n_test=50, random_state=0)
    theirs = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000)
    theirs.fit(data.X_train, data.y_train)
    for solver in ("bcfw", "cutting_plane"):
        ours = StructuralSVM(None, loss="zero_one", tol=1e-7, solver=solver).fit(data.X_train, data.y_train)
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        scores = ours.decision_function(data.X_test)
        np.testing.assert_allclose(scores, theirs.decision_function(data.X_test), atol=2e-3)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


MATRIX = np.arange(49.0).reshape(7, 7) % 5 + 1
np.fill_diagonal(MATRIX, 0)


@pytest.mark.parametrize("attributes", ["path", "unit", np.linspace(0.5, 2, 7)], ids=["path", "unit", "weights"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("loss", ["tree", "zero_one", MATRIX], ids=["tree", "zero-one", "matrix"])
def test_both_solvers_find_the_optimum_over_single_labels(loss, rescaling, attributes):
    model = StructuralSVM(FOREST, C=0.3, loss=loss, rescaling=rescaling, attributes=attributes, tol=1e-7)
    model.fit(X[:6], SINGLE[:6])
    other = StructuralSVM(**{**model.get_params(), "solver": "cutting_plane"}).fit(X[:6], SINGLE[:6])
    np.testing.assert_allclose(other.objective_, model.objective_, rtol=1e-6)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=5e-3)
    nodes = model.class_nodes_
    features = encode(model.classes_.tolist(), FOREST).labels.to_indicator().toarray().astype(float)
    if isinstance(attributes, str):
        features /= np.sqrt(features.sum(axis=1, keepdims=True)) if attributes == "unit" else 1
    else:
        features = features * attributes
    D = {
        "tree": lambda: FOREST.distances(np.repeat(nodes, 6), np.tile(nodes, 6)).reshape(6, 6),
        "zero_one": lambda: 1 - np.eye(6),
    }
    losses = D[loss]() if isinstance(loss, str) else loss[np.ix_(nodes, nodes)]
    true = [model.classes_.tolist().index(label) for label in SINGLE[:6]]
    kappa = losses.astype(float) if rescaling == "slack" else np.ones((6, 6))
    differences = [kappa[y][:, None] * (features[y] - features) for y in true]
    expected, _ = optimum(X[:6], differences, [losses[y].astype(float) for y in true], 0.3, gap=1e-6)
    np.testing.assert_allclose(model.objective_, expected, atol=3e-6, rtol=1e-6)
    assert other.n_constraints_ > 0


@pytest.mark.parametrize("loss", ["hamming", "hierarchical"])
def test_both_solvers_agree_on_sets(loss):
    weights = "sibling" if loss == "hierarchical" else "uniform"
    one, other = (
        StructuralSVM(FOREST, C=0.5, loss=loss, node_weights=weights, solver=s, tol=1e-7).fit(X, SETS)
        for s in ("bcfw", "cutting_plane")
    )
    np.testing.assert_allclose(other.objective_, one.objective_, rtol=1e-6)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=5e-3)


def test_unit_attributes_score_as_they_say():
    model = StructuralSVM(FOREST, attributes="unit").fit(X, SINGLE)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T, atol=1e-12)
    sets = StructuralSVM(FOREST).fit(sparse.csr_array(X.astype(float)), SETS)
    np.testing.assert_array_equal(sets.coef_, sets.node_coef_)


@pytest.mark.parametrize("solver", ["bcfw", "cutting_plane"])
def test_a_saved_structural_svm_answers_the_same(solver, tmp_path):
    model = StructuralSVM(FOREST, solver=solver, attributes="unit").fit(X, SINGLE)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.gap_ == model.gap_
    assert getattr(again, "n_constraints_", None) == getattr(model, "n_constraints_", None)


@pytest.mark.parametrize("learner", BOTH)
def test_too_few_passes_are_told(learner):
    with pytest.warns(ConvergenceWarning, match=f"{learner.__name__} stopped after 1 sweeps"):
        model = learner(FOREST, max_iter=1, inner_iter=1, tol=1e-9).fit(X, SETS)
    assert not model.converged_


@pytest.mark.parametrize("learner", BOTH)
def test_a_dag_is_refused_by_name(learner):
    dag = Taxonomy.from_parents({"a": None, "b": None, "c": ["a", "b"]})
    with pytest.raises(TaxonomyError, match=learner.__name__):
        learner(dag).fit([[1.0], [2.0]], ["c", "a"])


@pytest.mark.parametrize(
    ("model", "y", "said"),
    [
        (MaxMarginMarkov(FOREST, C=0), SETS, "C must be positive"),
        (MaxMarginMarkov(FOREST, tol=-1), SETS, "tol must be positive"),
        (MaxMarginMarkov(FOREST, max_iter=0), SETS, "max_iter must be"),
        (MaxMarginMarkov(FOREST, inner_iter=0.5), SETS, "inner_iter must be"),
        (MaxMarginMarkov(FOREST, loss="tree"), SETS, "loss must be one of"),
        (MaxMarginMarkov(FOREST, train_space="some"), SETS, "train_space must be one of"),
        (MaxMarginMarkov(FOREST, sampling="best"), SETS, "sampling must be one of"),
        (MaxMarginMarkov(FOREST, kernel="sigmoid"), SETS, "kernel must be one of"),
        (MaxMarginMarkov(FOREST, cache_size=0), SETS, "cache_size must be positive"),
        (MaxMarginMarkov(FOREST, node_weights=[1.0]), SETS, "one number per node"),
        (MaxMarginMarkov(FOREST, kernel="precomputed"), SETS, "square matrix"),
        (StructuralSVM(FOREST, loss="best"), SINGLE, "loss must be one of"),
        (StructuralSVM(FOREST, loss="hamming"), SINGLE, "loss='hamming' is for sets of labels"),
        (StructuralSVM(FOREST, loss="tree"), SETS, "loss='tree' is for single labels"),
        (StructuralSVM(FOREST, loss=MATRIX), SETS, r"loss=an array of shape \(.*\) is for single labels"),
        (StructuralSVM(FOREST, rescaling="slack"), SETS, "rescaling='slack' is for single"),
        (StructuralSVM(FOREST, attributes="unit"), SETS, "attributes='unit' is for single"),
        (StructuralSVM(FOREST, attributes=[1.0]), SETS, "one positive weight per node"),
        (StructuralSVM(FOREST, attributes="paths"), SETS, "attributes must be one of"),
        (StructuralSVM(FOREST, node_weights="sibling"), SINGLE, "node_weights='sibling' is for sets"),
        (StructuralSVM(FOREST, loss=MATRIX + 1), SINGLE, "0 on its diagonal"),
        (StructuralSVM(FOREST, loss=MATRIX[:3]), SINGLE, "a matrix of 7 × 7 nodes"),
        (StructuralSVM(FOREST, solver="sgd"), SINGLE, "solver must be one of"),
        (StructuralSVM(FOREST, node_weights="sibling", solver="cutting_plane"), SETS, "uniform node_weights"),
    ],
)  # fmt: skip
def test_what_is_refused(model, y, said):
    with pytest.raises(ParameterError, match=said):
        model.fit(X, y)


def test_siblings_may_be_swapped():
    data = make_topics(n_samples=120, n_features=60, branching=(2, 3), n_test=30, random_state=1)
    parents = {
        data.taxonomy.names[v]: None if p < 0 else data.taxonomy.names[p] for v, p in enumerate(data.taxonomy.parent)
    }
    mirrored = Taxonomy.from_parents(dict(reversed(parents.items())))
    for learner in BOTH:
        one, other = (
            learner(t, tol=1e-7, max_iter=5000).fit(data.X_train, [{y} for y in data.y_train])
            for t in (data.taxonomy, mirrored)
        )
        np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-6)
        assert one.predict(data.X_test) == other.predict(data.X_test)
