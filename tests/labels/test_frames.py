"""Labels and rows in frames of pandas, polars and Arrow: predictions come back in the library of y."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cladist
from cladist import FlatSVM, LabelMatrix, LocalPerNode, Taxonomy
from cladist.errors import DatasetError, LabelError
from cladist.labels import LabelForm, encode, to_indicator
from cladist.labels.encoder import frame_library

pa = pytest.importorskip("pyarrow")
TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
NAMES = ["chess", "art", "tennis"] * 4
PATHS = {"area": ["sport", "art", "sport"] * 4, "topic": ["chess", None, "tennis"] * 4}
X = np.tile(np.eye(3), (4, 1))
BITS = to_indicator(NAMES, TREE).toarray()


def series(library, values, dtype=None):
    if library == "pyarrow":
        return pa.chunked_array([pa.array(values, dtype)])
    return pytest.importorskip("polars").Series("topic", values, dtype=dtype)


def frame(library, columns):
    return pa.table(columns) if library == "pyarrow" else pytest.importorskip("polars").DataFrame(columns)


def rendered(y, taxonomy=TREE):
    encoded = encode(y, taxonomy)
    return LabelForm.from_dict(encoded.form.to_dict()).render(encoded.labels)


def same(found, wanted):
    assert type(found) is type(wanted)
    assert found.equals(wanted)
    if hasattr(wanted, "dtype"):
        assert found.dtype == wanted.dtype
        assert found.name == wanted.name
    elif hasattr(wanted, "schema"):
        assert found.schema == wanted.schema
    else:
        assert found.type == wanted.type


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_series_of_names_comes_back(library):
    y = series(library, NAMES)
    assert encode(y, TREE).labels == encode(NAMES, TREE).labels
    same(rendered(y), y)
    model = FlatSVM(TREE).fit(X, y)
    same(model.predict(X), y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_integers_and_categories_come_back(library):
    codes = Taxonomy.from_parents({11: None, 1101: 11, 1102: 11})
    small = {"polars": lambda: pytest.importorskip("polars").Int16, "pyarrow": pa.int16}[library]()
    same(rendered(series(library, [1101, 11, 1102], small), codes), series(library, [1101, 11, 1102], small))
    if library == "polars":
        pl = pytest.importorskip("polars")
        for dtype in (pl.Categorical, pl.Enum(["art", "chess", "tennis", "other"])):
            same(rendered(series(library, NAMES, dtype)), series(library, NAMES, dtype))
        form = encode(series(library, NAMES, pl.Enum(["art", "chess", "tennis"])), TREE).form
        back = form.render_nodes(np.array([TREE.index("sport")]), TREE)  # not among the categories
        assert back.to_list() == ["sport"]
    else:
        y = pa.chunked_array([pa.array(NAMES).dictionary_encode()])
        assert rendered(y).to_pylist() == NAMES
        assert rendered(pa.array(NAMES)).to_pylist() == NAMES


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_path_columns_come_back(library):
    y = frame(library, PATHS)
    assert encode(y, TREE).labels == encode(NAMES, TREE).labels
    same(rendered(y), y)
    same(FlatSVM().fit(X, y).predict(X), y)
    one = frame(library, {"topic": NAMES})
    assert encode(one, TREE).labels == encode(NAMES, TREE).labels


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_0_1_frame_comes_back(library):
    y = frame(library, {name: BITS[:, k] for k, name in enumerate(TREE.names)})
    assert encode(y, TREE).labels == LabelMatrix.from_indicator(BITS, TREE)
    same(rendered(y), y)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_lists_of_labels_come_back(library):
    sets = [["art", "chess"], [], ["tennis"]]
    back = rendered(series(library, sets))
    assert type(back) is type(series(library, sets))
    assert (back.to_list() if library == "polars" else back.to_pylist()) == sets
    paths = series(library, [["sport", "chess"], ["art"]])
    assert encode(paths, TREE).form.kind == "path lists"
    same(rendered(paths), paths)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_missing_labels_are_told(library):
    with pytest.raises(LabelError, match="Row 1 has no label"):
        encode(series(library, ["art", None]), TREE)


@pytest.mark.parametrize("estimator", [None, "bayes"])
@pytest.mark.parametrize("library", ["pandas", "nullable", "Arrow in pandas", "polars", "pyarrow"])
def test_rows_in_any_frame_keep_the_names_of_features(library, estimator):
    from sklearn.naive_bayes import GaussianNB

    columns = {"a": X[:, 0], "b": X[:, 1].astype(int), "c": X[:, 2].astype(bool)}
    rows = {
        "pandas": lambda: pd.DataFrame(columns),
        "nullable": lambda: pd.DataFrame(columns).convert_dtypes(),
        "Arrow in pandas": lambda: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
        "polars": lambda: frame("polars", columns),
        "pyarrow": lambda: pa.table(columns),
    }[library]()
    model = FlatSVM(TREE) if estimator is None else LocalPerNode(TREE, estimator=GaussianNB())
    model.fit(rows, NAMES)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.predict(rows).tolist() == NAMES
    wrong = rows.rename_columns(["x", "b", "c"]) if library == "pyarrow" else rows.rename({"a": "x"})
    if hasattr(rows, "index"):
        wrong = rows.rename(columns={"a": "x"})
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(wrong)


def test_categories_go_to_classifiers_that_take_them():
    from sklearn.compose import make_column_transformer
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rows = frame("polars", {"size": X[:, 0], "kind": NAMES})
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough")
    model = LocalPerNode(TREE, estimator=make_pipeline(encoder, GaussianNB())).fit(rows, NAMES)
    assert model.predict(rows).tolist() == NAMES
    with pytest.raises(DatasetError, match="OneHotEncoder"):
        FlatSVM(TREE).fit(rows, NAMES)


def test_a_lazy_frame_is_refused():
    lazy = pytest.importorskip("polars").DataFrame(PATHS).lazy()
    with pytest.raises(DatasetError, match="collect"):
        encode(lazy, TREE)
    for model in (FlatSVM(TREE), LocalPerNode(TREE, estimator=FlatSVM())):
        with pytest.raises(DatasetError, match="collect"):
            model.fit(lazy, NAMES)


def test_a_saved_model_answers_in_the_same_library(tmp_path):
    y = frame("pyarrow", PATHS)
    model = FlatSVM().fit(X, y)
    model.save(tmp_path / "model")
    same(cladist.load(tmp_path / "model").predict(X), y)


def test_without_narwhals_the_error_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(DatasetError, match="pip install narwhals"):
        encode(pa.array(NAMES), TREE)
    assert frame_library(pd.Series(NAMES)) == "pandas"
