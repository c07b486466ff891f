"""Explanations of shared weights by node: the parts are differences to the parent, and sum to the score."""

import numpy as np
import pytest

from cladist import FlatSVM, RecursiveLogistic, RecursiveSVM
from cladist.datasets import make_topics
from cladist.learners import linear_classifier

DATA = make_topics(n_samples=200, n_features=120, branching=(3, 3), n_test=20, random_state=0)


@pytest.mark.parametrize("cls", [RecursiveSVM, RecursiveLogistic])
@pytest.mark.parametrize("sharing", [1, 0.5, 0])
@pytest.mark.parametrize("weights", ["dense", "sparse", "differences"])
def test_parts_are_differences_along_the_path(cls, sharing, weights):
    model = cls(DATA.taxonomy, sharing=sharing, weights=weights).fit(DATA.X_train, DATA.y_train)
    W, X = model.node_coef_.toarray(), DATA.X_test.toarray()
    scores = model.decision_function(DATA.X_test)
    for i, why in enumerate(model.explain(DATA.X_test)):
        path = DATA.taxonomy.path(why.label)
        assert list(why.contributions) == path
        assert why.score == pytest.approx(scores[i].max(), rel=1e-4, abs=1e-5)
        above = np.zeros(X.shape[1])
        for name in path:
            own = W[DATA.taxonomy.index(name)]
            part = sum(value for feature, value in why.contributions[name].items() if feature != "(intercept)")
            assert part == pytest.approx(X[i] @ (own - above), rel=1e-4, abs=1e-5)
            above = own
    if sharing == 1:
        assert any(why.parts[path] for why in model.explain(DATA.X_test) for path in list(why.parts)[:1])


def test_large_models_and_flat_ones_have_one_part(monkeypatch):
    shared = RecursiveSVM(DATA.taxonomy, sharing=1).fit(DATA.X_train, DATA.y_train)
    (whole,) = shared.explain(DATA.X_test[:1])
    monkeypatch.setattr(linear_classifier, "MOST_SPLIT", 10)
    (part,) = shared.explain(DATA.X_test[:1])
    assert list(part.contributions) == [part.label]
    assert part.score == pytest.approx(whole.score)
    (flat,) = FlatSVM(DATA.taxonomy).fit(DATA.X_train, DATA.y_train).explain(DATA.X_test[:1])
    assert list(flat.contributions) == [flat.label]
