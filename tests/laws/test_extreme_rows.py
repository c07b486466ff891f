"""Rows of zeros, duplicates and rows of any length: every learner predicts finite scores, or refuses in a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cladist import Hieron, Taxonomy
from cladist.errors import CladistError
from cladist.registry import methods

TREE = Taxonomy.from_parents({"a": None, "b": None, "a1": "a", "a2": "a", "b1": "b", "b2": "b"})
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(24, 5)) + 3 * np.eye(5)[np.arange(24) % 4]
LABELS = np.array(["a1", "a2", "b1", "b2"])[np.arange(24) % 4]
EXTREMES = ["zeros", "some zeros", "duplicates", "subnormal", "short", "long", "short and long", "longest"]


def extreme_rows(kind, dtype):
    tiny, far = (1e-42, 1e30) if dtype == np.float32 else (1e-310, 1e150)
    X, every_other = ROWS.copy(), np.arange(24)[:, None] % 2 == 0
    changed = {
        "zeros": X * 0,
        "some zeros": np.where(np.arange(24)[:, None] % 3 == 0, 0.0, X),
        "duplicates": np.tile(X[:1], (24, 1)),
        "subnormal": X * tiny,
        "short": X / far,
        "long": X * far,
        "short and long": np.where(every_other, X * np.sqrt(far), X / np.sqrt(far)),
        "longest": np.sign(X) * float(np.finfo(dtype).max) / 10,
    }
    return changed[kind].astype(dtype)


def learners():
    for method in methods():
        names = method.load()._get_param_names()
        kernels = ("linear", "poly", "rbf") if "kernel" in names else (None,)
        for kernel in kernels:
            options = {} if kernel is None else {"kernel": kernel}
            yield pytest.param(method, options, id=f"{method.name}-{kernel}")
            if "normalize" in names:
                yield pytest.param(method, {**options, "normalize": False}, id=f"{method.name}-{kernel}-as-is")
        if method.name in ("svm", "h-svm", "hr-svm", "top-down"):
            yield pytest.param(method, {"loss": "hinge"}, id=f"{method.name}-hinge")


LEARNERS = list(learners())


def build(method, options):
    seeded = {"random_state": 0} if "random_state" in method.load()._get_param_names() else {}
    return method.load()(TREE, **options, **seeded)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("method", "options"), LEARNERS)
def test_scores_are_finite_or_rows_are_refused(method, options, dtype):
    for kind in EXTREMES:
        X = extreme_rows(kind, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model = build(method, options).fit(X, LABELS)
                scores = model.decision_function(X)
            except CladistError:
                if kind in ("zeros", "some zeros", "duplicates"):
                    raise
                continue
        told = [value for value in model.history_[-1].values() if isinstance(value, float)]
        assert np.isfinite(scores).all(), kind
        assert np.isfinite(told).all(), kind


@pytest.mark.parametrize(("method", "options"), [p for p in LEARNERS if p.values[1].get("kernel") == "rbf"])
def test_a_row_of_zeros_is_a_point_like_any_other_to_a_kernel_of_distances(method, options):
    """Moved rows have equal distances, hence equal models; rows that were zeros are so no longer."""
    X = extreme_rows("some zeros", np.float64)
    fitted = [build(method, {**options, "gamma": 0.3}).fit(rows, LABELS) for rows in (X, X + 0.5)]
    scores = [model.decision_function(rows) for model, rows in zip(fitted, (X, X + 0.5), strict=True)]
    atol = 0.02 if "tol" in fitted[0].get_params() else 1e-6  # how far a solver stops from the optimum
    np.testing.assert_allclose(scores[0], scores[1], atol=atol)


def test_new_rows_too_long_for_a_kernel_are_refused():
    model = Hieron(TREE, kernel="poly").fit(ROWS, LABELS)
    with pytest.raises(CladistError, match="not finite numbers; scale the features"):
        model.predict(ROWS * 1e150)
