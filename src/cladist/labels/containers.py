"""Write predictions in the form of y: arrays, lists, Series and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.labels.frames import make_frame, make_series
from cladist.labels.matrix import ELEMENTS, LabelForm, LabelMatrix, list_frontier
from cladist.taxonomy import Taxonomy


def render(form: LabelForm, labels: LabelMatrix, index: Any) -> Any:
    """Return labels in a form; `index` is the row index of a Series or frame."""
    if form.kind == "indicator":
        return _render_indicator(form, labels, index)
    if form.kind == "sets":
        rows = list_frontier(labels, form.values(labels.taxonomy).tolist())
        return _make_rows(form, list(map(ELEMENTS[form.element], rows)), index)
    if form.kind == "path sets":
        used = np.unique(labels.frontier[1]).tolist()
        rows = list_frontier(labels, {v: form.path(v, labels.taxonomy) for v in used})
        if form.container == "3-D array":
            return _make_cube(form, rows)
        return _make_rows(form, [ELEMENTS[form.element](map(ELEMENTS[form.inner], row)) for row in rows], index)
    return render_nodes(form, labels.nodes("This form of y"), labels.taxonomy, index)


def render_nodes(form: LabelForm, nodes: npt.NDArray[np.int64], taxonomy: Taxonomy, index: Any) -> Any:
    """Return one node per row in a form."""
    if form.is_multi:
        return form.render(LabelMatrix.from_nodes(nodes, taxonomy), index=index)
    # One value per distinct node, then a gather: predictions repeat few nodes many times.
    used, inverse = np.unique(nodes, return_inverse=True)
    if form.kind == "path lists":
        paths = [form.path(v, taxonomy) for v in used.tolist()]
        return _make_rows(form, [ELEMENTS[form.element](paths[k]) for k in inverse.tolist()], index)
    if form.kind == "paths":
        rows = _tabulate(form, [form.path(v, taxonomy) for v in used.tolist()])[inverse]
        if form.container == "frame":
            return _make_frame(form, rows, index)
        return rows.astype(np.str_) if form.dtype == "str" else rows
    values = form.values(taxonomy, used)[inverse]
    return _make_series(form, values, index) if form.container == "series" else values


def _tabulate(form: LabelForm, paths: list[list[Any]]) -> npt.NDArray[Any]:
    """Return paths as the padded rows of a table, wider than that of y where they need it."""
    table = np.full((len(paths), max([form.width, *map(len, paths)])), form.filler, dtype=object)
    for row, path in zip(table, paths, strict=True):
        row[: len(path)] = path
    return table


def _make_cube(form: LabelForm, rows: list[list[list[Any]]]) -> npt.NDArray[Any]:
    """Return paths as a padded 3-D array (rows × paths × parts), larger than that of y where they need it."""
    n_paths = max([form.n_paths, *map(len, rows)])
    table = _tabulate(form, [path for row in rows for path in row + [[]] * (n_paths - len(row))])
    cube = table.reshape(len(rows), n_paths, -1)
    return cube.astype(np.str_) if form.dtype == "str" else cube


def _make_rows(form: LabelForm, rows: list[Any], index: Any) -> Any:
    if form.container == "list":
        return rows
    values = np.fromiter(rows, dtype=object, count=len(rows))  # 1-D, also of elements that are sequences
    return _make_series(form, values, index) if form.container == "series" else values


def _make_series(form: LabelForm, values: npt.NDArray[Any], index: Any) -> Any:
    if form.library != "pandas":
        return make_series(form.library, form.name, values.tolist(), form.dtypes[0], form.categories)
    import pandas

    dtype = object if values.dtype == object else None
    series = pandas.Series(values, index=index, name=form.name, dtype=dtype)
    if form.categories is None:
        return _as_dtype(series, *form.dtypes)
    # A label that is not among the categories is added to them, or it would become a missing value.
    categories = dict.fromkeys([*form.categories, *values.tolist()])
    return series.astype(pandas.CategoricalDtype(list(categories), ordered=form.ordered))


def _make_frame(form: LabelForm, values: npt.NDArray[Any], index: Any) -> Any:
    names = list(form.columns or ())
    columns = names + [f"level_{k}" for k in range(len(names), values.shape[1])]
    if form.library != "pandas":
        dtypes = form.dtypes * len(columns) if len(form.dtypes) == 1 else (*form.dtypes, "String")
        by_name = zip(columns, values.T.tolist(), dtypes, strict=False)
        return make_frame(
            form.library, {str(c): make_series(form.library, c, part, dtype) for c, part, dtype in by_name}
        )
    import pandas

    frame = pandas.DataFrame(values, index=index, columns=columns, dtype=values.dtype)
    dtypes = form.dtypes * len(names) if len(form.dtypes) == 1 else form.dtypes
    for k, dtype in enumerate(dtypes):
        if str(frame.dtypes.iloc[k]) != dtype:
            frame.isetitem(k, _as_dtype(frame.iloc[:, k], dtype))
    return frame


def _render_indicator(form: LabelForm, labels: LabelMatrix, index: Any) -> Any:
    matrix = labels.to_indicator().astype(form.dtype)
    if form.container == "array":
        return matrix.toarray()
    if form.container == "frame":
        return _make_frame(form, matrix.toarray(), index)
    layout, _, kind = form.container.partition("_")
    return (matrix if kind == "array" else sparse.csr_matrix(matrix)).asformat(layout)


def _as_dtype(series: Any, dtype: str) -> Any:
    """Return a Series with the type that y had, or unchanged if that type cannot hold it: texts, missing values."""
    if dtype in ("bool", "boolean") and not series.isin([True, False]).all():
        return series  # pandas would turn every text into True
    try:
        return series.astype(dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError, ImportError):
        return series
