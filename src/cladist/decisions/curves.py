"""What a level of confidence costs and gains: curves over calibrated probabilities and true labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.decisions.confidence import information
from cladist.decisions.rule import ClassTree, Floats, read_probabilities
from cladist.errors import LabelError
from cladist.kernels import decision
from cladist.labels import encode
from cladist.losses import Loss, as_loss
from cladist.taxonomy import Taxonomy

LEVELS = np.linspace(0.0, 1.0, 101)[1:]


class AutomationCurve(NamedTuple):
    """For each level of confidence, which rows get an answer, where, and how often it is wrong.

    Attributes
    ----------
    level : float array
        Levels of confidence, ascending.
    at_leaf, above, unanswered : float arrays
        Shares of rows whose answer is a class without others below it, a node above, or none.
    error : float array
        Share of the answers that are neither the label nor above it; 0 where there are no answers.
    information : float array
        Mean information of the answers over all rows, wrong ones and missing ones counted as 0: 1 for a class, 0 for a
        root above all classes, 1 − log(classes at and below) / log(classes) between.
    """

    level: Floats
    at_leaf: Floats
    above: Floats
    unanswered: Floats
    error: Floats
    information: Floats

    def best_at(self, error: float) -> dict[str, float] | None:
        """Return the numbers of the lowest level from which on errors are at most this share, None if there is none.

        Read from the rows of the curve, without a guarantee for others; see `RiskControl`.
        """
        holds = np.logical_and.accumulate((self.error <= error)[::-1])[::-1]
        if not holds.any():
            return None
        k = int(np.argmax(holds))
        return {name: float(values[k]) for name, values in self._asdict().items()}


def automation_curve(P: Any, y: Any, taxonomy: Taxonomy, *, classes: Any = None, levels: Any = None) -> AutomationCurve:
    """Return how many rows can be answered at each level of confidence, how deep, and how often wrongly.

    The answer of a row is the deepest node whose probability reaches the level, see `Confidence`.

    Parameters
    ----------
    P : array (rows × classes) or TopK
        Probabilities of rows that were not used to train or calibrate the model.
    y : labels in any form, one per row
    taxonomy : Taxonomy
    classes : sequence of names, optional
        The node of each column; the leaves in taxonomy order by default.
    levels : array, optional
        Levels of confidence, ascending; 0.01, 0.02, …, 1 by default.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["all/sport/tennis", "all/sport/chess", "all/art"])
    >>> P = [[0.05, 0.9, 0.05], [0.1, 0.5, 0.4]]  # art, tennis, chess
    >>> curve = automation_curve(P, ["tennis", "chess"], taxonomy, levels=[0.45, 0.85])
    >>> curve.at_leaf.tolist(), curve.above.tolist(), curve.error.tolist()
    ([1.0, 0.5], [0.0, 0.5], [0.5, 0.0])
    """
    tree, top, true = _read("automation_curve", P, y, taxonomy, classes)
    steps = LEVELS if levels is None else np.asarray(levels, np.float64)
    nodes, _ = decision.deepest_nodes(*top, *tree.closure, taxonomy.depth, steps)
    gain, below = information(tree), tree.n_classes_below
    columns: list[list[float]] = []
    for answers in nodes.T:
        answered = answers >= 0
        right = tree.contains(answers, true) & answered
        at_leaf = answered & (below[answers] == 1)
        n_answers = max(1, int(answered.sum()))
        columns.append([
            float(at_leaf.mean()),
            float((answered & ~at_leaf).mean()),
            float((~answered).mean()),
            float((answered & ~right).sum() / n_answers),
            float(np.where(right, gain[answers], 0.0).mean()),
        ])  # fmt: skip
    return AutomationCurve(steps, *np.array(columns).T)


def risk_coverage_curve(
    P: Any, y: Any, taxonomy: Taxonomy, *, loss: Any = "zero-one", classes: Any = None
) -> tuple[Floats, Floats]:
    """Return the mean loss of the most probable classes of the surest rows, for every share of rows.

    Parameters
    ----------
    P, y, taxonomy, classes
        As in `automation_curve`.
    loss : Loss or name
        See `cladist.losses.as_loss`.

    Returns
    -------
    coverage, risk : float arrays (rows,)
        k / rows, and the mean loss of the k rows with the highest probability of their most probable class.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> P = [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]]  # art, tennis, chess
    >>> risk_coverage_curve(P, ["tennis", "chess"], taxonomy)
    (array([0.5, 1. ]), array([0. , 0.5]))
    """
    tree, top, true = _read("risk_coverage_curve", P, y, taxonomy, classes)
    best = top.probabilities.argmax(axis=1)[:, None]
    answers = tree.nodes[np.take_along_axis(top.columns, best, axis=1)[:, 0]]
    sure = np.take_along_axis(top.probabilities, best, axis=1)[:, 0]
    measure: Loss = as_loss("risk_coverage_curve", loss)
    names = np.array(taxonomy.names, dtype=object)
    losses = measure.per_example(names[true], names[answers], taxonomy)[np.argsort(-sure, kind="stable")]
    counts = np.arange(1, len(losses) + 1)
    return counts / len(losses), np.cumsum(losses) / counts


def _read(who: str, P: Any, y: Any, taxonomy: Taxonomy, classes: Any) -> tuple[ClassTree, Any, npt.NDArray[np.int64]]:
    nodes = taxonomy.leaves if classes is None else np.array([taxonomy.index(name) for name in classes])
    top, labels = read_probabilities(who, P, len(nodes)), encode(y, taxonomy).labels
    if len(top) != len(labels):
        raise LabelError(f"{who}: P has {len(top)} rows and y has {len(labels)}.")
    return ClassTree(taxonomy, nodes), top, labels.nodes(who)
