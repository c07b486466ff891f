"""Label text: learning from the words of the taxonomy's own nodes beside rows.

`label_features` has one row per node of the taxonomy, made by the transformer that made the rows. Two uses:

rows    the text of a leaf is one more training row of that leaf, with a weight
prior   a leaf's weights are pulled to its parent's plus `weight` times its text: one more term of recursive
        regularisation, ½ ‖w_leaf − w_parent − u_leaf‖², for the same solver and certificate

The weight is chosen on rows held out. If leaves without rows are to be predicted, as large a part of the other leaves
is hidden from the model then, and their rows count as those of any leaf.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cladist.errors import LabelWarning, ModelFormatError, ParameterError, is_positive, one_of
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator, take_rows
from cladist.linear_model.training_rows import TrainingRows
from cladist.solvers import OneVsRest
from cladist.taxonomy import Taxonomy

USES = ("prior", "rows")
# What "auto" chooses from: pairs of `label_weight` and `empty_cost`, the second of which only matters if there are
# leaves without rows. From one to the next, such leaves are predicted more often.
CHOICES = {
    "prior": ((0.5, 1.0), (1.0, 0.1), (2.0, 0.03), (4.0, 0.01), (8.0, 0.001)),
    "rows": ((1.0, 1.0), (4.0, 0.1), (16.0, 0.03), (64.0, 0.01), (64.0, 0.003)),
}
DEFAULT_CHOICE = 1.0, 0.1  # with too few rows to choose
LEAST_ROWS = 100
MOST_ROWS = 20_000  # of those that models are compared with
HELD_OUT = 0.2
LEAST_HIDDEN, MOST_HIDDEN = 0.1, 0.3  # of the leaves with rows
LOOSE, FEW_SWEEPS = 0.05, 60  # for models that are only compared

Ids = npt.NDArray[np.int64]
Data = tuple[Any, LabelMatrix, Any]


def check_label_text(model: Any, uses: tuple[str, ...] = USES) -> None:
    """Raise a `ParameterError` if parameters about label text make no sense together."""
    who, use, weight = type(model).__name__, model.label_text, model.label_weight
    one_of(who, "label_text", use, (None, *uses))
    if use is None:
        if model.empty_leaf == "text":
            raise ParameterError(f"{who}: empty_leaf='text' needs label_text={' or '.join(map(repr, uses))}.")
        return
    if not (weight == "auto" if isinstance(weight, str) else is_positive(weight)):
        raise ParameterError(f"{who}: label_weight must be positive, or 'auto' to choose it; got {weight!r}.")
    cost = getattr(model, "empty_cost", "auto")
    if not (cost == "auto" if isinstance(cost, str) else is_positive(cost) and cost <= 1):
        raise ParameterError(f"{who}: empty_cost must be in (0, 1], or 'auto' to choose it; got {cost!r}.")
    if model.taxonomy is None:
        raise ParameterError(f"{who}: label_text={use!r} needs a taxonomy, whose nodes have the texts.")
    if model.partial_labels and (use != "rows" or model.empty_leaf == "text"):
        raise ParameterError(
            f"{who}: with partial_labels=True, label_text='rows' can be had, and empty_leaf='text' cannot; leaves of "
            "candidate sets have rows."
        )


def features_of_nodes(model: Any, n_columns: int, taxonomy: Taxonomy | None = None) -> sparse.csr_array:
    """Return the features of the texts of all nodes, checked; the taxonomy is that of the model."""
    who, n_nodes = type(model).__name__, (taxonomy or model.taxonomy_).n_nodes
    if model.label_features is None:
        raise ParameterError(
            f"{who}: label_text={model.label_text!r} needs label_features, one row of features per node of the "
            "taxonomy; TextClassifier makes them."
        )
    try:
        matrix = sparse.csr_array(model.label_features, dtype=np.float32)
    except (TypeError, ValueError):
        matrix = sparse.csr_array((0, 0), dtype=np.float32)
    if matrix.shape != (n_nodes, n_columns) or not np.all(np.isfinite(matrix.data)):
        raise ParameterError(
            f"{who}: label_features must be finite numbers of {n_nodes:,} nodes, in the order of taxonomy_.names, by "
            f"{n_columns:,} features; got the shape {np.shape(model.label_features)}."
        )
    return matrix


def without_rows(labels: LabelMatrix) -> Ids:
    """Return the leaves of the taxonomy that no row belongs to."""
    return np.setdiff1d(labels.taxonomy.leaves, labels.indices).astype(np.int64)


def add_label_text(model: Any, X: Any, labels: LabelMatrix, weights: Any) -> Data:
    """Return rows, labels and weights with label text, as far as it is rows; set what is known of it."""
    for name in ("label_weight_", "empty_cost_", "text_leaves_"):
        vars(model).pop(name, None)
    if model.label_text is None:
        return X, labels, weights
    features = features_of_nodes(model, X.shape[1])
    is_empty = without_rows(labels) if model.empty_leaf == "text" else np.zeros(0, np.int64)
    has_text = np.diff(features.indptr) > 0
    model.text_leaves_ = np.array([labels.taxonomy.names[v] for v in is_empty if has_text[v]], dtype=object)
    chosen = choose_weight(model, X, labels, weights)
    model.label_weight_ = chosen[0]
    if hasattr(model, "empty_cost"):
        model.empty_cost_ = chosen[1]
    if model.label_text == "prior":
        return X, labels, weights
    leaves = labels.taxonomy.leaves.astype(np.int64)
    wanted = np.isin(leaves, labels.indices) | (model.empty_leaf == "text")
    return _with_rows((X, labels, weights), leaves[wanted & has_text[leaves]], features, model.label_weight_)


def stack_text(X: Any, features: sparse.csr_array, leaves: Ids) -> Any:
    """Return rows with the texts of some leaves behind them."""
    added = features[leaves].astype(X.dtype)
    return sparse.vstack([X, added], format="csr") if sparse.issparse(X) else np.vstack([X, added.toarray()])


def _with_rows(data: Data, leaves: Ids, features: sparse.csr_array, weight: float) -> Data:
    """Return rows, labels and weights with the texts of some leaves behind them."""
    X, labels, weights = data
    X = stack_text(X, features, leaves)
    indptr, indices = labels.frontier
    indptr = np.concatenate([indptr, indptr[-1] + np.arange(1, len(leaves) + 1)])
    labels = LabelMatrix.from_ids(indptr, np.concatenate([indices, leaves]), labels.taxonomy)
    before = np.ones(len(labels) - len(leaves)) if weights is None else weights
    return X, labels, np.concatenate([before, np.full(len(leaves), weight * np.mean(before))])


def pack_label_text(model: Any) -> dict[str, Any]:
    """Return what is known of label text as plain values of a model file."""
    if model.label_text is None:
        return {}
    known = {"label_weight": model.label_weight_, "text_leaves": model.text_leaves_.tolist()}
    return known | ({"empty_cost": model.empty_cost_} if hasattr(model, "empty_cost_") else {})


def unpack_label_text(model: Any, state: dict[str, Any]) -> None:
    """Restore what `pack_label_text` returned."""
    if model.label_text is None:
        return
    weight, names = state.get("label_weight"), state.get("text_leaves")
    if not is_positive(weight) or not isinstance(names, list) or not {*map(str, names)} <= {*model.taxonomy_.names}:
        raise ModelFormatError("Its leaves known through their text are not those of its taxonomy.")
    model.label_weight_, model.text_leaves_ = float(state["label_weight"]), np.array(names, dtype=object)
    if is_positive(state.get("empty_cost")):
        model.empty_cost_ = float(state["empty_cost"])


# ---------------------------------------------------------------- the prior


def prior_of(model: Any, nodes: Ids, n_columns: int) -> sparse.csr_array | None:
    """Return the vectors that labels are pulled to besides their parents (labels × features); None without a prior."""
    if model.label_text != "prior":
        return None
    weight = vars(model).get("label_weight_", model.label_weight)
    weight = DEFAULT_CHOICE[0] if isinstance(weight, str) else weight
    return sparse.csr_array(features_of_nodes(model, n_columns)[nodes] * np.float32(weight))


def lower_costs(model: Any, problem: OneVsRest, nodes: Ids) -> None:
    """Lower the costs of other rows in the problems of leaves that are known through their text alone, in place."""
    known = vars(model)
    if "empty_cost_" in known and len(known["text_leaves_"]):
        empty = [model.taxonomy_.index(name) for name in known["text_leaves_"].tolist()]
        problem.costs[1, np.isin(nodes, empty)] *= known["empty_cost_"]


def with_features_of(problem: OneVsRest, X: Any, prior: sparse.csr_array, *, constant: bool) -> OneVsRest:
    """Return a problem whose rows also number the features that only label text has."""
    stacked = sparse.vstack([sparse.csr_array(X), prior], format="csr")
    rows, n_rows = TrainingRows.from_matrix(stacked, constant=constant), X.shape[0]
    end = int(rows.indptr[n_rows])
    part = replace(
        rows,
        indptr=rows.indptr[: n_rows + 1],
        indices=rows.indices[:end],
        data=rows.data[:end],
        norms=rows.norms[:n_rows],
    )
    return replace(problem, rows=part)


# ---------------------------------------------------------------- the choice of its weight


def choose_weight(model: Any, X: Any, labels: LabelMatrix, weights: Any) -> tuple[float, float]:
    """Return the weight and the cost that do best on rows held out, the first of several that are equally good."""
    choices = _choices(model, len(model.text_leaves_) > 0)
    if len(choices) == 1 or not labels.is_single or len(labels) < LEAST_ROWS:
        return choices[0] if len(choices) == 1 else _given(model, DEFAULT_CHOICE)
    nodes = labels.nodes(type(model).__name__)
    random = np.random.default_rng(random_generator(type(model).__name__, model.random_state).randint(2**31 - 1))
    train, test, counts = _hold_out(nodes, _share_of_empty(model, labels), random)
    if not len(test) or len(np.unique(nodes[train])) < 2:
        return _given(model, DEFAULT_CHOICE)
    rates = []
    for choice in choices:
        fitted = _compared(model, choice)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LabelWarning)
            options = {} if weights is None else {"sample_weight": weights[train]}
            fitted.fit(take_rows(X, train), LabelMatrix.from_nodes(nodes[train], labels.taxonomy), **options)
            found = fitted.predict_nodes(fitted._fitted_rows(take_rows(X, test)))
        rates.append(float(np.sum(counts * (found == nodes[test])) / np.sum(counts)))
    return choices[int(np.argmax(rates))]


def _given(model: Any, choice: tuple[float, float]) -> tuple[float, float]:
    """Return a weight and a cost, those that are given in place of these."""
    given = model.label_weight, getattr(model, "empty_cost", 1.0)
    return tuple(one if isinstance(value, str) else float(value) for one, value in zip(choice, given, strict=True))  # type: ignore[return-value]


def _choices(model: Any, has_empty: bool) -> list[tuple[float, float]]:
    """Return the pairs to choose from; without leaves known through their text, costs do not matter."""
    pairs = (_given(model, (weight, cost if has_empty else 1.0)) for weight, cost in CHOICES[model.label_text])
    return list(dict.fromkeys(pairs))


def _share_of_empty(model: Any, labels: LabelMatrix) -> float:
    """Return which part of the leaves with rows to hide: none, unless leaves without rows are to be predicted."""
    n_empty = len(without_rows(labels)) if model.empty_leaf == "text" else 0
    return float(np.clip(n_empty / len(labels.taxonomy.leaves), LEAST_HIDDEN, MOST_HIDDEN)) if n_empty else 0.0


def _hold_out(nodes: Ids, hidden: float, random: np.random.Generator) -> tuple[Ids, Ids, npt.NDArray[np.float64]]:
    """Return the rows to train on, those held out, and how much each of these counts.

    Of a hidden leaf all rows are held out, and count as much together as if it were another leaf.
    """
    rows = np.sort(random.permutation(len(nodes))[:MOST_ROWS])
    seen = np.unique(nodes[rows])
    is_hidden = np.isin(nodes[rows], random.permutation(seen)[: int(hidden * len(seen))])
    drawn = random.random(len(rows)) < HELD_OUT
    test = is_hidden | drawn
    return rows[~test], rows[test], np.where(is_hidden, HELD_OUT, 1.0)[test]


def _compared(model: Any, choice: tuple[float, float]) -> Any:
    """Return an unfitted clone with this weight and cost that is only to be compared, and fits in less time."""
    changes: dict[str, Any] = {"label_weight": choice[0], "checkpoint": None, "verbose": 0}
    parameters = model.get_params(deep=False)
    if "empty_cost" in parameters:
        changes["empty_cost"] = choice[1]
    for name in ("C", "sharing"):
        if isinstance(parameters.get(name), str):
            changes[name] = 1.0
    if "sharing" in parameters:  # and not the classifiers of TopDown, which are quick
        changes |= {"tol": max(LOOSE, model.tol), "max_iter": min(FEW_SWEEPS, model.max_iter), "warm_start": False}
    return clone(model).set_params(**changes)
