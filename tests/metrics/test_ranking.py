"""Areas under precision–recall curves against scikit-learn, against sums by hand, and against worked examples."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from cladist import Taxonomy
from cladist.errors import LabelError, ParameterError
from cladist.labels import LabelMatrix
from cladist.metrics import average_precision, scorers

FOREST = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film", "food"])
TREE = Taxonomy.from_paths(["all/sport/tennis", "all/sport/chess", "all/art"])
DAG = Taxonomy.from_edges([("a", "c"), ("b", "c"), ("a", "d")])


def ranked(taxonomy, seed, n_rows=40, ties=False):
    random = np.random.default_rng(seed)
    labels = LabelMatrix.from_indicator(_closed(random.random((n_rows, taxonomy.n_nodes)) < 0.2, taxonomy), taxonomy)
    scores = random.standard_normal(labels.shape) + labels.to_indicator().toarray()
    return labels, np.round(scores) if ties else scores


def _closed(matrix, taxonomy):
    rows = [np.flatnonzero(row) for row in matrix]
    indptr = np.cumsum([0, *map(len, rows)])
    return LabelMatrix.from_ids(indptr, np.concatenate(rows), taxonomy).to_indicator()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("taxonomy", [FOREST, TREE, DAG], ids=["forest", "tree", "dag"])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_steps_are_those_of_scikit_learn(taxonomy, average, ties):
    for seed in range(5):
        labels, scores = ranked(taxonomy, seed, ties=ties)
        first = 1 if taxonomy is TREE else 0  # without the root
        true = labels.to_indicator().toarray()[:, first:]
        assert average_precision(labels, scores, taxonomy, average=average) == pytest.approx(
            average_precision_score(true, scores[:, first:], average=average)
        )


@pytest.mark.parametrize("ties", [False, True])
def test_interpolated_areas_by_many_thin_strips(ties):
    labels, scores = ranked(FOREST, 3, ties=ties)
    true, order = labels.to_indicator().toarray().ravel(), np.argsort(-scores.ravel(), kind="stable")
    curve, tp, fp, previous = [(0.0, 0.0)], 0.0, 0.0, None
    for k in order:
        if previous is not None and scores.ravel()[k] != previous:
            curve.append((tp, fp))
        tp, fp, previous = tp + true[k], fp + 1 - true[k], scores.ravel()[k]
    curve.append((tp, fp))
    area = 0.0
    for (tp0, fp0), (tp1, fp1) in pairwise(curve):
        middle = tp0 + (tp1 - tp0) * (np.arange(2000) + 0.5) / 2000
        if tp1 > tp0:
            precision = middle / (middle + fp0 + (fp1 - fp0) * (middle - tp0) / (tp1 - tp0))
            area += precision.mean() * (tp1 - tp0) / tp
    assert average_precision(labels, scores, FOREST, interpolate=True) == pytest.approx(area, abs=1e-6)


def test_nodes_without_a_column_follow_those_below_them():
    labels, scores = ranked(DAG, 1)
    of_all = np.column_stack([np.maximum(scores[:, 2], scores[:, 3]), scores[:, 2], scores[:, 2], scores[:, 3]])
    wanted = [DAG.names[v] for v in range(4)]
    columns = {"a": of_all[:, 0], "b": scores[:, 2], "c": scores[:, 2], "d": scores[:, 3]}
    by_hand = np.column_stack([columns[name] for name in wanted])
    below = [scores[:, 2], scores[:, 3]]
    found = average_precision(labels, np.column_stack(below), DAG, classes=["c", "d"])
    assert found == average_precision(labels, by_hand, DAG)
    own = average_precision(labels, np.column_stack([scores[:, 0], *below]), DAG, classes=["a", "c", "d"])
    assert own != found  # a column of its own counts


def test_nodes_that_nothing_ranks_come_last():
    y = [{"tennis"}, {"food"}]
    found = average_precision(y, [[1.0], [0.0]], FOREST, classes=["tennis"], average="macro")
    assert found == pytest.approx((1 + 1 + 0.5) / 3)  # sport, tennis, and food, of which half of the rows have


def test_what_is_refused():
    with pytest.raises(LabelError, match="scores of 1 rows must be rows × nodes"):
        average_precision(["food"], [1.0], FOREST)
    with pytest.raises(ParameterError, match="2 nodes need as many columns; got 1"):
        average_precision(["food"], [[1.0]], FOREST, classes=["food", "art"])
    with pytest.raises(ParameterError, match="some are NaN"):
        average_precision(["food"], [[np.nan]], FOREST, classes=["food"])
    with pytest.raises(LabelError, match="no row has a label"):
        average_precision([set()], [[1.0]], FOREST, classes=["food"])


def test_the_scorer_ranks_by_the_decision_function():
    from cladist import FlatSVM

    X = np.random.default_rng(0).random((30, 4))
    y = [{"tennis"}, {"food", "chess"}, set()] * 10
    model = FlatSVM(FOREST).fit(X, y)
    by_hand = average_precision(y, model.decision_function(X), FOREST, classes=model.classes_)
    assert scorers.average_precision(model, X, y) == by_hand
    two = FlatSVM(FOREST).fit(X, ["tennis", "food"] * 15)  # whose decision_function has one column
    assert scorers.average_precision(two, X, ["tennis", "food"] * 15) > 0.4
