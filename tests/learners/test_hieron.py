"""Hieron against its definition: a slow reference, the paper's bounds, and the digest's properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist import Hieron, Taxonomy
from cladist.datasets import make_hieron_synthetic, make_topics
from cladist.decoders import path_scores
from cladist.errors import LabelError, ParameterError
from cladist.kernels import hieron as rounds
from cladist.metrics import cumulative_error, multiclass_error, tree_induced_error
from tests.learners.hieron_reference import Reference


def complete_binary(depth):
    return Taxonomy.from_parents({str(v): str((v - 1) // 2) if v else None for v in range(2 ** (depth + 1) - 1)})


EITHER = st.booleans()


@st.composite
def problems(draw, forest=EITHER):
    """A random taxonomy with random rows and labels."""
    n_nodes = draw(st.integers(2, 9))
    as_forest = draw(forest)
    parent = [None] + [
        draw(st.one_of(st.none(), st.integers(0, v - 1)) if as_forest else st.integers(0, v - 1))
        for v in range(1, n_nodes)
    ]
    taxonomy = Taxonomy.from_parents({f"n{v}": None if p is None else f"n{p}" for v, p in enumerate(parent)})
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.normal(size=(draw(st.integers(1, 25)), 4)) * (random.random((1, 4)) < 0.8)
    return taxonomy, X, random.integers(0, n_nodes, len(X))


def names(taxonomy, nodes):
    return np.array(taxonomy.names)[nodes]


# ------------------------------------------------------------------ equals the reference


@given(problems(), st.sampled_from(["max_loss", "prediction"]), st.booleans(), st.sampled_from([None, 0.3]))
def test_equals_the_reference(problem, update, average, C):
    taxonomy, X, y = problem
    model = Hieron(taxonomy, update=update, average=average, shuffle=False, C=C).fit(X, names(taxonomy, y))
    reference = Reference(taxonomy, X.shape[1], update=update, C=C or np.inf).run(X, y)
    assume(not reference.rounding_decides)
    expected = reference.average if average else reference.w
    np.testing.assert_allclose(model.node_coef_, expected, atol=1e-10)
    entry = model.history_[-1]
    assert entry["multiclass_error"] == pytest.approx(np.mean(np.array(reference.predictions) != y))
    assert entry["tree_induced_error"] == pytest.approx(reference.gamma[y, reference.predictions].mean())
    assert entry["squared_loss"] == pytest.approx(np.square(reference.losses).sum())
    assert entry["objective"] == pytest.approx(np.mean(reference.losses))


@given(problems())
def test_partial_fit_is_the_online_rule_in_any_pieces(problem):
    taxonomy, X, y = problem
    labels = names(taxonomy, y)
    one_by_one = Hieron(taxonomy)
    for i in range(len(X)):
        one_by_one.partial_fit(X[i : i + 1], labels[i : i + 1])
    at_once = Hieron(taxonomy).partial_fit(sparse.csr_array(X), labels)
    np.testing.assert_array_equal(one_by_one.node_coef_, at_once.node_coef_)
    reference = Reference(taxonomy, X.shape[1], update="prediction").run(X, y)
    assume(not reference.rounding_decides)
    np.testing.assert_allclose(at_once.node_coef_, reference.w, atol=1e-10)
    cumulative = cumulative_error(labels, names(taxonomy, reference.predictions), taxonomy)
    assert at_once.history_[-1]["tree_induced_error"] == pytest.approx(cumulative[-1])


@given(problems(), st.sampled_from(["distance", "one"]))
def test_other_margins(problem, margin):
    taxonomy, X, y = problem
    model = Hieron(taxonomy, margin=margin, average=False, shuffle=False).fit(X, names(taxonomy, y))
    function = {"distance": lambda g: g, "one": np.sign}[margin]
    reference = Reference(taxonomy, X.shape[1], margin=function).run(X, y)
    assume(not reference.rounding_decides)
    np.testing.assert_allclose(model.node_coef_, reference.w, atol=1e-10)


@given(problems(), st.integers(2, 3))
def test_several_passes_average_over_all_rounds(problem, passes):
    taxonomy, X, y = problem
    model = Hieron(taxonomy, shuffle=False, max_iter=passes).fit(X, names(taxonomy, y))
    reference = Reference(taxonomy, X.shape[1]).run(np.tile(X, (passes, 1)), np.tile(y, passes))
    assume(not reference.rounding_decides)
    np.testing.assert_allclose(model.node_coef_, reference.average, atol=1e-10)
    assert len(model.history_) == model.n_iter_ == passes


# ------------------------------------------------------------------ the update


@given(problems(forest=st.just(False)), st.sampled_from(["max_loss", "prediction"]))
def test_after_an_update_the_margin_is_met_exactly_and_only_the_paths_differ(problem, update):
    taxonomy, X, y = problem
    reference = Reference(taxonomy, X.shape[1], update=update)
    model = Hieron(taxonomy, update=update, average=False, shuffle=False)
    for i in range(len(X)):
        before = reference.w.copy()
        reference.round(X[i], y[i])
        r = reference.competitors[-1]
        changed = np.flatnonzero((reference.w != before).any(axis=1))
        between = np.flatnonzero(reference.A[y[i]] != reference.A[r])
        assert set(changed) <= set(between)
        assert len(between) == reference.gamma[y[i], r]
        if reference.losses[-1] > 0 and X[i] @ X[i] > 1e-8:
            model.fit(X[: i + 1], names(taxonomy, y[: i + 1]))
            S = reference.A @ model.node_coef_ @ X[i]
            assert S[y[i]] - S[r] == pytest.approx(np.sqrt(reference.gamma[y[i], r]), abs=1e-9)
    model.fit(X, names(taxonomy, y))
    assert not model.node_coef_[0].any(), "the root's vector is never learnt"


@given(problems(forest=st.just(False)))
def test_the_loss_of_a_wrong_prediction_is_at_least_its_distance(problem):
    taxonomy, X, y = problem
    reference = Reference(taxonomy, X.shape[1], update="prediction").run(X, y)
    distance = reference.gamma[y, reference.predictions]
    wrong = np.array(reference.predictions) != y
    assert np.all(np.square(reference.losses)[wrong] >= distance[wrong] - 1e-9)


def separable(taxonomy, n, seed):
    """The digest's construction: orthonormal x_y, S[v, y] = −√γ(v, y), so that ω meets every margin."""
    N = taxonomy.n_nodes
    u, v = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
    gamma = taxonomy.distances(u.ravel(), v.ravel()).reshape(N, N)
    prototypes = -np.sqrt(gamma)
    prototypes = prototypes - prototypes[0]
    omega = prototypes.copy()
    omega[1:] -= prototypes[taxonomy.parent[1:]]
    random = np.random.default_rng(seed)
    y = random.integers(0, N, n)
    X = np.eye(N)[y] * random.uniform(1, 2, (n, 1))
    return X, y, omega, gamma


@pytest.mark.parametrize("update", ["prediction", "max_loss"])
def test_loss_bound(update):
    taxonomy = complete_binary(3)
    X, y, omega, gamma = separable(taxonomy, 3000, seed=0)
    model = Hieron(taxonomy, update=update, shuffle=False).fit(X, names(taxonomy, y))
    bound = gamma.max() * np.max(np.sum(X**2, axis=1)) * np.sum(omega**2)
    squared = model.history_[-1]["squared_loss"]
    assert 0 < squared <= bound
    if update == "prediction":
        assert model.history_[-1]["tree_induced_error"] * len(X) <= squared + 1e-9


@pytest.mark.parametrize("update", ["prediction", "max_loss"])
def test_every_round_comes_nearer_to_a_separator(update):
    taxonomy = complete_binary(2)
    X, y, omega, gamma = separable(taxonomy, 200, seed=1)
    reference = Reference(taxonomy, X.shape[1], update=update).run(X, y)
    gaps = [np.sum((w - omega) ** 2) for w in reference.states]
    for i, loss in enumerate(reference.losses):
        g = gamma[y[i], reference.competitors[i]]
        drop = loss**2 / (g * (X[i] @ X[i])) if loss else 0.0
        assert gaps[i + 1] <= gaps[i] - drop + 1e-9


@given(problems(), st.floats(0.01, 100))
def test_scaling_rows_scales_weights_inversely(problem, c):
    taxonomy, X, y = problem
    labels = names(taxonomy, y)
    plain = Hieron(taxonomy, shuffle=False).fit(X, labels)
    scaled = Hieron(taxonomy, shuffle=False).fit(c * X, labels)
    np.testing.assert_allclose(scaled.node_coef_ * c, plain.node_coef_, atol=1e-7)


def test_a_star_is_multiclass_passive_aggressive():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 3)), random.integers(0, 4, 50)
    model = Hieron(average=False, shuffle=False).fit(X, y)
    w = np.zeros((4, 3))
    for x, label in zip(X, y, strict=True):
        rivals = w @ x + np.where(np.arange(4) == label, 0, np.sqrt(2))
        r = int(rivals.argmax())
        loss = max(0.0, w[r] @ x - w[label] @ x + np.sqrt(2)) if r != label else 0.0
        step = loss / (2 * (x @ x))
        w[label] += step * x
        w[r] -= step * x
    np.testing.assert_allclose(model.coef_, w, atol=1e-12)


# ------------------------------------------------------------------ kernels


def linear(A, B):
    return (A @ B.T).toarray() if sparse.issparse(A) else A @ B.T


def rounding_decides(taxonomy, X, labels, update):
    """Whether in some round two scores differ by less than they are exact, so that either may be the larger."""
    order = np.concatenate([np.arange(len(X))] * 2)  # of two passes
    for k in range(1, len(order)):
        seen, following = order[:k], X[order[k : k + 1]]
        options = {"update": update, "average": False, "shuffle": False}
        for model in (Hieron(taxonomy, **options), Hieron(taxonomy, kernel=linear, **options)):
            model.fit(X[seen], labels[seen])
            if model.kernel is linear:  # as the rounds add them up, where what cancels may leave a rest
                own = np.empty(taxonomy.n_nodes)
                updates = model.prototypes_.updates
                column = X[seen][model.support_] @ following[0]
                rounds.score_updates(column, updates, len(updates[0]), taxonomy.parent, own)
            else:
                own = model.node_coef_ @ following[0]
            scores = path_scores(own[None], taxonomy)[0]
            gaps = np.abs(scores[:, None] - scores)
            if np.any((gaps > 0) & (gaps < 1e-9)):
                return True
    return False


@settings(max_examples=30)
@given(problems(), st.sampled_from(["max_loss", "prediction"]), st.booleans(), st.integers(1, 2))
def test_kernel_form_equals_primal_form(problem, update, average, passes):
    taxonomy, X, y = problem
    labels = names(taxonomy, y)
    assume(not rounding_decides(taxonomy, X, labels, update))
    options = {"update": update, "average": average, "shuffle": False, "max_iter": passes}
    primal = Hieron(taxonomy, **options).fit(X, labels)
    by_function = Hieron(taxonomy, kernel=linear, **options).fit(X, labels)
    by_gram = Hieron(taxonomy, kernel="precomputed", **options).fit(X @ X.T, labels)
    for dual in (by_function, by_gram):
        weights = dual.dual_coef_ @ X[dual.support_]
        np.testing.assert_allclose(weights, primal.node_coef_, atol=1e-9)
        assert np.unique(dual.support_).size == dual.support_.size
    np.testing.assert_array_equal(by_function.predict(X), by_gram.predict(X @ X.T))
    np.testing.assert_allclose(by_gram.decision_function(X @ X.T), primal.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(("kernel", "power"), [("rbf", None), ("poly", 2)])
def test_named_kernels_equal_their_gram(kernel, power):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(700, 3)), random.integers(0, 5, 700)
    taxonomy = Taxonomy.from_parents({"0": None, "1": "0", "2": "0", "3": "1", "4": "1"})
    squares = np.square(X[:, None] - X[None]).sum(-1)
    gram = np.exp(-0.5 * squares) if kernel == "rbf" else (0.5 * X @ X.T + 1) ** power
    named = Hieron(taxonomy, kernel=kernel, gamma=0.5, degree=2, random_state=0).fit(X, y)
    given_gram = Hieron(taxonomy, kernel="precomputed", random_state=0).fit(gram, y)
    np.testing.assert_allclose(named.decision_function(X), given_gram.decision_function(gram), atol=1e-8)
    sparse_rows = Hieron(taxonomy, kernel=kernel, gamma=0.5, degree=2, random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse_rows.decision_function(X), named.decision_function(X), atol=1e-8)


def test_kernel_streams_equal_weight_streams():
    random = np.random.default_rng(3)
    X, y = random.normal(size=(40, 3)), random.integers(0, 7, 40)
    taxonomy = complete_binary(2)
    weights, kernel = Hieron(taxonomy), Hieron(taxonomy, kernel=linear)
    for part in np.array_split(np.arange(40), 7):
        weights.partial_fit(X[part], y[part])
        kernel.partial_fit(X[part], y[part])
    np.testing.assert_allclose(kernel.dual_coef_ @ X[kernel.support_], weights.node_coef_, atol=1e-10)


# ------------------------------------------------------------------ the digest's regression targets


@pytest.fixture(scope="module")
def synthetic():
    return [make_hieron_synthetic(noise_variance=0.04, random_state=seed) for seed in range(3)]


def errors(model, data):
    predicted = model.fit(data.X_train, data.y_train).predict(data.X_test)
    return (
        tree_induced_error(data.y_test, predicted, data.taxonomy),
        100 * multiclass_error(data.y_test, predicted, data.taxonomy),
    )


def test_batch_tree_reaches_its_target(synthetic):
    tree, multiclass = np.mean([errors(Hieron(d.taxonomy, random_state=0), d) for d in synthetic], axis=0)
    assert tree == pytest.approx(0.05, abs=0.015)
    assert multiclass == pytest.approx(4.5, abs=1)


def test_batch_flat_reaches_its_target(synthetic):
    tree, multiclass = np.mean([errors(Hieron(d.taxonomy.flattened(), random_state=0), d) for d in synthetic], axis=0)
    assert tree == pytest.approx(0.13, abs=0.03)
    assert multiclass == pytest.approx(7.6, abs=1.5)


# ------------------------------------------------------------------ edges


def test_an_empty_row_is_counted_and_changes_nothing():
    taxonomy = complete_binary(1)
    model = Hieron(taxonomy).partial_fit(np.zeros((1, 2)), ["1"])
    assert not model.node_coef_.any()
    assert model.history_[-1]["multiclass_error"] == 1.0
    assert model.predict([[0.0, 0.0]]).tolist() == ["0"], "all scores tie at 0 and the root wins"


def test_all_negative_scores_give_the_root_unless_it_is_forbidden():
    taxonomy = complete_binary(1)
    model = Hieron(taxonomy, shuffle=False).fit([[1.0], [1.0]], ["1", "2"])
    assert model.predict([[-1.0]]).tolist() == ["0"]
    leaves = Hieron(taxonomy, shuffle=False, allowed_labels="leaves").fit([[1.0], [1.0]], ["1", "2"])
    assert set(leaves.predict([[-1.0], [1.0]])) <= {"1", "2"}
    assert leaves.classes_.tolist() == ["1", "2"]


def test_seen_labels_only_and_named_labels():
    taxonomy = complete_binary(2)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 3)), random.choice(["3", "4"], 30)
    assert Hieron(taxonomy, allowed_labels="seen").fit(X, y).classes_.tolist() == ["3", "4"]
    assert Hieron(taxonomy, allowed_labels=["3", "4", "5"]).fit(X, y).classes_.tolist() == ["3", "4", "5"]
    growing = Hieron(taxonomy, allowed_labels="seen").partial_fit(X, y)
    assert growing.partial_fit(X[:1], ["6"]).classes_.tolist() == ["3", "4", "6"]
    with pytest.raises(LabelError, match="row 0 has the label '1'"):
        Hieron(taxonomy, allowed_labels="leaves").fit([[1.0]], ["1"])


def test_a_forests_virtual_root_is_never_predicted():
    taxonomy = Taxonomy.from_paths(["a/b", "c"])
    model = Hieron(taxonomy, shuffle=False).fit([[1.0], [-1.0]], ["b", "c"])
    assert set(model.predict([[1.0], [-1.0], [0.0]])) <= {"a", "b", "c"}
    assert model.taxonomy_.distance("b", "c") == 3


def test_repeated_entries_of_a_row_count_as_their_sum():
    repeated = sparse.csr_matrix(([0.5, 0.5, 1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    summed = sparse.csr_matrix(repeated.toarray())
    options = {"shuffle": False, "average": False}
    found, expected = (Hieron(**options).fit(X, ["a", "b"]) for X in (repeated, summed))
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert repeated.nnz == 3, "the caller's matrix stays as it is"
    score = found.decision_function(repeated, nodes=["a"])[0, 0]
    assert found.explain(repeated[:1], nodes=["a"])[0].score == pytest.approx(score)


@pytest.mark.parametrize("scale", [1e-22, 1e20])
def test_float32_rows_of_any_length_are_learnt(scale):
    data = make_topics(n_samples=200, n_features=100, branching=(3, 3), random_state=0)
    plain = Hieron(data.taxonomy, random_state=0).fit(data.X, data.y).predict(data.X)
    scaled = data.X * np.float32(scale)
    model = Hieron(data.taxonomy, random_state=0).fit(scaled, data.y)
    assert np.mean(model.predict(scaled) == plain) > 0.98


def test_float32_rows_give_float32_weights():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    model = Hieron().fit(X, np.arange(20) % 3)
    assert model.node_coef_.dtype == np.float32


def test_first_partial_fit_needs_to_know_the_labels():
    with pytest.raises(LabelError, match="first partial_fit"):
        Hieron().partial_fit([[1.0]], ["a"])
    model = Hieron().partial_fit([[1.0]], ["a"], classes=["a", "b"])
    assert model.classes_.tolist() == ["a", "b"]
    with pytest.raises(LabelError, match="'c' is not in the taxonomy"):
        model.partial_fit([[1.0]], ["c"])
    with pytest.raises(LabelError, match="'q' is not in the taxonomy"):
        model.partial_fit([[1.0]], ["a"], classes=["q"])
    with pytest.raises(LabelError, match="the same in every call"):
        model.partial_fit([[1.0]], ["a"], classes=["a"])
    assert model.partial_fit([[1.0]], ["a"], classes=["b", "a"]).n_iter_ == len(model.history_) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"update": "best"}, "update must be one of 'max_loss', 'prediction'; got 'best'"),
        ({"margin": "two"}, "margin must be one of"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1 up; got 0"),
        ({"C": -1.0}, "C must be positive or None; got -1.0"),
        ({"C": "a"}, "C must be positive or None; got 'a'"),
        ({"gamma": None}, "gamma must be 'scale', 'auto' or a positive number"),
        ({"degree": "x"}, "degree must be a finite number; got 'x'"),
        ({"random_state": "abc"}, "random_state must be a whole number, a RandomState or None; got 'abc'"),
        ({"decode": "multi"}, "Hieron predicts one path per row and has no decode='multi'"),
        ({"decode": "best"}, "decode must be one of 'auto', 'single', 'multi'"),
        ({"gamma": "wide"}, "gamma must be 'scale', 'auto' or a positive number"),
        ({"allowed_labels": "some"}, "allowed_labels must be one of"),
    ],
)
def test_bad_parameters_say_what_was_wanted(options, message):
    with pytest.raises(ParameterError, match=message):
        Hieron(**options).fit([[1.0], [2.0]], ["a", "b"])


def test_a_precomputed_kernel_must_be_square_and_cannot_grow():
    with pytest.raises(ParameterError, match="square"):
        Hieron(kernel="precomputed").fit(np.ones((2, 3)), ["a", "b"])
    assert not hasattr(Hieron(kernel="precomputed"), "partial_fit")


def test_several_labels_a_row_are_refused_by_row():
    taxonomy = complete_binary(2)
    with pytest.raises(LabelError, match="Hieron needs exactly one label per row; row 1 has 2 labels: '3', '4'"):
        Hieron(taxonomy).fit([[1.0], [2.0]], [["3"], ["3", "4"]])
    with pytest.raises(LabelError, match="row 0 has no label"):
        Hieron(taxonomy).fit([[1.0], [2.0]], [[], ["3"]])


def test_explanations_sum_to_the_score():
    data = make_hieron_synthetic(n_train=5, n_test=1, random_state=0)
    model = Hieron(data.taxonomy, random_state=0).fit(data.X_train, data.y_train)
    rows = data.X_test[:10]
    labels = model.predict(rows)
    scores = model.decision_function(rows).max(axis=1)
    for explanation, label, score in zip(model.explain(rows), labels, scores, strict=True):
        assert explanation.label == label
        assert explanation.score == pytest.approx(score)
        assert list(explanation.contributions) == data.taxonomy.path(label)
        assert str(explanation).startswith(f"{label}: ")
    asked = model.explain(rows[:1], nodes=["120"])[0]
    assert asked.score == pytest.approx(model.decision_function(rows[:1], nodes=["120"])[0, 0])


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_kernels_are_explained_by_support_rows(kernel):
    data = make_hieron_synthetic(n_train=5, n_test=1, random_state=0)
    gram = data.X_train @ data.X_train.T
    X, rows = (gram, gram[:10]) if kernel == "precomputed" else (data.X_train, data.X_test[:10])
    model = Hieron(data.taxonomy, kernel=kernel, random_state=0).fit(X, data.y_train)
    scores = model.decision_function(rows).max(axis=1)
    numbers = {f"row {k}" for k in model.support_.tolist()}
    for why, score in zip(model.explain(rows), scores, strict=True):
        assert why.score == pytest.approx(score)
        assert list(why.contributions) == data.taxonomy.path(why.label)
        assert all(numbers >= part.keys() for part in why.contributions.values())
    largest = next(iter(why.contributions[why.label].values()))
    assert abs(largest) == max(map(abs, why.contributions[why.label].values()))


@pytest.mark.parametrize(("online", "most"), [(False, 2.2), (True, 1.2)])
def test_memory_beside_the_rows(online, most):
    """Allocations while learning, in units of weights + data."""
    import tracemalloc

    data = make_topics(n_samples=2000, n_features=20_000, branching=(5, 5, 5), random_state=0)
    model = Hieron(data.taxonomy, random_state=0)
    learn = model.partial_fit if online else model.fit
    learn(data.X[:2], data.y[:2])
    model = Hieron(data.taxonomy, random_state=0)
    learn = model.partial_fit if online else model.fit
    tracemalloc.start()
    learn(data.X, data.y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows = data.X.data.nbytes + data.X.indices.nbytes + data.X.indptr.nbytes
    assert peak + rows < most * (model.node_coef_.nbytes + rows)
