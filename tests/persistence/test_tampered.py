"""Model files of linear learners with right checksums and wrong arrays: refused, or a model that works."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cladist import (
    FlatLogistic,
    FlatSVM,
    HierarchicalPerceptron,
    HierarchicalRLS,
    NodewiseSVM,
    RecursiveSVM,
    Relations,
    TopDown,
    load,
)
from cladist.errors import ModelFormatError
from cladist.linear_model.arrays import unpack_weights
from cladist.storage import read_folder, write_folder
from cladist.storage.array_groups import check_nodes, unpack_ids
from tests.learners.flat_rows import TAXONOMY, sets_of, single

X, NAMES = single(n_rows=60, labels=("tennis", "chess", "sport", "music", "film", "food"), n_features=20)
SETS = sets_of(n_rows=60)
MODELS = {
    "dense": (FlatSVM(TAXONOMY), X, NAMES),
    "sparse": (FlatSVM(TAXONOMY, weights="sparse"), X, NAMES),
    "dual": (FlatSVM(TAXONOMY, weights="dual"), X, NAMES),
    "nodes": (FlatLogistic(TAXONOMY, targets="nodes"), X, NAMES),
    "sets": (FlatSVM(TAXONOMY, targets="nodes", weights="sparse"), SETS[0], SETS[1]),
    "two classes": (FlatSVM(TAXONOMY), *single(labels=("tennis", "film"), n_features=20)),
    "recursive": (RecursiveSVM(TAXONOMY), X, NAMES),
    "paths": (RecursiveSVM(TAXONOMY, relations=Relations(root="free"), weights="dual", sharing=0.5), X, NAMES),
    "nodewise": (NodewiseSVM(TAXONOMY), X, NAMES),
    "nodewise sets": (NodewiseSVM(TAXONOMY), SETS[0], SETS[1]),
    "nodewise certain": (NodewiseSVM(TAXONOMY), *single(n_rows=60, labels=("tennis", "music", "art"), n_features=20)),
    "top-down": (TopDown(TAXONOMY), X, np.where(np.array(NAMES) == "sport", "tennis", NAMES)),
    "top-down stop": (TopDown(TAXONOMY, stop=True), X, NAMES),
    "rls primal": (HierarchicalRLS(TAXONOMY), X, NAMES),
    "rls dual": (HierarchicalRLS(TAXONOMY, solver="dual", sparse=True), SETS[0], SETS[1]),
    "rls budget": (HierarchicalRLS(TAXONOMY, budget=9), SETS[0], SETS[1]),
    "perceptron": (HierarchicalPerceptron(TAXONOMY, average=True), X, NAMES),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What the files of all models hold, with rows to ask them about; and a folder to write to."""
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for name, (model, rows, y) in MODELS.items():
        model.fit(rows, y).save(folder / "whole")
        found[name] = (*read_folder(folder / "whole"), rows[:8])
    return found, folder / "changed"


def loaded(saved, name, changes):
    """The model with some of its arrays changed, None for those that are missing."""
    found, folder = saved
    content, arrays, rows = found[name]
    arrays = {**arrays, **{f"model/state/{key}": value for key, value in changes.items()}}
    write_folder(folder, content, {key: value for key, value in arrays.items() if value is not None})
    return load(folder), rows


def state_of(saved, name):
    """The arrays that a test may change."""
    prefix = "model/state/"
    return {key.removeprefix(prefix): a for key, a in saved[0][name][1].items() if key.startswith(prefix)}


def put(position, value):
    """An array with one number replaced; as int64 or float64 where the type would not hold it."""

    def change(array):
        wide = array.astype(np.int64 if array.dtype.kind in "iu" else array.dtype).copy()
        wide.reshape(-1)[position] = value
        return wide

    return change


def as_type(dtype):
    return lambda array: array.astype(dtype)


def longer(array):
    return np.concatenate([array, array[-1:]])


def shorter(array):
    return array[:-1]


def column(array):
    return array[:, None]


def column_of_one(array):
    return array.reshape(1, 1)


def swapped(array):
    """The first two different numbers change places."""
    changed = array.copy()
    for k in np.flatnonzero(array != array[0])[:1]:
        changed[0], changed[k] = array[k], array[0]
    return changed


def nothing(array):
    return None


LISTS = [shorter, longer, column, as_type(np.float64), as_type(np.float32), as_type(bool), nothing]
NUMBERS = [put(0, np.nan), put(-1, np.inf), put(0, -np.inf), as_type(np.float64), as_type(np.int64), nothing]
OUTSIDE = [put(0, -1), put(-1, 10**6), put(0, 2**31), put(-1, 2**32), put(0, 2**62), put(-1, -(2**62))]

CASES = {
    ("dense", "target_nodes"): [*LISTS, *OUTSIDE, put(0, 6)],
    ("dense", "weights/intercepts"): [*NUMBERS, shorter, column],
    ("dense", "weights/blocks"): [*NUMBERS, shorter, longer, lambda a: a[:, :-1], lambda a: a[:, :, :8], as_type("f2")],
    ("dense", "weights/feature_of"): [*LISTS, *OUTSIDE, lambda a: np.full_like(a, a[0])],
    ("sparse", "weights/intercepts"): [*NUMBERS, shorter, column],
    ("sparse", "weights/sparse/features"): [*LISTS, *OUTSIDE, swapped, lambda a: np.repeat(a[::2], 2)[: len(a)]],
    ("sparse", "weights/sparse/indptr"): [*LISTS, *OUTSIDE, put(1, 10**6), lambda a: np.append(a[:1], a[:0:-1])],
    ("sparse", "weights/sparse/classes"): [*LISTS, *OUTSIDE, put(3, 6)],
    ("sparse", "weights/sparse/values"): [*NUMBERS, shorter, longer, column],
    ("dual", "weights/intercepts"): [*NUMBERS, shorter],
    ("dual", "weights/shares/shape"): [*LISTS, put(0, 5), put(1, 10**9), put(0, -1), as_type("f4"), lambda a: a * 2],
    ("dual", "weights/shares/indptr"): [*LISTS, *OUTSIDE, swapped, lambda a: np.append(a[:1], a[:0:-1])],
    ("dual", "weights/shares/indices"): [shorter, longer, column, as_type(np.float64), nothing, *OUTSIDE],
    ("dual", "weights/shares/data"): [*NUMBERS, shorter, longer, column],
    ("dual", "weights/vectors/shape"): [*LISTS, put(1, 5), put(0, 10**9), lambda a: a.astype(float) * np.inf],
    ("dual", "weights/vectors/indptr"): [*LISTS, *OUTSIDE, lambda a: np.append(a[:1], a[:0:-1])],
    ("dual", "weights/vectors/indices"): [shorter, longer, column, as_type(np.float64), nothing, *OUTSIDE],
    ("dual", "weights/vectors/data"): [*NUMBERS, shorter, longer, column],
    ("paths", "weights/intercepts"): [*NUMBERS, shorter, longer, column],
    ("paths", "weights/paths/parent"): [*LISTS, *OUTSIDE, swapped, put(-1, 0), lambda a: np.arange(-1, 10**6)],
    ("paths", "weights/paths/leaves"): [*LISTS, *OUTSIDE, swapped, put(0, 0), lambda a: np.full_like(a, a[0])],
    ("paths", "weights/paths/sharing"): [*NUMBERS[:3], put(0, 0.0), put(0, -1.0), put(0, 1.0), longer, column, nothing],
    ("paths", "weights/paths/root_name"): [*LISTS, *OUTSIDE, put(0, 0), put(0, 255), lambda a: a[:0], swapped],
    ("paths", "weights/paths/has_constant"): [column_of_one, as_type(float), as_type(int), nothing, np.logical_not],
    ("paths", "weights/paths/centres"): [*NUMBERS, shorter, longer, lambda a: a[:, :-1], lambda a: a.reshape(-1)],
    ("nodewise", "always"): [
        column,
        as_type(np.float64),
        nothing,
        lambda _: np.array([-1]),
        lambda _: np.array([0, 0]),
    ],
    ("top-down", "end_nodes"): [*LISTS, *OUTSIDE, lambda a: np.full_like(a, a[0])],
}
for name in ("vectors", "state", "own"):
    key = f"weights/paths/{name}"
    CASES["paths", f"{key}/shape"] = [*LISTS, put(0, 5), put(1, 10**9), put(0, 10**9), put(0, -1), lambda a: a * 2]
    CASES["paths", f"{key}/indptr"] = [*LISTS, *OUTSIDE, lambda a: np.append(a[:1], a[:0:-1])]
    CASES["paths", f"{key}/indices"] = [shorter, longer, column, as_type(np.float64), nothing, *OUTSIDE]
    CASES["paths", f"{key}/data"] = [*NUMBERS, shorter, longer, column]
for learner in ("nodewise", "top-down"):
    for key in ("parents", "children", "features", "indptr", "classes"):
        CASES[learner, f"families/{key}"] = [shorter, longer, column, as_type(np.float64), nothing, *OUTSIDE]
    for key in ("n_children", "n_features", "n_values", "n_intercepts"):
        CASES[learner, f"families/{key}"] = [*LISTS, *OUTSIDE, swapped, put(0, 0)]
    for key in ("values", "intercepts"):
        CASES[learner, f"families/{key}"] = [*NUMBERS, shorter, longer, column]
    CASES[learner, "families/children"] += [lambda a: np.append(a[:-1], a[-2])]
    CASES[learner, "families/parents"] += [swapped, put(1, -1), put(0, 0)]


@pytest.mark.parametrize(("name", "key"), CASES, ids=[f"{name}: {key}" for name, key in CASES])
def test_arrays_that_cannot_be_are_refused(saved, name, key):
    array = state_of(saved, name)[key]
    for number, change in enumerate(CASES[name, key]):
        changed = change(array)
        if changed is not None and changed.dtype.kind in array.dtype.kind + "i" and np.array_equal(changed, array):
            continue  # the same numbers, in a wider type perhaps
        with pytest.raises(ModelFormatError):
            pytest.fail(f"change {number} of {key} went through: {loaded(saved, name, {key: changed})}")


@pytest.mark.parametrize("name", MODELS)
def test_files_that_are_not_changed_are_taken(saved, name):
    model, rows = loaded(saved, name, {})
    assert list(model.predict(rows)) == list(MODELS[name][0].predict(rows))


def test_a_dense_matrix_is_no_dual_form(saved):
    arrays = state_of(saved, "dual")
    shape = arrays["weights/shares/shape"]
    dense = {key: None for key in arrays if key.startswith("weights/shares/")}
    for more in ({}, {"weights/shares/was_dense": np.array(True)}):
        changes = {"weights/shares/dense": np.zeros(shape, np.float32)}
        with pytest.raises(ModelFormatError):
            loaded(saved, "dual", {**(dense if not more else {}), **changes, **more})


def test_sums_along_paths_are_those_of_the_models_own_tree(saved):
    """Another tree could be as large as it likes, and every node of it takes memory."""
    paths = {key: array for key, array in state_of(saved, "paths").items() if key.startswith("weights/")}
    dense = {key: None for key in state_of(saved, "dense") if key.startswith("weights/")}
    with pytest.raises(ModelFormatError, match="no weights of such a learner"):
        loaded(saved, "dense", {**dense, **paths})
    with pytest.raises(ModelFormatError, match="its sharing is another"):
        loaded(saved, "recursive", {**dense, **paths})
    parent = paths["weights/paths/parent"]
    longer_chain = np.concatenate([[-1], np.arange(10**6), np.where(parent < 0, 10**6, parent + 10**6 + 1)])
    leaves = paths["weights/paths/leaves"] + 10**6 + 1
    with pytest.raises(ModelFormatError, match="its tree is not that of its taxonomy"):
        loaded(saved, "paths", {"weights/paths/parent": longer_chain, "weights/paths/leaves": leaves})


@pytest.mark.parametrize("sharing", [-1.0, 1e300, "inf", "much", None], ids=str)
def test_sharing_is_a_number(saved, sharing):
    found, folder = saved
    content, arrays, _ = found["recursive"]
    state = {**content["model"]["state"], "sharing": sharing}
    write_folder(folder, {**content, "model": {**content["model"], "state": state}}, arrays)
    with pytest.raises(ModelFormatError):
        load(folder)


@pytest.mark.parametrize("parents", [[], [0], [-1, 0, 0]], ids=str)
def test_choices_must_lead_to_the_ends(saved, parents):
    """Families that fit by themselves and lead nowhere: none at all, or not that of the roots, or one twice."""
    model, _ = loaded(saved, "top-down", {})
    kept = [int(v) for v in parents]
    model.decisions_ = {k: model.decisions_[v] for k, v in zip(range(-1, 9), kept, strict=False)}
    _, packed = model.pack_state()
    families = {key: value for key, value in packed.items() if key.startswith("families/")}
    families["families/parents"] = np.array(kept, np.int64)
    with pytest.raises(ModelFormatError):
        loaded(saved, "top-down", families)


@pytest.mark.parametrize(
    "nodes", [np.array([-1]), np.array([7]), np.array([1, 1]), np.array([[1]]), np.array(1), np.array([2**63 - 1])]
)
def test_nodes_are_different_ones_of_the_taxonomy(nodes):
    with pytest.raises(ModelFormatError):
        check_nodes(nodes, 7)
    with pytest.raises(ModelFormatError):
        check_nodes(np.array([1, 2]), 7, count=3)
    check_nodes(np.array([6, 0]), 7, count=2)
    check_nodes(np.zeros(0, np.int64), 7)


def test_whole_numbers_are_whole_numbers():
    for other in (np.array([0.5]), np.array([np.nan]), np.array([True]), np.array(3), np.array([[3]])):
        with pytest.raises(ModelFormatError):
            unpack_ids(other)
    assert unpack_ids(np.array([2**64 - 1], np.uint64))[0] < 0
    assert unpack_ids(np.array([3], np.uint8)).dtype == np.int64
    with pytest.raises(ModelFormatError):
        unpack_weights({"intercepts": np.zeros((1, 1), np.float32)}, 1)


# ---------------------------------------------------------------- at random

WHOLE = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 5, 6, 7, 15, 16, 17, 20, 31, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1]
REAL = [0.0, -0.0, 1.0, -1.5, 1e-30, 1e6, np.nan, np.inf, -np.inf]
TYPES = ["i1", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "?"]
CHANGES = ["number", "number", "number", "order", "repeat", "cut", "grow", "shape", "type"]


@np.errstate(all="ignore")
def changed(array, kind, where, value):
    """An array after a change of a number, the order, the length, the shape or the type."""
    array = np.atleast_1d(array).copy()
    at = where % max(1, len(array))
    if kind == "number" and array.size:
        wide = array.astype(np.int64) if array.dtype.kind in "iu" and value % 2 else array
        known = np.array(WHOLE) if wide.dtype.kind in "iu" else np.array(REAL)
        wide.reshape(-1)[where % array.size] = known[value % len(known)].astype(wide.dtype)
        return wide
    if kind == "order":
        return array[np.random.default_rng(value).permutation(len(array))]
    if kind == "repeat":
        return np.repeat(array[at : at + 1], len(array), axis=0)
    if kind == "shape":
        return [array[None], array.reshape(-1), array.T, array.reshape(-1, 1)][value % 4]
    if kind == "type":
        return array.astype(TYPES[value % len(TYPES)])
    return array[:at] if kind == "cut" else np.concatenate([array, array[: at + 1]])


def mutated(array, changes):
    for change in changes:
        array = changed(array, *change)
    return np.ascontiguousarray(array) if changes else None


def mutations():
    """One to three changes of an array; none: it is missing."""
    change = st.tuples(st.sampled_from(CHANGES), st.integers(0, 999), st.integers(0, 999))
    return st.lists(change, min_size=0, max_size=3)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_changed_is_refused_or_works(saved, data):
    name = data.draw(st.sampled_from(sorted(MODELS)))
    arrays = state_of(saved, name)
    keys = data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=2, unique=True))
    try:
        model, rows = loaded(saved, name, {key: mutated(arrays[key], data.draw(mutations())) for key in keys})
    except ModelFormatError:
        return
    predicted = model.predict(rows)
    assert len(predicted) == rows.shape[0]
    known = set(TAXONOMY.names)
    assert all({label} <= known if isinstance(label, str) else set(label) <= known for label in predicted)
    assert np.all(np.isfinite(model.decision_function(rows, nodes=model.classes_)))
    names, _ = model.predict_top_k(rows, 1)
    assert set(names.ravel()) <= known
    for why in model.explain(rows):
        assert why.label in known
    assert model.coef_.shape == (len(model.classes_), model.n_features_in_)
