"""The losses of rows under the labels that they may have, which decide the shares of candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.surrogates import SURROGATES

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MOST_SCORES = 2**23  # of a piece of rows


def one_vs_rest_losses(model: Any, X: Any, starts: Ids, nodes: Ids) -> Floats:
    """Return the sum of the losses of a row in all problems of a linear classifier, for each label it may have.

    Up to a constant of the row: a label changes the losses of its own problems from ℓ(−f) to ℓ(f).

    Parameters
    ----------
    model : LinearClassifier
    X : rows of the learner
    starts : array (rows + 1,)
        Where the labels of each row begin in `nodes`.
    nodes : array of node ids
    """
    losses = np.zeros(len(nodes))
    if not len(model.target_nodes_):
        return losses
    value, columns = SURROGATES[model.loss].value, np.searchsorted(model.class_nodes_, nodes)
    combination = None if model._one_per_label else np.sign(model._combination()).astype(np.float64)
    if combination is not None and len(model.target_nodes_) == 1:
        combination *= 0.5  # the one problem of two labels has ℓ(f) under one of them and ℓ(−f) under the other
    step = max(1, MOST_SCORES // max(len(model.target_nodes_), len(model.class_nodes_)))
    for first in range(0, len(starts) - 1, step):
        last = min(first + step, len(starts) - 1)
        scores = np.asarray(model.weights_.scores(X[first:last]), np.float64)
        changes = value(scores) - value(-scores)
        if combination is not None:
            changes = changes @ combination.T
        pairs = slice(starts[first], starts[last])
        rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        losses[pairs] = changes[rows, columns[pairs]]
    return losses


def path_losses(model: Any, X: Any, starts: Ids, nodes: Ids) -> Floats:
    """Return the sum of the losses of a row in the families on the path to each label it may have.

    Up to a constant of the row: families above the node where the paths of all its labels meet are left out.

    Parameters
    ----------
    model, X, starts, nodes
        As in `one_vs_rest_losses`; the model is a `TopDown` with classifiers of its own.
    """
    tree, losses, here = model.walked_, np.zeros(len(nodes)), nodes.copy()
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    depth = np.append(tree.depth, -1)  # that of −1, above all roots
    pairs = np.arange(len(nodes))
    for level in range(int(depth[here].max(initial=-1)), -1, -1):
        lowest, highest = np.minimum.reduceat(here, starts[:-1]), np.maximum.reduceat(here, starts[:-1])
        still_apart = (lowest < highest)[rows]
        moving = pairs[still_apart & (depth[here] == level)]
        parents = tree.parent[here[moving]]
        order = np.argsort(parents, kind="stable")
        moving, parents = moving[order], parents[order]
        for part in np.split(moving, np.flatnonzero(np.diff(parents)) + 1):
            if len(part) and model.decisions_[int(tree.parent[here[part[0]]])].has_choice:
                losses[part] += _family_losses(model, X, rows[part], here[part])
        here[moving] = parents
    return losses


def _family_losses(model: Any, X: Any, rows: Ids, children: Ids) -> Floats:
    """Return the sum of the losses of some rows in the problems of a family, each for one child."""
    family = model.decisions_[int(model.walked_.parent[children[0]])]
    value = SURROGATES[model.loss].value
    distinct, place = np.unique(rows, return_inverse=True)
    scores = np.asarray(family.scores(X, distinct), np.float64)
    columns = np.searchsorted(family.children, children)
    if family.weights.n_classes == 1:  # scores are minus and plus half of that of the one problem
        return np.asarray(value(2 * scores[place, columns]))
    own = scores[place, columns]
    return np.asarray(value(-scores).sum(axis=1)[place] + value(own) - value(-own))
