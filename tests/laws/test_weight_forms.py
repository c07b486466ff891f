"""The form in which weights are kept changes memory and speed, and nothing that a model says of itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cladist import FlatLogistic, FlatSVM, RecursiveLogistic, RecursiveSVM, Relations, Taxonomy

# Labels at leaves, at inner nodes with labels below, and at an inner node with none; nodes without a label of their own
# above them, beside them and below them.
TREE = Taxonomy.from_edges(
    [("r", "a"), ("a", "b"), ("b", "bb"), ("r", "c"), ("c", "d"), ("c", "e"), ("r", "f"), ("f", "g"), ("f", "h")]
)
LABELS = ["a", "c", "d", "e", "g"]
RANDOM = np.random.default_rng(0)
X = sparse.csr_array((RANDOM.normal(size=(40, 60)) + 2 * np.repeat(np.eye(5), 12, axis=1)[np.arange(40) % 5]) * 0.3)
SINGLE = np.array(LABELS)[np.arange(40) % 5]
SETS = [{str(label)} if k % 4 else {str(label), "h"} for k, label in enumerate(SINGLE)]
NOT_COMPARED = {"weights_", "history_", "n_iter_"}  # the form itself, and how it was found

CASES = [(FlatSVM, {"loss": loss}, ("sparse", "dual")) for loss in ("hinge", "squared_hinge")]
CASES += [(FlatLogistic, {}, ("sparse",))]
CASES += [
    (RecursiveSVM, {"loss": loss, "relations": Relations(root=root)}, ("sparse", "dual", "differences"))
    for loss in ("hinge", "squared_hinge")
    for root in ("zero", "fixed", "free")
]
CASES += [
    (RecursiveLogistic, {"relations": Relations(root=root)}, ("sparse", "differences"))
    for root in ("zero", "fixed", "free")
]


def attributes(model):
    """The public attributes of a fitted model, properties included."""
    names = (name for name in dir(model) if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(model, name) for name in names if name not in NOT_COMPARED}


def plain(value):
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


@pytest.mark.parametrize("y", [SINGLE, SETS], ids=["single", "sets"])
@pytest.mark.parametrize(("learner", "options", "forms"), CASES)
def test_attributes_are_those_of_dense_weights(learner, options, forms, y):
    tol = 1e-2 if options.get("relations", Relations()).root == "free" else 1e-4
    dense, *others = (
        learner(TREE, weights=form, tol=tol, max_iter=2000, solver="coordinate", **options).fit(X, y)
        for form in ("dense", *forms)
    )
    expected = attributes(dense)
    assert {"coef_", "intercept_", "node_coef_", "classes_", "converged_"} <= expected.keys()
    for other in others:
        found = attributes(other)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            if plain(value).dtype.kind == "f":
                # Within tol of the optimum, weights are this near to each other; a wrong vector is 0.1 off and more.
                np.testing.assert_allclose(plain(found[name]), plain(value), atol=0.05, err_msg=name)
            elif isinstance(value, np.ndarray):
                np.testing.assert_array_equal(found[name], value, err_msg=name)
            else:
                assert found[name] == value, name
        np.testing.assert_allclose(other.decision_function(X), dense.decision_function(X), atol=0.1)
        assert other.predict_paths(X) == dense.predict_paths(X)
