"""Rules against brute force: every answer compared with all others, on random trees, forests and DAGs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from cladist import Taxonomy
from cladist.decisions import (
    RULES,
    Confidence,
    Conformal,
    MinimumRisk,
    RiskControl,
    Specificity,
    automation_curve,
    risk_coverage_curve,
    sum_to_nodes,
)
from cladist.decisions.conformal import upper_quantile
from cladist.decisions.risk_control import certify_answers, hoeffding_bentkus
from cladist.errors import CladistWarning, LabelError, ModelFormatError, ParameterError, TaxonomyError, TooLargeError
from cladist.labels import LabelMatrix, TopK
from cladist.losses import LOSSES, HierarchicalF, HLoss, SymmetricDifference, TreeDistance, ZeroOne
from tests.strategies import consistent_sets, dags, forests

ANIMALS = Taxonomy.from_paths(["all/cat/lion", "all/cat/lynx", "all/dog/wolf", "all/dog/fox", "all/owl"])
seeds = st.integers(0, 2**32 - 1)


def draw_probabilities(random, n_rows, n_classes, parts=16):
    """Multiples of 1/16, whose sums are exact in any order, so that equal risks are ties and not rounding."""
    return random.multinomial(parts, random.dirichlet(np.full(n_classes, 0.4)), size=n_rows) / parts


def every_loss(taxonomy, loss, classes):
    """The loss of each node for each class, pair by pair."""
    names = taxonomy.names
    return np.array([[loss([names[c]], [names[v]], taxonomy) for v in range(len(names))] for c in classes])


@st.composite
def problems(draw, taxonomies):
    """A taxonomy, the nodes that are classes (leaves and some inner nodes), and probabilities."""
    taxonomy, random = draw(taxonomies), np.random.default_rng(draw(seeds))
    inner = np.flatnonzero(~taxonomy.is_leaf)
    stops = inner[random.random(len(inner)) < 0.3] if draw(st.booleans()) else inner[:0]
    classes = np.sort(np.concatenate([taxonomy.leaves, stops]))
    return taxonomy, classes, draw_probabilities(random, 4, len(classes))


any_taxonomy = st.one_of(forests(max_nodes=9), dags(max_nodes=8))


def names_of(taxonomy, nodes):
    return [taxonomy.names[v] for v in nodes]


def masses(taxonomy, classes, P):
    above = LabelMatrix.from_nodes(classes, taxonomy).to_indicator().toarray()
    return P @ above


# -------------------------------------------------------------------- minimum risk


@given(problems(any_taxonomy), st.sampled_from(LOSSES), st.sampled_from(["nodes", "leaves"]), st.booleans())
def test_minimum_risk_is_the_least_of_all(problem, loss, over, as_list):
    taxonomy, classes, P = problem
    rule = MinimumRisk(loss, over=over).fit(P, None, taxonomy, classes=names_of(taxonomy, classes))
    risks = P @ every_loss(taxonomy, loss, classes)
    if over == "leaves":
        risks[:, ~taxonomy.is_leaf] = np.inf
    given_as = TopK.of(P, P.shape[1]) if as_list else P
    nodes = rule.answer(given_as).nodes
    chosen = risks[np.arange(len(P)), nodes]
    np.testing.assert_allclose(chosen, risks.min(axis=1), atol=1e-12)
    exact = isinstance(loss, (TreeDistance, SymmetricDifference, ZeroOne)) or loss == HLoss()
    if exact:  # multiples of 1/16: of equal risks the first node, by id
        if isinstance(loss, ZeroOne):  # only classes can be right; other nodes are never chosen
            risks[:, np.setdiff1d(np.arange(len(taxonomy)), classes)] = np.inf
        np.testing.assert_array_equal(nodes, risks.argmin(axis=1))


@given(problems(any_taxonomy), seeds, st.booleans())
def test_minimum_risk_with_a_matrix_of_costs(problem, seed, square):
    taxonomy, classes, P = problem
    n_answers = len(classes) if square else len(taxonomy)
    costs = np.random.default_rng(seed).integers(0, 5, (len(classes), n_answers)) / 4
    rule = MinimumRisk(costs).fit(P, None, taxonomy, classes=names_of(taxonomy, classes))
    answers = classes if square and len(classes) < len(taxonomy) else np.arange(len(taxonomy))
    np.testing.assert_array_equal(rule.answer(P).nodes, answers[(P @ costs).argmin(axis=1)])


def consistent_marginals(random, taxonomy, n_rows):
    """Random distributions over consistent sets, their sets and their marginals."""
    sets = consistent_sets(taxonomy.parent)
    weights = draw_probabilities(random, n_rows, len(sets), parts=64)
    return sets, weights, weights @ sets


@given(forests(max_nodes=6), seeds, st.sampled_from([SymmetricDifference(), HLoss(), HLoss("sibling")]))
def test_sets_of_least_risk(taxonomy, seed, loss):
    sets, weights, marginals = consistent_marginals(np.random.default_rng(seed), taxonomy, 3)
    rule = MinimumRisk(loss).fit(marginals, None, taxonomy, sets=True)
    chosen = rule.answer(marginals).nodes
    matrix, n_sets = LabelMatrix.from_indicator(sets, taxonomy), len(sets)
    left, right = matrix[np.repeat(np.arange(n_sets), n_sets)], matrix[np.tile(np.arange(n_sets), n_sets)]
    risks = weights @ loss.per_example(left, right, taxonomy).reshape(n_sets, n_sets)
    position = {tuple(z): k for k, z in enumerate(sets)}
    ours = [risks[i, position[tuple(z)]] for i, z in enumerate(chosen.to_indicator().toarray())]
    np.testing.assert_allclose(ours, risks.min(axis=1), atol=1e-12)


@given(forests(max_nodes=6), seeds)
def test_the_most_probable_set_if_siblings_are_independent(taxonomy, seed):
    random = np.random.default_rng(seed)
    given_parent = random.uniform(0.05, 0.95, size=(3, len(taxonomy)))
    above = np.where(taxonomy.parent < 0, len(taxonomy), taxonomy.parent)
    sets = consistent_sets(taxonomy.parent).astype(float)
    on_above = np.append(sets, np.ones((len(sets), 1)), axis=1)[:, above]
    chances = np.array(
        [np.prod(np.where(sets > 0, q, np.where(on_above > 0, 1 - q, 1.0)), axis=1) for q in given_parent]
    )
    marginals = chances @ sets
    chosen = MinimumRisk("zero-one").fit(marginals, None, taxonomy, sets=True).answer(marginals).nodes
    position = {tuple(z): k for k, z in enumerate(sets.astype(int))}
    ours = [chances[i, position[tuple(z)]] for i, z in enumerate(chosen.to_indicator().toarray())]
    np.testing.assert_allclose(ours, chances.max(axis=1), rtol=1e-9)


@given(forests(max_nodes=6), seeds, st.sampled_from([0.5, 1.0, 2.0]))
def test_sets_of_greatest_ratio(taxonomy, seed, beta):
    _, _, marginals = consistent_marginals(np.random.default_rng(seed), taxonomy, 3)
    chosen = MinimumRisk(HierarchicalF(beta)).fit(marginals, None, taxonomy, sets=True).answer(marginals).nodes
    for p, z in zip(marginals, chosen.to_indicator().toarray(), strict=True):
        ratios = [p @ a / (beta**2 * p.sum() + a.sum()) for a in consistent_sets(taxonomy.parent) if a.any()]
        if p.any():
            assert p @ z / (beta**2 * p.sum() + z.sum()) == pytest.approx(max(ratios))
        else:
            assert not z.any()


def test_what_minimum_risk_refuses():
    P = np.full((2, 4), 0.25)
    marginals = np.full((1, len(ANIMALS)), 0.5)
    with pytest.raises(ParameterError, match="over must be one of"):
        MinimumRisk(over="leafs").fit(P, None, ANIMALS)
    with pytest.raises(ParameterError, match="loss must be one of 'tree-distance'"):
        MinimumRisk("tree").fit(P, None, ANIMALS)
    with pytest.raises(ParameterError, match="matrix of finite costs; got"):
        MinimumRisk(object()).fit(P, None, ANIMALS)
    with pytest.raises(ParameterError, match="here 5 × 8, or classes × classes; got 3 × 3"):
        MinimumRisk(np.eye(3)).fit(np.eye(5), None, ANIMALS).decide(np.eye(5))
    with pytest.raises(ParameterError, match="TreeDistance is not defined for sets"):
        MinimumRisk().fit(marginals, None, ANIMALS, sets=True).decide(marginals)
    with pytest.raises(LabelError, match="more probable than a node above it"):
        MinimumRisk("h-loss").fit(marginals, None, ANIMALS, sets=True).decide(np.linspace(0, 1, 8)[None])
    dag = Taxonomy.from_edges([("a", "c"), ("b", "c")])
    with pytest.raises(TaxonomyError, match="HLoss for sets"):
        MinimumRisk("h-loss").fit(np.ones((1, 3)), None, dag, sets=True).decide(np.ones((1, 3)))


def test_too_many_pairs_on_a_dag(monkeypatch):
    monkeypatch.setattr("cladist.decisions.minimum_risk.MOST_PAIRS", 2)
    dag = Taxonomy.from_edges([("a", "c"), ("b", "c"), ("a", "d")])
    with pytest.raises(TooLargeError, match="compares all pairs of 2 classes and 4 nodes"):
        MinimumRisk().fit(np.eye(2), None, dag).decide(np.eye(2))


# -------------------------------------------------------------------- confidence, specificity


@given(problems(any_taxonomy), st.sampled_from([0.1, 0.3, 0.5, 0.75, 0.9, 1.0]))
def test_confidence_is_the_deepest_sure_node(problem, level):
    taxonomy, classes, P = problem
    answers = Confidence(level).fit(P, None, taxonomy, classes=names_of(taxonomy, classes)).answer(P)
    for m, node, sure in zip(masses(taxonomy, classes, P), answers.nodes, answers.confidence, strict=True):
        enough = [v for v in range(len(taxonomy)) if m[v] >= level]
        best = max(enough, key=lambda v: (taxonomy.depth[v], m[v], -v), default=-1)
        assert node == best
        assert sure == (m[best] if enough else 0.0)


@given(problems(forests(max_nodes=9)), seeds, st.sampled_from([0.3, 0.6, 0.9, 1.0]))
def test_specificity_reaches_its_accuracy(problem, seed, accuracy):
    taxonomy, classes, _ = problem
    random = np.random.default_rng(seed)
    P = draw_probabilities(random, 30, len(classes), parts=64)
    true = classes[[random.choice(len(classes), p=p) for p in P]]
    rule = Specificity(accuracy).fit(P, names_of(taxonomy, true), taxonomy, classes=names_of(taxonomy, classes))
    nodes = rule.answer(P).nodes
    above = LabelMatrix.from_nodes(true, taxonomy).to_indicator().toarray()
    right = np.mean([v >= 0 and z[v] for v, z in zip(nodes, above, strict=True)])
    if np.isfinite(rule.multiplier_):
        assert right >= accuracy
    else:
        m = masses(taxonomy, classes, P)
        surest = [z[int(np.argmax(row))] for row, z in zip(m, above, strict=True)]
        assert np.mean(surest) < accuracy


# -------------------------------------------------------------------- risk control


def simulate(random, n_rows):
    """Probabilities that are overconfident, and labels."""
    logits = random.normal(size=(n_rows, 5)) * 2
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = ANIMALS.leaves
    labels = [ANIMALS.names[classes[random.choice(5, p=p)]] for p in P]
    sharp = np.exp(2 * logits) / np.exp(2 * logits).sum(axis=1, keepdims=True)
    return sharp, labels


@pytest.mark.parametrize(("loss", "at_most"), [("error", 0.1), ("error", 0.3), ("tree-distance", 2.0)])
def test_the_risk_is_controlled(loss, at_most):
    """Over many sets of calibration rows, the risk on many new rows exceeds the bound in at most δ of them."""
    random = np.random.default_rng(5)
    P_new, y_new = simulate(random, 10_000)
    failures, levels = 0, []
    for _ in range(40):
        rule = RiskControl(loss, at_most=at_most, delta=0.2).fit(*simulate(random, 400), ANIMALS)
        nodes = rule.answer(P_new).nodes
        true = LabelMatrix.from_nodes(np.array([ANIMALS.index(name) for name in y_new]), ANIMALS)
        if loss == "error":
            risk = np.mean(np.asarray(true.to_indicator()[np.arange(len(nodes)), nodes]).ravel() == 0)
        else:
            risk = np.mean(TreeDistance().per_example(true, LabelMatrix.from_nodes(nodes, ANIMALS), ANIMALS))
        failures += risk > at_most
        levels.append(rule.level_)
    assert failures / 40 <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 40)
    assert min(levels) < 1  # some answers are below the root


@pytest.mark.filterwarnings("ignore:RiskControl. no level keeps the risk")  # which some draws do for "gain"
@pytest.mark.parametrize("answers", ["deepest", "gain"])
def test_the_error_of_the_answers_is_controlled(answers):
    """Over many sets of calibration rows, the share of wrong ones among the answers exceeds the bound in at most δ."""
    forest = Taxonomy.from_paths(["cat/lion", "cat/lynx", "dog/wolf", "dog/fox", "owl"])
    random, failures, answered = np.random.default_rng(6), 0, []
    P_new, y_new = simulate(random, 10_000)
    true = np.array([forest.index(name) for name in y_new])
    order = [ANIMALS.names[v] for v in ANIMALS.leaves]
    for _ in range(40):
        P, y = simulate(random, 600)
        rule = RiskControl(at_most=0.25, delta=0.2, of="answers", answers=answers)
        rule.fit(P, y, forest, classes=order)
        nodes = rule.answer(P_new).nodes
        has = nodes >= 0
        right = forest.common_ancestors(np.maximum(nodes, 0), true) == nodes
        failures += bool(np.sum(has & ~right) > 0.25 * has.sum())
        answered.append(has.mean())
    assert failures / 40 <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 40)
    assert 0.02 < np.median(answered) < 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["rows", "answers"]), st.floats(0.01, 1.0))
def test_answers_have_the_greatest_gain(seed, of, level):
    random = np.random.default_rng(seed)
    P = random.dirichlet(np.full(5, 0.5), 4)
    rule = RiskControl(at_most=0.1, of=of, answers="gain")
    rule.taxonomy_, rule.class_nodes_, rule.sets_, rule.level_ = ANIMALS, ANIMALS.leaves, False, level
    masses = sum_to_nodes(P, ANIMALS)
    depth = (ANIMALS.depth + 1) / (ANIMALS.depth.max() + 1)
    errors = 1 - masses - (0.1 if of == "answers" else 0.0)
    gains = (1 - level) * depth * masses - level * errors
    for node, sure, row, mass in zip(*rule.answer(P), gains, masses, strict=True):
        assert (row[node] if node >= 0 else 0.0) == pytest.approx(max(0.0, row.max()))
        assert sure == pytest.approx(mass[node] if node >= 0 else 0.0)


def test_answers_are_certified_from_any_start():
    """The first tests fail, as few answers are not enough, and a later start passes."""
    answered, wrong = np.array([0, 10, 50, 200, 400]), np.array([0.0, 1.0, 2.0, 2.0, 40.0])
    assert certify_answers(wrong, answered, 500, 0.05, 0.2).tolist() == [False, False, False, True, False]
    assert not certify_answers(wrong, answered, 50_000, 0.05, 0.2).any()


def test_what_a_start_brings_goes_on_to_the_next_level():
    """The last level has a p-value of 0.088, for which all five starts must have passed; the others are near 0."""
    answered = np.array([10, 25, 50, 100, 200, 400])
    for wrong, passed in (([0, 0, 0, 0, 0, 186], [True] * 6), ([10, 0, 0, 0, 0, 186], [False, *[True] * 4, False])):
        assert certify_answers(np.array(wrong, float), answered, 500, 0.5, 0.1).tolist() == passed


def test_no_level_controls_the_risk():
    P, y = simulate(np.random.default_rng(0), 20)
    with pytest.warns(CladistWarning, match=r"no level keeps the risk at 0\.01 with probability 0\.9 on 20"):
        rule = RiskControl(at_most=0.01).fit(P, y, ANIMALS)
    assert rule.decide(P).tolist() == [None] * 20


@given(st.integers(1, 200), st.floats(0.01, 0.9), st.floats(0, 1))
def test_p_values_are_valid_for_coin_flips(n_rows, bound, risk):
    """P(p-value ≤ u) ≤ u where each loss is 1 with probability `bound`, the worst case of the hypothesis."""
    from scipy.stats import binom

    counts = np.arange(n_rows + 1)
    p_values = hoeffding_bentkus(counts / n_rows, n_rows, bound)
    chances = binom.pmf(counts, n_rows, bound)
    assert np.all(np.diff(p_values) >= -1e-12)
    for u in (0.01, 0.1, risk):
        assert chances[p_values <= u].sum() <= u + 1e-9


# -------------------------------------------------------------------- conformal


@pytest.mark.parametrize(
    "options", [{"kind": "leaves"}, {"kind": "leaves", "by": "class"}, {"kind": "node"}, {"kind": "nodes", "r": 2}]
)
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_coverage(options, alpha):
    random, covered = np.random.default_rng(7), []
    for _ in range(80):
        rule = Conformal(alpha, **options).fit(*simulate(random, 150), ANIMALS)
        P, y = simulate(random, 150)
        closures = [{v for name in names for v in [name, *ANIMALS.descendants(name)]} for names in rule.decide(P)]
        covered.append(np.mean([label in closure for label, closure in zip(y, closures, strict=True)]))
    assert np.mean(covered) >= 1 - alpha - 2 * np.std(covered) / np.sqrt(80)
    assert np.mean(covered) <= 1 - alpha + 0.08  # not everything


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["node", "nodes"]), st.sampled_from([0.1, 0.3, 0.6]))
def test_the_threshold_of_covers_is_the_lowest_that_covers_enough_rows(seed, kind, alpha):
    """Compared with the rows covered at every threshold; covers of one row need not contain each other."""
    P, y = simulate(np.random.default_rng(seed), 30)
    rule = Conformal(alpha, kind=kind, r=2).fit(P, y, ANIMALS)
    chosen, levels = rule.threshold_, np.unique([*rule._covers(*_read(rule, P))[1], 0.0])
    levels = np.unique(np.concatenate([levels, -levels, [chosen]]))
    true, n_covered = np.array([ANIMALS.index(name) for name in y]), []
    for rule.threshold_ in levels:
        sets = rule.answer(P).nodes.frontier_names()
        below = [{u for v in map(ANIMALS.index, names) for u in (v, *ANIMALS.ids_below(v))} for names in sets]
        n_covered.append(sum(t in own for own, t in zip(below, true, strict=True)))
    enough = np.array(n_covered) >= np.ceil(31 * (1 - alpha))
    lowest = levels[np.flatnonzero(np.logical_and.accumulate(enough[::-1])[::-1])[0]]
    assert chosen == pytest.approx(lowest)


def _read(rule, P):
    return rule._read(P), rule._tree()


@pytest.mark.parametrize("kind", ["node", "nodes"])
def test_the_least_sure_rows_get_no_set_where_less_coverage_is_enough(kind):
    """A model that is always right covers all rows with single leaves; 70 % are wanted."""
    random = np.random.default_rng(1)
    sure, true = random.uniform(0.6, 0.99, 2000), random.integers(0, 5, 2000)
    P = np.repeat((1 - sure)[:, None] / 4, 5, axis=1)
    P[np.arange(2000), true] = sure
    y = [ANIMALS.names[ANIMALS.leaves[c]] for c in true]
    rule = Conformal(0.3, kind=kind).fit(P[:1000], y[:1000], ANIMALS)
    sets = rule.decide(P[1000:])
    covered = np.array([label in names for label, names in zip(y[1000:], sets, strict=True)])
    assert abs(covered.mean() - 0.7) < 3 * np.sqrt(0.3 * 0.7 * 2 / 1000)
    assert sure[1000:][covered].min() > sure[1000:][~covered].max()
    assert {len(names) for names in sets} == {0, 1}


def test_coverage_of_each_class():
    random = np.random.default_rng(3)
    P, y = simulate(random, 4000)
    P_new, y_new = simulate(random, 4000)
    rule = Conformal(0.2, by="class").fit(P, y, ANIMALS)
    inside = np.array([label in names for label, names in zip(y_new, rule.decide(P_new), strict=True)])
    for label in set(y_new):
        rows = np.array(y_new) == label
        assert inside[rows].mean() >= 0.8 - 3 * np.sqrt(0.16 / rows.sum()) - 3 * np.sqrt(
            0.16 / np.sum(np.array(y) == label)
        )


def test_classes_with_few_rows_share_a_threshold():
    P = np.tile([[0.6, 0.1, 0.1, 0.1, 0.1]], (40, 1))
    y = ["owl"] * 38 + ["lion", "wolf"]
    rule = Conformal(0.2, by="class").fit(P, y, ANIMALS)
    of = dict(zip(names_of(ANIMALS, ANIMALS.leaves), rule.threshold_, strict=True))
    assert of["owl"] == 0.6
    assert of["lion"] == of["fox"] == Conformal(0.2).fit(P, y, ANIMALS).threshold_


def antichains(taxonomy, most):
    below = taxonomy.closure.toarray()  # row: the node and those above it
    for count in range(1, most + 1):
        for nodes in itertools.combinations(range(len(taxonomy)), count):
            if all(not below[a, b] and not below[b, a] for a, b in itertools.combinations(nodes, 2)):
                yield nodes


@given(problems(forests(max_nodes=9)), st.integers(1, 3))
def test_covers_are_smallest(problem, most):
    taxonomy, classes, P = problem
    rule = Conformal(0.1, kind="nodes", r=most).fit(P, [names_of(taxonomy, classes)[0]] * len(P), taxonomy,
                                                    classes=names_of(taxonomy, classes))  # fmt: skip
    m, sizes = masses(taxonomy, classes, P), rule._tree().n_classes_below
    every = list(antichains(taxonomy, most))
    for threshold in (0.0, 0.3, 0.5, 0.8, 0.999):
        rule.threshold_ = threshold
        for row, z in zip(m, rule.answer(P).nodes.frontier_names(), strict=True):
            chosen = [taxonomy.index(name) for name in z]
            enough = [nodes for nodes in every if sum(row[v] for v in nodes) > threshold]
            if not enough:  # everything
                assert chosen == taxonomy.roots.tolist()
                continue
            smallest = min(sum(sizes[v] for v in nodes) for nodes in enough)
            assert sum(row[v] for v in chosen) > threshold
            assert sum(sizes[v] for v in chosen) == smallest
            assert len(chosen) <= most


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.sampled_from([0.05, 0.1, 0.5]))
def test_the_quantile_leaves_enough_scores_below(scores, alpha):
    scores = np.array(scores)
    q = upper_quantile(scores, alpha)
    assert np.sum(scores <= q) >= (1 - alpha) * (len(scores) + 1) - 1e-6 or q == np.inf


def test_sets_of_labels_are_covered():
    random, covered = np.random.default_rng(1), []
    for _ in range(60):
        on = random.random((200, len(ANIMALS)))
        marginals = np.minimum.accumulate(np.sort(random.random((200, len(ANIMALS))))[:, ::-1], axis=1)
        labels = on < marginals
        for v, p in enumerate(ANIMALS.parent):
            if p >= 0:
                labels[:, v] &= labels[:, p]
        rule = Conformal(0.2).fit(marginals[:100], labels[:100].astype(int), ANIMALS)
        sets = rule.answer(marginals[100:]).nodes.to_indicator().toarray() > 0
        covered.append(np.mean(np.all(sets | ~labels[100:], axis=1)))
    assert 0.8 - 2 * np.std(covered) / np.sqrt(60) <= np.mean(covered) <= 0.87


def test_too_few_calibration_rows_cover_everything():
    rule = Conformal(0.1, kind="node").fit(np.eye(5)[:3], ["owl", "lion", "lynx"], ANIMALS)
    assert [sorted(names) for names in rule.decide(np.eye(5)[:1])] == [["all"]]


def test_what_conformal_refuses():
    with pytest.raises(ParameterError, match="by='class' is for kind='leaves'"):
        Conformal(kind="node", by="class").fit(np.eye(5), None, ANIMALS)
    with pytest.raises(ParameterError, match="fit needs the true labels"):
        Conformal().fit(np.eye(5), None, ANIMALS)
    dag = Taxonomy.from_edges([("a", "c"), ("b", "c"), ("a", "d")])
    with pytest.raises(TaxonomyError, match="kind='nodes'"):
        Conformal(kind="nodes").fit(np.eye(2), ["c", "d"], dag)
    rule = Conformal(0.4, kind="node").fit(np.eye(2), ["c", "d"], dag, classes=["c", "d"])
    assert [sorted(names) for names in rule.decide(np.eye(2))] == [["c"], ["d"]]


# -------------------------------------------------------------------- what all rules share


@given(problems(any_taxonomy))
def test_probabilities_of_nodes(problem):
    taxonomy, classes, P = problem
    ours = sum_to_nodes(P, taxonomy, classes=names_of(taxonomy, classes))
    np.testing.assert_array_equal(ours, masses(taxonomy, classes, P))


BAD = [
    (np.full((1, 5), 0.5), "sum to 2.500, more than 1"),
    (np.array([[np.nan, 0, 0, 0, 0]]), "between 0 and 1"),
    (np.array([[-0.1, 0, 0, 0, 0]]), "between 0 and 1"),
    (np.full((1, 4), 0.1), r"here 5 classes; got shape \(1, 4\)"),
    (TopK(np.array([[7]]), np.array([[0.5]])), "go beyond the 5 classes"),
    (TopK(np.array([[1, 2]]), np.array([[0.5]])), r"two arrays \(rows × k\)"),
]  # fmt: skip


@pytest.mark.parametrize(("P", "message"), BAD)
def test_numbers_that_are_no_probabilities(P, message):
    with pytest.raises(LabelError, match=message):
        Confidence().fit(P, None, ANIMALS)


SENSELESS = [Confidence(2), Confidence("high"), Specificity(0), Conformal(0), Conformal(r=0)]
SENSELESS += [RiskControl(at_most=0), RiskControl(at_most=1.0), RiskControl(delta=1), RiskControl(of="leaves")]
SENSELESS += [RiskControl("tree-distance", of="answers"), RiskControl(answers="leaves")]


@pytest.mark.parametrize("rule", SENSELESS)
def test_parameters_without_a_meaning(rule):
    with pytest.raises(ParameterError, match=type(rule).__name__):
        rule.fit(np.eye(5), ["owl", "lion", "lynx", "wolf", "fox"], ANIMALS)


def test_classes_are_different_nodes():
    with pytest.raises(LabelError, match="one is given twice"):
        Confidence().fit(np.eye(2), None, ANIMALS, classes=["owl", "owl"])
    with pytest.raises(LabelError, match="P has 2 rows and y has 1"):
        Specificity().fit(np.eye(2), ["owl"], ANIMALS, classes=["owl", "lion"])


FITTED = [
    MinimumRisk("h-loss"),
    Confidence(0.7),
    Specificity(0.8),
    RiskControl(at_most=0.4),
    RiskControl(at_most=0.4, of="answers", answers="gain"),
    Conformal(0.2, by="class"),
]


@pytest.mark.parametrize("rule", FITTED)
def test_a_rule_survives_clone_and_dict(rule):
    P, y = simulate(np.random.default_rng(2), 300)
    fitted = clone(rule).fit(P, y, ANIMALS)
    content = fitted.to_dict()
    restored = RULES[content["name"]].from_dict(content, ANIMALS)
    assert restored.decide(P).tolist() == fitted.decide(P).tolist()
    with pytest.raises(ModelFormatError):
        type(rule).from_dict({**content, "fitted": {}}, ANIMALS)
    nodes = {**content["fitted"], "class_nodes_": np.array([99])}
    with pytest.raises(ModelFormatError):
        type(rule).from_dict({**content, "fitted": nodes}, ANIMALS)


# -------------------------------------------------------------------- curves


@given(problems(forests(max_nodes=9)), seeds)
def test_the_automation_curve_counts_answers(problem, seed):
    taxonomy, classes, P = problem
    true = classes[np.random.default_rng(seed).integers(0, len(classes), len(P))]
    names, levels = names_of(taxonomy, classes), [0.2, 0.55, 0.9]
    curve = automation_curve(P, names_of(taxonomy, true), taxonomy, classes=names, levels=levels)
    np.testing.assert_allclose(curve.at_leaf + curve.above + curve.unanswered, 1)
    for k, level in enumerate(levels):
        nodes = Confidence(level).fit(P, None, taxonomy, classes=names).answer(P).nodes
        above = LabelMatrix.from_nodes(true, taxonomy).to_indicator().toarray()
        wrong = [not z[v] for v, z in zip(nodes, above, strict=True) if v >= 0]
        assert curve.error[k] == pytest.approx(np.mean(wrong) if wrong else 0.0)
        assert curve.unanswered[k] == np.mean(nodes < 0)


def test_the_best_level_holds_from_there_on():
    curve = automation_curve(*simulate(np.random.default_rng(4), 500), ANIMALS)
    best = curve.best_at(0.1)
    assert best["error"] <= 0.1
    assert np.all(curve.error[curve.level >= best["level"]] <= 0.1)
    assert automation_curve(np.eye(5), ["lion", "owl", "fox", "wolf", "lynx"], ANIMALS, levels=[0.5]).best_at(0) is None


@given(seeds)
def test_risk_and_coverage(seed):
    P, y = simulate(np.random.default_rng(seed), 30)
    coverage, risk = risk_coverage_curve(P, y, ANIMALS, loss="tree-distance")
    order = np.argsort(-P.max(axis=1), kind="stable")
    answers = [ANIMALS.names[ANIMALS.leaves[c]] for c in P.argmax(axis=1)]
    distances = [ANIMALS.distance(y[i], answers[i]) for i in order]
    np.testing.assert_allclose(risk, [np.mean(distances[: k + 1]) for k in range(30)])
    np.testing.assert_allclose(coverage * 30, np.arange(1, 31))
