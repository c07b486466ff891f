"""Progressive validation against asking and telling one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cladist import FlatSVM, HierarchicalPerceptron, HierarchicalRLS, Hieron
from cladist.datasets import make_label_model, make_topics
from cladist.errors import ParameterError
from cladist.evaluation import progressive
from cladist.metrics import cumulative_error, h_loss, symmetric_difference_loss, zero_one_loss


def single(kind):
    data = make_topics(n_samples=150, n_test=1, n_features=100, branching=(3, 2), random_state=0)
    return kind(data.taxonomy), data


@pytest.mark.parametrize("kind", [Hieron, HierarchicalRLS, HierarchicalPerceptron])
def test_curves_are_those_of_the_predictions(kind):
    model, data = single(kind)
    seen = progressive(model, data.X_train, data.y_train, batch=40)
    np.testing.assert_allclose(
        seen.tree_induced_error, cumulative_error(data.y_train, seen.predictions, data.taxonomy), atol=1e-12
    )
    assert seen.h_loss[-1] == pytest.approx(h_loss(data.y_train, seen.predictions, data.taxonomy))
    assert seen.zero_one[-1] == pytest.approx(zero_one_loss(data.y_train, seen.predictions, data.taxonomy))
    assert model.rows_seen_ == len(seen) == 150
    again = progressive(kind(data.taxonomy), data.X_train, data.y_train)
    np.testing.assert_array_equal(again.predictions, seen.predictions)
    told = seen.to_dict(points=5)
    assert told["rows"][-1] == 150
    assert told["h_loss"][-1] == pytest.approx(seen.h_loss[-1])


@pytest.mark.parametrize(
    "form", [lambda y: y, lambda y: y.to_indicator(), lambda y: [set(r) for r in y.frontier_names()]]
)
def test_sets_of_labels(form):
    data = make_label_model(n_samples=120, random_state=0)
    seen = progressive(HierarchicalRLS(data.taxonomy), data.X, form(data.y), batch=50)
    expected = symmetric_difference_loss(form(data.y), seen.predictions, data.taxonomy)
    assert seen.symmetric_difference[-1] == pytest.approx(expected)
    assert np.all(seen.losses["zero_one"] <= seen.losses["h_loss"])
    with pytest.raises(AttributeError, match="tree-induced"):
        seen.tree_induced_error  # noqa: B018


def test_frames():
    pandas = pytest.importorskip("pandas")
    model, data = single(Hieron)
    frame, y = pandas.DataFrame(data.X_train.toarray()), pandas.Series(data.y_train)
    seen = progressive(model, frame, y, batch=64)
    plain = progressive(Hieron(data.taxonomy), sparse.csr_array(data.X_train), data.y_train)
    np.testing.assert_array_equal(seen.predictions, plain.predictions)


def test_who_cannot():
    with pytest.raises(ParameterError, match="row by row"):
        progressive(FlatSVM(), [[1.0]], ["a"])
    with pytest.raises(ParameterError, match="batch"):
        progressive(Hieron(), [[1.0]], ["a"], batch=0)
