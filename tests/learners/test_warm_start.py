"""FlatSVM and FlatLogistic with warm_start: the same models in fewer sweeps, whatever changed between two fits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from cladist import FlatLogistic, FlatSVM, load
from cladist.errors import ParameterError
from cladist.solvers.linear.one_vs_rest import solve_one_vs_rest
from cladist.solvers.warm_start import LastFit
from tests.learners.flat_rows import TAXONOMY, sets_of, single

EXACT = {"tol": 1e-5, "max_iter": 20_000}
LEARNERS = {
    "hinge": lambda **options: FlatSVM(TAXONOMY, loss="hinge", **{**EXACT, **options}),
    "squared hinge": lambda **options: FlatSVM(TAXONOMY, **{**EXACT, **options}),
    "logistic": lambda **options: FlatLogistic(TAXONOMY, **{**EXACT, **options}),
}
every_loss = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
SPARSE, DENSE = {"n_features": 120, "density": 0.08}, {"n_features": 6, "density": 1.0}
shapes = pytest.mark.parametrize("shape", [SPARSE, DENSE], ids=["sparse", "dense"])


@pytest.fixture
def begun(monkeypatch):
    """The states that solvers begin from."""
    states = []

    def noted(*given, **options):
        states.append(options["state"])
        return solve_one_vs_rest(*given, **options)

    monkeypatch.setattr("cladist.learners.flat.solve_one_vs_rest", noted)
    return states


def is_as_good(model, X, y, **options):
    """Whether the model is within its gap of one that began with nothing."""
    alone = clone(model).set_params(warm_start=False).fit(X, y, **options)
    assert model.converged_
    return model.history_[0]["objective"] == pytest.approx(alone.history_[0]["objective"], rel=2e-5)


@shapes
@every_loss
def test_a_fit_that_is_repeated_has_less_to_do(make, shape, begun):
    X, y = single(n_rows=300, noise=1.0, **shape)
    model = make(C=10, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert is_as_good(model.fit(X, y), X, y)
    assert begun[0] is None
    assert isinstance(begun[1], list) == (shape is SPARSE)
    assert begun[1] is not None
    if make is not LEARNERS["hinge"] or shape is SPARSE:  # an interior point method cannot begin near the end
        assert model.n_iter_ < first


@shapes
@every_loss
def test_whatever_changes_the_model_is_the_right_one(make, shape):
    X, y = single(**shape)
    other_X, other_y = single(seed=7, **shape)
    weights = np.random.default_rng(0).random(len(y)) + 0.01
    model = make(warm_start=True).fit(X, y)
    assert is_as_good(model.set_params(C=20).fit(X, y), X, y)
    assert is_as_good(model.set_params(C=0.05).fit(X, y), X, y)
    assert is_as_good(model.fit(X, y, sample_weight=weights), X, y, sample_weight=weights)
    assert is_as_good(model.set_params(class_weight={"tennis": 30.0}).fit(X, y), X, y)
    assert is_as_good(model.fit(X, y[::-1]), X, y[::-1])  # other rows are positive now
    assert is_as_good(model.fit(other_X, other_y), other_X, other_y)
    assert is_as_good(model.set_params(fit_intercept=False).fit(X, y), X, y)


def test_blocks_beyond_the_first_and_sets_of_labels():
    X, y = single(n_rows=200, labels=[f"c{k}" for k in range(20)], n_features=120)
    many = FlatSVM(warm_start=True, solver="newton", **EXACT).fit(X, y)
    first = many.n_iter_
    assert is_as_good(many.set_params(C=1.5).fit(X, y), X, y)
    assert many.n_iter_ < first
    X, y, _ = sets_of()
    model = FlatSVM(TAXONOMY, targets="nodes", warm_start=True, **EXACT).fit(X, y)
    assert is_as_good(model.set_params(C=2.0).fit(X, y), X, y)


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X[:-1], y[:-1]),
        lambda X, y: (X, [*np.where(y == "film", "food", y)[:-1].tolist(), "film"]),
        lambda X, y: (X[:, :-1], y),
    ],
    ids=["rows", "problems", "features"],
)
def test_where_shapes_differ_it_begins_afresh(change, begun):
    X, y = single(n_rows=150, **SPARSE)
    model = FlatSVM(TAXONOMY, warm_start=True).fit(X, y)
    assert isinstance(model._last_fit.state, list)
    X, y = change(X, y)
    model.fit(X, y)
    assert begun == [None, None]
    np.testing.assert_array_equal(model.coef_, FlatSVM(TAXONOMY).fit(X, y).coef_)


def test_another_loss_begins_afresh(begun):
    X, y = single()
    model = FlatSVM(TAXONOMY, warm_start=True).fit(X, y)
    model.set_params(loss="hinge").fit(X, y)
    assert begun == [None, None]


def test_features_in_another_order_begin_afresh_where_weights_are_the_state(begun):
    X, y = single(**DENSE)
    X = X.toarray()
    X[:40, 0] = 0  # the first feature is the rarest now
    model = FlatSVM(TAXONOMY, warm_start=True, solver="newton").fit(X, y)
    model.fit(X[:, ::-1], y)
    assert begun == [None, None]
    model.fit(X[:, ::-1], y)
    assert begun[2] is not None


def test_without_it_nothing_is_kept_and_nothing_is_used(begun):
    X, y = single()
    model = FlatSVM(TAXONOMY).fit(X, y).fit(X, y)
    assert not [name for name, value in vars(model).items() if isinstance(value, LastFit)]
    model.set_params(warm_start=True).fit(X, y)
    assert [name for name, value in vars(model).items() if isinstance(value, LastFit)]
    model.set_params(warm_start=False).fit(X, y)
    assert not [name for name, value in vars(model).items() if isinstance(value, LastFit)]
    assert begun == [None] * 4


def test_what_it_began_from_is_not_saved(tmp_path, begun):
    X, y = single()
    model = FlatSVM(TAXONOMY, warm_start=True).fit(X, y)
    model.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), clone(model)):
        assert again.warm_start
        again.fit(X, y)
    assert begun == [None] * 4
    model.fit(X, y)  # the model itself still has it
    assert begun[-1] is not None


def test_c_may_be_chosen_and_paths_stay_their_own(begun):
    X, y = single(noise=1.2)
    model = FlatSVM(TAXONOMY, C="cv", warm_start=True, **EXACT).fit(X, y)
    plain = FlatSVM(TAXONOMY, C="cv", **EXACT).fit(X, y)
    assert model.cv_results_ == plain.cv_results_
    begun.clear()
    assert len(list(model.C_path(X, y, [0.1, 1.0]))) == 2
    assert begun[0] is None


def test_anything_but_yes_and_no_is_refused():
    with pytest.raises(ParameterError, match="FlatLogistic: warm_start must be one of False, True; got 'yes'"):
        FlatLogistic(warm_start="yes").fit(np.eye(2), ["a", "b"])
