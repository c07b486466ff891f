"""Faults of a taxonomy that its rows show: nodes without rows, alike, misplaced, or two in one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.evaluation.doubts import Doubts
from cladist.evaluation.edits import Edit
from cladist.evaluation.two_kinds import labels_of_two_kinds
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.inspection import normalise

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

STARVING = 3  # rows; leaves with fewer can hardly be trained on and tested
DIMENSIONS = 64  # of rows, by singular vectors, in which nodes are compared
FEWEST_ROWS = 5  # of a node that is compared with others
TOLD_APART = 0.75  # area under the ROC curve between the rows of two labels; 0.5 is chance
MISSED = 0.01  # of large random parts of a label; as few pairs are named that are told apart as well as that
LEAST = 1e-9  # added to probabilities
FEWEST_CONFUSED = 3
VOTES = 0.7  # share of a node's rows that are nearer to another branch
LEAST_LETTERS = 6  # of names that may differ by one letter
MOST_WORDS = 8


class Finding(NamedTuple):
    """Something that may be wrong.

    Attributes
    ----------
    kind : str
        See `KINDS`.
    nodes : tuple of str
    rows : tuple of int
        Some of the rows that show it.
    evidence : str
        A sentence.
    sure : float
        From 0 to 1.
    edits : tuple of Edit
        What would put it right; none where a person has to find out.
    """

    kind: str
    nodes: tuple[str, ...]
    rows: tuple[int, ...]
    evidence: str
    sure: float
    edits: tuple[Edit, ...] = ()


KINDS = {
    "label error": "rows whose label is probably wrong",
    "duplicate": "the same row with other labels",
    "near duplicate": "nearly the same row with other labels",
    "in train and test": "rows of the test data that are among the others",
    "no content": "rows without content",
    "inconsistent labels": "labels of a row that imply each other",
    "misplaced": "nodes whose rows fit another branch better",
    "alike": "nodes that cannot be told apart",
    "two in one": "nodes whose rows are of two kinds",
    "spelling": "names that differ by spelling alone",
    "chain": "inner nodes with a single child",
    "empty": "nodes without rows",
    "starving": f"leaves with fewer than {STARVING} rows",
}


def empty_nodes(labels: LabelMatrix) -> Iterator[Finding]:
    """Yield nodes without rows, the highest of each branch, and leaves with few."""
    taxonomy, n_rows = labels.taxonomy, np.bincount(labels.indices, minlength=labels.taxonomy.n_nodes)
    for v in range(taxonomy.n_nodes):
        name = taxonomy.names[v]
        above = taxonomy.parent_ids(v)
        if n_rows[v] == 0 and not (len(above) and np.all(n_rows[above] == 0)):
            below = [taxonomy.names[u] for u in taxonomy.ids_below(v)]
            said = f"No row has {_titled(taxonomy, v)}" + (
                f" or one of the {len(below):,} nodes below it." if below else "."
            )
            edits = tuple(Edit("remove", node=node, sure=1.0, evidence=said) for node in [*below[::-1], name])
            yield Finding("empty", (name,), (), said, 1.0, edits)
        elif 0 < n_rows[v] < STARVING and taxonomy.is_leaf[v]:
            rows = "1 row has" if n_rows[v] == 1 else f"{n_rows[v]} rows have"
            yield Finding("starving", (name,), (), f"Only {rows} {_titled(taxonomy, v)}.", 0.5)


def chains(labels: LabelMatrix) -> Iterator[Finding]:
    """Yield inner nodes with a single child that are no label of their own."""
    taxonomy = labels.taxonomy
    is_label = np.bincount(labels.frontier[1], minlength=taxonomy.n_nodes) > 0
    for v in np.flatnonzero(taxonomy.n_children == 1).tolist():
        name, child = taxonomy.names[v], taxonomy.names[int(taxonomy.child_ids(v)[0])]
        if not is_label[v]:
            said = f"{_titled(taxonomy, v)} has only the child {child!r}, so it decides nothing."
            yield Finding("chain", (name, child), (), said, 1.0, (Edit("remove", node=name, sure=1.0, evidence=said),))


def spellings(labels: LabelMatrix) -> Iterator[Finding]:
    """Yield pairs of nodes whose names differ by case, accents, blanks and signs, or by one letter of long words."""
    taxonomy = labels.taxonomy
    parts = taxonomy.parts or taxonomy.names
    n_rows = np.bincount(labels.indices, minlength=taxonomy.n_nodes)
    groups: dict[str, set[int]] = defaultdict(set)
    for v, part in enumerate(parts):
        key = re.sub(r"[\W_]+", "", normalise(part))
        groups[key].add(v)
        if len(key) >= LEAST_LETTERS and key.isalpha():  # codes differ by a letter or digit
            for k in range(len(key) + 1):
                groups[key[:k] + "?" + key[k:]].add(v)  # a letter more
                groups[key[:k] + "?" + key[k + 1 :]].add(v)  # another letter
    seen = set()
    for key, nodes in groups.items():
        for u, v in combinations(sorted(nodes), 2) if key and 1 < len(nodes) <= MOST_WORDS else ():
            if (u, v) not in seen and parts[u] != parts[v] and not _is_above(taxonomy, u, v):
                seen.add((u, v))
                few, many = sorted((u, v), key=lambda w: n_rows[w])
                said = (
                    f"{parts[few]!r} ({n_rows[few]:,} rows) and {parts[many]!r} ({n_rows[many]:,}) differ by spelling."
                )
                sure = 0.9 if "?" not in key else 0.5
                edit = Edit("merge", node=taxonomy.names[few], new=taxonomy.names[many], sure=sure, evidence=said)
                yield Finding("spelling", (taxonomy.names[few], taxonomy.names[many]), (), said, sure, (edit,))


def _is_above(taxonomy: Taxonomy, u: int, v: int) -> bool:
    return u in taxonomy.ids_above(v) or v in taxonomy.ids_above(u)


def alike_nodes(doubts: Doubts, labels: LabelMatrix, words: Words) -> Iterator[Finding]:
    """Yield pairs of labels of which out-of-fold probabilities do not say which row has which."""
    taxonomy, targets = labels.taxonomy, labels.nodes("diagnose")
    n_rows = np.bincount(targets, minlength=taxonomy.n_nodes)
    rows_of = np.split(np.argsort(targets, kind="stable"), np.cumsum(n_rows)[:-1])
    others = np.where(
        doubts.nodes[:, 0] == targets, doubts.nodes[:, min(1, doubts.nodes.shape[1] - 1)], doubts.nodes[:, 0]
    )
    pairs = Counter(tuple(sorted(pair)) for pair in zip(targets.tolist(), others.tolist(), strict=True))
    for (a, b), count in pairs.items():
        if a == b or count < FEWEST_CONFUSED or min(n_rows[a], n_rows[b]) < FEWEST_CONFUSED:
            continue
        rows = np.concatenate([rows_of[a], rows_of[b]])
        p_a, p_b = (np.where(doubts.nodes[rows] == v, doubts.probabilities[rows], 0.0).sum(axis=1) for v in (a, b))
        ratio = np.log(p_a + LEAST) - np.log(p_b + LEAST)
        told = _told_apart(ratio[: n_rows[a]], ratio[n_rows[a] :])
        if told >= _told_apart_at_most(n_rows[a], n_rows[b]):
            continue
        few, many = sorted((a, b), key=lambda v: n_rows[v])
        names = taxonomy.names[few], taxonomy.names[many]
        together = "siblings" if set(taxonomy.parent_ids(a)) == set(taxonomy.parent_ids(b)) else "in two branches"
        shared = words.shared(rows_of[a], rows_of[b])
        said = (
            f"{_titled(taxonomy, few)} and {_titled(taxonomy, many)} ({together}) are not told apart: of two of their "
            f"{len(rows):,} rows, the one that fits better has the label in {told:.0%}, and by chance in 50%"
            + (f"; both have {', '.join(shared)}." if shared else ".")
        )
        sure = float(min(1.0, 2 * (1 - told)))
        edit = Edit("merge", node=names[0], new=names[1], sure=sure, evidence=said)
        yield Finding(
            "alike", names, tuple(rows[np.argsort(np.abs(ratio), kind="stable")[:5]].tolist()), said, sure, (edit,)
        )


def _told_apart(one: Floats, other: Floats) -> float:
    """Return the share of pairs of values of which that of the one is larger (the area under the ROC curve)."""
    from scipy.stats import rankdata

    n = len(one)
    return float((rankdata(np.concatenate([one, other]))[:n].sum() - n * (n + 1) / 2) / (n * len(other)))


def _told_apart_at_most(n: int, m: int) -> float:
    """Return the area of n and m rows below which they are alike.

    Of labels told apart with an area of `TOLD_APART`, a share of about `MISSED` is below it, and of random parts
    of one label as small a share is above it if there are many rows (variances of Hanley and McNeil 1982).
    """
    from scipy.stats import norm

    def deviation(area: float) -> float:
        two, both = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
        return float(np.sqrt((area * (1 - area) + (n - 1) * two + (m - 1) * both) / (n * m)))

    width = float(norm.isf(MISSED))
    return min(0.5 + width * deviation(0.5), TOLD_APART - width * deviation(TOLD_APART))


class Words:
    """Names of features, and which of them two sets of rows share; without names, none."""

    def __init__(self, rows: Any, names: Any = None) -> None:
        self.rows, self.names = rows, names

    def shared(self, one: Ids, other: Ids) -> list[str]:
        """Return the features with the largest mean in both sets of rows."""
        if self.names is None or not sparse.issparse(self.rows):
            return []
        means = [np.asarray(self.rows[part].mean(axis=0)).ravel() for part in (one, other)]
        both = np.minimum(*means)
        best = np.argsort(-both, kind="stable")[:MOST_WORDS]
        return [str(self.names[j]) for j in best if both[j] > 0]

    def telling(self, one: Ids, other: Ids) -> list[str]:
        """Return the features whose mean in the one set of rows is most above that in the other."""
        if self.names is None or not sparse.issparse(self.rows):
            return []
        means = [np.asarray(self.rows[part].mean(axis=0)).ravel() for part in (one, other)]
        best = np.argsort(means[1] - means[0], kind="stable")[: MOST_WORDS // 2]
        return [str(self.names[j]) for j in best if means[0][j] > means[1][j]]


class Places:
    """Rows in a few dimensions, and the sums of the rows at or below each node."""

    def __init__(self, X: Any, labels: LabelMatrix, random_state: int = 0) -> None:
        from sklearn.decomposition import TruncatedSVD

        n_dimensions = min(DIMENSIONS, min(X.shape) - 1)
        rows = X if X.shape[1] <= DIMENSIONS or n_dimensions < 2 else None
        if rows is None:
            rows = TruncatedSVD(n_dimensions, n_iter=2, random_state=random_state).fit_transform(X)
        values = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, np.float64)
        lengths = np.linalg.norm(values, axis=1)
        self.rows = values / np.where(lengths > 0, lengths, 1.0)[:, None]
        self.rows -= self.rows.mean(axis=0)
        self.labels, self.taxonomy = labels, labels.taxonomy
        indicator = labels.to_indicator()
        self.sums = np.asarray(indicator.T @ self.rows)
        self.counts = np.asarray(indicator.sum(axis=0)).ravel()

    def rows_below(self, v: int) -> Ids:
        """Return the rows at or below a node."""
        return np.flatnonzero(np.asarray(self.labels.to_indicator().tocsc()[:, [v]].toarray()).ravel())

    def misplaced(self) -> Iterator[Finding]:
        """Yield nodes whose rows are nearer to the children of another node of that level than to siblings."""
        taxonomy, found = self.taxonomy, {}
        columns = self.labels.to_indicator().tocsc()
        for p_level in range(len(taxonomy.levels) - 1):
            parents = np.array([p for p in taxonomy.levels[p_level] if not taxonomy.is_leaf[p] and self.counts[p] > 0])
            if len(parents) < 2:
                continue
            centres = self.sums[parents] / self.counts[parents, None]
            centres /= np.maximum(np.linalg.norm(centres, axis=1), 1e-12)[:, None]
            for k, p in enumerate(parents.tolist()):
                for v in taxonomy.child_ids(p).tolist():
                    if v in found or taxonomy.n_parents[v] > 1 or self.counts[v] < FEWEST_ROWS:
                        continue
                    n_others = self.counts[p] - self.counts[v]
                    if n_others < FEWEST_ROWS:
                        continue
                    rows = columns.indices[columns.indptr[v] : columns.indptr[v + 1]]
                    finding = self._judge(v, k, parents, centres, rows)
                    if finding is not None:
                        found[v] = finding
        for v, finding in found.items():
            if not any(u in found for u in taxonomy.ids_above(v).tolist()):
                yield finding

    def _judge(self, v: int, k: int, parents: Ids, centres: Floats, rows: Ids) -> Finding | None:
        """Return the finding about a node, the child of parent k, if its rows vote for another parent."""
        p = int(parents[k])
        own = self.sums[p] - self.sums[v]
        own /= max(float(np.linalg.norm(own)), 1e-12)
        centre = self.sums[v] / max(float(np.linalg.norm(self.sums[v])), 1e-12)
        nearness = centres @ centre
        nearness[k] = -np.inf
        best = int(nearness.argmax())
        margin = float(nearness[best] - own @ centre)
        if margin <= 0:
            return None
        share = float(np.mean(self.rows[rows] @ (centres[best] - own) > 0))
        if share < VOTES:
            return None
        taxonomy, q = self.taxonomy, int(parents[best])
        said = (
            f"{_titled(taxonomy, v)}: {share:.0%} of its {len(rows):,} rows are nearer to those of "
            f"{_titled(taxonomy, q)} than to its siblings below {_titled(taxonomy, p)}."
        )
        sure = min(1.0, share * min(1.0, 2 * margin))
        names = taxonomy.names[v], taxonomy.names[p], taxonomy.names[q]
        edit = Edit("move", node=names[0], old=names[1], new=names[2], sure=sure, evidence=said)
        return Finding("misplaced", names, tuple(rows[:5].tolist()), said, sure, (edit,))


def two_in_one(X: Any, labels: LabelMatrix, words: Words, random_state: int = 0) -> Iterator[Finding]:
    """Yield labels whose rows are of two kinds that have little in common."""
    for label, rows, first, cosine in labels_of_two_kinds(X, labels, random_state):
        kinds = rows[first], rows[~first]
        telling = [words.telling(*kinds), words.telling(*kinds[::-1])]
        shares = [
            f"{len(kind) / len(rows):.0%}" + (f" with {', '.join(some)}" if some else "")
            for kind, some in zip(kinds, telling, strict=True)
        ]
        said = f"The rows of {_titled(labels.taxonomy, label)} are of two kinds: {', and '.join(shares)}."
        some = (*kinds[0][:3].tolist(), *kinds[1][:3].tolist())
        yield Finding("two in one", (labels.taxonomy.names[label],), some, said, min(1.0, (1 - cosine) / 2))


def _titled(taxonomy: Taxonomy, v: int) -> str:
    name = taxonomy.names[v]
    title = taxonomy.title_of(name)
    return f"{name!r} ({title})" if title and title != name else repr(name)
