"""`calibrate`: scores of classes → probabilities that are coherent over the taxonomy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import ChoiceTree, fit_nested_logit
from cladist.errors import LabelError, ParameterError, one_of
from cladist.labels import LabelMatrix, encode
from cladist.taxonomy import Taxonomy

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

METHODS = ("temperature", "platt", "isotonic", "vector")
LEVELS = ("leaves", "levels", "nodes")


class Calibrator(NamedTuple):
    """A fitted calibration: scores of classes → probabilities of classes and of nodes.

    Attributes
    ----------
    taxonomy : Taxonomy
    class_nodes : array
        The node id of each class, in the order of the columns.
    model : NestedLogit
        The probabilities of classes.
    """

    taxonomy: Taxonomy
    class_nodes: Ids
    model: Any

    def predict(self, scores: npt.ArrayLike) -> Floats:
        """Return the probability of every class (rows × classes).

        Parameters
        ----------
        scores : array (rows × classes)
            Columns as in `calibrate`; −inf: the class cannot be.
        """
        return np.exp(self.log_probabilities(scores))

    def log_probabilities(self, scores: npt.ArrayLike) -> Floats:
        """Return the logarithms of `predict`, also of probabilities too small for a float."""
        log_p: Floats = self.model.log_probabilities(checked_scores(scores, len(self.class_nodes)))
        return log_p

    def predict_nodes(self, scores: npt.ArrayLike) -> Floats:
        """Return the probability of every node (rows × nodes), in the order of `taxonomy.names`."""
        return self.sum_up(self.predict(scores))

    def sum_up(self, probabilities: Floats) -> Floats:
        """Return the probability of every node: the sum over the classes at and below it."""
        sums: Floats = (self._paths.T @ probabilities.T).T
        return sums

    @property
    def _paths(self) -> sparse.csr_array:
        """The nodes at and above each class (classes × nodes)."""
        return LabelMatrix.from_nodes(self.class_nodes, self.taxonomy).to_indicator().astype(np.float64)


def calibrate(
    scores: npt.ArrayLike,
    y: Any,
    taxonomy: Taxonomy,
    *,
    method: str = "temperature",
    level: str = "levels",
    classes: Any = None,
) -> Calibrator:
    """Fit a calibration to scores of rows that their model was not trained on.

    Parameters
    ----------
    scores : array (rows × classes)
        Scores, not probabilities: the higher, the more likely. −inf: the class cannot be.
    y : labels in any form
        The true labels.
    taxonomy : Taxonomy
    method : {"temperature"}
        A scale of the scores.
    level : {"leaves", "levels", "nodes"}
        Whether there is one scale, one per level of the taxonomy, or one per node, which is shrunk to its level's.
    classes : sequence of labels, optional
        The nodes of the columns, such as a model's `classes_`; None: the leaves or, if there are as many columns as
        nodes, all nodes, in taxonomy order.

    Returns
    -------
    Calibrator

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[0.0, 2.0, 1.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [2.0, 1.5, 0.0]] * 5
    >>> calibrator = calibrate(scores, ["tennis", "chess", "art", "tennis"] * 5, taxonomy, level="leaves")
    >>> calibrator.predict([[0.0, 2.0, 1.0]]).round(2)
    array([[0.01, 0.89, 0.1 ]])
    """
    nodes = class_columns(taxonomy, classes, np.shape(scores)[-1])
    values, labels = checked_scores(scores, len(nodes)), encode(y, taxonomy).labels
    if len(values) != len(labels):
        raise LabelError(f"scores have {len(values)} rows, and y has {len(labels)}.")
    targets = labels.nodes("calibrate")
    rows = ListedScores.of(values, columns_of(nodes, taxonomy)[targets])
    return fit_calibrator(rows, targets, taxonomy, nodes, method=method, level=level)


def fit_calibrator(
    rows: ListedScores, targets: Ids, taxonomy: Taxonomy, class_nodes: Ids, *, method: str, level: str
) -> Calibrator:
    """Fit a calibration of single labels to listed scores; `targets` are the true nodes."""
    check_method("calibrate", method, level)
    choices = ChoiceTree(taxonomy, class_nodes, flat=level == "leaves")
    model, _ = fit_nested_logit(choices, rows, targets, level=level, biases=method == "vector")
    return Calibrator(taxonomy, class_nodes, model)


def check_method(who: str, method: str, level: str) -> None:
    """Refuse a method or level that there is not."""
    one_of(who, "method", method, METHODS)
    one_of(who, "level", level, LEVELS)


def columns_of(class_nodes: Ids, taxonomy: Taxonomy) -> Ids:
    """Return the column of every node, −1 where it is no class."""
    columns = np.full(taxonomy.n_nodes, -1, np.int64)
    columns[class_nodes] = np.arange(len(class_nodes))
    return columns


def class_columns(taxonomy: Taxonomy, classes: Any, n_columns: int) -> Ids:
    """Return the nodes of the columns."""
    if classes is not None:
        nodes = np.array([taxonomy.index(name) for name in classes], dtype=np.int64)
    else:
        nodes = np.arange(taxonomy.n_nodes) if n_columns == taxonomy.n_nodes else np.asarray(taxonomy.leaves)
    if len(nodes) != n_columns or len(np.unique(nodes)) != len(nodes):
        raise ParameterError(
            f"calibrate: {n_columns} columns need as many different classes; there are {len(np.unique(nodes))}. Give "
            "the nodes of the columns as `classes`."
        )
    return nodes


def checked_scores(scores: npt.ArrayLike, n_classes: int) -> Floats:
    """Return scores as an array (rows × classes); refuse NaN, +inf and rows without any class."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != n_classes:
        raise ParameterError(f"calibrate: scores must be rows × {n_classes} classes; got shape {values.shape}.")
    if np.isnan(values).any() or (values == np.inf).any():
        raise ParameterError("calibrate: scores must be finite numbers or −inf; some are NaN or +inf.")
    if len(values) and not np.isfinite(values).any(axis=1).all():
        raise ParameterError("calibrate: every row needs a class of finite score.")
    return values
