"""Calibrations are coherent, equal their definition, and find what scores were made with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import expit, logit, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from cladist import Taxonomy
from cladist.calibration import calibrate
from cladist.calibration.blend import fit_weights
from cladist.calibration.calibrators import METHODS, Calibrator, columns_of
from cladist.calibration.listed_scores import MOST_LISTED, ListedScores
from cladist.calibration.nested_logit import ChoiceTree, NestedLogit, Parameters
from cladist.calibration.path_curves import PathCurves, fit_path_curves
from cladist.errors import CladistError
from cladist.kernels import nested_logit as kernels
from cladist.labels import LabelMatrix
from cladist.metrics import calibration_by_level
from tests.calibration.nested_logit_reference import bend_best_path, class_probabilities
from tests.strategies import dags, forests

LEVELS = ("leaves", "levels", "nodes")
TREE = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e", "f/g", "f/h/i", "f/h/j"])


@st.composite
def problems(draw, taxonomies, sets=False):
    """A taxonomy, some of its nodes as classes, scores with some classes left out, and labels."""
    taxonomy = draw(taxonomies)
    nodes = draw(st.sets(st.integers(0, taxonomy.n_nodes - 1), min_size=1))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = [taxonomy.names[v] for v in sorted(nodes)]
    scores = random.normal(size=(draw(st.integers(1, 12)), len(names))) * draw(st.sampled_from([1e-3, 1.0, 50.0]))
    left_out = random.random(scores.shape) < 0.2
    left_out[:, 0] = False
    scores[left_out] = -np.inf
    if sets:
        y = [{name for name in names if random.random() < 0.4} for _ in scores]
    else:
        y = [names[random.integers(len(names))] for _ in scores]
    return taxonomy, names, scores, y


def assert_coherent(taxonomy, class_nodes, P, N):
    assert np.all((P >= 0) & (P <= 1 + 1e-12))
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-9)
    own = np.zeros_like(N)
    own[:, class_nodes] = P
    for v in range(taxonomy.n_nodes):
        children = taxonomy.child_ids(v)
        if taxonomy.kind != "dag":
            np.testing.assert_allclose(N[:, v], own[:, v] + N[:, children].sum(axis=1), atol=1e-9)
        assert np.all(N[:, children] <= N[:, [v]] + 1e-12)
    if taxonomy.kind != "dag":
        np.testing.assert_allclose(N[:, taxonomy.roots].sum(axis=1), 1, atol=1e-9)


def test_probabilities_that_are_almost_one_stay_coherent():
    """1 − p of the best option is rounded where p is near 1, by a hundred-thousandth where it is 1e-11."""
    taxonomy = Taxonomy.from_paths(["a", "b", "c"])
    fitted = calibrate(np.eye(3), ["a", "b", "c"], taxonomy, method="platt")
    no_information = PathCurves(np.zeros(1), np.zeros(1))  # sure answers are not believed
    model = fitted.model._replace(scales=np.ones(4), curves=no_information)
    scores = np.array([[25.3, 0.0, 0.1], [0.0, 24.9, -0.2], [0.3, 0.1, 26.2]])
    P = fitted._replace(model=model).predict(scores)
    assert P.max() < 0.51
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(problems(st.one_of(forests(), dags())), st.sampled_from(METHODS), st.sampled_from(LEVELS))
def test_probabilities_of_single_labels_are_coherent(problem, method, level):
    taxonomy, names, scores, y = problem
    fitted = calibrate(scores, y, taxonomy, method=method, level=level, classes=names)
    P, N = fitted.predict(scores), fitted.predict_nodes(scores)
    assert_coherent(taxonomy, fitted.class_nodes, P, N)
    assert np.all(P[scores == -np.inf] == 0)
    again = Calibrator.unpack(*fitted.pack(), taxonomy, fitted.class_nodes)
    np.testing.assert_array_equal(again.predict(scores), P)


@settings(max_examples=25, deadline=None)
@given(problems(st.one_of(forests(), dags()), sets=True), st.sampled_from(METHODS), st.sampled_from(LEVELS))
def test_in_sets_no_node_is_more_probable_than_a_parent(problem, method, level):
    taxonomy, names, scores, y = problem
    fitted = calibrate(scores, y, taxonomy, method=method, level=level, classes=names)
    N = fitted.predict_nodes(scores)
    assert np.all((N >= 0) & (N <= 1))
    for v in range(taxonomy.n_nodes):
        for p in taxonomy.parent_ids(v):
            assert np.all(N[:, v] <= N[:, p])
    np.testing.assert_array_equal(fitted.predict(scores), N[:, fitted.class_nodes])
    again = Calibrator.unpack(*fitted.pack(), taxonomy, fitted.class_nodes)
    np.testing.assert_array_equal(again.predict(scores), fitted.predict(scores))


@settings(max_examples=25, deadline=None)
@given(problems(forests()), st.booleans(), st.integers(0, 2**32 - 1))
def test_the_kernel_equals_the_definition(problem, by_maximum, seed):
    taxonomy, names, scores, _ = problem
    random = np.random.default_rng(seed)
    nodes = np.array([taxonomy.index(name) for name in names])
    scales, biases = np.exp(random.normal(size=taxonomy.n_nodes + 1)), random.normal(size=2 * taxonomy.n_nodes)
    scores = np.clip(scores, -3, 3, where=np.isfinite(scores), out=scores)
    model = NestedLogit(ChoiceTree(taxonomy, nodes), scales, biases, by_maximum)
    expected = [class_probabilities(taxonomy, nodes, row, scales, biases, by_maximum) for row in scores]
    np.testing.assert_allclose(np.exp(model.log_probabilities(scores)), expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(problems(forests()), st.booleans(), st.sampled_from(["sigmoids", "pieces", "steps"]), st.integers(0, 2**32 - 1))
def test_the_best_path_gets_what_its_curves_say(problem, by_maximum, kind, seed):
    taxonomy, names, scores, _ = problem
    random = np.random.default_rng(seed)
    nodes = np.array([taxonomy.index(name) for name in names])
    scales, biases = np.exp(random.normal(size=taxonomy.n_nodes + 1) / 3), random.normal(size=2 * taxonomy.n_nodes) / 3
    scores = np.clip(scores, -2, 2, where=np.isfinite(scores), out=scores)
    model = NestedLogit(ChoiceTree(taxonomy, nodes), scales, biases, by_maximum)
    n_steps = model.choices.n_steps
    knots, values = np.sort(random.normal(size=(n_steps, 3)) * 3), np.sort(random.random((n_steps, 3)))
    slopes, intercepts = np.exp(random.normal(size=n_steps)), random.normal(size=n_steps)

    def curve(step, p):
        z = logit(p)
        if kind == "steps":
            return np.interp(z, knots[step], values[step])
        if kind == "sigmoids":
            return expit(slopes[step] * z + intercepts[step])
        ends = np.array([*knots[step][knots[step] < z], z])  # the slope from each knot to the next
        return expit(slopes[step] * ends[0] + np.diff(ends) @ values[step][: len(ends) - 1] + intercepts[step])

    curves = PathCurves(slopes, intercepts)
    points = {"starts": np.arange(0, 3 * n_steps + 1, 3), "knots": knots.ravel(), "values": values.ravel()}
    if kind == "steps":
        curves = PathCurves(**points)
    elif kind == "pieces":
        curves = PathCurves(slopes, intercepts, **points)
    before = np.exp(model.log_probabilities(scores))
    expected = [bend_best_path(taxonomy, nodes, row, curve, kernels.KEPT) for row in before]
    after = np.exp(model._replace(curves=curves).log_probabilities(scores))
    np.testing.assert_allclose(after, expected, rtol=1e-7, atol=1e-9)


def test_the_end_of_the_best_path_can_be_kept_the_most_probable():
    """Two leaves share their node's probability, and another node has one leaf that is more probable than each."""
    tree = Taxonomy.from_paths(["a/b", "a/c", "d", "e"])
    names = ["b", "c", "d", "e"]
    nodes = np.array([tree.index(name) for name in names])
    scales = np.ones(tree.n_nodes + 1)
    model = NestedLogit(ChoiceTree(tree, nodes), scales, np.zeros(2 * tree.n_nodes), False)
    model = model._replace(curves=PathCurves(np.ones(model.choices.n_steps), np.zeros(model.choices.n_steps)))
    scores = np.array([[0.6, 0.4, 0.62, -2.0]])
    plain, kept = (np.exp(model._replace(keeps_best=keeps).log_probabilities(scores))[0] for keeps in (False, True))
    assert names[plain.argmax()] == "d"
    assert names[kept.argmax()] == "b"
    np.testing.assert_allclose(kept[[0, 2]], plain[0])
    assert kept.sum() == pytest.approx(1)
    assert kept[1] / kept[3] == pytest.approx(plain[1] / plain[3])  # what d had too much, they share


def test_the_steps_of_the_best_path_are_traced():
    """Steps, their probabilities and hits of one row, read off its probabilities."""
    nodes = np.arange(TREE.n_nodes)
    model = NestedLogit(ChoiceTree(TREE, nodes), np.ones(TREE.n_nodes + 1), np.zeros(2 * TREE.n_nodes), False)
    scores = np.zeros((2, len(nodes)))
    scores[:, [TREE.index("a"), TREE.index("c")]] = [[0.0, 4.0], [6.0, 0.0]]
    rows, targets = ListedScores.of(scores, np.array([TREE.index("d")] * 2)), np.array([TREE.index("d")] * 2)
    log_mass, hits = np.empty((2, model.choices.n_steps)), np.zeros((2, model.choices.n_steps), bool)
    ends, lists = np.empty(2, np.int64), model.choices.lists_of(rows.columns)
    kernels.trace_paths(model.model, rows, targets, *lists, log_mass, hits, ends)
    assert [TREE.names[v] for v in ends] == ["c", "a"]
    P = np.exp(model.log_probabilities(scores)) @ LabelMatrix.from_nodes(nodes, TREE).to_indicator().toarray()
    path = [P[0, TREE.index(name)] for name in "abc"]
    np.testing.assert_allclose(np.exp(log_mass[0, :3]), path)
    assert hits[0].tolist() == [True, True, False, False]
    stop = np.exp(model.log_probabilities(scores))[1, TREE.index("a")]
    np.testing.assert_allclose(np.exp(log_mass[1, :2]), [P[1, TREE.index("a")], stop])
    assert hits[1, :2].tolist() == [True, False]
    assert np.isnan(log_mass[0, 3])
    assert np.isnan(log_mass[1, 2:]).all()


@pytest.mark.parametrize(("method", "share"), [("temperature", 0.5), ("isotonic", 0.5)])
def test_the_confidence_of_every_level_holds_where_a_scale_is_not_enough(method, share):
    """True labels follow scores that are squared; the largest error of a level is compared with that without curves."""
    random = np.random.default_rng(2)
    tree = Taxonomy.from_paths([f"{a}/{a}{b}" for a in "wxyz" for b in "12345"])
    scores = random.normal(size=(12_000, 20))
    names = [tree.names[v] for v in tree.leaves]
    y = draw_labels(np.sign(scores) * scores**2 * 2, names, random)
    fitted = calibrate(scores[:8000], y[:8000], tree, method=method, classes=names)
    plain = fitted._replace(model=fitted.model._replace(curves=PathCurves()))
    errors = [
        max(
            part.expected_calibration_error
            for part in calibration_by_level(y[8000:], c.predict(scores[8000:]), tree, classes=names)
        )
        for c in (fitted, plain)
    ]
    assert errors[0] < share * errors[1]


def evaluate(curves, z):
    return np.array([kernels.bent(curves, 0, value) for value in np.log(expit(z))])


def test_a_curve_follows_what_a_sigmoid_cannot():
    """Log odds that are right in other places than at a line; the mean error on the rows, beside that of a sigmoid."""
    random = np.random.default_rng(3)
    z = random.normal(size=20_000) * 2
    true = expit(np.where(z < 1, 0.3 * z, 3 * z - 2.7))
    hits = random.random(len(z)) < true
    errors = {}
    for method in ("temperature", "platt"):
        curves = fit_path_curves(np.log(expit(z))[:, None], hits[:, None], method=method)
        assert np.all(np.diff(evaluate(curves, np.linspace(-6, 6, 200))) > 0)
        errors[method] = np.abs(evaluate(curves, z) - true).mean()
    assert errors["temperature"] < 0.02 < errors["platt"]


def test_few_rows_have_hardly_more_than_a_sigmoid():
    random = np.random.default_rng(4)
    z = random.normal(size=60)
    hits = random.random(60) < expit(z)
    curves = [fit_path_curves(np.log(expit(z))[:, None], hits[:, None], method=m) for m in ("temperature", "platt")]
    plain, pieces = (evaluate(curve, np.linspace(-2, 2, 50)) for curve in curves[::-1])
    np.testing.assert_allclose(pieces, plain, atol=0.05)


def test_curves_of_steps_without_a_choice_change_nothing():
    log_mass, hits = np.full((3, 2), np.nan), np.ones((3, 2), bool)
    log_mass[:, 1] = np.log([0.2, 0.5, 0.9])
    for method in ("platt", "temperature"):
        curves = fit_path_curves(log_mass, hits, method=method)
        assert curves.slopes[0] == 1
        assert curves.starts[1] == 0
    assert fit_path_curves(log_mass, hits, method="isotonic").starts.tolist()[:2] == [0, 1]


@pytest.mark.parametrize("by_maximum", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_gradients_are_those_of_the_loss(level, by_maximum):
    random = np.random.default_rng(0)
    nodes = np.array([v for v in range(TREE.n_nodes) if TREE.names[v] != "h"])
    scores = random.normal(size=(40, len(nodes)))
    targets = random.choice(nodes, 40)
    scores[3, 2], scores[5, :3] = -np.inf, -np.inf
    targets[3], targets[7] = nodes[2], TREE.index("h")  # a class that cannot be chosen, and a node that is no class
    rows = ListedScores.of(scores, columns_of(nodes, TREE)[targets])
    choices = ChoiceTree(TREE, nodes, flat=level == "leaves")
    problem = Parameters(choices, rows, targets, level=level, biases=True, by_maximum=by_maximum)
    theta, by_scores = random.normal(size=len(problem.ridge)) * 0.3, np.zeros(scores.shape)
    _, gradient = problem.loss(theta, by_scores)
    np.testing.assert_allclose(gradient, approx_fprime(theta, lambda t: problem.loss(t)[0], 1e-7), atol=1e-5)

    def loss_of_scores(finite):
        problem.rows = rows._replace(scores=np.where(np.isfinite(scores), finite.reshape(scores.shape), -np.inf))
        return problem.loss(theta)[0]

    numeric = approx_fprime(np.where(np.isfinite(scores), scores, 0.0).ravel(), loss_of_scores, 1e-7)
    np.testing.assert_allclose(by_scores.ravel(), numeric, atol=1e-5)


def test_kernels_equal_their_python_twins():
    random = np.random.default_rng(1)
    choices = ChoiceTree(TREE, np.arange(TREE.n_nodes))
    scores, targets = random.normal(size=(5, TREE.n_nodes)), random.integers(0, TREE.n_nodes, 5)
    model = NestedLogit(choices, np.full(TREE.n_nodes + 1, 1.5), random.normal(size=2 * TREE.n_nodes), False)
    rows, lists = ListedScores.of(scores, targets), choices.lists_of(np.tile(np.arange(TREE.n_nodes), (5, 1)))
    found = []
    for function in (kernels.add_log_likelihood, kernels.add_log_likelihood.py_func):
        grads = np.zeros(TREE.n_nodes + 1), np.zeros(2 * TREE.n_nodes), np.zeros(scores.shape)
        found.append((function(model.model, rows, targets, *lists, *grads), *grads))
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-12)
    n_steps, both = choices.n_steps, []
    for trace, predict in (
        (kernels.trace_paths, kernels.log_probabilities),
        (kernels.trace_paths.py_func, kernels.log_probabilities.py_func),
    ):
        log_mass, hits, out = np.empty((5, n_steps)), np.zeros((5, n_steps), bool), np.empty(scores.shape)
        ends = np.empty(5, np.int64)
        trace(model.model, rows, targets, *lists, log_mass, hits, ends)
        predict(model.model, PathCurves(np.full(n_steps, 0.5), np.zeros(n_steps)), True, scores, choices.nodes, out)
        both.append((log_mass, hits, ends, out))
    for ours, twin in zip(*both, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-12)


# -------------------------------------------------------------------- limits


def draw_labels(scores, names, random):
    return np.array(names)[(scores + random.gumbel(size=scores.shape)).argmax(axis=1)]


@pytest.mark.parametrize("scale", [0.05, 1.0, 300.0])
def test_the_true_scale_is_found(scale):
    random = np.random.default_rng(0)
    star = Taxonomy.from_parents(dict.fromkeys("abcde"))
    logits = random.normal(size=(20_000, 5)) * 2
    y = draw_labels(logits, list("abcde"), random)
    fitted = calibrate(logits * scale, y, star, level="leaves")
    assert fitted.model.scales[-1] * scale == pytest.approx(1, rel=0.03)
    np.testing.assert_allclose(fitted.predict(logits * scale), softmax(logits, axis=1), atol=0.02)


def test_scales_of_levels_are_found():
    random = np.random.default_rng(1)
    tree = Taxonomy.from_paths([f"{a}/{a}{b}" for a in "xyz" for b in "123"])
    nodes, scores = tree.leaves, random.normal(size=(30_000, 9)) * 2
    scales = np.full(tree.n_nodes + 1, 2.0)
    scales[-1] = 0.5
    model = NestedLogit(ChoiceTree(tree, nodes), scales, np.zeros(2 * tree.n_nodes), False)
    y = draw_labels(model.log_probabilities(scores), [tree.names[v] for v in nodes], random)
    fitted = calibrate(scores, y, tree, level="levels")
    assert not fitted.model.by_maximum
    assert fitted.model.scales[-1] == pytest.approx(0.5, rel=0.06)
    assert fitted.model.scales[0] == pytest.approx(2.0, rel=0.06)


def test_on_a_star_all_levels_are_the_softmax_of_scikit_learn():
    temperature = pytest.importorskip("sklearn.calibration")._TemperatureScaling
    random = np.random.default_rng(2)
    logits = random.normal(size=(500, 4))
    y = draw_labels(3 * logits, list("abcd"), random)
    expected = temperature().fit(logits, np.unique(y, return_inverse=True)[1]).predict(logits)
    for level in ("leaves", "levels"):
        P = calibrate(logits, y, Taxonomy.from_parents(dict.fromkeys("abcd")), level=level).predict(logits)
        np.testing.assert_allclose(P, expected, atol=2e-3)


def test_sets_on_one_node_are_platt_and_isotonic_regression():
    random = np.random.default_rng(3)
    star, z = Taxonomy.from_parents({"a": None}), random.normal(size=(400, 1))
    has = random.random(400) < expit(3 * z[:, 0] - 1)
    y = [{"a"} if h else set() for h in has]
    platt = LogisticRegression(C=np.inf).fit(z, has).predict_proba(z)[:, 1]
    np.testing.assert_allclose(calibrate(z, y, star, method="platt").predict(z)[:, 0], platt, atol=1e-3)
    steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(z[:, 0], has).predict(z[:, 0])
    np.testing.assert_allclose(calibrate(z, y, star, method="isotonic").predict(z)[:, 0], steps, atol=1e-9)


def test_many_classes_are_calibrated_by_some_of_their_scores():
    random = np.random.default_rng(4)
    names = [f"n{k}" for k in range(3 * MOST_LISTED)]
    star = Taxonomy.from_parents(dict.fromkeys(names))
    logits = random.normal(size=(3_000, len(names))) * 2
    y = draw_labels(logits, list(star.names), random)
    listed = ListedScores.of(logits, columns_of(np.arange(len(names)), star)[[star.index(name) for name in y]])
    assert listed.columns.shape == (3_000, MOST_LISTED)
    assert all(len(set(row)) == MOST_LISTED for row in listed.columns[:50].tolist())
    estimate = np.log((np.exp(listed.scores + listed.log_counts)).sum(axis=1))
    assert np.mean(estimate - np.log(np.exp(logits).sum(axis=1))) == pytest.approx(0, abs=0.05)
    assert calibrate(logits / 7, y, star).model.scales[-1] == pytest.approx(7, rel=0.05)


# -------------------------------------------------------------------- classes without rows, few classes


def test_a_class_without_a_row_has_the_bias_of_its_ancestors():
    random = np.random.default_rng(5)
    tree = Taxonomy.from_paths(["a/b", "a/c", "a/d", "e"])
    names = ["b", "c", "d", "e"]
    scores = random.normal(size=(600, 4))
    y = draw_labels(scores + np.array([0, 0, -np.inf, 2]), names, random)  # never d; e more often than its scores say
    fitted = calibrate(scores, y, tree, method="vector", classes=names)
    biases = fitted.model.biases
    assert biases[tree.index("d")] == 0
    assert biases[tree.index("e")] - biases[tree.index("a")] > 1
    assert fitted.predict(scores)[:, 2].min() > 0


@pytest.mark.parametrize("method", METHODS)
def test_one_class_and_two(method):
    tree = Taxonomy.from_paths(["a/b", "c"])
    one = calibrate([[1.0], [2.0]], ["b", "b"], tree, method=method, classes=["b"])
    np.testing.assert_allclose(one.predict_nodes([[0.0]]), [[1, 0, 1]])
    scores = np.random.default_rng(6).normal(size=(50, 2))
    y = np.where(scores[:, 0] > scores[:, 1], "b", "c")
    two = calibrate(scores, y, tree, method=method, classes=["b", "c"])
    assert np.all((two.predict(scores).argmax(axis=1) == 0) == (y == "b"))


def test_weights_of_a_blend_are_those_of_the_models_that_know():
    random = np.random.default_rng(7)
    star = Taxonomy.from_parents(dict.fromkeys("abcd"))
    parts = random.normal(size=(3, 4_000, 4)) * np.array([1.0, 10.0, 5.0])[:, None, None]
    y = draw_labels(2 * parts[0] + 0.1 * parts[1], list("abcd"), random)  # and the third knows nothing
    targets = np.array([star.index(name) for name in y])
    choices = ChoiceTree(star, np.arange(4), flat=True)
    weights, shares = fit_weights(choices, np.tile(np.arange(4), (4_000, 1)), parts, np.zeros((4_000, 4)), targets)
    assert shares.sum() == pytest.approx(1)
    assert shares[2] < 0.03
    assert weights[1] / weights[0] == pytest.approx(0.05, rel=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "softmax"}, "method must be one of"),
        ({"level": "leaf"}, "level must be one of"),
        ({"classes": ["b"]}, "2 columns need as many different classes"),
        ({"scores": [[np.nan, 1.0]]}, "some are NaN"),
        ({"scores": [[-np.inf, -np.inf]]}, "every row needs a class"),
        ({"y": ["b", "b"]}, "scores have 1 rows, and y has 2"),
    ],
)
def test_what_is_refused(options, message):
    tree = Taxonomy.from_paths(["a/b", "c"])
    given_options = {"scores": [[0.0, 1.0]], "y": ["b"], "classes": ["b", "c"], **options}
    with pytest.raises(CladistError, match=message):
        calibrate(given_options.pop("scores"), given_options.pop("y"), tree, **given_options)
