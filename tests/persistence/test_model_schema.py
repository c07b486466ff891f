"""Every array and value of every saved model is declared, and what is not as declared is refused at load."""

import numpy as np
import pytest
from fuzz.model_zoo import models
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import cladist
from cladist.errors import ModelFormatError
from cladist.persistence.model_schema import CONTENT, STATE, STATES, check_values
from cladist.persistence.transformers import check_width
from cladist.registry import METHODS, WRAPPERS
from cladist.storage import read_folder, write_folder

ZOO = models()


def with_first(value, dtype=None):
    """A change of the first number, in a type that holds it."""

    def change(array):
        changed = array.astype(dtype or array.dtype)
        changed.reshape(-1)[0] = value
        return changed

    return change


CHANGES = {
    "no number": (with_first(np.nan), "f"),
    "infinite": (with_first(np.inf), "f"),
    "far below": (with_first(-(2**40), np.int64), "iu"),
    "far above": (with_first(2**62, np.int64), "iu"),
    "other shape": (lambda array: array[None], "iufb"),
    "no numbers": (lambda array: array.astype(bool) if array.dtype != bool else array.astype(float), "iufb"),
    "half as exact": (lambda array: array.astype(np.float16), "iufb"),
}
# A threshold may be infinite.
EXCEPTIONS = {("strategy/thresholds_", "infinite")}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What the file of a model holds, made when it is asked for."""
    folder, found = tmp_path_factory.mktemp("zoo"), {}

    def content_of(name):
        if name not in found:
            model, rows, labels = ZOO[name]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("warnings.warn", lambda *_, **__: None)  # some do not converge on so few rows
                cladist.save(model.fit(rows, labels), folder / "whole")
            found[name] = read_folder(folder / "whole")
        return found[name]

    return content_of, folder / "changed"


def test_every_method_has_a_table():
    assert {method.class_name for method in (*METHODS, *WRAPPERS)} == STATES.keys()


@pytest.mark.parametrize("name", ZOO)
def test_arrays_that_are_not_as_declared_are_refused(saved, name):
    content_of, folder = saved
    content, arrays = content_of(name)
    own = [key for key, array in arrays.items() if key.startswith("model/") and array.size]
    random = np.random.default_rng(0)
    for key in own:
        array = arrays[key]
        kinds = [how for how, (_, kind) in CHANGES.items() if array.dtype.kind in kind]
        how = kinds[random.integers(len(kinds))]
        if (key.partition("state/")[2], how) in EXCEPTIONS or key.endswith(("utf8", "was_dense")):
            continue
        write_folder(folder, content, {**arrays, key: np.ascontiguousarray(CHANGES[how][0](array))})
        with pytest.raises(ModelFormatError):
            pytest.fail(f"{key}, {how}, went through: {cladist.load(folder)}")
    write_folder(folder, content, {**arrays, "model/state/more": np.zeros(1)})
    with pytest.raises(ModelFormatError, match="is none that a model of its kind has"):
        cladist.load(folder)
    write_folder(folder, content, arrays)
    cladist.load(folder)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("pcut over svm", "strategy/positives_"),
        *(("hieron rbf", key) for key in ("support", "update_support", "update_label", "update_competitor")),
    ],
)
def test_whole_numbers_that_are_computed_with_are_of_one_type(saved, name, key):
    """In eight bits, a sum of theirs would wrap."""
    content_of, folder = saved
    content, arrays = content_of(name)
    key = f"model/state/{key}"
    write_folder(folder, content, {**arrays, key: arrays[key].astype(np.uint8)})
    with pytest.raises(ModelFormatError, match="must be of int64"):
        cladist.load(folder)


WRONG = [None, True, -1, 2**80, 0.5, "x", ["x"], [1], {"x": [1]}, [[]], float("nan")]


@pytest.mark.parametrize("name", [*CONTENT, *STATE])
def test_values_that_are_not_as_declared_are_refused(name):
    table = CONTENT if name in CONTENT else STATE
    fits, _ = table[name]
    refused = [value for value in WRONG if not fits(value)]
    assert len(refused) > len(WRONG) / 2
    for value in refused:
        with pytest.raises(ModelFormatError, match=f"Its value '{name}' must be"):
            check_values({name: value}, table)
    with pytest.raises(ModelFormatError, match="is none that a model"):
        check_values({"more": 1}, table)


@pytest.mark.parametrize("value", [-1, "many", 0, 1.5, 2**40, None, True])
def test_a_number_of_features_that_cannot_be_is_refused(saved, value):
    content_of, folder = saved
    content, arrays = content_of("svm")
    write_folder(folder, {**content, "model": {**content["model"], "n_features": value}}, arrays)
    with pytest.raises(ModelFormatError, match="n_features"):
        cladist.load(folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("element", "file"),
        ("kind", "all"),
        ("container", "frame"),
        ("container", "csr_array"),
        ("dtype", "V8"),
        ("dtype", "int64"),
        ("scalar", "complex"),
        ("spelling", "path"),
        ("width", 2**40),
        ("columns", 3),
        ("dtypes", ["int8", "int8"]),
        ("more", 1),
    ],
)
def test_a_form_of_y_that_cannot_be_is_refused(saved, field, value):
    content_of, folder = saved
    content, arrays = content_of("h-rls dual")  # sets
    form = {**content["model"]["label_form"], field: value}
    write_folder(folder, {**content, "model": {**content["model"], "label_form": form}}, arrays)
    if field == "spelling":
        cladist.load(folder)  # a taxonomy of paths can be spelt so
        return
    with pytest.raises(ModelFormatError, match="form of y"):
        cladist.load(folder)


def test_numbers_that_their_type_does_not_hold_are_refused(saved):
    content_of, folder = saved
    content, arrays = content_of("numbers as labels")
    form = {**content["model"]["label_form"], "dtype": "int8"}
    names = {
        "model/taxonomy/names/utf8": np.frombuffer(b"0123999", np.uint8),
        "model/taxonomy/names/offsets": np.array([0, 1, 2, 3, 4, 7]),
    }
    write_folder(folder, {**content, "model": {**content["model"], "label_form": form}}, {**arrays, **names})
    with pytest.raises(ModelFormatError, match="form of y in this model does not fit its taxonomy"):
        cladist.load(folder)


def test_a_learner_of_trees_with_another_graph_is_refused(saved):
    content_of, folder = saved
    content, arrays = content_of("hieron")
    parent = arrays.pop("model/taxonomy/parent")
    above = {
        "model/taxonomy/parents/indptr": np.append(0, np.cumsum([*(parent[:-1] >= 0), 2])),
        "model/taxonomy/parents/indices": np.append(parent[:-1][parent[:-1] >= 0], [0, 1]),
    }
    write_folder(folder, content, {**arrays, **above})
    arrays["model/taxonomy/parent"] = parent
    with pytest.raises(ModelFormatError, match="needs a tree or forest"):
        cladist.load(folder)


@pytest.mark.parametrize("name", ["svm", "hieron", "sp", "h-m3", "top-down", "h-svm"])
def test_a_model_of_single_labels_has_a_class(saved, name):
    content_of, folder = saved
    content, arrays = content_of(name)
    write_folder(folder, content, {**arrays, "model/class_nodes": np.zeros(0, np.int64)})
    with pytest.raises(ModelFormatError):
        cladist.load(folder)


@pytest.mark.parametrize("name", ["svm sparse", "hr-svm differences"])
def test_weights_left_in_the_file_that_cannot_be_are_refused_when_they_are_used(saved, name):
    """What `mmap=True` does not read may be anything: an answer, or a ModelFormatError."""
    content_of, folder = saved
    content, arrays = content_of(name)
    prefix = "model/state/weights/"
    for key in ("sparse/classes", "differences/features", "differences/ends", "differences/lanes"):
        if prefix + key in arrays:
            array = arrays[prefix + key].copy()
            array[len(array) // 2] = -5 if array.dtype.kind == "i" else np.iinfo(array.dtype).max
            write_folder(folder, content, {**arrays, prefix + key: array})
            model = cladist.load(folder, mmap=True)
            for ask in ("coef_", "node_coef_"):
                with pytest.raises(ModelFormatError):
                    getattr(model, ask)
            with pytest.raises(ModelFormatError):
                cladist.load(folder, mmap=True, verify=True)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("svm", "decode", "all"),
        ("svm", "weights", 3),
        ("svm", "tol", "small"),
        ("hr-svm", "root", None),
        ("h-svm", "loss", "x"),
        ("hieron", "kernel", 5),
        ("h-rls dual", "kernel", {"$type": "float"}),  # which can be called, if not as a kernel
        ("hieron", "allowed_labels", 7),
        *((name, "coef0", {"$float": "inf"}) for name in ("hieron poly", "h-perc poly", "h-m3 poly", "ksp poly")),
        *((name, "gamma", {"$float": "inf"}) for name in ("hieron rbf", "h-rls rbf")),
        ("h-rls", "alpha", []),
        ("h-perc", "average", "x"),
        ("sp", "eta", -1),
        ("h-m3", "C", "x"),
        ("scut over svm", "cv", 0),
        ("auto over svm", "scoring", "x"),
    ],
)
def test_parameters_that_the_learner_refuses_are_refused_at_load(saved, name, parameter, value):
    content_of, folder = saved
    content, arrays = content_of(name)
    parameters = {**content["model"]["parameters"], parameter: value}
    write_folder(folder, {**content, "model": {**content["model"], "parameters": parameters}}, arrays)
    with pytest.raises(ModelFormatError, match=parameter):
        cladist.load(folder)


def test_a_column_transformer_without_a_part_is_refused():
    rows = np.arange(12.0).reshape(4, 3)
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", StandardScaler(), [2])]).fit(rows)
    check_width(columns, 3, "transformer")
    whole = columns.transformers_
    for parts, message in ((whole[1:], "not those of its columns"), ([whole[1], ("a", *whole[1][1:])], "does not fit")):
        columns.transformers_ = parts
        with pytest.raises(ModelFormatError, match=message):
            check_width(columns, 3, "transformer")


@pytest.mark.parametrize("columns", [[0], [0, 1, 2], [True, False, False], slice(0, 1), slice("a", "b"), []])
def test_a_column_transformer_with_other_columns_than_its_part_was_fitted_to_is_refused(columns):
    rows = np.arange(12.0).reshape(4, 3)
    transformer = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", StandardScaler(), [2])]).fit(rows)
    (name, part, _), other = transformer.transformers_
    for same in ([0, 1], [True, True, False], np.array([1, 2]), slice(2), slice(0, 3, 2)):
        transformer.transformers_ = [(name, part, same), other]
        check_width(transformer, 3, "transformer")
    transformer.transformers_ = [(name, part, columns), other]
    with pytest.raises(ModelFormatError, match="columns"):
        check_width(transformer, 3, "transformer")


def test_the_lists_of_columns_by_name_agree():
    transformer = ColumnTransformer([("a", StandardScaler(), [0, 1])]).fit(np.arange(12.0).reshape(4, 3))
    for listed in ([0], [0, 3]):
        transformer._transformer_to_input_indices["a"] = listed
        with pytest.raises(ModelFormatError, match="does not fit its columns"):
            check_width(transformer, 2, "transformer")


def test_a_saved_column_transformer_that_lost_a_column_is_refused_at_load(tmp_path):
    rows, y = np.arange(12.0).reshape(4, 3), ["a", "b", "a", "b"]
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", StandardScaler(), [2])])
    cladist.save(Pipeline([("columns", columns), ("model", cladist.Hieron())]).fit(rows, y), tmp_path / "model")
    content, arrays = read_folder(tmp_path / "model")
    step = content["features"]["params"]["steps"][0]["$tuple"][1]["$transformer"]
    step["fitted"]["transformers_"][0]["$tuple"][2].pop()
    write_folder(tmp_path / "model", content, arrays)
    with pytest.raises(ModelFormatError, match="columns"):
        cladist.load(tmp_path / "model")


def test_a_fault_of_the_compiler_is_not_blamed_on_the_model(saved, monkeypatch):
    content_of, folder = saved
    write_folder(folder, *content_of("hieron"))
    within: dict = {"__name__": "numba.core.caching"}
    exec("def fails(*_):\n    raise ValueError('invalid literal for int()')", within)
    monkeypatch.setattr("cladist.taxonomy.taxonomy.Taxonomy._arrange", within["fails"])
    with pytest.raises(ValueError, match="invalid literal") as caught:
        cladist.load(folder)
    assert not isinstance(caught.value, ModelFormatError)
