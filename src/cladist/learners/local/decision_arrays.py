"""The choices of a `TopDown` as named arrays of a model file, checked when they come back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.learners.local.decisions import Choosing, Decision
from cladist.learners.local.families import Family, check_children, pack_families, unpack_families
from cladist.linear_model.sparse import SparseWeights
from cladist.persistence.model_schema import OLD_NODE
from cladist.storage.array_groups import Arrays, group, prefixed, unpack_ids, unpack_matrix
from cladist.storage.schema import check_arrays

Ids = npt.NDArray[np.int64]


def pack_decisions(decisions: Mapping[int, Choosing]) -> tuple[dict[str, Any], Arrays]:
    """Return what a manifest holds of each estimator, and the arrays of all choices."""
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
) -> dict[int, Choosing]:
    """Restore what `pack_decisions` gave, for walks in a tree given by its parents that end at these nodes."""
    from cladist.persistence.models import unpack_learner

    found: dict[int, Choosing] = {}
    if "decisions" in state:  # as the first versions wrote it
        found.update(_old_decisions(state, arrays, n_features))
    else:
        found.update(unpack_families(group("families", arrays), parent_of, n_features))
        for v, inner in state["estimators"].items():
            estimator = unpack_learner(inner, group(f"{v}/estimator", arrays))
            found[int(v)] = Decision(unpack_ids(arrays[f"{v}/children"]), estimator)
    for v, decision in found.items():
        if "decisions" in state or isinstance(decision, Decision):
            check_children(v, decision.children, parent_of)
        if isinstance(decision, Decision) and not np.array_equal(decision.estimator.classes_, decision.children):
            raise ModelFormatError(f"The classifier at node {v} does not choose among its children.")
    _check_walks(found, ends)
    return dict(sorted(found.items()))


def _check_walks(decisions: Mapping[int, Choosing], ends: Ids) -> None:
    """Refuse choices that lead anywhere but to further choices and the ends."""
    reached = np.concatenate([[-1], *(decision.children for decision in decisions.values())])
    known = np.concatenate([np.fromiter(decisions, np.int64, len(decisions)), ends])
    if len(np.unique(known)) < len(known) or not np.array_equal(np.sort(reached), np.sort(known)):
        raise ModelFormatError("Its choices do not lead to the nodes that it can predict.")


def _old_decisions(state: dict[str, Any], arrays: Arrays, n_features: int) -> dict[int, Choosing]:
    """Read the choices of a model file of the first versions, which held an estimator a node."""
    from cladist.persistence.models import unpack_learner

    found: dict[int, Choosing] = {}
    for v in state["decisions"]:
        children, packed = unpack_ids(arrays[f"{v}/children"]), state["estimators"].get(str(v))
        if packed is None:
            found[v] = Family(children)
        elif packed["class"] == "LinearNode":
            inner = group("state", group(f"{v}/estimator", arrays))
            check_arrays(inner, OLD_NODE, {"n_features": n_features})
            coef = unpack_matrix(group("coef", inner), n_features)
            found[v] = Family(children, SparseWeights.from_matrix(coef, inner["intercept"]))
        else:
            found[v] = Decision(children, unpack_learner(packed, group(f"{v}/estimator", arrays)))
    return found
