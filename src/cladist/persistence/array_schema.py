"""The arrays of all models: one table of what each must be, checked when a model is loaded.

Names are those within a learner's own arrays (`cladist.persistence.models`). What arrays must be to each other, such
as lists that rise or trees that are the taxonomy's, is checked where they are unpacked.
"""

from __future__ import annotations

import re
from typing import Any

from cladist.kernels.lanes import WIDTH
from cladist.storage.array_groups import Arrays
from cladist.storage.schema import REAL, WHOLE, Declared, check_arrays

Table = dict[str, Declared]
_F4, _F8, _I4, _I8, _U1, _U4 = ("float32",), ("float64",), ("int32",), ("int64",), ("uint8",), ("uint32",)
_MOST = 2**62  # of a count: sums of such do not wrap before they are looked at


def _ids(shape: str, below: str | float = _MOST, low: float = 0, types: tuple[str, ...] = WHOLE) -> Declared:
    return Declared(types, (shape,), low=low, below=below)


def _numbers(*shape: str | int, types: tuple[str, ...] = _F4, low: float | None = None) -> Declared:
    return Declared(types, shape, low=low)


def _strings(name: str, offsets: str) -> Table:
    """Return the arrays of `pack_strings`."""
    return {f"{name}/utf8": Declared(_U1, (f"bytes of {name}",)), f"{name}/offsets": Declared(_I8, (offsets,), low=0)}


def _matrix(name: str, rows: str, columns: str, types: tuple[str, ...] = REAL) -> Table:
    """Return the arrays of `pack_matrix`; those of row numbers hold no others than there are columns."""
    return {
        f"{name}/dense": Declared(types, (rows, columns)),
        f"{name}/shape": Declared(WHOLE, (2,), low=0, below=_MOST),
        f"{name}/indptr": Declared(WHOLE, (f"{rows} + 1",), low=0, below=_MOST),
        f"{name}/indices": Declared(WHOLE, (f"entries of {name}",), low=0, below=columns),
        f"{name}/data": Declared(types, (f"entries of {name}",)),
        f"{name}/was_dense": Declared(("bool",), ()),
    }


COMMON: Table = {
    "class_nodes": _ids("n_classes", "n_nodes"),
    **_strings("feature_names", "n_features + 1"),
    "taxonomy/parent": Declared(WHOLE, ("n_nodes",), low=-1, below="n_nodes"),
    "taxonomy/parents/indptr": _ids("n_nodes + 1"),
    "taxonomy/parents/indices": _ids("n_edges", "n_nodes"),
    **_strings("taxonomy/names", "n_nodes + 1"),
    **_strings("taxonomy/titles", "n_nodes + 1"),
    **_strings("taxonomy/parts", "n_nodes + 1"),
    **_strings("taxonomy/dropped_edges", "offsets of edges"),
}
LINEAR: Table = {
    "target_nodes": _ids("n_targets", "n_nodes"),
    "weights/intercepts": _numbers("n_targets"),
    "weights/blocks": _numbers("n_blocks", "n_used", WIDTH),
    "weights/feature_of": _ids("n_used", "n_features"),
    "weights/sparse/features": _ids("n_listed", "n_features"),
    "weights/sparse/indptr": _ids("n_listed + 1"),
    "weights/sparse/classes": Declared(_I4, ("n_weights",), low=0, below="n_targets"),
    "weights/sparse/values": _numbers("n_weights"),
    **_matrix("weights/shares", "n_targets", "n_vectors"),
    **_matrix("weights/vectors", "n_vectors", "n_features", _F4),
    "weights/differences/features_at": Declared(_I8, ("n_chunks + 1",), low=0, below=_MOST),
    "weights/differences/weights_at": Declared(_I8, ("n_chunks + 1",), low=0, below=_MOST),
    "weights/differences/features": Declared(_I4, ("n_lists",), low=0, below="n_features"),
    "weights/differences/ends": Declared(_U4, ("n_lists",)),
    "weights/differences/lanes": Declared(_U1, ("n_weights",)),
    "weights/differences/values": _numbers("n_weights"),
    "weights/differences/bias": _numbers("n_places"),
    "weights/paths/parent": _ids("n_tree_nodes", "n_tree_nodes", low=-1),
    "weights/paths/leaves": _ids("n_targets", "n_tree_nodes"),
    "weights/paths/sharing": _numbers(1, types=REAL, low=0),
    "weights/paths/root": Declared(WHOLE, (2,), low=0, below=_MOST),
    "weights/paths/centres": _numbers("n_free_roots", "n_centred"),
    **_matrix("weights/paths/vectors", "n_vectors", "n_features", _F4),
    **_matrix("weights/paths/state", "n_targets", "n_vectors", _F4),
    **_matrix("weights/paths/own", "n_targets", "n_vectors", _F4),
    **_strings("relations/names", "n_related + 1"),
    "relations/indptr": _ids("n_related + 1"),
    "relations/indices": _ids("n_relations", "n_related"),
    "relations/weights": _numbers("n_relations", types=REAL, low=0),
}
FAMILIES: Table = {
    "always": _ids("n_always", "n_nodes"),
    "end_nodes": _ids("n_classes"),  # in the taxonomy with stop leaves, which has more nodes
    "families/parents": _ids("n_families", low=-1),
    "families/children": _ids("n_children"),
    "families/features": _ids("n_listed", "n_features"),
    "families/indptr": _ids("n_listed"),
    "families/classes": _ids("n_weights"),
    "families/values": _numbers("n_weights"),
    "families/intercepts": _numbers("n_problems"),
    **{f"families/n_{part}": _ids("n_families") for part in ("children", "features", "values", "intercepts")},
    "*/children": Declared(WHOLE, ("children of a node",), low=0, below=_MOST),
}
PROTOTYPES: Table = {
    **_matrix("weights", "n_features", "n_nodes"),
    # Of one type: these are computed with as they are.
    "support": _ids("n_support", types=_I8),
    **_matrix("vectors", "n_support", "n_columns"),
    "update_support": _ids("n_updates", "n_support", types=_I8),
    "update_alpha": _numbers("n_updates", types=_F8),
    "update_label": _ids("n_updates", "n_nodes", types=_I8),
    "update_competitor": _ids("n_updates", "n_nodes", types=_I8),
}
PERCEPTRONS: Table = {
    "seen": _ids("n_nodes"),
    **_matrix("weights", "n_features", "n_nodes"),
    **_matrix("acc", "n_features", "n_nodes"),
    **_matrix("vectors", "n_support", "n_columns"),
    "update_support": _ids("n_updates", "n_support"),
    "update_node": _ids("n_updates", "n_nodes"),
    "update_sign": _ids("n_updates", 2, low=-1),
    "update_when": _ids("n_updates"),
}
LEAST_SQUARES: Table = {
    "stores/gates": _ids("n_stores", "n_nodes", low=-1),
    "stores/sizes": _ids("n_stores"),
    "stores/nodes": _ids("n_nodes", "n_nodes"),
    "counts": _ids("n_stores"),
    "inverses": _numbers("n_inverse", types=REAL),
    "weights": _numbers("n_weights", types=REAL),
    "members": _ids("n_members", "n_kept"),
    "targets": _numbers("n_targets", types=REAL),
    "factors": _numbers("n_factors", types=REAL),
    **_matrix("kept", "n_kept", "n_columns"),
}
LABELLINGS: Table = {
    **_matrix("weights", "n_features", "n_scores", _F8),
    "support": _ids("n_support"),
    **_matrix("vectors", "n_support", "n_columns"),
    **_matrix("coefs", "n_scores", "n_support", _F8),
}
THRESHOLDS: Table = {
    "strategy/positives_": _ids("n_labels", types=_I8),
    "strategy/coef_": _numbers("n_coefs", types=REAL),
    "strategy/thresholds_": Declared(REAL, ("n_labels",), finite=False),  # a label that nobody gets
    "strategy/f1_": _numbers("n_labels", types=REAL),
}
# A classifier at a node of a `TopDown`, as the first versions wrote it.
OLD_NODE: Table = {
    **_matrix("coef", "n_problems", "n_features"),
    "intercept": _numbers("n_problems", types=REAL),
    "classes": _ids("n_children"),
}

STATES: dict[str, Table] = {
    **dict.fromkeys(("FlatSVM", "FlatLogistic", "RecursiveSVM", "RecursiveLogistic"), LINEAR),
    **dict.fromkeys(("TopDown", "NodewiseSVM"), FAMILIES),
    "Hieron": PROTOTYPES,
    "HierarchicalPerceptron": PERCEPTRONS,
    "HierarchicalRLS": LEAST_SQUARES,
    **dict.fromkeys(("HardPerceptron", "StochasticPerceptron", "KernelStochasticPerceptron"), LABELLINGS),
    **dict.fromkeys(("MaxMarginMarkov", "StructuralSVM"), LABELLINGS),
    "Thresholded": THRESHOLDS,
}
# With a precomputed kernel, rows are numbers of rows learnt from, which are as many as there are features.
ROW_NUMBERS: Table = {
    "state/vectors/dense": Declared(WHOLE, ("n_support", "n_columns"), low=0, below="n_features"),
    "state/vectors/data": Declared(WHOLE, ("entries of vectors",), low=0, below="n_features"),
}
_NESTED = re.compile(r"state/(-?\d+/)?estimator/.*")  # the arrays of another learner, which are checked as such
_OF_A_NODE = re.compile(r"state/-?\d+/children")


def is_declared(model: Any) -> bool:
    """Tell whether a learner is cladist's own; one of another package checks its state itself, in `unpack_state`."""
    return type(model).__name__ in STATES


def check_model(model: Any, arrays: Arrays) -> None:
    """Raise a `ModelFormatError` unless all arrays of a learner, given with its parameters, are as declared."""
    if not is_declared(model):
        common = {name: array for name, array in arrays.items() if not name.startswith("state/")}
        check_arrays(common, COMMON, {"n_features": model.n_features_in_})
        return
    precomputed = getattr(model, "kernel", None) == "precomputed"
    table = {f"state/{name}": declared for name, declared in STATES[type(model).__name__].items()}
    sizes = {"n_features": model.n_features_in_, "n_columns": 1 if precomputed else model.n_features_in_}
    own = {name: array for name, array in arrays.items() if not _NESTED.fullmatch(name)}
    for name in [name for name in own if _OF_A_NODE.fullmatch(name)]:
        check_arrays({"state/*/children": own.pop(name)}, table, sizes)
    check_arrays(own, table | COMMON | (ROW_NUMBERS if precomputed else {}), sizes)
