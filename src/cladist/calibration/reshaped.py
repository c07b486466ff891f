"""A curve at every choice on top of a nested logit model: calibrations in models saved before curves were of paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.calibration.curves import Curves
from cladist.calibration.nested_logit import ChoiceTree, NestedLogit

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

LARGEST_LOG_ODDS = 30.0
KEPT_SHARE = 1e-3  # of the probability before: a step function alone may say 0, and the log loss of 0 is infinite


class Reshaped(NamedTuple):
    """P(option | v) ∝ f(z), where z is the log odds of the option among those at v by a nested logit model.

    Options are the nodes, as children of their parents, then "stop here" at each node.

    Attributes
    ----------
    base : NestedLogit
    curves : Curves
        f, one of each option.
    """

    base: NestedLogit
    curves: Curves

    def log_probabilities(self, scores: npt.ArrayLike) -> Floats:
        """Return the log-probability of every class (rows × classes)."""
        choices = self.base.choices
        n_nodes = len(choices.parent)
        given = option_probabilities(choices, np.exp(self.base.log_probabilities(scores)))
        shares = (1 - KEPT_SHARE) * self.curves.evaluate(log_odds(given).T).T + KEPT_SHARE * given
        totals = np.zeros((n_nodes + 1, shares.shape[1]))
        above = option_parents(choices)
        np.add.at(totals, above, shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.where(shares > 0, np.log(shares) - np.log(totals[above]), -np.inf)
        for v in choices.nodes:
            if choices.parent[v] >= 0:
                log_p[v] += log_p[choices.parent[v]]
        ends = choices.class_nodes
        stops = log_p[ends] + np.where(choices.is_end[ends][:, None], 0.0, log_p[n_nodes + ends])
        return np.ascontiguousarray(stops.T)


def option_parents(choices: ChoiceTree) -> Ids:
    """Return the node at which each option is; the virtual root is the last."""
    n_nodes = len(choices.parent)
    parents = np.where(choices.parent >= 0, choices.parent, n_nodes)
    return np.concatenate([parents, np.arange(n_nodes)])


def option_probabilities(choices: ChoiceTree, P: Floats) -> Floats:
    """Return the probability of each option given its node (options × rows); 0 of those that cannot be."""
    n_nodes, ends = len(choices.parent), choices.class_nodes
    joint = np.zeros((2 * n_nodes, len(P)))
    joint[ends + np.where(choices.is_end[ends], 0, n_nodes)] = P.T
    for v in choices.nodes[::-1]:
        joint[v] += joint[n_nodes + v]
        if choices.parent[v] >= 0:
            joint[choices.parent[v]] += joint[v]
    whole = np.vstack([joint[:n_nodes], np.ones((1, len(P)))])[option_parents(choices)]
    return np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0)


def log_odds(probabilities: Floats) -> Floats:
    """Return log p/(1 − p), within bounds; −inf of 0."""
    with np.errstate(divide="ignore"):
        z = np.log(probabilities) - np.log1p(-np.minimum(probabilities, 1.0))
    return np.where(probabilities > 0, np.clip(z, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS), -np.inf)
