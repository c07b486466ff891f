"""What matters about the errors of a model, in sentences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cladist.metrics import Report
from cladist.report.errors import Errors, Ids
from cladist.report.icicle import node_title

LEAST_SHARE = 0.1  # of the cost, from which on one place is worth a sentence
LEAST_ROWS = 5  # of a class that is called never right
BINS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
RARE = 10  # rows of a class that is called rare


class FrequencyBin(NamedTuple):
    """Classes with `low` to `high` test rows (None: or more): how many, their labels, those right, and the cost."""

    low: int
    high: int | None
    n_classes: int
    n_labels: int
    n_right: int
    cost: int

    @property
    def title(self) -> str:
        """The numbers of rows in words."""
        if self.high is None:
            return f"{self.low:,} or more"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


def frequency_bins(errors: Errors) -> list[FrequencyBin]:
    """Return how right labels are by the number of rows that have the same label."""
    is_label = errors.true >= 0
    wrong, cost = (
        np.bincount(errors.true[is_label], weights=values[is_label], minlength=errors.taxonomy.n_nodes)
        for values in (errors.count, errors.cost)
    )
    bins = []
    for low, end in zip(BINS, (*BINS[1:], None), strict=True):
        inside = (errors.label_counts >= low) & (errors.label_counts < (np.inf if end is None else end))
        if inside.any():
            n_labels = int(errors.label_counts[inside].sum())
            counts = int(inside.sum()), n_labels, n_labels - int(wrong[inside].sum()), int(cost[inside].sum())
            bins.append(FrequencyBin(low, None if end is None else end - 1, *counts))
    return bins


def key_sentences(report: Report, errors: Errors) -> list[str]:
    """Return what matters first: how many rows are wrong and how far, where, and which classes."""
    n_rows, accuracy = report.counts.n_rows, report.metrics["accuracy"]
    if not errors.n_errors:
        return [f"All {n_rows:,} rows are right."]
    mean = errors.total / errors.n_errors
    first = f"{accuracy:.1%} of {n_rows:,} rows are right. A wrong label is {mean:.1f} edges from the truth on average"
    overall = report.metrics.get("tree_induced_error")
    first += f", which makes {overall:.2f} edges over all rows." if overall is not None else "."
    sentences = [first, _by_kind(errors), _worst_turn(errors), _by_frequency(errors)]
    sentences += [_costliest_pair(errors), _never_right(report)]
    return [sentence for sentence in sentences if sentence]


def _by_kind(errors: Errors) -> str:
    def share(kind: str, values: Ids) -> float:
        return float(values[errors.kind == kind].sum() / values.sum())

    near, far = share("siblings", errors.count), share("branches", errors.count)
    if not near or not far:
        return ""
    return (
        f"{near:.0%} of the errors stay among siblings; {far:.0%} end in another branch, and those make up "
        f"{share('branches', errors.cost):.0%} of the error cost."
    )


def _worst_turn(errors: Errors) -> str:
    costs = errors.turn_costs()
    node = int(costs.argmax()) if len(costs) else 0
    if costs[node] < LEAST_SHARE * errors.total or (
        len(errors.taxonomy.roots) == 1 and node == errors.taxonomy.roots[0]
    ):
        return ""
    pair = costliest_branches(errors, errors.meet == node)
    title = node_title(errors.taxonomy, node)
    sentence = f"{costs[node] / errors.total:.0%} of the cost arises below “{title}”"
    if pair is None:
        return sentence + "."
    a, b, count = pair
    return f"{sentence}, most of all where “{_title(errors, a)}” is taken for “{_title(errors, b)}” ({_rows(count)})."


def costliest_branches(errors: Errors, among: np.ndarray) -> tuple[int, int, int] | None:
    """Return the two branches that cost most where the first is taken for the second, and their rows."""
    left, right = (side[among] for side in errors.branches)
    known = (left >= 0) & (right >= 0) & (left != right)
    if not known.any():
        return None
    keys = left[known] * errors.taxonomy.n_nodes + right[known]
    distinct, place = np.unique(keys, return_inverse=True)
    best = int(np.bincount(place, weights=errors.cost[among][known]).argmax())
    count = int(errors.count[among][known][place == best].sum())
    return int(distinct[best] // errors.taxonomy.n_nodes), int(distinct[best] % errors.taxonomy.n_nodes), count


def _by_frequency(errors: Errors) -> str:
    bins = frequency_bins(errors)
    rare = [entry for entry in bins if entry.low < RARE]
    common = [entry for entry in bins if entry.low >= RARE]
    if not rare or not common:
        return ""
    shares = [sum(entry.n_right for entry in part) / sum(entry.n_labels for entry in part) for part in (rare, common)]
    n_rare = sum(entry.n_classes for entry in rare)
    cost = sum(entry.cost for entry in rare) / errors.total
    return (
        f"Classes with fewer than {RARE} rows here are right in {shares[0]:.0%} of their rows, the others in "
        f"{shares[1]:.0%}; the {n_rare:,} rare classes make up {cost:.0%} of the cost."
    )


def _costliest_pair(errors: Errors) -> str:
    known = np.flatnonzero((errors.true >= 0) & (errors.pred >= 0))
    if not len(known):
        return ""
    k = int(known[0])  # pairs are sorted by cost
    a, b = _title(errors, int(errors.true[k])), _title(errors, int(errors.pred[k]))
    return f"The costliest confusion takes “{a}” for “{b}” ({_rows(int(errors.count[k]))}, {errors.distance[k]} edges)."


def _never_right(report: Report) -> str:
    counts, leaves = report.counts, report.counts.taxonomy.leaves
    support = counts.tp[leaves] + counts.fn[leaves]
    n_never = int(((support >= LEAST_ROWS) & (counts.tp[leaves] == 0)).sum())
    if not n_never:
        return ""
    what = "class" if n_never == 1 else "classes"
    return f"{n_never:,} {what} with {LEAST_ROWS} rows or more {'is' if n_never == 1 else 'are'} never right."


def _title(errors: Errors, node: int) -> str:
    return "nothing" if node < 0 else node_title(errors.taxonomy, node)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
