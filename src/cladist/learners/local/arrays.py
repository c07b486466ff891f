"""The families and decisions of a local learner as named arrays of a model file, checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.learners.local.families import Choice, Decision, Family
from cladist.linear_model.sparse import SparseWeights
from cladist.persistence.model_schema import OLD_NODE
from cladist.storage.array_groups import Arrays, check_arrays, group, prefixed, unpack_ids, unpack_matrix

Ids = npt.NDArray[np.int64]


def pack_families(families: dict[int, Family]) -> Arrays:
    """Return all families as a few long arrays."""
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _NAMES}
    for family in families.values():
        parts["children"].append(family.children)
        if family.weights is not None:
            for name, array in family.weights.index._asdict().items():
                parts[name].append(np.diff(array) if name == "indptr" else array)
            parts["intercepts"].append(family.weights.intercepts)
        for name in ("features", "values", "intercepts"):
            if family.weights is None:
                parts[name].append(np.zeros(0, _NAMES[name]))
    arrays = {name: _join(part, _NAMES[name]) for name, part in parts.items()}
    for name in ("children", "features", "values", "intercepts"):
        arrays[f"n_{name}"] = np.array([len(part) for part in parts[name]], np.int64)
    return {name: _shrink(array) for name, array in {"parents": np.array(list(families), np.int64), **arrays}.items()}


def _shrink(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the smallest type that holds them: a file of many small families is half as large."""
    if array.dtype.kind != "i" or not len(array):
        return array
    return array.astype(np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max())))


_NAMES: dict[str, Any] = {
    "children": np.int64,
    "features": np.int32,
    "indptr": np.int64,
    "classes": np.int32,
    "values": np.float32,
    "intercepts": np.float32,
}


def _join(parts: list[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype, copy=False)


def unpack_families(arrays: Arrays, parent_of: Ids, n_features: int) -> dict[int, Family]:
    """Restore what `pack_families` returned, checked to fit a tree given by its parents."""
    arrays = {name: array if name in ("values", "intercepts") else unpack_ids(array) for name, array in arrays.items()}
    parents = arrays["parents"].tolist()
    children = _split(arrays["children"], arrays["n_children"], len(parents))
    features = _split(arrays["features"], arrays["n_features"], len(parents))
    lengths = _split(arrays["indptr"], arrays["n_features"], len(parents))
    classes = _split(arrays["classes"], arrays["n_values"], len(parents))
    values = _split(arrays["values"], arrays["n_values"], len(parents))
    intercepts = _split(arrays["intercepts"], arrays["n_intercepts"], len(parents))
    if len(set(parents)) != len(parents):
        raise ModelFormatError("It has the children of a node twice.")
    families = {}
    for k, parent in enumerate(parents):
        check_children(parent, children[k], parent_of)
        n_problems, n_children = len(intercepts[k]), len(children[k])
        if n_problems != n_children and (n_problems, n_children) not in ((0, 1), (1, 2)):
            raise ModelFormatError(f"Node {parent} has {n_children} children and {n_problems} classifiers.")
        if np.any((lengths[k] < 0) | (lengths[k] > len(values[k]))):  # before the sum, which could wrap
            raise ModelFormatError(f"What it keeps of the children of node {parent} does not fit.")
        index = {
            "features": features[k],
            "indptr": np.concatenate([[0], np.cumsum(lengths[k])]),
            "classes": classes[k],
            "values": values[k],
        }
        weights = SparseWeights.from_lists(index, intercepts[k], n_features)
        families[parent] = Family(children[k], weights if n_problems else None)
    return families


def check_children(parent: int, children: Ids, parent_of: Ids) -> None:
    """Refuse nodes that are not different children of their parent."""
    n_nodes = len(parent_of)
    if not -1 <= parent < n_nodes or np.any((children < 0) | (children >= n_nodes)):
        raise ModelFormatError("Its families are not nodes of its taxonomy.")
    if not len(children) or np.any(parent_of[children] != parent) or len(np.unique(children)) < len(children):
        raise ModelFormatError(f"What it keeps of the children of node {parent} does not fit.")


def _split(array: npt.NDArray[Any], lengths: npt.NDArray[Any], n_parts: int) -> list[npt.NDArray[Any]]:
    wrong = np.any((lengths < 0) | (lengths > len(array)))  # before the sum, which could wrap
    if array.ndim != 1 or lengths.shape != (n_parts,) or wrong or lengths.sum() != len(array):
        raise ModelFormatError("Its families do not fit together.")
    return np.split(array, np.cumsum(lengths)[:-1]) if n_parts else []


# -------------------------------------------------------------------- decisions


def pack_decisions(decisions: Mapping[int, Choice]) -> tuple[dict[str, Any], Arrays]:
    """Return the plain values of each estimator, and the arrays of all choices."""
    from cladist.persistence.models import pack_learner

    families = {v: decision for v, decision in decisions.items() if isinstance(decision, Family)}
    arrays = prefixed("families", pack_families(families))
    estimators: dict[str, Any] = {}
    for v, decision in decisions.items():
        if isinstance(decision, Decision):
            arrays[f"{v}/children"] = decision.children
            estimators[str(v)], packed = pack_learner(decision.estimator)
            arrays.update(prefixed(f"{v}/estimator", packed))
    return estimators, arrays


def unpack_decisions(
    state: dict[str, Any], arrays: Arrays, parent_of: Ids, ends: Ids, n_features: int
) -> dict[int, Choice]:
    """Restore what `pack_decisions` returned, for a tree given by its parents in which paths end at these nodes."""
    from cladist.persistence.models import unpack_learner

    choices: dict[int, Choice] = {}
    if "decisions" in state:  # a file of the first versions
        choices.update(_old_decisions(state, arrays, n_features))
    else:
        choices.update(unpack_families(group("families", arrays), parent_of, n_features))
        for v, inner in state["estimators"].items():
            estimator = unpack_learner(inner, group(f"{v}/estimator", arrays))
            choices[int(v)] = Decision(unpack_ids(arrays[f"{v}/children"]), estimator)
    for v, decision in choices.items():
        if "decisions" in state or isinstance(decision, Decision):
            check_children(v, decision.children, parent_of)
        if isinstance(decision, Decision) and not np.array_equal(decision.estimator.classes_, decision.children):
            raise ModelFormatError(f"The classifier at node {v} does not choose among its children.")
    _check_walks(choices, ends)
    return dict(sorted(choices.items()))


def _check_walks(decisions: Mapping[int, Choice], ends: Ids) -> None:
    """Refuse choices that lead to nodes other than further choices and the ends."""
    reached = np.concatenate([[-1], *(decision.children for decision in decisions.values())])
    known = np.concatenate([np.fromiter(decisions, np.int64, len(decisions)), ends])
    if len(np.unique(known)) < len(known) or not np.array_equal(np.sort(reached), np.sort(known)):
        raise ModelFormatError("Its choices do not lead to the nodes that it can predict.")


def _old_decisions(state: dict[str, Any], arrays: Arrays, n_features: int) -> dict[int, Choice]:
    """Read the choices of a model file of the first versions, which held one estimator per node."""
    from cladist.persistence.models import unpack_learner

    choices: dict[int, Choice] = {}
    for v in state["decisions"]:
        children, packed = unpack_ids(arrays[f"{v}/children"]), state["estimators"].get(str(v))
        if packed is None:
            choices[v] = Family(children)
        elif packed["class"] == "LinearNode":
            inner = group("state", group(f"{v}/estimator", arrays))
            check_arrays(inner, OLD_NODE, {"n_features": n_features})
            coef = unpack_matrix(group("coef", inner), n_features)
            choices[v] = Family(children, SparseWeights.from_matrix(coef, inner["intercept"]))
        else:
            choices[v] = Decision(children, unpack_learner(packed, group(f"{v}/estimator", arrays)))
    return choices
