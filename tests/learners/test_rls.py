"""HierarchicalRLS against its definition, and the properties that the paper's digest lists."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import cladist
from cladist import HierarchicalRLS, LabelMatrix, Taxonomy
from cladist.datasets import LabelModel, make_label_model, make_topics
from cladist.errors import LabelError, ParameterError, TooLargeError
from cladist.metrics import h_loss, zero_one_loss
from cladist.persistence.models import pack_learner, unpack_learner
from tests.learners.rls_reference import DirectRLS, top_down, unit
from tests.strategies import multilabel_problems

SOLVERS = st.sampled_from(["primal", "dual"])
few = settings(max_examples=30)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
PaperRLS = partial(HierarchicalRLS, alpha=1.0, fit_intercept=False)


def indicator(on, taxonomy):
    return LabelMatrix.from_indicator(on, taxonomy)


def fitted(problem, **options):
    taxonomy, X, on = problem
    return PaperRLS(taxonomy, shuffle=False, **options).fit(X, indicator(on, taxonomy))


# ------------------------------------------------------------------ equals its definition


@few
@given(multilabel_problems(), SOLVERS, st.booleans(), st.sampled_from([1.0, 0.3]), st.booleans())
def test_primal_and_dual_equal_the_direct_solve(problem, solver, gated, alpha, current):
    taxonomy, X, on = problem
    model = fitted(problem, solver=solver, gated=gated, alpha=alpha, include_current=current)
    reference = DirectRLS(taxonomy, X.shape[1], gated=gated, alpha=alpha, current=current)
    reference.run(X, on)
    np.testing.assert_allclose(model.node_margins(unit(X)), reference.margins(X), **CLOSE)
    assert model.n_stored_.tolist() == [len(rows) for rows in reference.rows]


@few
@given(multilabel_problems(), SOLVERS, st.booleans(), st.sampled_from(["positive", "negative"]))
def test_predictions_come_before_the_update(problem, solver, gated, unseen):
    taxonomy, X, on = problem
    labels = indicator(on, taxonomy)
    model = PaperRLS(taxonomy, solver=solver, gated=gated, unseen=unseen)
    found = model.predict_then_learn(sparse.csr_array(X), labels).to_indicator().toarray()
    reference = DirectRLS(taxonomy, X.shape[1], gated=gated, empty={"positive": 0.0, "negative": -1.0}[unseen])
    margins = reference.run(X, on)
    clear = (np.abs(margins) > 1e-9) | (margins == 0)  # where rounding does not decide
    sure = clear.all(axis=1)
    np.testing.assert_array_equal(found[sure], top_down(margins, taxonomy)[sure])
    entry = model.history_[-1]
    if sure.all():
        told = indicator(top_down(margins, taxonomy).astype(int), taxonomy)
        assert entry["objective"] == pytest.approx(h_loss(labels, told, taxonomy))
        assert entry["zero_one_loss"] == pytest.approx(zero_one_loss(labels, told, taxonomy))


@few
@given(multilabel_problems(), SOLVERS, st.booleans(), st.sampled_from([0.1, 1.0, 5.0]))
def test_the_sparse_form_stores_rows_of_small_margin(problem, solver, gated, c):
    taxonomy, X, on = problem
    model = fitted(problem, solver=solver, gated=gated, sparse=True, margin_constant=c)
    reference = DirectRLS(taxonomy, X.shape[1], gated=gated, c=c)
    reference.run(X, on)
    assert model.n_stored_.tolist() == [len(rows) for rows in reference.rows]
    np.testing.assert_allclose(model.node_margins(unit(X)), reference.margins(X), **CLOSE)


@few
@given(multilabel_problems(), SOLVERS)
def test_an_infinite_margin_constant_is_h_rls(problem, solver):
    X = unit(problem[1])
    sparse_form = fitted(problem, sparse=True, margin_constant=np.inf, solver=solver)
    plain = fitted(problem, solver=solver)
    np.testing.assert_allclose(sparse_form.node_margins(X), plain.node_margins(X), **CLOSE)


@few
@given(multilabel_problems(), st.integers(1, 6), st.booleans())
def test_a_budget_drops_the_example_of_smallest_weight_exactly(problem, budget, sparse_form):
    taxonomy, X, on = problem
    X = X + np.random.default_rng(0).normal(size=X.shape)  # no two equal rows, whose weights would tie
    model = PaperRLS(taxonomy, budget=budget, sparse=True, margin_constant=5.0 if sparse_form else np.inf)
    model.partial_fit(X, indicator(on, taxonomy))
    reference = DirectRLS(taxonomy, X.shape[1], c=5.0 if sparse_form else np.inf, budget=budget)
    reference.run(X, on)
    assert model.n_stored_.max() <= budget
    np.testing.assert_allclose(model.node_margins(unit(X)), reference.margins(X), rtol=1e-8, atol=1e-8)


@few
@given(multilabel_problems(), st.sampled_from([{}, {"sparse": True}, {"budget": 3}, {"gated": False}]))
def test_rows_one_by_one_make_the_same_model(problem, options):
    taxonomy, X, on = problem
    at_once = PaperRLS(taxonomy, solver="dual", **options).partial_fit(X, indicator(on, taxonomy))
    one_by_one = PaperRLS(taxonomy, solver="dual", **options)
    for x, z in zip(X, on, strict=True):
        one_by_one.partial_fit(x[None], indicator(z[None], taxonomy))
    assert one_by_one.rows_seen_ == len(X)
    np.testing.assert_array_equal(one_by_one.n_stored_, at_once.n_stored_)
    rows = unit(X)
    np.testing.assert_allclose(one_by_one.node_margins(rows), at_once.node_margins(rows), rtol=1e-9, atol=1e-9)


def test_blocks_and_panels_equal_the_primal_form():
    model = LabelModel.random(Taxonomy.from_paths(["a/b", "a/c", "d"]), n_features=12, random_state=0)
    data = model.sample(2300, random_state=1)
    forms = [PaperRLS(data.taxonomy, solver=s, random_state=0).fit(data.X, data.y) for s in ("primal", "dual")]
    np.testing.assert_allclose(*(form.decision_function(data.X[:50]) for form in forms), rtol=1e-9, atol=1e-10)
    forms = [
        PaperRLS(data.taxonomy, solver=s, sparse=True, random_state=0).fit(data.X, data.y) for s in ("primal", "dual")
    ]
    np.testing.assert_array_equal(forms[0].n_stored_, forms[1].n_stored_)
    np.testing.assert_allclose(*(form.decision_function(data.X[:50]) for form in forms), rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------ the digest's properties


@few
@given(multilabel_problems(), SOLVERS)
def test_the_row_itself_in_the_inverse_changes_no_sign(problem, solver):
    X = unit(problem[1])
    with_it, without = (
        fitted(problem, solver=solver, include_current=current).node_margins(X) for current in (True, False)
    )
    clear = np.abs(without) > 1e-10
    np.testing.assert_array_equal(np.sign(with_it[clear]), np.sign(without[clear]))
    assert np.all(np.abs(with_it) <= np.abs(without) + 1e-12)


@few
@given(multilabel_problems(), st.sampled_from(["top_down", "bottom_up", "best"]), st.booleans())
def test_predictions_are_consistent(problem, repair, gated):
    taxonomy, X, _ = problem
    on = fitted(problem, gated=gated, repair=repair, unseen="negative").predict(X).to_indicator().toarray()
    for v, p in enumerate(taxonomy.parent):
        if p >= 0:
            assert np.all(on[:, v] <= on[:, p])


@few
@given(multilabel_problems(), SOLVERS, st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter_in_the_end(problem, solver, seed):
    taxonomy, X, on = problem
    order = np.random.default_rng(seed).permutation(len(X))
    plain, other = fitted(problem, solver=solver), fitted((taxonomy, X[order], on[order]), solver=solver)
    np.testing.assert_allclose(other.node_coef_, plain.node_coef_, **CLOSE)


def test_the_order_of_rows_matters_on_the_way():
    data = make_label_model(n_samples=60, random_state=0)
    first = PaperRLS(data.taxonomy).predict_then_learn(data.X, data.y)
    order = np.arange(60)[::-1]
    other = PaperRLS(data.taxonomy).predict_then_learn(data.X[order], data.y[order])
    assert first != other[np.argsort(order)]


def test_targets_are_plus_and_minus_one():
    """0/1 targets with the threshold 0 predict nearly everything; the paper's slides print them."""
    data = make_label_model(n_samples=400, random_state=3)
    on = data.y.to_indicator().toarray()
    model = PaperRLS(data.taxonomy)
    found = model.predict_then_learn(data.X, data.y)
    wrong = top_down(DirectRLS(data.taxonomy, 10).run(data.X, on, zero=0.0), data.taxonomy)
    assert h_loss(data.y, wrong.astype(int), data.taxonomy) > h_loss(data.y, found, data.taxonomy) + 0.05
    assert wrong.sum() > 1.3 * on.sum()


def test_weights_estimate_the_label_model():
    model = LabelModel.random(Taxonomy.from_paths(["a/b", "c"]), n_features=4, random_state=0)
    data = model.sample(20_000, random_state=1)
    found = PaperRLS(data.taxonomy, random_state=0).fit(data.X, data.y).node_coef_
    np.testing.assert_allclose(found, model.u, atol=0.08)


def test_the_sparse_form_costs_nothing_where_the_label_model_holds():
    """At c = 5 over four draws: at most 60 % is stored, and the loss is within 2 %."""
    tree = Taxonomy.from_parents({v: (v - 1) // 2 if v else None for v in range(7)})
    losses, stored = Counter(), Counter()
    for seed in range(4):
        model = LabelModel.random(tree, n_features=10, random_state=seed)
        data = model.sample(3000, random_state=seed)
        for c in (np.inf, 5.0):
            learner = PaperRLS(tree, sparse=True, margin_constant=c).partial_fit(data.X, data.y)
            losses[c] += learner.history_[-1]["objective"]
            stored[c] += learner.n_stored_.sum()
        losses["reference"] += h_loss(data.y, model.predict(data.X), tree)
    assert losses[5.0] < 1.02 * losses[np.inf]
    assert stored[5.0] < 0.6 * stored[np.inf]
    assert losses["reference"] - 0.08 < losses[np.inf] < losses["reference"] + 0.4


def test_siblings_share_one_inverse_and_the_sparse_form_does_not():
    data = make_label_model(n_samples=50, random_state=0)
    assert len(PaperRLS(data.taxonomy).fit(data.X, data.y).ridge_.inverses) == 4  # the root and three families
    assert len(PaperRLS(data.taxonomy, gated=False).fit(data.X, data.y).ridge_.inverses) == 1
    assert len(PaperRLS(data.taxonomy, sparse=True).fit(data.X, data.y).ridge_.inverses) == 7


# ------------------------------------------------------------------ edges


def test_at_first_everything_is_on():
    taxonomy = Taxonomy.from_paths(["a/b", "c"])
    labels = [set(), {"b"}]
    first = PaperRLS(taxonomy).predict_then_learn([[1.0, 0.0], [1.0, 0.0]], labels)
    assert first[0] == {"b", "c"}
    cautious = PaperRLS(taxonomy, unseen="negative").predict_then_learn([[1.0, 0.0], [1.0, 0.0]], labels)
    assert cautious[0] == set()


def test_a_row_of_zeros_teaches_nothing_and_has_every_label():
    taxonomy = Taxonomy.from_paths(["a/b", "c"])
    for solver in ("primal", "dual"):
        model = PaperRLS(taxonomy, solver=solver, unseen="negative").fit([[0.0, 0.0], [1.0, 0.0]], [{"b"}, {"c"}])
        assert model.n_stored_.tolist() == [1, 1, 0]
        assert model.predict([[0.0, 0.0]]) == [{"a", "c"}]


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_one_node(solver):
    model = PaperRLS(Taxonomy.from_parents({"a": None}), solver=solver).fit([[1.0], [-1.0]], [{"a"}, set()])
    assert model.predict([[2.0], [-2.0]]) == [{"a"}, set()]


def test_the_form_is_chosen_by_size():
    rows, y = np.eye(3), ["a", "b", "c"]
    assert PaperRLS().fit(rows, y).solver_ == "primal"
    assert PaperRLS(budget=2).fit(rows, y).solver_ == "dual"
    assert PaperRLS(kernel="rbf").fit(rows, y).solver_ == "dual"
    wide = sparse.csr_array(([1.0, 1.0], ([0, 1], [7, 900_000])), shape=(2, 1_000_000))
    model = PaperRLS().fit(wide, ["a", "b"])  # d × d would be terabytes
    assert model.solver_ == "dual"
    assert model.predict(wide).tolist() == ["a", "b"]
    with pytest.raises(TooLargeError, match="solver='dual'"):
        PaperRLS(solver="primal").fit(wide, ["a", "b"])


def test_kernels_have_unit_length_in_their_own_space():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y = np.where(np.linalg.norm(X, axis=1) > 1.5, "far", "near")
    model = PaperRLS(kernel="rbf", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    by_hand = PaperRLS(kernel=lambda A, B: (1 + unit(A) @ unit(B).T) ** 2 / 4, normalize=False, shuffle=False)
    poly = PaperRLS(kernel=lambda A, B: (1 + unit(A) @ unit(B).T) ** 2, shuffle=False)
    np.testing.assert_allclose(by_hand.fit(X, y).decision_function(X), poly.fit(X, y).decision_function(X), atol=1e-10)
    with pytest.raises(AttributeError, match="kernel"):
        model.node_coef_  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must be positive"),
        ({"alpha": np.inf}, "finite"),
        ({"margin_constant": -1}, "margin_constant must be positive"),
        ({"budget": 0}, "budget"),
        ({"solver": "direct"}, "solver"),
        ({"solver": "primal", "budget": 3}, "solver='dual'"),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"unseen": "off"}, "unseen"),
        ({"repair": "none"}, "repair"),
        ({"gated": 1}, "gated"),
        ({"threshold": "0"}, "threshold"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        PaperRLS(**options).fit(np.eye(2), ["a", "b"])


def test_a_threshold_above_zero_makes_it_cautious():
    data = make_label_model(n_samples=200, random_state=0)
    plain, cautious = (PaperRLS(data.taxonomy, threshold=t, random_state=0).fit(data.X, data.y) for t in (0.0, 0.2))
    assert len(cautious.predict(data.X).indices) < len(plain.predict(data.X).indices)
    np.testing.assert_allclose(cautious.decision_function(data.X), plain.decision_function(data.X) - 0.2, atol=1e-12)


# ------------------------------------------------------------------ the intercept


@pytest.mark.parametrize(
    "options",
    [{"solver": "primal"}, {"solver": "dual"}, {"solver": "primal", "sparse": True}, {"budget": 20}, {"sparse": True}],
    ids=str,
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_intercept_is_a_feature_that_is_1(options, is_sparse, tmp_path):
    data = make_label_model(n_samples=150, random_state=0)
    widened = np.column_stack([unit(data.X), np.ones(150)])
    by_hand = PaperRLS(data.taxonomy, normalize=False, alpha=0.3, **options).partial_fit(widened, data.y)
    X = sparse.csr_array(data.X) if is_sparse else data.X
    model = HierarchicalRLS(data.taxonomy, **options)
    model.partial_fit(X[:100], data.y[:100])
    model.save(tmp_path / "model")
    model = cladist.load(tmp_path / "model").partial_fit(X[100:], data.y[100:])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(widened), **CLOSE)
    np.testing.assert_allclose(model.node_coef_, by_hand.node_coef_[:, :-1], **CLOSE)
    np.testing.assert_allclose(model.intercept_, by_hand.coef_[:, -1], **CLOSE)
    assert not np.any(by_hand.intercept_)


def test_kernels_have_an_intercept():
    data = make_label_model(n_samples=100, random_state=0)
    model = HierarchicalRLS(data.taxonomy, kernel="rbf", gamma=0.5, random_state=0).fit(data.X, data.y)
    by_hand = PaperRLS(
        data.taxonomy, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5) + 1, normalize=False, alpha=0.3, random_state=0
    ).fit(data.X, data.y)
    np.testing.assert_allclose(model.decision_function(data.X), by_hand.decision_function(data.X), **CLOSE)
    with pytest.raises(AttributeError, match="intercept_ needs weights"):
        _ = model.intercept_


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_files_from_before_the_intercept(solver):
    data = make_label_model(n_samples=100, random_state=0)
    model = PaperRLS(data.taxonomy, solver=solver, random_state=0).fit(data.X, data.y)
    content, arrays = pack_learner(model)
    assert content["parameters"].pop("fit_intercept") is False
    old = unpack_learner(content, arrays)
    np.testing.assert_array_equal(old.decision_function(data.X), model.decision_function(data.X))


# ------------------------------------------------------------------ being saved, growing


@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "dual"}, {"solver": "dual", "sparse": True}, {"budget": 20}, {"kernel": "rbf"}, {"sparse": True}],
    ids=str,
)
def test_a_saved_model_goes_on_learning_as_if_never_saved(options, tmp_path):
    data = make_label_model(n_samples=150, random_state=0)
    model = PaperRLS(data.taxonomy, **options).partial_fit(data.X[:100], data.y[:100])
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    for learner in (model, again):
        learner.partial_fit(data.X[100:], data.y[100:])
    np.testing.assert_array_equal(again.decision_function(data.X), model.decision_function(data.X))
    assert again.rows_seen_ == 150


@pytest.mark.parametrize("options", [{}, {"solver": "dual"}, {"budget": 20}, {"gated": False}], ids=str)
def test_a_new_node_leaves_the_others_as_they_are(options):
    data = make_topics(n_samples=200, n_test=20, n_features=60, branching=(3, 2), random_state=0)
    model = PaperRLS(data.taxonomy, **options).partial_fit(data.X_train, data.y_train)
    before = dict(zip(model.taxonomy_.names, model.node_margins(unit(data.X_test.toarray())).T, strict=True))
    parent = data.taxonomy.names[0]
    model.add_node("new", parent)
    after = dict(zip(model.taxonomy_.names, model.node_margins(unit(data.X_test.toarray())).T, strict=True))
    assert set(after) - set(before) == {"new"}
    for name in before:
        np.testing.assert_array_equal(after[name], before[name])
    model.partial_fit(data.X_train[:30], np.repeat("new", 30))
    assert model.n_stored_[model.taxonomy_.index("new")] == min(30, model.budget or 30)
    assert "new" in model.classes_.tolist()
    assert model.predict(data.X_train[:30]).tolist().count("new") > 0


def test_y_of_another_length():
    model = PaperRLS({"b": "a"}).partial_fit([[1.0]], ["b"])
    with pytest.raises(LabelError, match="one label per row"):
        model.partial_fit([[1.0], [2.0]], ["b"])
    with pytest.raises(LabelError, match="exactly one label"):
        model.partial_fit([[1.0]], [{"a", "b"} - {"a", "b"}])
