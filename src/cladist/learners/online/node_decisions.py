"""Labels from the margins of a binary classifier at every node, read from the roots down.

Margins are arrays (rows × nodes). `HierarchicalRLS` and `HierarchicalPerceptron` differ in how they compute them, in
`node_margins`; how they turn them into labels, count mistakes and explain a label is here.
A node is on if its margin reaches `threshold` and, read top-down, its parent is on. Without gates, `repair` makes sets
consistent; for single labels the lowest margin of a path is its score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.decoders import best_labelling, path_margins, top_down
from cladist.errors import ParameterError, one_of
from cladist.labels import LabelMatrix
from cladist.learners.explanation import Explanation, by_feature, row_of
from cladist.learners.kernel_functions import check_kernel
from cladist.learners.online.base import NO_NODES, Entry, Ids, OnlineClassifier
from cladist.learners.row_arrays import check_lengths
from cladist.losses import HLoss

Margins = npt.NDArray[np.float64]
# (rows, labels, number of the first round, whether all margins are needed) → margins or None, uniform H-losses
TrainRows = Callable[[Any, LabelMatrix, int, bool], tuple[Margins | None, Ids]]
REPAIRS = ("top_down", "bottom_up", "best")
NEGLIGIBLE = 1e-6  # sums below are rounding errors, of float32 weights too
UNSEEN = {"positive": 0.0, "negative": -1.0}  # the margin of a node that has seen no row


if TYPE_CHECKING:
    _Learner = OnlineClassifier
else:
    _Learner = object


class NodeDecisions(_Learner):
    """The part that H-RLS and H-PERC share; see the module."""

    kernel: Any
    normalize: bool
    gated: bool
    repair: str
    unseen: str
    threshold: Any

    def node_margins(self, X: Any, *, signs_only: bool = False) -> Margins:
        """Return the margin of every (validated) row and node; with `signs_only` only their signs are right."""
        raise TypeError(f"{type(self).__name__} does not say how it computes margins.")

    def check_decision_parameters(self, *, flags: Iterable[str]) -> None:
        """Raise unless the parameters that RLS and perceptron share, and the boolean ones in `flags`, are valid."""
        who, threshold = type(self).__name__, self.threshold
        check_kernel(self)
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ParameterError(f"{who} needs K(x, x) of new rows, which a precomputed kernel lacks; name a kernel.")
        for name in flags:
            one_of(who, name, getattr(self, name), (False, True))
        one_of(who, "unseen", self.unseen, tuple(UNSEEN))
        one_of(who, "repair", self.repair, REPAIRS)
        if type(threshold) is bool or not isinstance(threshold, (int, float, np.integer, np.floating)):
            raise ParameterError(f"{who}: threshold must be a number; got {threshold!r}.")
        self._check_decode(self.decode)

    def scales_rows(self) -> bool:
        """Return whether rows are scaled to unit length; other kernels scale in their own space."""
        return bool(self.normalize and self.kernel == "linear")

    def _check_lengths(self, X: Any) -> None:
        """Raise if a row that is not scaled is too long to train on."""
        if not self.scales_rows():
            check_lengths(type(self).__name__, X)

    def is_top_down(self) -> bool:
        """Return whether sets are read from the roots down, so that only nodes below predicted ones matter."""
        return self.gated or self.repair == "top_down"

    def decode_sets(self, margins: Margins) -> LabelMatrix:
        """Return the nodes whose margin reaches the threshold, made consistent."""
        on = margins >= self.threshold  # a margin of 0 is positive, as in the paper
        if self.is_top_down():
            return top_down(np.where(on, 1.0, -1.0), self.taxonomy_)
        if self.repair == "best":
            return best_labelling(margins - self.threshold, self.taxonomy_)
        indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
        return LabelMatrix.from_ids(indptr, np.nonzero(on)[1], self.taxonomy_)

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the predicted labels of every (validated) row."""
        signs_only = self.threshold == 0 and (self.gated or self.repair != "best")
        parts = [self.decode_sets(self.node_margins(chunk, signs_only=signs_only)) for chunk in self._chunks(X)]
        return LabelMatrix.from_parts(parts, self.taxonomy_)

    def decode_nodes(self, margins: Margins, since: Ids, first: int) -> Ids:
        """Return the best label of every row among those that could be predicted before it; see `allow_labels`."""
        scores = path_margins(margins - self.threshold, self.taxonomy_)
        is_late = since[None, :] >= first + np.arange(len(scores))[:, None]
        is_late[is_late.all(axis=1)] = False  # before the first label all nodes are candidates
        return np.where(is_late, -np.inf, scores).argmax(axis=1)

    def class_scores(self, X: Any) -> Margins:
        """Return the score of every class for every (validated) row: its margin, or the lowest margin on its path."""
        over = self.node_margins(X) - self.threshold
        if self.decodes_sets and not self.gated:
            return over
        return path_margins(over, self.taxonomy_, ends=not self.decodes_sets)[:, self.class_nodes_]

    def count_first_mistakes(self, margins: Margins, labels: LabelMatrix) -> Ids:
        """Return the uniform H-loss of the labels that these margins predict top-down, by row.

        Only nodes whose true parent is on are counted, and their margins are known.
        """
        on = labels.to_indicator().toarray().astype(bool)
        wrong = (margins >= self.threshold) != on
        right_above = np.ones_like(on)
        for level in self.taxonomy_.levels[1:]:
            above = self.taxonomy_.parent[level]
            wrong[:, level] &= on[:, above]
            right_above[:, level] = right_above[:, above] & ~wrong[:, above]
        return np.count_nonzero(wrong & right_above, axis=1)

    def train_in_chunks(self, train: TrainRows, X: Any, labels: LabelMatrix, *, predicting: bool) -> tuple[Entry, Any]:
        """Train chunk by chunk; returns the entry of `history_` and, if `predicting`, each row's prediction."""
        who, taxonomy, sets = type(self).__name__, self.taxonomy_, self.decodes_sets
        since = self.allow_labels(NO_NODES if sets else labels.nodes(who))
        is_repaired = sets and not self.is_top_down()  # then the H-loss is that of the repaired sets
        predictions: list[Any] = []
        h_loss = n_wrong = n_rows = 0
        for rows in self._chunks(X):
            part = labels if rows is X else labels[n_rows : n_rows + rows.shape[0]]
            margins, losses = train(rows, part, self.rows_seen_ + n_rows + 1, predicting or is_repaired)
            if margins is not None:
                predictions.append(self.decode_sets(margins) if sets else self.decode_nodes(margins, since, n_rows))
            if is_repaired:
                losses = HLoss().per_example(part, predictions[-1], taxonomy).astype(np.int64)
            h_loss, n_wrong = h_loss + int(losses.sum()), n_wrong + int(np.count_nonzero(losses))
            n_rows += rows.shape[0]
        entry = {"objective": h_loss / max(1, n_rows), "rounds": n_rows}
        if sets:
            entry["zero_one_loss"] = n_wrong / max(1, n_rows)
            return entry, LabelMatrix.from_parts(predictions, taxonomy) if predicting else None
        if not predicting:
            return entry, None
        nodes, true = np.concatenate(predictions), labels.nodes(who)
        entry["multiclass_error"] = float(np.mean(true != nodes))
        entry["tree_induced_error"] = float(np.mean(taxonomy.distances(true, nodes)))
        return entry, nodes

    def explain_nodes(self, X: Any, nodes: Ids) -> list[Explanation]:
        """Explain node ``nodes[i]`` of every row i by what each feature adds to the margins on its path.

        Margins are multiples of the plain scores W x. With one label per row, the best child of a label that is not a
        leaf is one more part, with its signs reversed.
        """
        W, margins, plain = self.node_coef_, self.node_margins(X), self.node_margins(X, signs_only=True)
        self._columns_of([self.taxonomy_.names[v] for v in nodes])  # refuses labels without a score
        feature_names = getattr(self, "feature_names_in_", None)
        taxonomy, rows = self.taxonomy_, sparse.csr_array(X)
        factors = np.divide(margins, plain, out=np.ones_like(plain), where=plain != 0)
        explanations = []
        for i, v in enumerate(nodes.tolist()):
            features, values = row_of(rows, i)
            signs = dict.fromkeys(taxonomy.path_ids(v), 1.0)
            if not self.decodes_sets and not taxonomy.is_leaf[v]:
                children = taxonomy.child_ids(v)
                signs[int(children[margins[i, children].argmax()])] = -1.0
            parts = {}
            for u, sign in signs.items():
                contributions = sign * values * W[u, features] * factors[i, u]
                rest = sign * margins[i, u] - float(contributions.sum())
                constant = (rest if abs(rest) > NEGLIGIBLE else 0.0) - sign * self.threshold  # rest: no row seen
                parts[taxonomy.names[u]] = by_feature(features, contributions, feature_names, constant)
            explanations.append(Explanation.of(taxonomy.names[v], parts, "lowest"))
        return explanations
