"""What the online learners share: rows that come in pieces, labels that come later, a taxonomy that grows.

A learner provides `check_parameters`, `_begin(X)` (its state before the first row), `_rounds(X, labels, answers)`
(one round a row, in order), `_renumber_nodes(new_id, node)` (its state after a node was added) and the hooks of
`HierarchicalClassifier`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cladist import progress
from cladist.errors import LabelError, ParameterError, one_of
from cladist.labels import Encoded, LabelMatrix, encode
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.label_warnings import warn_of_paths
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
MOST_HISTORY = 1000  # calls that `history_` remembers, so that a stream of single rows does not fill the memory
NEVER = np.iinfo(np.int64).max


def _can_grow(model: Any) -> bool:
    """Say why a model cannot learn from more rows, where it cannot."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise AttributeError("partial_fit cannot grow a precomputed kernel; name the kernel instead.")
    return True


def _is_clean(X: Any, n_features: int) -> bool:
    """Tell whether rows need no conversion and raise no complaint."""
    is_csr = isinstance(X, (sparse.csr_array, sparse.csr_matrix))
    if not (is_csr or type(X) is np.ndarray) or X.dtype not in (np.float32, np.float64) or X.ndim != 2:
        return False
    if X.shape[1] != n_features or X.shape[0] == 0 or (is_csr and not X.has_canonical_format):
        return False
    values = X.data if is_csr else X
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum is finite where all values are, unless it overflows: then the slow way looks again.
        return bool(np.isfinite(values.sum()))


class OnlineClassifier(HierarchicalClassifier):
    """Base of the learners that learn row by row; see the module for what a subclass provides."""

    kernel: Any
    allowed_labels: Any
    shuffle: bool
    random_state: Any
    verbose: bool | int

    rows_seen_: int
    n_iter_: int
    history_: list[dict[str, Any]]
    converged_: bool
    gamma_: float

    # ---------------------------------------------------------------- hooks

    def check_parameters(self) -> None:
        raise TypeError(f"{type(self).__name__} does not check its parameters.")

    def _begin(self, X: Any) -> None:
        """Make the state before the first round."""
        raise TypeError(f"{type(self).__name__} does not say how it begins.")

    def _rounds(self, X: Any, labels: LabelMatrix, *, answers: bool) -> tuple[dict[str, Any], Any]:
        """Make one round a row; returns what `history_` says of them, and the predictions before each if wanted."""
        raise TypeError(f"{type(self).__name__} does not say how it learns.")

    def _renumber_nodes(self, new_id: Ids, node: int) -> None:
        """Move the state of each node to its new id, and make that of a new node."""
        raise TypeError(f"{type(self).__name__} does not say how it grows.")

    # ---------------------------------------------------------------- learning

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return X as float32 or float64, dense or CSR, or raise what scikit-learn would.

        What is such a matrix already, as nearly always in a stream, is looked at here: scikit-learn's own validation
        takes longer than a round.
        """
        if not reset and not hasattr(self, "feature_names_in_") and _is_clean(X, self.n_features_in_):
            return X
        return super()._checked_rows(X, reset=reset)

    @available_if(_can_grow)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from some rows, in their order, going on from where the model is.

        Rows that come in one call and rows that come in many make the same model.

        Parameters
        ----------
        X, y
            As for `fit`.
        classes : sequence of labels, optional
            All labels there will be; needed in the first call where there is no taxonomy.
        """
        X, labels = self._enter_batch(X, y, classes)
        self._learn(X, labels, answers=False)
        return self

    @available_if(_can_grow)  # type: ignore[untyped-decorator]
    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Predict every row, then learn it, before the next is looked at; returns the predictions.

        The same as `predict` and `partial_fit` called in turn with one row each, in one pass.

        Parameters
        ----------
        X, y, classes
            As for `partial_fit`.
        """
        rows, labels = self._enter_batch(X, y, classes)
        answers = self._learn(rows, labels, answers=True)
        if isinstance(answers, LabelMatrix):
            return self.label_form_.render(answers)
        return self.label_form_.render_nodes(answers, self.taxonomy_)

    def _enter_batch(self, X: Any, y: Any, classes: Any) -> tuple[Any, LabelMatrix]:
        """Validate some rows; the first settle the taxonomy and the form of y, and begin the state."""
        self.check_parameters()
        first = not hasattr(self, "rows_seen_")
        X = self._checked_rows(X, reset=first)
        self._check_lengths(X)
        labels = self._labels_of_batch(X, y, classes, first=first)
        if first:
            warn_of_paths(self, y)
            self._check_labels(labels)
            self._allow(np.zeros(0, np.int64))
            self._begin(X)
            self.rows_seen_, self.n_iter_, self.history_ = 0, 0, []
        else:
            self._check_labels(labels)
        return X, labels

    def _check_labels(self, labels: LabelMatrix) -> None:
        """Refuse labels that this learner, in the form it was begun in, cannot learn."""

    def _labels_of_batch(self, X: Any, y: Any, classes: Any, *, first: bool) -> LabelMatrix:
        """Return the labels of every row; the first batch settles the taxonomy and the form of y."""
        who = type(self).__name__
        if first and self.taxonomy is None and classes is None:
            raise LabelError(f"{who}: the first partial_fit needs a taxonomy, or all labels in `classes`.")
        known = (self._given_taxonomy() if first else self.taxonomy_) or encode(classes, None).taxonomy
        if classes is not None:
            self._check_classes(encode(classes, known), known)
        encoded = encode(y, known)
        if len(encoded.labels) != X.shape[0]:
            raise LabelError(f"X has {X.shape[0]} rows and y has {len(encoded.labels)}; one label a row is needed.")
        if first:
            self.taxonomy_, self.label_form_ = known, encoded.form
        return encoded.labels

    def _check_classes(self, announced: Encoded, known: Taxonomy) -> None:
        """Refuse, where there is no taxonomy, other labels than those of the first call."""
        if self.taxonomy is None and len(np.unique(announced.labels.indices)) < known.n_nodes:
            raise LabelError(
                f"{type(self).__name__}: `classes` must be the same in every call of partial_fit; some are missing now."
            )

    def _learn(self, X: Any, labels: LabelMatrix, *, answers: bool) -> Any:
        """Make a round for each row, note what they saw, and return the predictions if they are wanted."""
        started = time.perf_counter()
        with progress.show_lines(self.verbose):
            entry, found = self._rounds(X, labels, answers=answers)
        self.rows_seen_ += X.shape[0]
        self.n_iter_ += 1
        self.history_ = [*self.history_[-MOST_HISTORY + 1 :], {**entry, "seconds": time.perf_counter() - started}]
        return found

    # ---------------------------------------------------------------- labels that can be predicted

    def _allow(self, nodes: Ids, *, grow: bool = False) -> Ids:
        """Let labels be predicted, those seen now among them; returns after which of the rows, by node.

        −1 stands for labels that could be predicted before; a training label outside them is an error.
        """
        self._check_allowed()
        taxonomy, wanted = self.taxonomy_, self.allowed_labels
        since = np.full(taxonomy.n_nodes, NEVER)
        if grow:
            since[self.class_nodes_] = -1
        if isinstance(wanted, str):
            if wanted != "seen":
                since[taxonomy.leaves if wanted == "leaves" else slice(None)] = -1
            else:
                np.minimum.at(since, nodes, np.arange(len(nodes)))
        else:
            since[[taxonomy.index(name) for name in wanted]] = -1
        outside = np.flatnonzero(since[nodes] == NEVER)
        if len(outside):
            name = taxonomy.names[nodes[outside[0]]]
            raise LabelError(
                f"{type(self).__name__}: row {outside[0]} has the label {name!r}, which allowed_labels does not allow."
            )
        allowed = np.flatnonzero(since != NEVER)
        if not (grow and len(allowed) == len(self.class_nodes_)):  # naming them anew takes longer than a round
            self.set_classes(allowed)
        return since

    def _check_allowed(self) -> None:
        """Refuse what names no labels."""
        who, wanted = type(self).__name__, self.allowed_labels
        if isinstance(wanted, str):
            one_of(who, "allowed_labels", wanted, ("all", "leaves", "seen"))
        elif not isinstance(wanted, Iterable):
            raise ParameterError(
                f"{who}: allowed_labels must be 'all', 'leaves', 'seen' or a list of labels; got {wanted!r}."
            )

    @property
    def _allowed(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.taxonomy_.n_nodes, bool)
        mask[self.class_nodes_] = True
        return mask

    # ---------------------------------------------------------------- being saved

    def _told_state(self) -> dict[str, Any]:
        """Return the plain values that a model file holds."""
        return {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "rows_seen": self.rows_seen_,
            "converged": self.converged_,
            "gamma": getattr(self, "gamma_", None),
        }

    def _take_state(self, state: dict[str, Any]) -> None:
        """Restore what `_told_state` gave."""
        self.history_, self.n_iter_, self.rows_seen_ = state["history"], state["n_iter"], state["rows_seen"]
        self.converged_ = state["converged"]
        self._check_allowed()
        if state["gamma"] is not None:
            self.gamma_ = state["gamma"]

    # ---------------------------------------------------------------- growing

    def add_node(self, name: Any, parent: Any = None) -> Self:
        """Add a leaf to the taxonomy; what the model knows of all other nodes stays as it is, bit for bit.

        The new node has seen no row yet. `classes_` gets it at once, or with its first row where
        ``allowed_labels="seen"``. The parameter `taxonomy` stays what it was: a later `fit` begins from that.

        Parameters
        ----------
        name : str
        parent : str or None
            The node to hang it below; None: it becomes a root.

        Examples
        --------
        >>> from cladist import Hieron
        >>> model = Hieron({"tennis": "sport", "chess": "sport"}).partial_fit([[1.0, 0.0]], ["chess"])
        >>> model.add_node("golf", "sport").taxonomy_.names
        ('sport', 'tennis', 'chess', 'golf')
        >>> model.partial_fit([[0.0, 1.0]], ["golf"]).predict([[0.0, 2.0]]).tolist()
        ['golf']
        """
        check_is_fitted(self)
        before, grown = self.taxonomy_, self.taxonomy_.with_node(name, parent)
        new_id = np.array([grown.index(known) for known in before.names], np.int64)
        node = int(np.setdiff1d(np.arange(grown.n_nodes), new_id)[0])
        self.taxonomy_ = grown
        classes = np.sort(new_id[self.class_nodes_])
        if isinstance(self.allowed_labels, str) and self.allowed_labels != "seen":
            classes = grown.leaves if self.allowed_labels == "leaves" else np.arange(grown.n_nodes)
        self._renumber_nodes(new_id, node)
        self.set_classes(classes)
        return self
