"""`OnlineClassifier`: training row by row, on labels and nodes that may arrive later.

A learner provides `fit` and the hooks below, beside those of `HierarchicalClassifier`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cladist import checkpoints, progress
from cladist.errors import LabelError, ParameterError, one_of
from cladist.labels import LabelMatrix, encode
from cladist.labels.paths import refuse_ambiguous
from cladist.learners.base import HierarchicalClassifier, random_generator
from cladist.learners.explanation import Explanation, nodes_to_explain

Entry = dict[str, Any]
Ids = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max
NO_NODES = np.zeros(0, np.int64)
MOST_HISTORY = 1000  # entries of `history_`, so that a stream of single rows does not fill the memory


def _can_grow(model: Any) -> bool:
    """Return True, or raise if the model cannot be trained on more rows."""
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise AttributeError("partial_fit cannot grow a precomputed kernel; name the kernel instead.")
    return True


class OnlineClassifier(HierarchicalClassifier):
    """Base of the learners that are trained row by row."""

    kernel: Any
    allowed_labels: Any
    decode: str
    shuffle: bool
    random_state: Any
    verbose: bool | int

    rows_seen_: int
    n_iter_: int
    history_: list[Entry]
    converged_: bool
    gamma_: float

    def start(self, X: Any) -> None:
        """Make the state before the first round."""
        raise NotImplementedError

    def run_rounds(self, X: Any, labels: LabelMatrix, *, predicting: bool) -> tuple[Entry, Any]:
        """Make one round per row; returns their entry of `history_` and, if `predicting`, each row's prediction."""
        raise NotImplementedError

    def move_nodes(self, new_id: Ids, node: int) -> None:
        """Move the state of each node to its new id, and make that of the new node."""
        raise NotImplementedError

    def explain_nodes(self, X: Any, nodes: Ids) -> list[Explanation]:
        """Explain node ``nodes[i]`` of every (validated) row i."""
        raise NotImplementedError

    @available_if(_can_grow)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train on some rows, in their order, continuing from the current state.

        The model is the same whether rows come in one call or in many.

        Parameters
        ----------
        X, y : array-like, CSR or data frame (rows × features), labels in any form
            The rows, and one label or, for learners that predict sets, a set of labels per row.
        classes : sequence of labels, optional
            All labels that will occur; needed in the first call if there is no taxonomy.
        """
        X, labels = self.validate_batch(X, y, classes)
        self.train_rows(X, labels)
        return self

    @available_if(_can_grow)  # type: ignore[untyped-decorator]
    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Predict each row and then train on it, before the next row; returns the predictions.

        The result is that of `predict` and `partial_fit` called in turn on single rows, in one pass.

        Parameters
        ----------
        X, y, classes : rows, labels in any form, sequence of labels or None
            As for `partial_fit`; predictions are returned in the form of y.
        """
        rows, labels = self.validate_batch(X, y, classes)
        predictions = self.train_rows(rows, labels, predicting=True)
        if isinstance(predictions, LabelMatrix):
            return self.label_form_.render(predictions)
        return self.label_form_.render_nodes(predictions, self.taxonomy_)

    def begin(self, X: Any, nodes: Ids = NO_NODES) -> None:
        """Reset the model, with the labels `nodes` as known ones."""
        self.allow_labels(nodes, grow=False)
        self.start(X)
        self.rows_seen_, self.n_iter_, self.history_ = 0, 0, []

    def train_rows(self, X: Any, labels: LabelMatrix, *, predicting: bool = False) -> Any:
        """Make one round per row, and return the predictions before each if `predicting`."""
        predictions = self.record(self.run_rounds, X, labels, predicting=predicting)
        self.history_ = self.history_[-MOST_HISTORY:]
        self.rows_seen_ += X.shape[0]
        return predictions

    def record(self, rounds: Callable[..., tuple[Entry, Any]], *arguments: Any, **options: Any) -> Any:
        """Call `rounds`, add its entry and the seconds to `history_`, and return its predictions."""
        started = time.perf_counter()
        with progress.show_lines(self.verbose):
            entry, predictions = rounds(*arguments, **options)
        self.n_iter_ += 1
        self.history_ = [*self.history_, {**entry, "seconds": time.perf_counter() - started}]
        return predictions

    def passes(self, n_rows: int, n_passes: int, *state: checkpoints.Attributes) -> Iterator[Ids]:
        """Yield the order of the rows in each pass of `fit`; after each, what has changed is kept in a checkpoint."""
        kept = checkpoints.scope("passes")
        learner: checkpoints.Attributes = (self, ("n_iter_", "history_", "rows_seen_", "converged_", "class_nodes_"))
        found = kept.load()
        if found is not None:
            checkpoints.restore(found[1], learner, *state)
            self.set_classes(self.class_nodes_)
        for number, order in enumerate(self.row_orders(n_rows, n_passes)):
            if found is None or number >= found[0]:
                yield order
                done = number + 1
                kept.save(lambda: [done, checkpoints.state_of(learner, *state)])  # noqa: B023 - at once

    def row_orders(self, n_rows: int, n_passes: int) -> Iterator[Ids]:
        """Yield the order of the rows in each pass of `fit`."""
        random = random_generator(type(self).__name__, self.random_state)
        for _ in range(n_passes):
            yield random.permutation(n_rows) if self.shuffle else np.arange(n_rows)

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return X as float32 or float64, dense or CSR, or raise as scikit-learn does.

        scikit-learn's validation takes longer than a round; rows that need none, as most in a stream, pass here.
        """
        if not reset and not hasattr(self, "feature_names_in_") and _is_valid(X, self.n_features_in_):
            return X
        return super()._checked_rows(X, reset=reset)

    def validate_batch(self, X: Any, y: Any, classes: Any) -> tuple[Any, LabelMatrix]:
        """Return valid rows and labels; the first batch sets the taxonomy and the form of y and begins the model."""
        self.check_parameters()
        is_first = not hasattr(self, "rows_seen_")
        X = self._checked_rows(X, reset=is_first)
        self._check_lengths(X)
        labels = self._encode_batch(X, y, classes, is_first=is_first)
        self.check_labels(labels)
        if is_first:
            self.begin(X)
        return X, labels

    def _encode_batch(self, X: Any, y: Any, classes: Any, *, is_first: bool) -> LabelMatrix:
        """Return the labels of every row; the first batch sets the taxonomy and the form of y."""
        who = type(self).__name__
        if is_first and self.taxonomy is None and classes is None:
            raise LabelError(f"{who}: the first partial_fit needs a taxonomy, or all labels in `classes`.")
        taxonomy = (self._given_taxonomy() if is_first else self.taxonomy_) or encode(
            classes, None, lists="paths"
        ).taxonomy
        if classes is not None:
            named = np.unique(encode(classes, taxonomy, lists="paths").labels.indices)
            if self.taxonomy is None and len(named) < taxonomy.n_nodes:
                raise LabelError(f"{who}: `classes` must be the same in every call of partial_fit; some are missing.")
        reading = self.reading_of_lists if is_first else self.label_form_.reading_of_lists
        encoded = encode(y, taxonomy, lists=reading)
        if is_first and self.taxonomy is None and reading == "auto":
            refuse_ambiguous(encoded.form, y)
        if len(encoded.labels) != X.shape[0]:
            raise LabelError(f"X has {X.shape[0]} rows and y has {len(encoded.labels)}; give one label per row.")
        if is_first:
            self.taxonomy_, self.label_form_ = taxonomy, encoded.form
        return encoded.labels

    def check_labels(self, labels: LabelMatrix) -> None:
        """Raise if this learner cannot be trained on the labels in the form it began with."""
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes(type(self).__name__)

    @property
    def node_coef_(self) -> npt.NDArray[Any]:
        """The vectors of all nodes, one row per node in `taxonomy_.names` order."""
        raise NotImplementedError

    @property
    def coef_(self) -> npt.NDArray[Any]:
        """The vectors of the classes' own nodes, one row per class."""
        return self.node_coef_[self.class_nodes_]

    def predict_nodes(self, X: Any) -> Ids:
        """Return the class of highest score of every (validated) row; node 0 while there is no class."""
        if not len(self.class_nodes_):
            return np.zeros(X.shape[0], np.int64)
        return super().predict_nodes(X)

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature, or with a kernel every training row, adds to a label's score at each node.

        The score is the sum over the path (`Hieron`) or the lowest margin on it. In the second case, with one label per
        row, a label that is not a leaf has one more part, that of its best child with the signs reversed: evidence for
        the child is evidence against ending here.

        Parameters
        ----------
        X, nodes : rows, sequence of labels or None
            The rows, and the label to explain of each; None: the one of highest score.
        """
        rows = self._fitted_rows(X)
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        return self.explain_nodes(rows, ids)

    def check_allowed(self) -> None:
        """Raise unless the parameter `allowed_labels` describes labels."""
        who, allowed = type(self).__name__, self.allowed_labels
        if isinstance(allowed, str):
            one_of(who, "allowed_labels", allowed, ("all", "leaves", "seen"))
        elif not isinstance(allowed, Iterable):
            raise ParameterError(
                f"{who}: allowed_labels must be 'all', 'leaves', 'seen' or a list of labels; got {allowed!r}."
            )

    def allow_labels(self, nodes: Ids, *, grow: bool = True) -> Ids:
        """Make the labels `nodes` of some rows predictable if `allowed_labels` says so; refuse labels that it excludes.

        Returns, by node, the row after which it can be predicted: −1 for the start, `NEVER` if it cannot. With
        ``grow=False`` only these rows count. For sets every node is a class from the start.
        """
        taxonomy, allowed = self.taxonomy_, self.allowed_labels
        if self.decodes_sets:
            if not grow:
                self.set_classes(np.arange(taxonomy.n_nodes))
            return np.full(taxonomy.n_nodes, -1)
        self.check_allowed()
        classes = self.class_nodes_ if grow else NO_NODES
        since = np.full(taxonomy.n_nodes, NEVER)
        since[classes] = -1
        if not isinstance(allowed, str):
            since[[taxonomy.index(name) for name in allowed]] = -1
        elif allowed == "seen":
            np.minimum.at(since, nodes, np.arange(len(nodes)))
        else:
            since[taxonomy.leaves if allowed == "leaves" else slice(None)] = -1
        outside = np.flatnonzero(since[nodes] == NEVER)
        if len(outside):
            who, name = type(self).__name__, taxonomy.names[nodes[outside[0]]]
            raise LabelError(f"{who}: row {outside[0]} has the label {name!r}, which allowed_labels does not allow.")
        predictable = np.flatnonzero(since != NEVER)
        if not (grow and len(predictable) == len(classes)):  # rendering their names takes longer than a round
            self.set_classes(predictable)
        return since

    def add_node(self, name: Any, parent: Any = None) -> Self:
        """Add a leaf to the taxonomy; the state of all other nodes stays the same, bit for bit.

        The new node has seen no row yet. It joins `classes_` at once, or with its first row if
        ``allowed_labels="seen"``. The parameter `taxonomy` does not change: a later `fit` begins from it.

        Parameters
        ----------
        name, parent : str, str or None
            The name of the new node, and the node above it; None adds a root.

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
        new_id = np.array([grown.index(node_name) for node_name in before.names], np.int64)
        node = int(np.setdiff1d(np.arange(grown.n_nodes), new_id)[0])
        self.taxonomy_ = grown
        classes = np.sort(new_id[self.class_nodes_])
        if isinstance(self.allowed_labels, str) and self.allowed_labels != "seen":
            classes = grown.leaves if self.allowed_labels == "leaves" else np.arange(grown.n_nodes)
        self.move_nodes(new_id, node)
        self.set_classes(classes)
        return self

    def pack_counters(self) -> dict[str, Any]:
        """Return the plain values of a model file."""
        return {
            "history": self.history_,
            "n_iter": self.n_iter_,
            "rows_seen": self.rows_seen_,
            "converged": self.converged_,
            "gamma": getattr(self, "gamma_", None),
        }

    def unpack_counters(self, state: dict[str, Any]) -> None:
        """Restore the plain values of a model file."""
        self.history_, self.n_iter_, self.rows_seen_ = state["history"], state["n_iter"], state["rows_seen"]
        self.converged_ = state["converged"]
        self.check_allowed()
        if state["gamma"] is not None:
            self.gamma_ = state["gamma"]


def progress_blocks(who: str, n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows, reporting progress after each."""
    with progress.task(who, n_rows, unit="rows") as running:
        for start in range(0, n_rows, size):
            block = slice(start, min(start + size, n_rows))
            yield block
            running.advance(block.stop - block.start)


def _is_valid(X: Any, n_features: int) -> bool:
    """Return whether rows need no conversion and validation would accept them."""
    is_csr = isinstance(X, (sparse.csr_array, sparse.csr_matrix))
    if not (is_csr or type(X) is np.ndarray) or X.dtype not in (np.float32, np.float64) or X.ndim != 2:
        return False
    if X.shape[1] != n_features or X.shape[0] == 0 or (is_csr and not X.has_canonical_format):
        return False
    values = X.data if is_csr else X
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all values are finite; if it overflows, validation looks at each value.
        return bool(np.isfinite(values.sum()))
