"""`Rule`: the base of all rules, and how probabilities are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from cladist.errors import LabelError, ModelFormatError, ParameterError
from cladist.kernels import decision
from cladist.labels import LabelMatrix, TopK, encode
from cladist.taxonomy import Taxonomy, as_taxonomy

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CHUNK_BYTES = 2**26  # of probabilities that are worked on at once
MOST_TOTAL = 1 + 1e-4  # probabilities of a row may sum to a little more than 1 in float32


class Answers(NamedTuple):
    """What a rule decides: one node, or a set of nodes, for every row.

    Attributes
    ----------
    nodes : int array (rows,) or LabelMatrix
        Node ids, −1 where the rule abstains; or sets, which are empty there.
    confidence : float array (rows,)
        The probability of the node, or that of the whole set where the rule knows it; NaN where it does not.
    """

    nodes: Any
    confidence: Floats

    @property
    def abstained(self) -> npt.NDArray[np.bool_]:
        """Whether each row has no answer."""
        if isinstance(self.nodes, LabelMatrix):
            return np.diff(self.nodes.indptr) == 0
        return np.asarray(self.nodes < 0)


class ClassTree:
    """A taxonomy and the nodes that the columns of probabilities stand for, as kernels read them."""

    def __init__(self, taxonomy: Taxonomy, nodes: Ids) -> None:
        self.taxonomy, self.nodes = taxonomy, nodes
        closure = LabelMatrix.from_nodes(nodes, taxonomy)
        self.closure = closure.indptr, closure.indices.astype(np.int64)
        self.is_tree = taxonomy.kind != "dag"

    @property
    def n_classes_below(self) -> Ids:
        """The number of classes at and below each node."""
        return np.bincount(self.closure[1], minlength=self.taxonomy.n_nodes).astype(np.int64)

    def contains(self, nodes: Ids, labels: Ids) -> npt.NDArray[np.bool_]:
        """Tell whether each label is at or below its node; −1, above all roots, contains every label."""
        meetings = self.taxonomy.common_ancestors(np.maximum(nodes, 0), labels)
        return np.asarray((meetings == nodes) | (nodes < 0))


class Rule(BaseEstimator):
    """Base of the rules: `_fit` learns from calibration rows, if there is anything to learn, and `_answer` decides.

    Attributes
    ----------
    taxonomy_ : Taxonomy
    class_nodes_ : int array
        The node of each column of P.
    sets_ : bool
        Whether rows have sets of labels; P then holds the probability of each node by itself.
    """

    name: ClassVar[str] = ""
    needs_labels: ClassVar[bool] = False  # whether `fit` needs y
    takes_sets: ClassVar[bool] = False  # whether it decides for sets of labels
    _fitted: ClassVar[tuple[str, ...]] = ()

    taxonomy_: Taxonomy
    class_nodes_: Ids
    sets_: bool

    # ---------------------------------------------------------------- hooks

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""

    def _fit(self, top: TopK, labels: LabelMatrix | None, tree: ClassTree) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _answer(self, top: TopK, tree: ClassTree) -> Answers:
        """Return one node per row."""

    def _answer_sets(self, marginals: Floats) -> LabelMatrix:
        """Return a set of nodes per row from the probability of every node; for rules that take sets."""
        raise ParameterError(f"{type(self).__name__} does not decide for sets of labels.")

    def needs_longer_lists(self, n_listed: int) -> bool:
        """Tell, once fitted, whether lists of so many classes per row are too short for good answers."""
        return False

    # ---------------------------------------------------------------- fit and decide

    def fit(self, P: Any, y: Any, taxonomy: Any, *, classes: Any = None, sets: bool | None = None) -> Self:
        """Learn from calibration rows: rows that the model that gave P was not trained on.

        Parameters
        ----------
        P : array (rows × classes) or TopK
            Probabilities. For sets of labels an array (rows × nodes): the probability of each node by itself, in which
            no node exceeds a parent.
        y : labels in any form, or None
            The true labels; None for rules that learn nothing, such as `MinimumRisk`.
        taxonomy : Taxonomy, mapping, edges or path of a file
        classes : sequence of names, optional
            The node of each column; the leaves in taxonomy order by default, for sets of labels all nodes.
        sets : bool, optional
            Whether rows have sets of labels; by default, if y has a form that can hold several labels per row.
        """
        self.check_parameters()
        self.taxonomy_ = as_taxonomy(taxonomy)
        who = type(self).__name__
        encoded = None if y is None else encode(y, self.taxonomy_)
        self.sets_ = bool(encoded is not None and encoded.form.is_multi) if sets is None else bool(sets)
        if self.sets_ and not self.takes_sets:
            raise ParameterError(f"{who} decides for one label per row; this y holds sets of labels.")
        if encoded is None and self.needs_labels:
            raise ParameterError(f"{who}: fit needs the true labels y of the calibration rows.")
        self.class_nodes_ = self._columns(classes)
        top = self._read(P)
        if encoded is not None and len(encoded.labels) != len(top):
            raise LabelError(f"{who}: P has {len(top)} rows and y has {len(encoded.labels)}.")
        self._fit(top, None if encoded is None else encoded.labels, self._tree())
        return self

    def decide(self, P: Any) -> npt.NDArray[Any]:
        """Return the name of the node decided on for every row, None where the rule abstains.

        Rules for sets return a set of names per row: the deepest nodes, whose ancestors are implied.

        Parameters
        ----------
        P : array (rows × classes) or TopK
            As in `fit`.
        """
        nodes = self.answer(P).nodes
        names = self.taxonomy_.names
        if isinstance(nodes, LabelMatrix):
            return np.fromiter(map(set, nodes.frontier_names()), dtype=object, count=len(nodes))
        return np.array([None if v < 0 else names[v] for v in nodes.tolist()], dtype=object)

    def answer(self, P: Any) -> Answers:
        """Return the answers as node ids or sets, with their probabilities.

        Parameters
        ----------
        P : array (rows × classes) or TopK
            As in `fit`.
        """
        if not hasattr(self, "taxonomy_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit(P, y, taxonomy) first.")
        top = self._read(P)
        if self.sets_:
            labels = self._answer_sets(top.probabilities)
            return Answers(labels, np.full(len(labels), np.nan))
        tree = self._tree()
        parts = [self._answer(part, tree) for part in chunks(top)]
        confidence = np.concatenate([np.zeros(0), *(part.confidence for part in parts)])
        if parts and isinstance(parts[0].nodes, LabelMatrix):
            return Answers(LabelMatrix.from_parts([part.nodes for part in parts], self.taxonomy_), confidence)
        return Answers(np.concatenate([np.zeros(0, np.int64), *(part.nodes for part in parts)]), confidence)

    def _tree(self) -> ClassTree:
        return ClassTree(self.taxonomy_, self.class_nodes_)

    def _columns(self, classes: Any) -> Ids:
        """Return the node of each column of P."""
        if classes is None:
            return np.arange(self.taxonomy_.n_nodes) if self.sets_ else self.taxonomy_.leaves
        nodes = np.array([self.taxonomy_.index(name) for name in classes], dtype=np.int64)
        if len(np.unique(nodes)) < len(nodes):
            raise LabelError(f"{type(self).__name__}: classes must be different nodes; one is given twice.")
        if self.sets_ and not np.array_equal(nodes, np.arange(self.taxonomy_.n_nodes)):
            raise LabelError(
                f"{type(self).__name__}: for sets of labels, P needs the probability of every node, in the order of "
                "taxonomy.names; CalibratedClassifier.predict_proba(X, nodes='all') gives it."
            )
        return nodes

    def _read(self, P: Any) -> TopK:
        """Return probabilities, checked, as `TopK`; of an array, with all columns in their order."""
        return read_probabilities(type(self).__name__, P, len(self.class_nodes_), sets=self.sets_)

    # ---------------------------------------------------------------- saving

    def to_dict(self) -> dict[str, Any]:
        """Return a fitted rule, without its taxonomy, as plain values and arrays that `from_dict` restores."""
        fitted = {name: getattr(self, name) for name in ("class_nodes_", "sets_", *self._fitted)}
        return {"name": self.name, "parameters": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], taxonomy: Taxonomy) -> Self:
        """Restore the values of `to_dict`; anything else is a `ModelFormatError`."""
        parameters, fitted = content.get("parameters"), content.get("fitted")
        if (
            content.get("name") != cls.name
            or not (isinstance(parameters, Mapping) and set(parameters) <= set(cls._get_param_names()))
            or not (isinstance(fitted, Mapping) and set(fitted) == {"class_nodes_", "sets_", *cls._fitted})
        ):
            raise ModelFormatError(f"These are not the values that {cls.__name__} writes, or those of another version.")
        rule = cls(**parameters)
        rule.check_parameters()
        rule.taxonomy_ = taxonomy
        for name, value in fitted.items():
            setattr(rule, name, value)
        nodes = rule.class_nodes_
        if (
            not isinstance(nodes, np.ndarray)
            or nodes.dtype.kind != "i"
            or nodes.ndim != 1
            or not isinstance(rule.sets_, bool)
        ):
            raise ModelFormatError(f"The classes of this {cls.__name__} are damaged.")
        if len(nodes) and not 0 <= nodes.min() <= nodes.max() < taxonomy.n_nodes:
            raise ModelFormatError(f"The classes of this {cls.__name__} are not nodes of its taxonomy.")
        return rule


def chunks(top: TopK) -> Iterator[TopK]:
    """Yield some rows at a time."""
    rows = max(1, CHUNK_BYTES // (8 * max(1, top.columns.shape[1])))
    for first in range(0, len(top), rows):
        yield TopK(top.columns[first : first + rows], top.probabilities[first : first + rows])


def read_probabilities(who: str, P: Any, n_classes: int, *, sets: bool = False) -> TopK:
    """Return probabilities as `TopK`, refusing numbers that are none; an array is not copied."""
    if isinstance(P, TopK):
        columns, values = np.asarray(P.columns, np.int64), np.asarray(P.probabilities, np.float64)
        if columns.ndim != 2 or columns.shape != values.shape:
            raise LabelError(f"{who}: a TopK holds two arrays (rows × k); got {columns.shape} and {values.shape}.")
        if columns.size and not 0 <= columns.min() <= columns.max() < n_classes:
            raise LabelError(f"{who}: the columns of this TopK go beyond the {n_classes} classes.")
    else:
        values = np.ascontiguousarray(P, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != n_classes:
            raise LabelError(f"{who}: P must be rows × classes, here {n_classes} classes; got shape {values.shape}.")
        columns = np.broadcast_to(np.arange(n_classes), values.shape)
    if values.size and not 0 <= values.min() <= values.max() <= MOST_TOTAL:  # NaN fails too
        raise LabelError(f"{who}: probabilities lie between 0 and 1; P has others, such as scores or NaN.")
    if not sets and values.size and values.sum(axis=1).max() > MOST_TOTAL:
        row = int(values.sum(axis=1).argmax())
        raise LabelError(
            f"{who}: the probabilities of row {row} sum to {values[row].sum():.3f}, more than 1; classes exclude each "
            "other unless y holds sets of labels."
        )
    return TopK(columns, values)


def sum_to_nodes(P: Any, taxonomy: Taxonomy, *, classes: Any = None) -> Floats:
    """Return the probability of every node, that of its label being there or below (rows × nodes).

    Parameters
    ----------
    P : array (rows × classes) or TopK
        The probabilities of classes that exclude each other.
    taxonomy : Taxonomy
        A tree, forest or DAG.
    classes : sequence of names, optional
        The node of each column; the leaves in taxonomy order by default.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> sum_to_nodes([[0.5, 0.25, 0.25]], taxonomy).tolist()  # art, tennis, chess
    [[0.5, 0.5, 0.25, 0.25]]
    """
    nodes = taxonomy.leaves if classes is None else np.array([taxonomy.index(name) for name in classes])
    top = read_probabilities("sum_to_nodes", P, len(nodes))
    masses: Floats = decision.node_masses(*top, *ClassTree(taxonomy, nodes).closure, taxonomy.n_nodes)
    return masses
