"""Sections of an error report: confusions, nodes, depth and frequency, sample errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cladist.metrics import Report
from cladist.report.error_words import costliest_branches, frequency_bins
from cladist.report.errors import Errors
from cladist.report.figure import shown
from cladist.report.icicle import node_title
from cladist.report.plots import error_distance_histogram, level_scores

MOST_PAIRS, OPEN_PAIRS = 60, 12  # confusions in a list, and those above its fold
MOST_BELOW = 12  # pairs of labels below a pair of branches
MOST_ROWS = 3  # sample rows of a pair
MOST_SAMPLES = 120  # rows with their words
MOST_NODES, MOST_TURNS = 20, 10
MOST_LETTERS = 240  # of a row
MOST_WORDS = 6
LEAST_WORD = 0.05  # of the largest contribution of a row
INTERCEPT = "(intercept)"  # belongs to no word
Texts = Callable[[int], str]
Words = Mapping[int, Mapping[str, float]]


class Group(NamedTuple):
    """Confusions shown as one: the nodes, the number of rows, the cost, and the pairs of labels, costliest first."""

    true: int
    pred: int
    n_rows: int
    cost: int
    pairs: list[int]


def sibling_groups(errors: Errors) -> list[Group]:
    """Return the confusions between siblings, costliest first."""
    pairs = np.flatnonzero(errors.kind == "siblings")[:MOST_PAIRS]
    return [_group_of(errors, int(k)) for k in pairs]


def other_groups(errors: Errors, *kinds: str) -> list[Group]:
    """Return the confusions of other kinds, costliest first."""
    pairs = np.flatnonzero(np.isin(errors.kind, kinds))[:MOST_PAIRS]
    return [_group_of(errors, int(k)) for k in pairs]


def _group_of(errors: Errors, k: int) -> Group:
    return Group(int(errors.true[k]), int(errors.pred[k]), int(errors.count[k]), int(errors.cost[k]), [k])


def branch_groups(errors: Errors) -> list[Group]:
    """Return the confusions across branches by the two branches below the common ancestor, costliest first."""
    pairs = np.flatnonzero(errors.kind == "branches")
    left, right = (side[pairs] for side in errors.branches)
    _, first, place = np.unique(left * errors.taxonomy.n_nodes + right, return_index=True, return_inverse=True)
    cost, count = (np.bincount(place, weights=values[pairs]) for values in (errors.cost, errors.count))
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place)) if len(place) else np.zeros(0, np.int64)
    groups = []
    for g in np.argsort(-cost, kind="stable")[:MOST_PAIRS].tolist():
        below = order[(ends[g - 1] if g else 0) : ends[g]][:MOST_BELOW]
        nodes = int(left[first[g]]), int(right[first[g]])
        groups.append(Group(*nodes, int(count[g]), int(cost[g]), pairs[below].tolist()))
    return groups


def sample_rows(errors: Errors) -> list[int]:
    """Return the rows that a report shows with their texts, those of the costliest confusions first."""
    chosen: dict[int, None] = {}
    for k in _sampled_pairs(errors):
        chosen.update(dict.fromkeys(errors.rows_of(k)[:MOST_ROWS].tolist()))
    return list(chosen)[:MOST_SAMPLES]


def _sampled_pairs(errors: Errors) -> Iterator[int]:
    lists = [sibling_groups(errors), branch_groups(errors), other_groups(errors, "depth", "missed", "extra")]
    for rank in range(MOST_PAIRS):
        for groups in lists:
            if rank < len(groups):
                yield from groups[rank].pairs[:3]


# ---------------------------------------------------------------- confusions


def confusion_sections(errors: Errors, texts: Texts | None, words: Words) -> str:
    """Return the lists of confusions between siblings, across branches, and others."""
    told: set[int] = set(sample_rows(errors)) if texts is not None else set()
    lists = [
        ("Between siblings", sibling_groups(errors), "The two labels have the same parent."),
        ("Across branches", branch_groups(errors), "By the two branches in which label and prediction lie."),
        (
            "Too high or too deep",
            other_groups(errors, "depth"),
            "One of the two labels is above the other.",
        ),
        (
            "Missed and added labels",
            other_groups(errors, "missed", "extra"),
            "Labels without a wrong prediction beside them, and predictions without a label.",
        ),
    ]
    columns = [
        f'<div><h3>{title}</h3><p class="soft">{note}</p>{_group_list(errors, groups, texts, words, told)}</div>'
        for title, groups, note in lists
        if groups
    ]
    return f'<div class="columns">{"".join(columns)}</div>'


def _group_list(errors: Errors, groups: list[Group], texts: Texts | None, words: Words, told: set[int]) -> str:
    highest = max((group.cost for group in groups), default=1) or 1
    items = [_group_item(errors, group, group.cost / highest, texts, words, told) for group in groups]
    head, rest = "".join(items[:OPEN_PAIRS]), "".join(items[OPEN_PAIRS:])
    more = (
        f'<details class="more"><summary>{len(items) - OPEN_PAIRS} more</summary>'
        f'<div class="groups">{rest}</div></details>'
        if rest
        else ""
    )
    return f'<div class="groups">{head}</div>{more}'


def _group_item(errors: Errors, group: Group, share: float, texts: Texts | None, words: Words, told: set[int]) -> str:
    title = _taken_for(errors, group.true, group.pred)
    sizes = f"{_rows(group.n_rows)}, cost {group.cost:,}"
    bar = _bar("amount", 'aria-hidden="true"', max(0.01, share))
    inner = []
    for k in group.pairs:
        if len(group.pairs) > 1 or (errors.true[k], errors.pred[k]) != (group.true, group.pred):
            pair = _taken_for(errors, int(errors.true[k]), int(errors.pred[k]))
            numbers = f"{_rows(int(errors.count[k]))}, {errors.distance[k]} edges"
            inner.append(f'<p class="pair">{pair} <small>{numbers}</small></p>')
        inner += _row_items(errors.rows_of(k)[:MOST_ROWS].tolist(), texts, words, told)
    node = max(group.true, group.pred) if group.true < 0 else group.true
    inner.append(f'<p><button type="button" class="link" data-node="{node}">Show on the map</button></p>')
    return f"<details><summary>{title}<small>{sizes}</small>{bar}</summary>{''.join(inner)}</details>"


def _bar(kind: str, role: str, share: float) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 100 10" preserveAspectRatio="none" {role}>'
        f'<rect class="all" width="100" height="10"/><rect width="{100 * share:.1f}" height="10"/></svg>'
    )


def _row_items(rows: Sequence[int], texts: Texts | None, words: Words, told: set[int]) -> Iterator[str]:
    if texts is None:
        return
    for row in rows:
        if row in told:
            text = texts(row)
            cut = text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} …"
            yield f'<blockquote dir="auto">{shown(cut)}{_word_list(words.get(row))}</blockquote>'


def _word_list(words: Mapping[str, float] | None) -> str:
    """Return the words of a row that speak most for the prediction and for the truth."""
    if not words:
        return ""
    told = {word: value for word, value in words.items() if word != INTERCEPT}
    largest = max(map(abs, told.values()), default=0.0)
    best = sorted(told.items(), key=lambda item: -abs(item[1]))[:MOST_WORDS]
    best = [(word, value) for word, value in best if abs(value) >= LEAST_WORD * largest]
    marks = "".join(
        f'<mark class="{"for" if value > 0 else "against"}">{shown(word)} <small>{value:+.2f}</small></mark> '
        for word, value in best
    )
    return f'<span class="words">{marks}</span>'


def _node(errors: Errors, node: int) -> str:
    if node < 0:
        return "<i>nothing</i>"
    title = node_title(errors.taxonomy, node)
    name = errors.taxonomy.names[node]
    return f"<bdi>{shown(title)}</bdi>{_code(name, title)}"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


# ---------------------------------------------------------------- nodes, levels, frequencies


def worst_nodes(report: Report, errors: Errors) -> str:
    """Return a table of the labels whose errors cost most, and of the nodes below which most wrong turns are taken."""
    labels = errors.true >= 0
    cost = np.bincount(errors.true[labels], weights=errors.cost[labels], minlength=errors.taxonomy.n_nodes)
    precision, recall, f1 = report.counts.node_scores()
    mostly: dict[int, int] = {}
    for t, p in zip(errors.true.tolist(), errors.pred.tolist(), strict=True):
        mostly.setdefault(t, p)  # costliest first
    rows = []
    for v in np.argsort(-cost, kind="stable")[:MOST_NODES].tolist():
        if cost[v] > 0:
            numbers = [f"{errors.label_counts[v]:,}", f"{precision[v]:.2f}", f"{recall[v]:.2f}", f"{f1[v]:.2f}"]
            numbers += [f"{cost[v] / max(errors.label_counts[v], 1):.1f}", f"{cost[v] / errors.total:.1%}"]
            rows.append([_link(errors, v), *numbers, _node(errors, mostly[v])])
    header = ["label", "rows", "precision", "recall", "F1", "edges per row", "share of the cost", "mostly taken for"]
    return _table(header, rows, wide=(0, 7))


def wrong_turns(errors: Errors) -> str:
    """Return a table of the nodes whose children are confused at the highest cost."""
    costs, entries = errors.turn_costs(), []
    for v in np.argsort(-costs, kind="stable")[:MOST_TURNS].tolist():
        entries.append((float(costs[v]), _link(errors, v), errors.meet == v))
    above = errors.meet < 0
    entries.append((float(errors.cost[above].sum()), "<i>among the roots</i>", above))
    rows = [
        [name, f"{cost:,.0f}", f"{cost / errors.total:.1%}", _branch_example(errors, among)]
        for cost, name, among in sorted(entries, key=lambda entry: -entry[0])
        if cost > 0
    ]
    return _table(["node", "cost", "share of the cost", "costliest confusion of its children"], rows, wide=(0, 3))


def _branch_example(errors: Errors, among: Any) -> str:
    pair = costliest_branches(errors, among)
    return "" if pair is None else f"{_taken_for(errors, *pair[:2])} <small>{_rows(pair[2])}</small>"


def _taken_for(errors: Errors, true: int, pred: int) -> str:
    return f'{_node(errors, true)} <span class="as">taken for</span> {_node(errors, pred)}'


def _link(errors: Errors, v: int) -> str:
    name, title = errors.taxonomy.names[v], node_title(errors.taxonomy, v)
    return f'<button type="button" class="link" data-node="{v}"><bdi>{shown(title)}</bdi></button>{_code(name, title)}'


def _code(name: str, title: str) -> str:
    """Return the name of a node where its title does not say it."""
    is_said = name.endswith(title) or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", title)
    return "" if is_said else f" <code>{shown(name)}</code>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, wide: Sequence[int] = ()) -> str:
    """Return a table of cells that are HTML; `wide` columns hold words, which wrap."""
    kinds = ["words" if k in wide else "" for k in range(len(header))]

    def cells(tag: str, row: Sequence[str]) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        classes = (f' class="{kind}"' if kind else "" for kind in kinds)
        return "".join(f"<{tag}{scope}{c}>{cell}</{tag}>" for c, cell in zip(classes, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{cells("th", header)}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def depth_section(report: Report, errors: Errors) -> str:
    """Return errors by depth: scores of each level, and how far wrong labels are from the truth."""
    header = ["level", "nodes", "precision", "recall", "F1"]
    table = _table(header, [[shown(cell) for cell in row] for row in report.tables()[2][1]])
    same = all(level.precision == level.recall for level in report.per_level)
    scores = level_scores(report, measures=("f1",) if same else ("precision", "recall"))
    figures = f"<figure>{scores}<figcaption>Scores of the nodes of each level; level 0 holds the roots."
    figures += "</figcaption></figure>"
    figures += f"<figure>{error_distance_histogram(errors)}<figcaption>How far wrong labels are from the truth."
    return f'<div class="columns">{figures}</figcaption></figure></div>{table}'


def frequency_section(errors: Errors) -> str:
    """Return a table of how right labels are by the number of rows with the same label."""
    rows: list[list[Any]] = []
    for entry in frequency_bins(errors):
        share = entry.n_right / entry.n_labels
        bar = _bar("share", f'role="img" aria-label="{share:.0%} right"', share)
        cells = [entry.title, f"{entry.n_classes:,}", f"{entry.n_labels:,}", f"{share:.1%}", bar]
        rows.append([*cells, f"{entry.cost / entry.n_labels:.2f}", f"{entry.cost / max(errors.total, 1):.1%}"])
    header = ["rows of the class", "classes", "rows", "right", "", "edges per row", "share of the cost"]
    return _table(header, rows)
