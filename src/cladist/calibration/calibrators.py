"""`calibrate`: scores of classes → probabilities that are coherent over the taxonomy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.calibration.conditional import Conditional, fit_conditional
from cladist.calibration.curves import Curves
from cladist.calibration.listed_scores import ListedScores
from cladist.calibration.nested_logit import ChoiceTree, NestedLogit, Whole, fit_nested_logit
from cladist.calibration.path_curves import PathCurves
from cladist.calibration.reshaped import Reshaped
from cladist.errors import LabelError, ModelFormatError, ParameterError, one_of
from cladist.labels import LabelMatrix, encode
from cladist.storage.array_groups import Arrays
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
        The taxonomy of the classes.
    class_nodes : array
        The node id of each class, in the order of the columns.
    model : NestedLogit, Conditional or Reshaped
        The first for single labels, the second for sets, the third for single labels in older model files.
    """

    taxonomy: Taxonomy
    class_nodes: Ids
    model: NestedLogit | Conditional | Reshaped

    @property
    def of_sets(self) -> bool:
        """Whether rows have sets of labels, whose probabilities need not sum to 1."""
        return isinstance(self.model, Conditional)

    def predict(self, scores: npt.ArrayLike) -> Floats:
        """Return the probability of every class (rows × classes).

        Parameters
        ----------
        scores : array (rows × classes)
            Columns as in `calibrate`; −inf: the class cannot be.
        """
        if isinstance(self.model, Conditional):
            return self.predict_nodes(scores)[:, self.class_nodes]
        return np.exp(self.log_probabilities(scores))

    def log_probabilities(self, scores: npt.ArrayLike) -> Floats:
        """Return the logarithms of `predict`; of single labels also of probabilities too small for a float."""
        if isinstance(self.model, Conditional):
            with np.errstate(divide="ignore"):
                return np.log(self.predict(scores))
        return self.model.log_probabilities(checked_scores(scores, len(self.class_nodes)))

    def predict_nodes(self, scores: npt.ArrayLike) -> Floats:
        """Return the probability of every node (rows × nodes), in the order of `taxonomy.names`.

        For single labels, the sum over the classes at and below it.
        """
        if isinstance(self.model, Conditional):
            return self.model.node_probabilities(checked_scores(scores, len(self.class_nodes), of_sets=True))
        paths = LabelMatrix.from_nodes(self.class_nodes, self.taxonomy).to_indicator().astype(np.float64)
        sums: Floats = (paths.T @ self.predict(scores).T).T
        return sums

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return plain values and arrays for a file; taxonomy and classes are kept elsewhere."""
        model = self.model
        if isinstance(model, Conditional):
            return {"kind": "conditional"}, model.curves.pack()
        base, curves = (model.base if isinstance(model, Reshaped) else model), model.curves.pack()
        state = {"kind": "nested", "flat": base.choices.flat, "by_maximum": base.by_maximum}
        state["keeps_best"] = base.keeps_best
        return state, {"scales": base.scales, "biases": base.biases, **curves}

    @classmethod
    def unpack(cls, state: dict[str, Any], arrays: Arrays, taxonomy: Taxonomy, class_nodes: Ids) -> Calibrator:
        """Restore what `pack` returned; what does not fit is a `ModelFormatError`."""
        if state["kind"] == "conditional":
            return cls(
                taxonomy, class_nodes, Conditional(taxonomy, class_nodes, Curves.unpack(arrays, taxonomy.n_nodes))
            )
        choices = ChoiceTree(taxonomy, class_nodes, flat=bool(state["flat"]))
        scales, biases = arrays.pop("scales"), arrays.pop("biases")
        if len(scales) != taxonomy.n_nodes + 1 or len(biases) != 2 * taxonomy.n_nodes or not np.all(scales > 0):
            raise ModelFormatError("Its scales of scores are not as many as its nodes, or not positive.")
        base = NestedLogit(choices, scales, biases, bool(state["by_maximum"]))
        if "curve_of" in arrays or "slopes" in arrays:  # of an older version
            return cls(taxonomy, class_nodes, Reshaped(base, Curves.unpack(arrays, 2 * taxonomy.n_nodes)))
        curves = PathCurves.unpack(arrays, choices.n_steps)
        model = base._replace(curves=curves, keeps_best=bool(state.get("keeps_best", False)))
        return cls(taxonomy, class_nodes, model)


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

    For single labels, probabilities of classes sum to 1, and a node has the probability of all classes at and below it;
    inner nodes may be classes of their own. They come from a nested logit model: a softmax over the children of every
    node, each valued by what is below it. For sets of labels, a node has a probability given its parents, fitted on the
    rows that have these; multiplied down, so that no node is more probable than a parent.

    Parameters
    ----------
    scores : array (rows × classes)
        Scores, not probabilities: the higher, the more likely. −inf: the class cannot be.
    y : labels in any form
        The true labels: sets if their form can hold several per row, otherwise single.
    taxonomy : Taxonomy
        A tree, a forest or a DAG.
    method : {"temperature", "platt", "isotonic", "vector"}
        "temperature": scales of the scores, then a curve of the log odds of the best node at each level; with one
        level, scales alone. "vector": also a bias of every node, shrunk to 0, so that a class without a row has those
        of its ancestors. "platt" and "isotonic": always a sigmoid, or a step function; for sets, of the scores.
    level : {"leaves", "levels", "nodes"}
        Whether there is one scale or curve for all classes, without regard to the tree, which with "temperature" is a
        softmax of the scaled scores; one per level of the taxonomy; or one per node, which is shrunk to its level's.
    classes : sequence of labels, optional
        The nodes of the columns, such as a model's `classes_`; None: the leaves or, if there are as many columns as
        nodes, all nodes, in taxonomy order.

    Returns
    -------
    Calibrator
        With `predict` and `predict_nodes`.

    Notes
    -----
    With more than 128 classes, single labels are fitted to the 63 best classes of each row, the true one, and a sample
    of 64 others that stands for them all, and nodes are valued by the maximum below them. A row whose class has a score
    of −inf counts for the deepest node above it that has a class.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> scores = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [1.5, 0.0, 2.0]] * 5
    >>> y = ["tennis", "chess", "art", "tennis"] * 5
    >>> calibrator = calibrate(scores, y, taxonomy, level="leaves", classes=["tennis", "chess", "art"])
    >>> calibrator.predict([[2.0, 1.0, 0.0]]).round(2).tolist()
    [[0.89, 0.1, 0.01]]
    >>> calibrator.predict_nodes([[2.0, 1.0, 0.0]]).round(2).tolist()  # sport, art, tennis, chess
    [[0.99, 0.01, 0.89, 0.1]]
    """
    check_method("calibrate", method, level)
    nodes = class_columns(taxonomy, classes, np.shape(scores)[-1])
    encoded = encode(y, taxonomy)
    labels, of_sets = encoded.labels, encoded.form.is_multi
    values = checked_scores(scores, len(nodes), of_sets=of_sets)
    if len(values) != len(labels):
        raise LabelError(f"scores have {len(values)} rows, and y has {len(labels)}.")
    if of_sets:
        model = fit_conditional(values, labels, nodes, method=method, level=level)
        return Calibrator(taxonomy, nodes, model)
    targets = labels.nodes("calibrate")
    rows = ListedScores.of(values, columns_of(nodes, taxonomy)[targets])
    return fit_calibrator(rows, targets, lambda: [(values, targets)], taxonomy, nodes, method=method, level=level)


def fit_calibrator(
    rows: ListedScores, targets: Ids, whole: Whole, taxonomy: Taxonomy, class_nodes: Ids, *, method: str, level: str
) -> Calibrator:
    """Fit a calibration of single labels to listed scores, and its curves to whole rows; `targets` are true nodes."""
    if rows.columns.shape[1] == len(class_nodes):  # the lists are whole
        whole = lambda: [(rows.scores, targets)]  # noqa: E731
    choices = ChoiceTree(taxonomy, class_nodes, flat=level == "leaves")
    model = fit_nested_logit(choices, rows, targets, level=level, biases=method == "vector")
    if method in ("platt", "isotonic") or not (choices.flat or taxonomy.depth.max() == 0):
        model = model.with_curves(whole, method=method)
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


def checked_scores(scores: npt.ArrayLike, n_classes: int, *, of_sets: bool = False) -> Floats:
    """Return scores as an array (rows × classes); refuse NaN, +inf and, of single labels, rows without any class."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != n_classes:
        raise ParameterError(f"calibrate: scores must be rows × {n_classes} classes; got shape {values.shape}.")
    if np.isnan(values).any() or (values == np.inf).any():
        raise ParameterError("calibrate: scores must be finite numbers or −inf; some are NaN or +inf.")
    if not of_sets and len(values) and not np.isfinite(values).any(axis=1).all():
        raise ParameterError("calibrate: every row needs a class of finite score.")
    return values
