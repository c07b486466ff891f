"""Plots of results as figures: SVG text that notebooks show and web pages hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cladist.errors import ParameterError
from cladist.metrics import Report
from cladist.metrics.calibration import ReliabilityCurve
from cladist.report.errors import Errors
from cladist.report.figure import COLOURS, LETTER, TEXT, Figure, Plot, legend_height, shorten_to, shown
from cladist.report.icicle import colour, node_title, text_colour
from cladist.taxonomy import Taxonomy

MOST_CLASSES = 40  # in a confusion matrix
CELL, LABEL_WIDTH = 26.0, 190.0


def _named(values: Any, who: str) -> dict[str, Any]:
    """Return a mapping of names to values as a dict; one value alone has the name ""."""
    named = dict(values) if isinstance(values, Mapping) else {"": values}
    if not named:
        raise ParameterError(f"{who}: wanted at least one entry, got none.")
    return named


def _legend(named: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(COLOURS[k % len(COLOURS)], name) for k, name in enumerate(named) if name]


def error_distance_histogram(errors: Any, *, zero: bool = False) -> Figure:
    """Return a histogram of the tree distances of wrong predictions, as in Figure 2 of Dekel et al. (2004).

    Parameters
    ----------
    errors : Errors or mapping of names to Errors
        What `find_errors` returns, of one method or of several.
    zero : bool
        Whether right predictions, at distance 0, have a bar too.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.report import find_errors
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film"])
    >>> errors = find_errors(["chess", "film"], ["tennis", "chess"], taxonomy)
    >>> error_distance_histogram({"ours": errors}).count("<rect")
    3
    """
    named: dict[str, Errors] = _named(errors, "error_distance_histogram")
    first = 0 if zero else 1
    shares = {}
    for name, found in named.items():
        counts = found.distance_counts[first:].astype(np.float64)
        shares[name] = counts / max(1.0, float(found.distance_counts.sum()))
    n_distances = max(1, *(len(values) for values in shares.values()))
    highest = max([float(values.max()) for values in shares.values() if len(values)] or [0.0]) or 0.01
    entries = _legend(named)
    top = legend_height([name for _, name in entries], 480)
    ends = first - 0.6, first + n_distances - 0.4
    plot = Plot("Shares of rows by tree distance", ends, (0.0, highest * 1.05), top=top, size=(560, 270 + top))
    plot.legend(entries)
    ticks = list(range(first, first + n_distances, max(1, n_distances // 12)))
    plot.axes("edges between truth and prediction", "share of labels", x_ticks=ticks, y_form="{:.3g}%", y_scale=100)
    width = 0.8 / len(named)
    for k, (name, values) in enumerate(shares.items()):
        for j, value in enumerate(values.tolist()):
            if value > 0:
                words = f"{name + ', ' if name else ''}{first + j} edges: {value:.2%}"
                place = first + j + (k - (len(named) - 1) / 2) * width
                plot.bar(place, 0.0, value, width * 0.94, COLOURS[k % len(COLOURS)], words)
    return plot.figure()


def level_scores(reports: Any, *, measures: Sequence[str] = ("precision", "recall")) -> Figure:
    """Return precision and recall at each level of the taxonomy, of one method or of several.

    Parameters
    ----------
    reports : Report or mapping of names to Report
        What `cladist.metrics.report` returns.
    measures : sequence of {"precision", "recall", "f1"}
        The lines; the first is solid, others are dashed where there are several methods.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import report
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess"])
    >>> level_scores(report(["chess"], ["tennis"], taxonomy)).count("<polyline")
    2
    """
    named: dict[str, Report] = _named(reports, "level_scores")
    n_levels = max(len(report.per_level) for report in named.values())
    lines = [(name, measure) for name in named for measure in measures]
    one = len(named) == 1

    def paint(name: str, measure: str) -> str:
        return COLOURS[(list(measures).index(measure) if one else list(named).index(name)) % len(COLOURS)]

    entries = [(paint(name, measure), f"{name} {measure}".strip()) for name, measure in lines]
    top = legend_height([name for _, name in entries], 480)
    plot = Plot("Scores by level", (0.0, max(1.0, n_levels - 1.0)), (0.0, 1.0), top=top, size=(560, 270 + top))
    plot.legend(entries)
    plot.axes("level", "score", x_ticks=list(range(n_levels)))
    for name, measure in lines:
        values = [getattr(level, measure) for level in named[name].per_level]
        dashed = not one and measure != measures[0]
        plot.line(range(len(values)), values, paint(name, measure), dashed=dashed)
        for level, value in enumerate(values):
            words = f"{name} {measure}, level {level}: {value:.3f}".strip()
            plot.point(level, value, paint(name, measure), words, radius=3)
    return plot.figure()


def learning_curves(
    curves: Mapping[str, tuple[Any, Any]] | tuple[Any, Any], *, x_title: str = "training rows", y_title: str = "score"
) -> Figure:
    """Return scores over the number of training rows, on a logarithmic scale.

    Parameters
    ----------
    curves : pair of arrays, or mapping of names to pairs
        Numbers of rows, and scores: one per number, or several (numbers × folds), of which the mean and the range are
        drawn.
    x_title, y_title : str
        What the axes are.

    Examples
    --------
    >>> figure = learning_curves({"hr-svm": ([100, 1000], [[0.5, 0.6], [0.7, 0.8]])})
    >>> figure.count("<polyline"), figure.count("<polygon")
    (1, 1)
    """
    named = {
        name: (np.asarray(x, np.float64), np.asarray(y, np.float64).reshape(len(x), -1))
        for name, (x, y) in _named(curves, "learning_curves").items()
    }
    if any((x <= 0).any() or not len(x) for x, _ in named.values()):
        raise ParameterError("learning_curves: numbers of rows must be positive, and there must be at least one.")
    xs, ys = (np.concatenate([values[k].ravel() for values in named.values()]) for k in (0, 1))
    entries = _legend(named)
    top = legend_height([name for _, name in entries], 480)
    x_range = (float(xs.min()) / 1.05, float(xs.max()) * 1.05)
    plot = Plot("Learning curves", x_range, _padded(ys), top=top, size=(560, 270 + top), log_x=True)
    plot.legend(entries)
    ticks = [(float(x), f"{x:,.0f}") for x in np.unique(xs)]
    plot.axes(x_title, y_title, x_ticks=ticks[:: max(1, len(ticks) // 5)])
    for k, (name, (x, y)) in enumerate(named.items()):
        if y.shape[1] > 1:
            plot.band(x, y.min(axis=1), y.max(axis=1), COLOURS[k % len(COLOURS)])
        plot.line(x, y.mean(axis=1), COLOURS[k % len(COLOURS)], words=name)
        for a, b in zip(x, y.mean(axis=1), strict=True):
            plot.point(a, b, COLOURS[k % len(COLOURS)], f"{name} {a:,.0f}: {b:.4g}".strip(), radius=3)
    return plot.figure()


def _padded(values: Any) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.08 * (high - low) or 0.05
    return low - margin, high + margin


def pareto_front(seconds: Any, scores: Any) -> list[int]:
    """Return the positions of the results that no other one equals or beats in both time and score, fastest first."""
    seconds, scores = np.asarray(seconds, np.float64), np.asarray(scores, np.float64)
    front: list[int] = []
    for k in np.lexsort((-scores, seconds)).tolist():
        if not front or scores[k] > scores[front[-1]]:
            front.append(k)
    return front


def pareto(
    results: Mapping[str, tuple[float, float]], *, x_title: str = "seconds to fit", y_title: str = "score"
) -> Figure:
    """Return time against score of several methods, with the line of those that none beats in both.

    Parameters
    ----------
    results : mapping of names to (seconds, score)
        One point per method; higher scores are better.
    x_title, y_title : str
        What the axes are.

    Examples
    --------
    >>> figure = pareto({"svm": (10.0, 0.62), "hr-svm": (20.0, 0.65), "slow": (30.0, 0.6)})
    >>> figure.count("<circle")
    3
    """
    named = _named(results, "pareto")
    seconds, scores = np.array(list(named.values()), np.float64).T
    if (seconds <= 0).any():
        raise ParameterError("pareto: times must be positive.")
    front = pareto_front(seconds, scores)
    ends = float(seconds.min()) / 1.3, float(seconds.max()) * 1.6
    plot = Plot("Time against score", ends, _padded(scores), size=(560, 320), log_x=True)
    powers = [10.0**k for k in range(int(np.ceil(np.log10(ends[0]))), int(np.floor(np.log10(ends[1]))) + 1)]
    plot.axes(x_title, y_title, x_ticks=powers if len(powers) > 1 else [float(f"{s:.2g}") for s in np.unique(seconds)])
    plot.line(seconds[front], scores[front], COLOURS[0], dashed=True)
    for k, name in enumerate(named):
        best = k in front
        words = f"{name}: {seconds[k]:.3g} s, {scores[k]:.4g}"
        plot.point(seconds[k], scores[k], COLOURS[0 if best else 5], words, radius=5, hollow=not best)
        near_end = float(plot.x(seconds[k])) > plot.right - 90
        x = float(plot.x(seconds[k])) + (-9 if near_end else 9)
        plot.text(x, float(plot.y(scores[k])) - 7, name, anchor="end" if near_end else "start", faint=not best)
    return plot.figure()


def confusion_matrix(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, node: str | None = None) -> Figure:
    """Return which children of a node are taken for which, as a table of shares of the true rows.

    Labels below a child count as that child; what leaves the branch, or stops at the node, has a column of its own.

    Parameters
    ----------
    y_true, y_pred : labels in any form
        The true and the predicted labels, one per row.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    node : str, optional
        The node; None: the roots are compared.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> figure = confusion_matrix(["chess", "tennis"], ["tennis", "art"], taxonomy, node="sport")
    >>> figure.count("100 %")
    2
    """
    names, table = confusion_counts(y_true, y_pred, taxonomy, node=node)
    titles = [node_title(taxonomy, taxonomy.index(name)) for name in names]
    columns = [*titles, "elsewhere"]
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    head = min(LABEL_WIDTH, 18 + 0.87 * LETTER * max(map(len, columns)))  # sin 60° of the longest text
    left = min(LABEL_WIDTH, 16 + LETTER * max(map(len, titles)))
    width, height = left + CELL * len(columns) + 0.55 * head, head + CELL * len(names) + 8
    parts = []
    for j, title in enumerate(columns):
        x = left + CELL * (j + 0.5)
        parts.append(
            f'<text transform="translate({x:.1f} {head - 6:.1f}) rotate(-60)" fill="currentColor">'
            f"{shown(shorten_to(title, (head - 12) / 0.87))}</text>"
        )
    for i, title in enumerate(titles):
        y = head + CELL * i
        parts.append(
            f'<text x="{left - 8:g}" y="{y + CELL / 2 + 4:.1f}" text-anchor="end" fill="currentColor">'
            f"{shown(shorten_to(title, left - 12))}</text>"
        )
        for j, share in enumerate(shares[i].tolist()):
            words = f"{title} → {columns[j]}: {table[i, j]:,} of {table[i].sum():,} rows"
            parts.append(_cell(left + CELL * j, y, share, words))
    label = f"Confusions of the children of {node or 'the root'}: true rows, predicted columns"
    return Figure(
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{shown(label)}" {TEXT}>{"".join(parts)}</svg>'
    )


def _cell(x: float, y: float, share: float, words: str) -> str:
    fill = colour(share)
    number = f"{100 * share:.0f}" if share >= 0.005 else ""
    text = (
        f'<text x="{x + CELL / 2:.1f}" y="{y + CELL / 2 + 4:.1f}" text-anchor="middle" font-size="10" '
        f'fill="{text_colour(fill)}">{number}</text>'
        if number
        else ""
    )
    paint = f'fill="{fill}"' if share > 0 else 'fill="currentColor" fill-opacity="0.06"'
    side = CELL - 1
    return (
        f'<g><title>{shown(words)} ({100 * share:.0f} %)</title><rect x="{x:.1f}" y="{y:.1f}" width="{side:g}" '
        f'height="{side:g}" {paint}/>{text}</g>'
    )


def confusion_counts(y_true: Any, y_pred: Any, taxonomy: Taxonomy, *, node: str | None = None) -> tuple[list[str], Any]:
    """Return the children of a node and how many rows of each (rows) are predicted below each (columns).

    The last column is everything else. Where there are more than 40 children, those with the most rows are shown.

    Parameters
    ----------
    y_true, y_pred, taxonomy, node
        As in `confusion_matrix`.
    """
    from cladist.losses import read_labels

    children = taxonomy.roots if node is None else taxonomy.child_ids(taxonomy.index(node))
    if not len(children):
        raise ParameterError(f"confusion_matrix: {node!r} has no children; name an inner node.")
    true, pred = read_labels(y_true, y_pred, taxonomy)
    true.nodes("confusion_matrix")
    pred.nodes("confusion_matrix")
    above = [labels.to_indicator()[:, children].tocoo() for labels in (true, pred)]
    place = []
    for matrix in above:  # at most one child per row: rows are single paths
        at = np.full(matrix.shape[0], len(children))
        at[matrix.row] = matrix.col
        place.append(at)
    table = np.zeros((len(children) + 1, len(children) + 1), np.int64)
    np.add.at(table, tuple(place), 1)
    table = table[:-1]
    kept = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[:MOST_CLASSES])
    others = np.setdiff1d(np.arange(len(children) + 1), kept)
    names = [taxonomy.names[v] for v in children[kept]]
    return names, np.column_stack([table[np.ix_(kept, kept)], table[kept][:, others].sum(axis=1)])


def reliability_diagram(curves: Any) -> Figure:
    """Return the share of right predictions over the probability that the model gives them.

    Parameters
    ----------
    curves : ReliabilityCurve or mapping of names to ReliabilityCurve
        What `cladist.metrics.reliability_curve` returns. Below the diagonal a model is surer than it is right.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> from cladist.metrics import reliability_curve
    >>> taxonomy = Taxonomy.from_parents({"a": None, "b": None})
    >>> curve = reliability_curve(["a", "b"], [[0.75, 0.25], [0.75, 0.25]], taxonomy, n_bins=1)
    >>> reliability_diagram(curve).count("<circle")
    1
    """
    named: dict[str, ReliabilityCurve] = (
        {"": curves} if isinstance(curves, ReliabilityCurve) else _named(curves, "reliability_diagram")
    )
    entries = _legend(named)
    top = legend_height([name for _, name in entries], 320)
    plot = Plot("Reliability", (0.0, 1.0), (0.0, 1.0), size=(400, 360 + top), top=top)
    plot.legend(entries)
    plot.axes("probability of the prediction", "share of right predictions")
    plot.line([0, 1], [0, 1], COLOURS[5], dashed=True, words="as sure as it is right")
    for k, (name, curve) in enumerate(named.items()):
        plot.line(curve.confidence, curve.accuracy, COLOURS[k % len(COLOURS)], words=name)
        for x, y, n in zip(curve.confidence, curve.accuracy, curve.n_rows, strict=True):
            words = f"{name} probability {x:.3f}, right {y:.3f}, {n:,} rows".strip()
            plot.point(float(x), float(y), COLOURS[k % len(COLOURS)], words, radius=3.5)
    return plot.figure()


def risk_coverage(curves: Any, *, y_title: str = "mean loss of the answers") -> Figure:
    """Return the loss of the surest answers over the share of rows that are answered.

    Parameters
    ----------
    curves : pair of arrays, or mapping of names to pairs
        Coverage and risk, as `cladist.decisions.risk_coverage_curve` returns them.
    y_title : str
        What the loss is.

    Examples
    --------
    >>> risk_coverage(([0.5, 1.0], [0.0, 0.5])).count("<polyline")
    1
    """
    named = _named(curves, "risk_coverage")
    thinned = {}
    for name, (coverage, risk) in named.items():
        x, y = np.asarray(coverage, np.float64), np.asarray(risk, np.float64)
        kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), 400)).astype(int))
        thinned[name] = x[kept], y[kept]
    highest = max(float(y.max()) for _, y in thinned.values()) or 0.01
    entries = _legend(named)
    top = legend_height([name for _, name in entries], 480)
    plot = Plot("Risk and coverage", (0.0, 1.0), (0.0, highest * 1.05), top=top, size=(560, 270 + top))
    plot.legend(entries)
    plot.axes("share of rows that are answered, surest first", y_title)
    for k, (name, (x, y)) in enumerate(thinned.items()):
        plot.line(x, y, COLOURS[k % len(COLOURS)], words=name)
    return plot.figure()
