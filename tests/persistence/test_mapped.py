"""Models loaded with ``mmap=True``: what they learn afterwards, and what ``verify=True`` sees."""

import numpy as np
import pytest
from sklearn.base import clone

import cladist
from cladist import FlatSVM, RecursiveSVM, Thresholded, registry
from cladist.errors import ModelFormatError
from cladist.storage import is_mapped, is_unread, read_folder, write_folder
from tests.learners.flat_rows import TAXONOMY, single

X, Y = single(n_rows=40, labels=("tennis", "chess", "music", "film"), n_features=12)
ONLINE = [method.load() for method in registry.METHODS if hasattr(method.load(), "partial_fit")]
CASES = [(cls, kernel) for cls in ONLINE for kernel in ("linear", "rbf", "poly")]


def same(a, b):
    """Whether two models hold the same arrays and answer the same."""
    left, right = (model.pack_state()[1] for model in (a, b))
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name])
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.parametrize(("cls", "kernel"), CASES, ids=str)
def test_a_mapped_model_goes_on_learning_as_any_other(tmp_path, cls, kernel):
    cls(TAXONOMY, kernel=kernel).fit(X[:20], Y[:20]).save(tmp_path / "model")
    plain, mapped = cladist.load(tmp_path / "model"), cladist.load(tmp_path / "model", mmap=True)
    for model in (plain, mapped):
        model.partial_fit(X[20:], Y[20:]).predict_then_learn(X[:5], Y[:5])
        model.add_node("new", "sport").partial_fit(X[:1], ["new"])
    same(plain, mapped)


MAPPED = {
    "sparse": FlatSVM(TAXONOMY, weights="sparse"),
    "differences": RecursiveSVM(TAXONOMY, weights="differences"),
    "thresholded": Thresholded(FlatSVM(TAXONOMY, weights="sparse")),
}


@pytest.mark.parametrize("name", MAPPED)
def test_only_weights_in_two_forms_are_left_in_the_file(tmp_path, name):
    """All other arrays are in memory, verified, and may be written to."""
    clone(MAPPED[name]).fit(X, Y if name != "thresholded" else [{label} for label in Y]).save(tmp_path / "model")
    model = cladist.load(tmp_path / "model", mmap=True)
    weights = (model.estimator_ if name == "thresholded" else model).weights_
    parts = [*weights.chunks] if name == "differences" else [*weights.index]
    assert [is_mapped(part) for part in parts] == [False] * 2 + [True] * (len(parts) - 2)


@pytest.mark.parametrize("name", ["sparse", "differences"])
def test_the_content_of_mapped_weights_is_verified_if_wanted(tmp_path, name):
    clone(MAPPED[name]).fit(X, Y).save(tmp_path / "model")
    verified = cladist.load(tmp_path / "model", mmap=True, verify=True)
    values = (verified.weights_.chunks if name == "differences" else verified.weights_.index)[-1]
    assert is_mapped(values)
    assert not is_unread(values)
    content, arrays = read_folder(tmp_path / "model")
    arrays[f"model/state/weights/{name}/values"][1] = np.nan
    write_folder(tmp_path / "forged", content, arrays)
    assert cladist.load(tmp_path / "forged", mmap=True).predict(X).shape == Y.shape
    with pytest.raises(ModelFormatError, match="finite numbers"):
        cladist.load(tmp_path / "forged", mmap=True, verify=True)


@pytest.mark.parametrize("warm_start", [False, True])
def test_dense_weights_are_mapped_and_read_only(tmp_path, warm_start):
    model = RecursiveSVM(TAXONOMY, weights="dense", warm_start=warm_start).fit(X, Y)
    model.save(tmp_path / "model")
    plain, mapped = cladist.load(tmp_path / "model"), cladist.load(tmp_path / "model", mmap=True)
    blocks = mapped.weights_._blocks
    assert is_mapped(blocks)
    assert not blocks.flags.writeable
    same(plain, mapped)
    np.testing.assert_array_equal(plain.coef_, mapped.coef_)
    for loaded in (plain, mapped):
        loaded.fit(X[:30], Y[:30])
    same(plain, mapped)
