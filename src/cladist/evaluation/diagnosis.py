"""`diagnose`: what is probably wrong with labels, rows and taxonomy. `Diagnosis` is the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist import progress
from cladist.errors import ParameterError
from cladist.evaluation.doubts import doubt_labels, doubt_sets, predict_out_of_fold
from cladist.evaluation.duplicates import empty_rows, exact_groups, near_pairs
from cladist.evaluation.edits import Edit
from cladist.evaluation.structure import (
    KINDS,
    Finding,
    Places,
    Words,
    alike_nodes,
    chains,
    empty_nodes,
    spellings,
    two_in_one,
)
from cladist.labels import LabelMatrix, encode
from cladist.labels.matrix import list_frontier
from cladist.learners.candidates import are_texts, fit_steps, preparation
from cladist.learners.flat import FlatSVM
from cladist.learners.local.top_down import TopDown
from cladist.report.page import Table, html_table, plain_page
from cladist.taxonomy import as_taxonomy

CONFIDENT, DOUBTED = 0.5, 0.1  # of the predicted label and of the row's own, where a finding names it
MOST_SHOWN = 200  # findings of a kind on a page
LETTERS = 100  # of a text in evidence


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is probably wrong with data and taxonomy; printing it shows a table of the kinds of findings.

    Attributes
    ----------
    label_errors : int array
        All rows, the most suspicious label first.
    suspicion : float array (rows,)
        How suspicious the label of each row is; more is worse.
    suggested : list of str
        The label that each row would get; its own where nothing speaks against it.
    findings : list of Finding
        In the order of `KINDS`, the surest first.
    n_rows : int
        The number of rows.
    """

    label_errors: npt.NDArray[np.int64]
    suspicion: npt.NDArray[np.float64]
    suggested: list[str]
    findings: list[Finding]
    n_rows: int = 0

    @property
    def edits(self) -> list[Edit]:
        """The suggested edits of all findings, those of one row or node once."""
        found: dict[tuple[Any, ...], Edit] = {}
        for finding in self.findings:
            for edit in finding.edits or (
                Edit("review", node=" ".join(finding.nodes), sure=finding.sure, evidence=finding.evidence),
            ):
                found.setdefault((edit.action, edit.row, edit.node, edit.old, edit.new), edit)
        return list(found.values())

    @property
    def table(self) -> Table:
        """One row per kind of finding, with their number and the surest of them."""
        rows = []
        for kind, title in KINDS.items():
            own = [finding for finding in self.findings if finding.kind == kind]
            if own:
                rows.append([title, f"{len(own):,}", own[0].evidence])
        return Table(["finding", "number", "for example"], rows)

    def to_dict(self, *, most_rows: int = 1000) -> dict[str, Any]:
        """Return everything as plain values; of the suspicious rows the first `most_rows`."""
        first = self.label_errors[:most_rows].tolist()
        errors = [{"row": i, "suspicion": float(self.suspicion[i]), "suggested": self.suggested[i]} for i in first]
        findings = [{**f._asdict(), "edits": [edit._asdict() for edit in f.edits]} for f in self.findings]
        return {"n_rows": self.n_rows, "label_errors": errors, "findings": findings}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_html(self, *, title: str = "Diagnosis") -> str:
        """Return a self-contained web page."""
        from html import escape

        parts = [f"<section>{html_table(self.table)}</section>"]
        for kind, heading in KINDS.items():
            own = [finding for finding in self.findings if finding.kind == kind]
            if own:
                rows = [[f.evidence, f"{f.sure:.0%}", _told(f.edits)] for f in own[:MOST_SHOWN]]
                more = f"<p>and {len(own) - MOST_SHOWN:,} more</p>" if len(own) > MOST_SHOWN else ""
                table = html_table(Table(["evidence", "sure", "suggestion"], rows))
                parts.append(f"<section><h2>{escape(heading)}: {len(own):,}</h2>{table}{more}</section>")
        return plain_page(title, "\n".join(parts), f"{self.n_rows:,} rows, {len(self.findings):,} findings")

    def __str__(self) -> str:
        from cladist.metrics.summary import text_table

        if not self.findings:
            return "Nothing was found."
        header, rows = self.table.header, self.table.rows
        numbers = text_table(header[:2], [row[:2] for row in rows]).splitlines()
        return "\n".join(f"{line}  {row[2]}" for line, row in zip(numbers, [header, *rows], strict=True))

    def __repr__(self) -> str:
        return f"Diagnosis({self.n_rows} rows, {len(self.findings)} findings)"

    def _repr_html_(self) -> str:
        return html_table(self.table)


def _told(edits: Sequence[Edit]) -> str:
    if not edits:
        return "to be looked at"
    e = edits[0]
    words = {
        "relabel": f"row {e.row + 1:,}: {e.new or 'without ' + e.old}",
        "drop": f"leave row {e.row + 1:,} out",
        "move": f"move {e.node} below {e.new}",
        "merge": f"make {e.node} one with {e.new}",
        "remove": f"remove {e.node}",
    }
    return words[e.action] + (f" and {len(edits) - 1:,} more" if len(edits) > 1 else "")


def diagnose(
    X: Any,
    y: Any,
    taxonomy: Any = None,
    *,
    test: tuple[Any, Any] | None = None,
    features: Any = None,
    estimator: Any = None,
    cv: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Diagnosis:
    """Find labels, rows and nodes that are probably wrong.

    Parameters
    ----------
    X : array-like, CSR or data frame (rows × features), or sequence of str
    y : labels in any form
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        None: read from y.
    test : pair of rows and labels, optional
        Test data, whose rows should not be among the others.
    features : transformer, optional
        What turns X into numbers; by default TF-IDF of words and word pairs for texts. It sees no labels and is fitted
        to all rows.
    estimator : learner or classifier, optional
        What predicts rows out of fold. By default `TopDown` on trees, otherwise `FlatSVM`.
    cv : int
        The number of folds.
    random_state : int
        The seed of the folds.
    n_jobs : int or None
        Threads of the folds and of the default estimator.

    Notes
    -----
    Rows are ranked by the calibrated out-of-fold probabilities of the nodes on their label's path, each relative to the
    mean of rows that have this node. Means of nodes with few rows are shrunk to their parents', so that rare labels are
    judged, too. Of each row only the most probable classes are kept.

    A finding is not proof: fix what it names after a look at the rows.

    Examples
    --------
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=300, n_features=200, branching=(3, 3), noise=0.3, random_state=0)
    >>> y = data.y.copy()
    >>> y[7] = next(label for label in data.y if label.split("/")[0] != data.y[7].split("/")[0])
    >>> result = diagnose(data.X, y, data.taxonomy)
    >>> bool(7 in result.label_errors[:10]), result.suggested[7] == data.y[7]
    (True, True)
    """
    encoded = encode(y, None if taxonomy is None else as_taxonomy(taxonomy))
    labels = encoded.labels
    if len(labels) < max(cv, 2):
        raise ParameterError(f"diagnose: cv={cv} folds need as many rows; there are {len(labels)}.")
    texts = list(X) if are_texts(X) else None
    if features is None and texts is not None:
        from cladist.features import text_features

        features = text_features(characters=False)
    steps = preparation(X, features)
    with progress.task("reading rows"):
        rows = fit_steps(steps, X)
    is_single = labels.is_single
    learner = estimator if estimator is not None else _default_estimator(labels, n_jobs)
    names = labels.taxonomy.names
    options: dict[str, Any] = {"cv": cv, "random_state": random_state, "n_jobs": n_jobs}
    found: list[Finding] = []
    words = Words(rows, _feature_names(steps, X))
    if is_single:
        doubts = doubt_labels(predict_out_of_fold(learner, rows, labels, **options))
        score, targets = doubts.score, labels.nodes("diagnose")
        suggested = [names[v] for v in doubts.nodes[:, 0]]
        found += _label_errors(doubts, targets, names, texts)
        found += alike_nodes(doubts, labels, words)
    else:
        score, worst = doubt_sets(learner, rows, labels, **options)
        suggested = [f"{'+' if add else '−'}{names[v]}" for v, add in worst]
        found += _set_errors(score, worst, names, texts)
        found += _implied_labels(y, labels)
    with progress.task("comparing rows and nodes"):
        found += _row_findings(X, rows, labels, test)
        places = Places(rows, labels, random_state)
        found += [*places.misplaced(), *two_in_one(rows, labels, words, random_state)]
        found += [*spellings(labels), *chains(labels), *empty_nodes(labels)]
    order = {kind: k for k, kind in enumerate(KINDS)}
    found.sort(key=lambda finding: (order[finding.kind], -finding.sure))
    return Diagnosis(np.argsort(score, kind="stable"), -score, suggested, found, len(labels))


def _default_estimator(labels: LabelMatrix, n_jobs: int | None) -> Any:
    taxonomy = labels.taxonomy
    has_inner_nodes = taxonomy.n_nodes > len(taxonomy.leaves)
    if not labels.is_single:
        return FlatSVM(targets="nodes", n_jobs=n_jobs)
    if taxonomy.kind == "dag" or not has_inner_nodes:
        return FlatSVM(n_jobs=n_jobs)
    return TopDown(stop=bool(np.any(~taxonomy.is_leaf[labels.frontier[1]])), n_jobs=n_jobs)


def _feature_names(steps: list[tuple[str, Any]], X: Any) -> Any:
    """Return the names of the columns of rows, if they are known."""
    from sklearn.base import clone

    if len(steps) != 1 or not hasattr(steps[0][1], "get_feature_names_out"):
        return None
    return clone(steps[0][1]).fit(X).get_feature_names_out()


def _shown(texts: Sequence[str] | None, i: int) -> str:
    if texts is None:
        return f"Row {i + 1:,}"
    text = " ".join(texts[i].split())
    return f"Row {i + 1:,}, {text[:LETTERS]!r}{' …' if len(text) > LETTERS else ''}"


# -------------------------------------------------------------------- rows


def _label_errors(doubts: Any, targets: Any, names: Any, texts: Any) -> Iterator[Finding]:
    """Yield rows whose predicted label is probable and whose own is not, the most suspicious first."""
    best, p = doubts.nodes[:, 0], doubts.probabilities[:, 0]
    chosen = (best != targets) & (p >= CONFIDENT) & (doubts.own <= DOUBTED)
    for i in np.argsort(doubts.score, kind="stable").tolist():
        if chosen[i]:
            old, new = names[targets[i]], names[best[i]]
            said = f"{_shown(texts, i)}, is labelled {old!r} ({doubts.own[i]:.0%}) and looks like {new!r} ({p[i]:.0%})."
            edit = Edit("relabel", i, old=old, new=new, sure=float(p[i]), evidence=said)
            yield Finding("label error", (old, new), (i,), said, float(p[i] - doubts.own[i]), (edit,))


def _set_errors(score: Any, worst: Any, names: Any, texts: Any) -> Iterator[Finding]:
    for i in np.argsort(score, kind="stable").tolist():
        if score[i] > DOUBTED:
            return
        v, add = worst[i]
        lacks = "seems to lack" if add else "seems not to have"
        said = f"{_shown(texts, i)}, {lacks} the label {names[v]!r}."
        edit = Edit(
            "relabel", i, old="" if add else names[v], new=names[v] if add else "", sure=1 - score[i], evidence=said
        )
        yield Finding("label error", (names[v],), (i,), said, float(1 - score[i]), (edit,))


def _implied_labels(y: Any, labels: LabelMatrix) -> Iterator[Finding]:
    """Yield rows with a label that another of their labels implies, as it is above it."""
    if isinstance(y, LabelMatrix) or hasattr(y, "shape"):
        return
    taxonomy = labels.taxonomy
    for i, (row, deepest) in enumerate(zip(y, list_frontier(labels, range(taxonomy.n_nodes)), strict=True)):
        if isinstance(row, (set, frozenset, list, tuple)):
            ids = {v for label in row if isinstance(label, str) and (v := taxonomy.find(label)) is not None}
            for v in sorted(ids - set(deepest)):
                said = f"Row {i + 1:,} has {taxonomy.names[v]!r} and a label below it, which implies it."
                edit = Edit("relabel", i, old=taxonomy.names[v], sure=1.0, evidence=said)
                yield Finding("inconsistent labels", (taxonomy.names[v],), (i,), said, 1.0, (edit,))


def _row_findings(X: Any, rows: Any, labels: LabelMatrix, test: Any) -> Iterator[Finding]:
    names = labels.frontier_names()
    texts = list(X) if are_texts(X) else None
    source = texts if texts is not None else rows
    for i in empty_rows(source):
        said = f"{_shown(texts, i)}, has no content."
        yield Finding("no content", tuple(names[i]), (i,), said, 1.0, (Edit("drop", i, sure=1.0, evidence=said),))
    group_of: dict[int, int] = {}
    for group in exact_groups(source):
        group_of |= dict.fromkeys(group, group[0])
        if len({tuple(sorted(names[i])) for i in group}) > 1:
            yield _conflict("duplicate", group, names, texts, 1.0)
    if sparse.issparse(rows):
        for a, b, share in near_pairs(rows):
            if sorted(names[a]) != sorted(names[b]) and group_of.get(a, a) != group_of.get(b, b):
                yield _conflict("near duplicate", [a, b], names, texts, share)
    if test is not None:
        other = list(test[0]) if texts is not None else test[0]
        together = [*source, *other] if texts is not None else _stacked(source, other)
        for group in exact_groups(together):
            train, held = [i for i in group if i < len(labels)], [i - len(labels) for i in group if i >= len(labels)]
            if train and held:
                said = f"{_shown(texts, train[0])}, is row {held[0] + 1:,} of the test data."
                edits = tuple(Edit("drop", i, sure=1.0, evidence=said) for i in train)
                yield Finding("in train and test", tuple(names[train[0]]), tuple(train), said, 1.0, edits)


def _stacked(rows: Any, other: Any) -> Any:
    return sparse.vstack([rows, sparse.csr_array(other)]) if sparse.issparse(rows) else np.concatenate([rows, other])


def _conflict(kind: str, group: list[int], names: list[list[str]], texts: Any, sure: float) -> Finding:
    labels = [" and ".join(names[i]) or "no label" for i in group]
    like = "is" if kind == "duplicate" else f"shares {sure:.0%} of its features with"
    rest = ", ".join(f"row {i + 1:,} ({label!r})" for i, label in zip(group[1:6], labels[1:], strict=False))
    said = f"{_shown(texts, group[0])}, labelled {labels[0]!r}, {like} {rest}."
    return Finding(kind, tuple(sorted({n for i in group for n in names[i]})), tuple(group), said, sure)
