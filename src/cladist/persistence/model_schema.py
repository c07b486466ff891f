"""The contents of a model file: one table of all values and arrays, checked when a model is loaded.

Names are those within a learner's own values and arrays (`cladist.persistence.models`). Relations between arrays, such
as lists that rise or trees that are the taxonomy's, are checked where they are unpacked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cladist.errors import ModelFormatError, shorten
from cladist.kernels.lanes import WIDTH
from cladist.storage.array_groups import REAL, WHOLE, Arrays, ArraySpec, check_arrays

MOST_FEATURES = 2**31 - 1  # features are numbered by int32
Check = Callable[[Any], bool]
Table = dict[str, ArraySpec]


def is_count(value: Any, most: int = 2**53) -> bool:
    """Tell whether a value is a whole number from 0 to `most`."""
    return _is_real(value) and not isinstance(value, (float, np.floating)) and bool(0 <= value <= most)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number; ints are compared exactly."""
    return _is_real(value) and bool(abs(value) <= 1e308)


def is_flag(value: Any) -> bool:
    """Tell whether a value is true or false."""
    return isinstance(value, (bool, np.bool_))


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not is_flag(value)


def _is_record(value: Any) -> bool:
    """Tell whether a value is an entry of a history: names, and single values."""
    plain = (type(None), bool, int, float, str, np.generic)
    return isinstance(value, dict) and all(isinstance(part, plain) for part in value.values())


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


def _is_not_negative(value: Any) -> bool:
    return is_number(value) and value >= 0


_TEXT, _OBJECT, _FLAG = (_is(str), "a text"), (_is(dict), "an object"), (is_flag, "true or false")
_RECORDS = _list_of(_is_record)
CONTENT: dict[str, tuple[Check, str]] = {
    "class": _TEXT,
    "has_taxonomy": _FLAG,
    "n_features": (lambda value: is_count(value, MOST_FEATURES) and value >= 1, f"from 1 to {MOST_FEATURES:,}"),
    **dict.fromkeys(("parameters", "estimator", "taxonomy", "label_form", "state"), _OBJECT),
}
STATE: dict[str, tuple[Check, str]] = {
    "history": (_RECORDS, "a list of records"),
    "cv_results": (_or_none(_RECORDS), "a list of records, or null"),
    **dict.fromkeys(("n_iter", "rows_seen", "n_support", "listed"), (is_count, "a whole number from 0 up")),
    "n_constraints": (_or_none(is_count), "a whole number from 0 up, or null"),
    **dict.fromkeys(("converged", "has_relations", "strategy_by_name"), _FLAG),
    **dict.fromkeys(
        ("gamma", "C", "c", "alpha", "constant"), (_or_none(_is_not_negative), "a number from 0 up, or null")
    ),
    **dict.fromkeys(("radius", "step", "eta"), (_or_none(_is_real), "a number, or null")),
    **dict.fromkeys(
        ("sharing", "least_probability", "label_weight", "empty_cost"), (_is_not_negative, "a number from 0 up")
    ),
    "solver": _TEXT,
    **dict.fromkeys(("stops", "text_leaves"), (_list_of(_is(str)), "a list of names")),
    "decisions": (_list_of(lambda value: type(value) is int), "a list of node ids"),
    **dict.fromkeys(("estimators", "estimator", "strategy", "relations", "calibration", "rule"), _OBJECT),
    "models": (_list_of(_is(dict)), "a list of objects"),
}


def check_values(values: Any, table: Mapping[str, tuple[Check, str]]) -> None:
    """Raise a `ModelFormatError` unless all values are as the table declares."""
    if not isinstance(values, dict):
        raise ModelFormatError(f"Its values must be an object, not {shorten(values)}.")
    for name, value in values.items():
        if name not in table:
            raise ModelFormatError(f"Its value {shorten(name)} is none that a model of its kind has.")
        fits, description = table[name]
        if not fits(value):
            raise ModelFormatError(f"Its value {name!r} must be {description}, not {shorten(value)}.")


_F4, _F8, _I4, _I8, _U1, _U4 = ("float32",), ("float64",), ("int32",), ("int64",), ("uint8",), ("uint32",)
_MOST = 2**62  # of a count, so that sums do not wrap before they are checked


def _ids(shape: str, below: str | float = _MOST, low: float = 0, types: tuple[str, ...] = WHOLE) -> ArraySpec:
    return ArraySpec(types, (shape,), low=low, below=below)


def _numbers(*shape: str | int, types: tuple[str, ...] = _F4, low: float | None = None) -> ArraySpec:
    return ArraySpec(types, shape, low=low)


def _strings(name: str, offsets: str) -> Table:
    """Return the arrays of `pack_strings`."""
    return {f"{name}/utf8": ArraySpec(_U1, (f"bytes of {name}",)), f"{name}/offsets": ArraySpec(_I8, (offsets,), low=0)}


def _csr(name: str, rows: str, columns: str, types: tuple[str, ...] = REAL) -> Table:
    """Return the arrays of `pack_matrix` of a sparse matrix."""
    return {
        f"{name}/shape": ArraySpec(WHOLE, (2,), low=0, below=_MOST),
        f"{name}/indptr": ArraySpec(WHOLE, (f"{rows} + 1",), low=0, below=_MOST),
        f"{name}/indices": ArraySpec(WHOLE, (f"entries of {name}",), low=0, below=columns),
        f"{name}/data": ArraySpec(types, (f"entries of {name}",)),
    }


def _matrix(name: str, rows: str, columns: str, types: tuple[str, ...] = REAL) -> Table:
    """Return the arrays of `pack_matrix` of a dense or sparse matrix."""
    dense = {f"{name}/dense": ArraySpec(types, (rows, columns)), f"{name}/was_dense": ArraySpec(("bool",), ())}
    return {**_csr(name, rows, columns, types), **dense}


COMMON: Table = {
    "class_nodes": _ids("n_classes", "n_nodes"),
    **_strings("feature_names", "n_features + 1"),
    "taxonomy/parent": ArraySpec(WHOLE, ("n_nodes",), low=-1, below="n_nodes"),
    "taxonomy/parents/indptr": _ids("n_nodes + 1"),
    "taxonomy/parents/indices": _ids("n_edges", "n_nodes"),
    **_strings("taxonomy/names", "n_nodes + 1"),
    **_strings("taxonomy/titles", "n_nodes + 1"),
    **_strings("taxonomy/descriptions", "n_nodes + 1"),
    **_strings("taxonomy/synonyms", "offsets of synonyms"),
    "taxonomy/n_synonyms": ArraySpec(_I8, ("n_nodes",), low=0, below=_MOST),
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
    "weights/sparse/classes": ArraySpec(_I4, ("n_weights",), low=0, below="n_targets"),
    "weights/sparse/values": _numbers("n_weights"),
    **_csr("weights/shares", "n_targets", "n_vectors"),
    **_csr("weights/vectors", "n_vectors", "n_features", _F4),
    "weights/differences/features_at": ArraySpec(_I8, ("n_chunks + 1",), low=0, below=_MOST),
    "weights/differences/weights_at": ArraySpec(_I8, ("n_chunks + 1",), low=0, below=_MOST),
    "weights/differences/features": ArraySpec(_I4, ("n_lists",), low=0, below="n_features"),
    "weights/differences/ends": ArraySpec(_U4, ("n_lists",)),
    "weights/differences/lanes": ArraySpec(_U1, ("n_weights",)),
    "weights/differences/values": _numbers("n_weights"),
    "weights/differences/bias": _numbers("n_places"),
    "weights/paths/parent": _ids("n_tree_nodes", "n_tree_nodes", low=-1),
    "weights/paths/leaves": _ids("n_targets", "n_tree_nodes"),
    "weights/paths/sharing": _numbers(1, types=REAL, low=0),
    "weights/paths/root_name": ArraySpec(_U1, ("bytes of root",)),
    "weights/paths/has_constant": ArraySpec(("bool",), ()),
    "weights/paths/root": ArraySpec(WHOLE, (2,), low=0, below=_MOST),  # the first versions: numbers of both
    "weights/paths/centres": _numbers("n_free_roots", "n_centred"),
    **_csr("weights/paths/vectors", "n_vectors", "n_features", _F4),
    **_csr("weights/paths/state", "n_targets", "n_vectors", _F4),
    **_csr("weights/paths/own", "n_targets", "n_vectors", _F4),
    **_csr("prior", "n_targets", "n_features", _F4),
    **_strings("relations/names", "n_related + 1"),
    "relations/indptr": _ids("n_related + 1"),
    "relations/indices": _ids("n_relations", "n_related"),
    "relations/weights": _numbers("n_relations", types=REAL, low=0),
}
FAMILIES: Table = {
    "always": _ids("n_always", "n_nodes"),
    "end_nodes": _ids("n_classes"),  # of the taxonomy with stop leaves, which has more nodes
    "families/parents": _ids("n_families", low=-1),
    "families/children": _ids("n_children"),
    "families/features": _ids("n_listed", "n_features"),
    "families/indptr": _ids("n_listed"),
    "families/classes": _ids("n_weights"),
    "families/values": _numbers("n_weights"),
    "families/intercepts": _numbers("n_problems"),
    **{f"families/n_{part}": _ids("n_families") for part in ("children", "features", "values", "intercepts")},
    "*/children": ArraySpec(WHOLE, ("children of a node",), low=0, below=_MOST),
}
LOCAL: Table = {"end_nodes": _ids("n_classes"), "children": _ids("n_children")}
PROTOTYPES: Table = {
    **_matrix("weights", "n_features", "n_nodes"),
    # Of one type, since they are used in computations without a conversion.
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
    "intercepts": _numbers("n_scores", types=_F8),
    "support": _ids("n_support"),
    **_matrix("vectors", "n_support", "n_columns"),
    **_matrix("coefs", "n_scores", "n_support", _F8),
}
THRESHOLDS: Table = {
    "strategy/positives_": _ids("n_labels", types=_I8),
    "strategy/coef_": _numbers("n_coefs", types=REAL),
    # Infinite for a label that is never predicted.
    "strategy/thresholds_": ArraySpec(REAL, ("n_labels",), finite=False),
    "strategy/f1_": _numbers("n_labels", types=REAL),
}
CALIBRATIONS: Table = {
    "calibrator/scales": _numbers("n_nodes + 1", types=_F8, low=0),
    "calibrator/biases": _numbers("n_biases", types=_F8),
    "calibrator/slopes": _numbers("n_curved", types=_F8, low=0),
    "calibrator/intercepts": _numbers("n_curved", types=_F8),
    "calibrator/curve_of": _ids("n_stepped", types=_I8),
    "calibrator/path_slopes": _numbers("n_bent", types=_F8, low=0),
    "calibrator/path_intercepts": _numbers("n_bent", types=_F8),
    "calibrator/path_starts": _ids("n_bent_starts", types=_I8),
    "calibrator/path_knots": _numbers("n_path_knots", types=_F8),
    "calibrator/path_values": _numbers("n_path_knots", types=_F8, low=0),
    "calibrator/starts": _ids("n_curves + 1", types=_I8),
    "calibrator/knots": _numbers("n_knots", types=_F8),
    "calibrator/values": _numbers("n_knots", types=_F8, low=0),
    "weights": _numbers("n_models", types=_F8, low=0),
    "shares": _numbers("n_models", types=_F8, low=0),
}
DECISIONS: Table = {
    "rule/class_nodes_": _ids("n_rule_columns", types=_I8),
    "rule/threshold_": ArraySpec(REAL, ("n_rule_columns",), finite=False),
}
# A classifier at a node of a `TopDown` in files of the first versions.
OLD_NODE: Table = {
    **_matrix("coef", "n_problems", "n_features"),
    "intercept": _numbers("n_problems", types=REAL),
    "classes": _ids("n_children"),
}

STATES: dict[str, Table] = {
    **dict.fromkeys(("FlatSVM", "FlatLogistic", "RecursiveSVM", "RecursiveLogistic"), LINEAR),
    **dict.fromkeys(("TopDown", "NodewiseSVM"), FAMILIES),
    **dict.fromkeys(("LocalPerNode", "LocalPerLevel"), LOCAL),
    "Hieron": PROTOTYPES,
    "HierarchicalPerceptron": PERCEPTRONS,
    "HierarchicalRLS": LEAST_SQUARES,
    **dict.fromkeys(("HardPerceptron", "StochasticPerceptron", "KernelStochasticPerceptron"), LABELLINGS),
    **dict.fromkeys(("MaxMarginMarkov", "StructuralSVM", "OrthogonalTransfer"), LABELLINGS),
    "BayesianLogistic": {**LABELLINGS, "precision": _numbers("n_groups", "n_entries", types=_F8, low=0)},
    "Thresholded": THRESHOLDS,
    **dict.fromkeys(("CalibratedClassifier", "BlendedClassifier"), CALIBRATIONS),
    "DecisionClassifier": DECISIONS,
}
# With a precomputed kernel, rows are numbers of training rows, which are as many as features.
ROW_NUMBERS: Table = {
    "state/vectors/dense": ArraySpec(WHOLE, ("n_support", "n_columns"), low=0, below="n_features"),
    "state/vectors/data": ArraySpec(WHOLE, ("entries of vectors",), low=0, below="n_features"),
}
_NESTED = re.compile(r"state/(-?\d+/)?estimator/.*")  # the arrays of another learner, checked when it is unpacked
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
