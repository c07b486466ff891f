"""What every online learner says of itself while it learns is what `predict` would have said before each row."""

from __future__ import annotations

import numpy as np
import pytest

from cladist import HierarchicalPerceptron, HierarchicalRLS, Hieron, Taxonomy
from cladist.metrics import h_loss, multiclass_error, tree_induced_error, zero_one_loss
from cladist.registry import methods

TREE = Taxonomy.from_parents({"r": None, "a": "r", "b": "a", "c": "b", "d": "r", "e": "d", "f": "d"})
RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 2))
X[7] = X[20] = 0.0
# Labels come one after the other, deep ones first: a learner that knew a new one beforehand would predict it.
LABELS = [TREE.names[6 - k] for k in np.minimum(RNG.integers(0, 7, 60), np.arange(60) // 3)]
SETS = [{str(label)} if k % 5 else {str(label), "e"} for k, label in enumerate(LABELS)]

ERRORS = {
    "multiclass_error": multiclass_error,
    "tree_induced_error": tree_induced_error,
    "zero_one_loss": zero_one_loss,
}
KERNELS = [{}, {"kernel": "rbf", "gamma": 0.5}]
HIERON = [{"allowed_labels": allowed} for allowed in ("all", "seen")]
NODES = [{}, {"gated": False}, {"gated": False, "repair": "bottom_up"}, {"gated": False, "repair": "best"}]
SINGLE = [(Hieron, options) for options in HIERON]
SINGLE += [(cls, {"allowed_labels": "seen"}) for cls in (HierarchicalRLS, HierarchicalPerceptron)]
MULTI = [(HierarchicalRLS, options) for options in [*NODES, {"sparse": True}]]
MULTI += [(HierarchicalPerceptron, {**options, "average": average}) for options in NODES for average in (False, True)]


def replay(model, y):
    """Predict and learn one row after the other; return all predictions but the first, of an unfitted model."""
    told = []
    for k in range(len(y)):
        if k:
            told.append(model.predict(X[k : k + 1])[0])
        model.partial_fit(X[k : k + 1], y[k : k + 1])
    return told


def learn_two_batches(cls, options, y, method):
    model = cls(TREE, **options)
    answers = [getattr(model, method)(X[part], y[part]) for part in (slice(0, 1), slice(1, None))]
    return model, answers[1]


def test_every_online_learner_is_here():
    online = {method.class_name for method in methods() if hasattr(method.load(), "predict_then_learn")}
    assert online == {cls.__name__ for cls, _ in SINGLE}


@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize(("cls", "options"), SINGLE)
def test_errors_of_single_labels_are_those_of_predict(cls, options, kernel):
    told = replay(cls(TREE, **options, **kernel), LABELS)
    model, answers = learn_two_batches(cls, {**options, **kernel}, LABELS, "predict_then_learn")
    assert list(answers) == told
    entry = model.history_[-1]
    named = ERRORS.keys() & entry.keys()
    assert named
    for name in named:
        assert entry[name] == pytest.approx(ERRORS[name](LABELS[1:], told, TREE))


@pytest.mark.parametrize("method", ["partial_fit", "predict_then_learn"])
@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize(("cls", "options"), MULTI)
def test_errors_of_sets_are_those_of_predict(cls, options, kernel, method):
    told = replay(cls(TREE, **options, **kernel), SETS)
    model, _ = learn_two_batches(cls, {**options, **kernel}, SETS, method)
    entry = model.history_[-1]
    assert entry["objective"] == pytest.approx(h_loss(SETS[1:], told, TREE))
    assert entry["zero_one_loss"] == pytest.approx(zero_one_loss(SETS[1:], told, TREE))


@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "rbf"])
def test_hieron_counts_in_fit_what_it_would_have_predicted(kernel):
    model = Hieron(TREE, update="prediction", shuffle=False, average=False, **kernel).fit(X, LABELS)
    told = replay(Hieron(TREE, **kernel), LABELS)
    first = multiclass_error(LABELS[:1], [TREE.names[0]], TREE)  # all scores are 0: the first node
    expected = (first + len(told) * multiclass_error(LABELS[1:], told, TREE)) / len(LABELS)
    assert model.history_[-1]["multiclass_error"] == pytest.approx(expected)
