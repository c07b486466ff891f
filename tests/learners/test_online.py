"""The laws of the learners that learn row by row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import cladist
from cladist import HierarchicalPerceptron, HierarchicalRLS, Hieron, Taxonomy
from cladist.datasets import make_topics
from cladist.errors import LabelError, TaxonomyError

MODELS = [
    Hieron(),
    Hieron(allowed_labels="seen"),
    Hieron(kernel="rbf", gamma=0.5),
    HierarchicalRLS(),
    HierarchicalRLS(solver="dual", sparse=True),
    HierarchicalRLS(sparse=True, budget=20),
    HierarchicalRLS(gated=False, unseen="negative"),
    HierarchicalPerceptron(),
    HierarchicalPerceptron(average=True, allowed_labels="leaves"),
    HierarchicalPerceptron(kernel="poly", gamma=1.0, coef0=0.0),  # of rows apart it is 0, not a constant that ties
]


@pytest.fixture(scope="module")
def data():
    return make_topics(n_samples=160, n_test=40, n_features=80, branching=(3, 2), random_state=0)


@pytest.fixture(params=MODELS, ids=repr)
def model(request, data):
    return clone(request.param).set_params(taxonomy=data.taxonomy)


def same(one, other, X):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9, atol=1e-9)


def test_many_rows_at_once_are_single_rows_in_turn(model, data):
    X, y = data.X_train, data.y_train
    at_once, in_turn = model, clone(model)
    found = at_once.predict_then_learn(X, y)
    for i in range(X.shape[0]):
        if i:
            assert in_turn.predict(X[[i]])[0] == found[i]
        in_turn.partial_fit(X[[i]], y[i : i + 1])
    assert at_once.rows_seen_ == in_turn.rows_seen_ == X.shape[0]
    same(at_once, in_turn, data.X_test)


def test_dense_or_sparse_in_any_pieces(model, data):
    X, y = data.X_train, data.y_train
    pieces = clone(model).partial_fit(X[:50].toarray(), y[:50])
    if pieces.kernel == "linear":
        pieces.partial_fit(X[50:].toarray(), y[50:])
        same(model.partial_fit(X, y), pieces, data.X_test)
    else:
        pieces.partial_fit(X[50:].toarray(), y[50:])
        same(model.partial_fit(X.toarray(), y), pieces, data.X_test.toarray())


def test_fit_then_more_rows(model, data):
    model.fit(data.X_train[:100], data.y_train[:100])
    model.partial_fit(data.X_train[100:], data.y_train[100:])
    assert model.rows_seen_ == 160
    assert model.score(data.X_test, data.y_test) > 0.3


def hieron_states(model):
    if model.kernel == "linear":
        return [column.tobytes() for column in model.prototypes_.W.T]
    rows = model.dual_coef_
    return [(rows[[v]].indices.tolist(), rows[[v]].data.tolist()) for v in range(rows.shape[0])]


def perceptron_states(model):
    state = model.perceptrons_
    if model.kernel == "linear":
        columns = zip(state.W.T, state.acc.T, state.seen, strict=True)
        return [(w.tobytes(), acc.tobytes(), int(n)) for w, acc, n in columns]
    support, node, sign, when = state.updates
    return [[a[node == v].tolist() for a in (support, sign, when)] for v in range(len(state.seen))]


def rls_states(model):
    ridge, found = model.ridge_, {}
    for store, nodes in enumerate(ridge.groups.nodes):
        if model.solver_ == "primal":
            P, W = ridge.state(store)
            found.update((v, (P.tobytes(), W[k].tobytes())) for k, v in enumerate(nodes))
        else:
            factor = ridge.factors[store].pack()
            targets = ridge.targets[store]
            found.update((v, (factor.tobytes(), targets[:, k].tobytes())) for k, v in enumerate(nodes))
    return [found[v] for v in range(len(found))]


def node_states(model):
    """What the model holds of each node, by name."""
    of = {Hieron: hieron_states, HierarchicalRLS: rls_states, HierarchicalPerceptron: perceptron_states}[type(model)]
    return dict(zip(model.taxonomy_.names, of(model), strict=True))


def test_fifty_new_nodes_leave_unrelated_branches_as_they_are_bit_for_bit(model, data, tmp_path):
    for _ in range(3):
        model.partial_fit(data.X_train, data.y_train)
    taxonomy = data.taxonomy
    parent = taxonomy.names[0]
    own = data.X_train[[taxonomy.path(label)[0] == parent for label in data.y_train]]
    before, touched = node_states(model), {parent}
    for k in range(50):
        known = node_states(model)
        name = f"new {k}"
        model.add_node(name, parent if k % 3 else f"new {k - 3}" if k else parent)
        if k == 25:  # in its saved form, too
            model.save(tmp_path / "model")
            model = cladist.load(tmp_path / "model")
        grown = node_states(model)
        assert grown.keys() - known.keys() == {name}
        assert all(grown[u] == known[u] for u in known)
        found = model.predict_then_learn(own[[k % own.shape[0]]], [name])
        touched.add(model.taxonomy_.path(found[0])[0])
    after = node_states(model)
    unrelated = [u for u in before if taxonomy.path(u)[0] != parent]
    if isinstance(model, Hieron):  # whose competitor may be any label
        unrelated = [u for u in unrelated if taxonomy.path(u)[0] not in touched]
    elif model.gated:  # roots are shown every row
        unrelated = [u for u in unrelated if u not in [taxonomy.names[v] for v in taxonomy.roots]]
    else:
        unrelated = []  # every node is shown every row
    assert unrelated or not getattr(model, "gated", True)
    assert all(after[u] == before[u] for u in unrelated)
    assert any(after[u] != before[u] for u in before)
    assert {f"new {k}" for k in range(50)} <= set(model.taxonomy_.names)


def test_adding_a_node_alone_changes_no_score(model, data):
    model.partial_fit(data.X_train, data.y_train)
    before = dict(zip(model.classes_.tolist(), model.decision_function(data.X_test).T.tolist(), strict=True))
    model.add_node("new", data.taxonomy.names[-1]).add_node("root")
    after = dict(zip(model.classes_.tolist(), model.decision_function(data.X_test).T.tolist(), strict=True))
    kept = set(after) & set(before) - {data.taxonomy.names[-1]}
    assert len(kept) >= len(before) - 1
    assert all(after[label] == before[label] for label in kept)
    model.partial_fit(data.X_train[:1], ["new"]).partial_fit(data.X_train[1:2], ["root"])
    assert {"new", "root"} <= set(model.classes_.tolist())


def test_a_node_that_is_there_already(model, data):
    model.partial_fit(data.X_train, data.y_train)
    with pytest.raises(TaxonomyError, match="already"):
        model.add_node(data.taxonomy.names[1])
    with pytest.raises(TaxonomyError, match="not in the taxonomy"):
        model.add_node("x", "nowhere")


def test_history_stays_short(data):
    model = HierarchicalPerceptron(data.taxonomy)
    for _ in range(8):
        for i in range(140):
            model.partial_fit(data.X_train[[i]], data.y_train[i : i + 1])
    assert len(model.history_) == 1000
    assert model.n_iter_ == model.rows_seen_ == 1120


def test_the_first_rows_need_a_taxonomy_or_classes():
    for model in (Hieron(), HierarchicalRLS(), HierarchicalPerceptron()):
        with pytest.raises(LabelError, match="classes"):
            model.partial_fit([[1.0]], ["a"])
        model.partial_fit([[1.0], [-1.0]], ["a", "b"], classes=["a", "b"])
        with pytest.raises(LabelError, match="same in every call"):
            model.partial_fit([[1.0]], ["a"], classes=["a"])


def test_a_taxonomy_with_one_node_more():
    taxonomy = Taxonomy.from_paths(["a/x", "b/y"])
    assert taxonomy.with_node("x", "b").names == ("a", "b", "x", "y", "b/x")
    assert taxonomy.with_node("x", "b").path("b/x") == ["b", "b/x"]
    assert taxonomy.with_node("c").roots.tolist() == [0, 1, 2]
    assert Taxonomy.from_parents({"b": "a"}).with_node(7, "b").names == ("a", "b", "7")
    for name, parent in (("x", "a"), ("a", None), ("", None), ("x", "nowhere")):
        with pytest.raises(TaxonomyError):
            taxonomy.with_node(name, parent)
    with pytest.raises(TaxonomyError, match="name of its own"):
        Taxonomy.from_parents({"b": "a"}).with_node("a", "b")


@pytest.mark.parametrize(
    "model",
    [HierarchicalRLS(), HierarchicalRLS(solver="dual", threshold=0.1), HierarchicalPerceptron(average=True)],
    ids=repr,
)
@pytest.mark.parametrize("sets", [False, True], ids=["single", "sets"])
def test_explanations_sum_to_scores(model, sets, data):
    y = [{label} for label in data.y_train] if sets else data.y_train
    model = clone(model).set_params(taxonomy=data.taxonomy, random_state=0).fit(data.X_train, y)
    inner = data.taxonomy.names[0]
    labels = [inner if sets else data.y_train[0], *data.y_train[1:5]]
    scores = model.decision_function(data.X_test[:5], nodes=labels)
    for i, why in enumerate(model.explain(data.X_test[:5], nodes=[{label} for label in labels] if sets else labels)):
        assert why.label == labels[i]
        assert why.rule == "lowest"
        assert why.score == pytest.approx(scores[i, i], abs=1e-5)
    assert [why.label for why in model.explain(data.X_test[:3])]
