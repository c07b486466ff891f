"""The columns of a taxonomy, one entry per node, as JSON that is made once per version of a model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cladist.report.static_files import packed as pack
from cladist.server.served import ServedModel

COLUMNS = ("parent", "names", "titles", "n_leaves", "support", "f1", "precision", "recall", "error_cost")
IDS = ("parent", "n_leaves", "support")


def encoded_column(model: ServedModel, name: str, packed: bool) -> bytes | None:
    """Return a column as JSON, None if it needs an evaluation and there is none.

    Parameters
    ----------
    model : ServedModel
        The model, which keeps what was made.
    name : str
        One of `COLUMNS`.
    packed : bool
        Whether numbers are base64 of an array, which a page reads in a hundredth of the time.
    """
    key = (name, packed)
    if key not in model.encoded_columns:
        values = _values(model, name)
        if values is None:
            return None
        if packed and name not in ("names", "titles"):
            numbers = np.array([np.nan if value is None else value for value in values], np.float64)
            text = json.dumps(pack(numbers, "i4" if name in IDS else "f4"))
        else:
            text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        model.encoded_columns[key] = text.encode("utf-8", "replace")
    return model.encoded_columns[key]


def _values(model: ServedModel, name: str) -> Any:
    nodes = model.nodes
    if name in ("parent", "n_leaves"):
        return (nodes.parent if name == "parent" else nodes.n_leaves).tolist()
    if name == "names":
        return list(nodes.taxonomy.names)
    if name == "titles":
        return nodes.titles
    return None if model.evaluation is None else model.evaluation.columns.get(name)
