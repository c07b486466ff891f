"""Plots: well-formed, with the numbers they are given."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cladist.decisions import risk_coverage_curve
from cladist.errors import ParameterError
from cladist.metrics import reliability_curve, report
from cladist.report import (
    Figure,
    confusion_matrix,
    error_distance_histogram,
    find_errors,
    icicle,
    learning_curves,
    level_scores,
    pareto,
    reliability_diagram,
    risk_coverage,
)
from cladist.report.figure import round_ticks, shown
from cladist.report.plots import confusion_counts, pareto_front
from cladist.taxonomy import Taxonomy

SVG = "{http://www.w3.org/2000/svg}"
TREE = Taxonomy.from_paths(["a/x", "a/y", "b/z", "b/w"])
TRUE, PRED = ["x", "x", "y", "z", "w", "w"], ["x", "y", "y", "x", "w", "z"]


def read(figure):
    assert isinstance(figure, Figure)
    assert " style=" not in figure
    return ET.fromstring(figure)


def hovered(svg):
    return [title.text for title in svg.iter(f"{SVG}title")]


def test_distances_are_shares_of_all_labels():
    svg = read(error_distance_histogram(find_errors(TRUE, PRED, TREE), zero=True))
    assert hovered(svg) == ["0 edges: 50.00%", "2 edges: 33.33%", "4 edges: 16.67%"]
    both = read(error_distance_histogram({"one": find_errors(TRUE, PRED, TREE), "two": find_errors(TRUE, TRUE, TREE)}))
    assert hovered(both) == ["one, 2 edges: 33.33%", "one, 4 edges: 16.67%"]


def test_level_scores_are_those_of_the_report():
    result = report(TRUE, PRED, TREE)
    words = hovered(read(level_scores(result)))
    for level in result.per_level:
        assert f"precision, level {level.level}: {level.precision:.3f}" in words
        assert f"recall, level {level.level}: {level.recall:.3f}" in words
    assert len(list(read(level_scores({"m": result, "n": result})).iter(f"{SVG}polyline"))) == 4


def test_learning_curves_have_means_and_ranges():
    svg = read(learning_curves({"m": ([10, 100], [[0.2, 0.4], [0.5, 0.7]]), "n": ([10, 100], [0.1, 0.2])}))
    assert [text for text in hovered(svg) if text.startswith("m ")] == ["m 10: 0.3", "m 100: 0.6"]
    assert len(list(svg.iter(f"{SVG}polygon"))) == 1
    with pytest.raises(ParameterError, match="positive"):
        learning_curves(([0], [1.0]))


@pytest.mark.parametrize("seed", range(5))
def test_the_front_is_what_nothing_beats(seed):
    random = np.random.default_rng(seed)
    seconds, scores = random.integers(1, 6, 12), random.integers(1, 6, 12)
    front = pareto_front(seconds, scores)
    for k in range(12):
        beaten = any(
            seconds[j] <= seconds[k] and scores[j] >= scores[k] and (seconds[j] < seconds[k] or scores[j] > scores[k])
            for j in range(12)
        )
        same = any((seconds[j], scores[j]) == (seconds[k], scores[k]) for j in front)
        assert same != beaten
    read(pareto({f"m{k}": (int(s), float(q)) for k, (s, q) in enumerate(zip(seconds, scores, strict=True))}))


def test_the_matrix_counts_every_row_of_the_branch():
    names, table = confusion_counts(TRUE, PRED, TREE, node="a")
    assert names == ["a/x", "a/y"] if "a/x" in TREE.names else ["x", "y"]
    assert table.tolist() == [[1, 1, 0], [0, 1, 0]]
    names, table = confusion_counts(TRUE, PRED, TREE)
    assert table.tolist() == [[3, 0, 0], [1, 2, 0]]
    assert "z → w: 0 of 1 rows (0 %)" in hovered(read(confusion_matrix(TRUE, PRED, TREE, node="b")))
    with pytest.raises(ParameterError, match="has no children"):
        confusion_matrix(TRUE, PRED, TREE, node="x")


def test_a_large_family_shows_its_largest_members():
    tree = Taxonomy.from_paths([f"n{k}" for k in range(60)])
    true = [f"n{k}" for k in range(60) for _ in range(1 + (k >= 20))]
    names, table = confusion_counts(true, true, tree)
    assert names == [f"n{k}" for k in range(20, 60)]
    assert table[:, -1].sum() == 0
    assert table.sum() == 80


def test_reliability_and_risk():
    P = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.2, 0.2, 0.5, 0.1]])
    y = [TREE.names[v] for v in TREE.leaves[[0, 1, 3]]]
    curve = reliability_curve(y, P, TREE, n_bins=3)
    words = hovered(read(reliability_diagram({"m": curve})))
    assert "m probability 0.700, right 1.000, 1 rows" in words
    assert read(risk_coverage(risk_coverage_curve(P, y, TREE))).tag == f"{SVG}svg"


def test_an_icicle_of_any_number():
    svg = read(icicle(TREE, {"x": 1.0, "y": 3.0}, words="articles"))
    rects = {title.split("\n")[0]: r for title, r in zip(hovered(svg), svg.iter(f"{SVG}rect"), strict=True)}
    assert len({rects["x"].get("fill"), rects["y"].get("fill"), rects["z"].get("fill")}) == 3
    assert rects["z"].get("class") == "none"
    with pytest.raises(ParameterError, match="one per node"):
        icicle(TREE, [1.0])
    with pytest.raises(ParameterError, match="needs values"):
        icicle(TREE)


def test_names_are_escaped():
    odd = Taxonomy.from_paths(["<b>&/x\u202e"])
    figure = confusion_matrix(["x\u202e"], ["x\u202e"], odd)
    assert "&lt;b&gt;&amp;" in figure
    assert shown("\u202e<") == "\\u202e&lt;"


def test_a_figure_is_saved_and_shown(tmp_path):
    figure = error_distance_histogram(find_errors(TRUE, PRED, TREE))
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text() == figure == figure._repr_html_()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.0, 0.0123), (-5, 37), (3, 3), (0.91, 0.93)])
def test_ticks_are_few_and_inside(low, high):
    ticks = round_ticks(low, high)
    assert 1 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
