"""`diagnose`: planted errors of labels, rows and taxonomies are named; edits are written, reviewed and applied."""

import json

import numpy as np
import pytest
from hypothesis import given

from cladist import Taxonomy
from cladist.datasets import make_topics
from cladist.errors import DatasetError, ParameterError
from cladist.evaluation import Edit, apply_edits, diagnose, doubts, read_edits, write_edits
from cladist.evaluation.duplicates import empty_rows, exact_groups, near_pairs
from cladist.evaluation.structure import _told_apart, _told_apart_at_most
from cladist.evaluation.two_kinds import apart, labels_of_two_kinds, split_in_two
from cladist.labels import LabelMatrix
from tests.strategies import dags

DATA = make_topics(n_samples=600, n_features=400, branching=(3, 4), noise=0.3, random_state=0)
TREE = DATA.taxonomy
LEAVES = [TREE.names[v] for v in TREE.leaves]


def parents_of(tree):
    return {child: parent for parent, child in tree.edges()} | {tree.names[v]: None for v in tree.roots}


def kinds(result, kind):
    return [finding for finding in result.findings if finding.kind == kind]


@pytest.fixture(scope="module")
def planted():
    """The topics with 5 % other labels, which three rows of a rare leaf are part of."""
    random = np.random.default_rng(1)
    y = DATA.y.copy()
    rows = random.permutation(600)[:30]
    for i in rows:
        y[i] = random.choice([leaf for leaf in LEAVES if leaf != DATA.y[i]])
    return set(rows.tolist()), y, diagnose(DATA.X, y, TREE)


def test_planted_label_errors_come_first(planted):
    rows, _, result = planted
    assert sorted(result.label_errors) == list(range(600))
    assert len(rows & set(result.label_errors[:60].tolist())) >= 28
    found = [f.rows[0] for f in kinds(result, "label error")]
    assert len(rows & set(found)) >= 0.8 * len(found)
    right = [result.suggested[i] == DATA.y[i] for i in rows]
    assert np.mean(right) > 0.8
    assert np.all(np.diff(result.suspicion[result.label_errors]) <= 0)


def test_the_score_is_that_of_the_formula():
    """Masses, shrunk means and scores from a dense array of probabilities, node by node."""
    labels = LabelMatrix.from_nodes(np.array([TREE.index(name) for name in DATA.y]), TREE)
    from cladist import TopDown

    predicted = doubts.predict_out_of_fold(TopDown(), DATA.X, labels, cv=2)
    found = doubts.doubt_labels(predicted)
    P = np.zeros((600, TREE.n_nodes))
    for rows, columns, values in predicted.chunks():
        P[rows[:, None], predicted.calibrator.class_nodes[columns]] = values
    np.testing.assert_allclose(P.sum(axis=1), 1)
    mass = np.column_stack([P[:, [v, *TREE.ids_below(v)]].sum(axis=1) for v in range(TREE.n_nodes)])
    paths = [labels.indices[a:b] for a, b in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)]
    overall = np.mean(np.concatenate([mass[i, path] for i, path in enumerate(paths)]))
    means = np.zeros(TREE.n_nodes)
    for v in range(TREE.n_nodes):
        own = [mass[i, v] for i, path in enumerate(paths) if v in path]
        above = overall if TREE.parent[v] < 0 else means[TREE.parent[v]]
        means[v] = (sum(own) + 10 * above) / (len(own) + 10)
    along = [np.mean(np.log((mass[i, path] + 0.01) / (means[path] + 0.01))) for i, path in enumerate(paths)]
    at_end = [np.log((mass[i, path[-1]] + 1e-4) / (means[path[-1]] + 1e-4)) for i, path in enumerate(paths)]
    expected = np.array(at_end) + 0.2 * np.array(along)
    np.testing.assert_allclose(found.score, expected, atol=1e-3)
    np.testing.assert_allclose(found.own, [P[i, path[-1]] for i, path in enumerate(paths)], atol=1e-6)
    np.testing.assert_array_equal(found.nodes[:, 0], P.argmax(axis=1))


@given(dags())
def test_paths_are_those_of_the_deepest_parents(taxonomy):
    forest = taxonomy.spanning_forest()
    found = doubts._paths(taxonomy)
    for v, name in enumerate(taxonomy.names):
        assert [taxonomy.names[u] for u in found[v] if u >= 0] == forest.path(name)


def test_a_label_with_a_single_row_is_judged_by_its_ancestors():
    parents = parents_of(TREE) | {"alone": TREE.names[0]}
    tree, y = Taxonomy.from_parents(parents), DATA.y.astype(object)
    inside = next(i for i in range(600) if TREE.parents_of(DATA.y[i]) == [TREE.names[0]])
    outside = next(i for i in range(600) if TREE.parents_of(DATA.y[i]) != [TREE.names[0]])
    positions = []
    for i in (inside, outside):
        y_one = y.copy()
        y_one[i] = "alone"
        positions.append(diagnose(DATA.X, y_one, tree).label_errors.tolist().index(i))
    assert positions[1] < 60 < positions[0]


# ---------------------------------------------------------------- structure


def test_a_moved_node_is_named_with_its_place():
    parents, moved = parents_of(TREE), LEAVES[0]
    home = parents[moved]
    parents[moved] = next(TREE.names[v] for v in TREE.roots if TREE.names[v] != home)
    found = kinds(diagnose(DATA.X, DATA.y, Taxonomy.from_parents(parents)), "misplaced")
    assert (moved, parents[moved], home) in [finding.nodes for finding in found]
    edit = next(finding.edits[0] for finding in found if finding.nodes[0] == moved)
    assert (edit.action, edit.node, edit.old, edit.new) == ("move", moved, parents[moved], home)
    assert apply_edits([edit], [[label] for label in DATA.y], Taxonomy.from_parents(parents)).taxonomy.parents_of(
        moved
    ) == [home]


def test_a_split_node_and_a_copy_elsewhere_are_alike():
    random = np.random.default_rng(0)
    most = max(LEAVES, key=lambda leaf: np.sum(DATA.y == leaf))
    y = np.where((most == DATA.y) & (random.random(600) < 0.5), "half", DATA.y).astype(object)
    elsewhere = next(TREE.names[v] for v in TREE.roots if TREE.names[v] != TREE.parents_of(most)[0])
    for parent, where in ((TREE.parents_of(most)[0], "siblings"), (elsewhere, "in two branches")):
        found = kinds(diagnose(DATA.X, y, Taxonomy.from_parents(parents_of(TREE) | {"half": parent})), "alike")
        pair = next(finding for finding in found if set(finding.nodes) == {most, "half"})
        assert where in pair.evidence
        assert pair.edits[0].action == "merge"


def test_parts_of_unequal_size_are_alike():
    """A part with a third of the rows is taken for the larger one in most of its rows, never the other way round."""
    random = np.random.default_rng(3)
    most = max(LEAVES, key=lambda leaf: np.sum(DATA.y == leaf))
    y = np.where((most == DATA.y) & (random.random(600) < 0.3), "part", DATA.y).astype(object)
    found = kinds(
        diagnose(DATA.X, y, Taxonomy.from_parents(parents_of(TREE) | {"part": TREE.parents_of(most)[0]})), "alike"
    )
    assert {most, "part"} in [set(finding.nodes) for finding in found]


def test_labels_that_are_told_apart_are_not_alike():
    random = np.random.default_rng(0)
    for n, m in ((5, 5), (40, 10), (75, 75), (300, 20)):
        limit = _told_apart_at_most(n, m)
        one = [_told_apart(random.normal(0, 1, n), random.normal(0, 1, m)) for _ in range(1000)]
        two = [_told_apart(random.normal(0.954, 1, n), random.normal(0, 1, m)) for _ in range(1000)]  # an area of 0.75
        assert np.mean(np.array(two) < limit) < 0.05
        if n * m > 2000:
            assert np.mean(np.array(one) >= limit) < 0.03


def test_two_kinds_of_rows_are_told_from_one():
    random = np.random.default_rng(0)
    one = random.standard_normal((200, 5)) + np.array([5, 0, 0, 0, 0])
    two = random.standard_normal((200, 5)) + np.where(np.arange(200)[:, None] < 100, [5, 0, 0, 0, 0], [0, 5, 0, 0, 0])
    assert apart(two, random)[0] < 0.2 < 0.8 < apart(one, random)[0]
    assert apart(two, random)[1] < 2 < apart(one, random)[1]
    assert set(split_in_two(two)[:100]) != set(split_in_two(two)[100:])
    assert apart(np.ones((30, 3)), random)[0] == 1


def test_merged_siblings_are_two_in_one():
    data = make_topics(n_samples=3000, n_features=400, branching=(6, 5), noise=0.3, random_state=0)
    size = {leaf: int(np.sum(data.y == leaf)) for leaf in map(str, set(data.y))}
    pairs = [(a, b) for a in size for b in size if data.taxonomy.parents_of(a) == data.taxonomy.parents_of(b) and a < b]
    one, other = max(pairs, key=lambda pair: min(size[leaf] for leaf in pair))
    parents = {child: above for child, above in parents_of(data.taxonomy).items() if child != other}
    y = np.where(data.y == other, one, data.y)
    assert [f.nodes for f in kinds(diagnose(data.X, y, Taxonomy.from_parents(parents)), "two in one")] == [(one,)]


def test_few_clean_labels_are_of_two_kinds():
    """Rows of a label have nothing in common: the number of findings is limited all the same."""
    random = np.random.default_rng(0)
    labels = LabelMatrix.from_nodes(
        np.repeat(np.arange(40), 30), Taxonomy.from_parents({f"n{k}": None for k in range(40)})
    )
    assert len(list(labels_of_two_kinds(random.random((1200, 30)), labels))) <= 1


def test_what_a_taxonomy_shows_without_rows():
    paths = [
        "sport/tennis",
        "sport/chess",
        "Sport /golf",
        "art/film/silent film",
        "art/theatres",
        "art/theatre",
        "food",
    ]
    taxonomy = Taxonomy.from_paths(paths)
    y = ["tennis", "chess", "golf", "silent film", "theatres", "theatre"] * 20
    X = np.eye(6)[np.arange(120) % 6] + 0.1
    result = diagnose(X, y, taxonomy)
    found = {frozenset(name.strip() for name in finding.nodes) for finding in kinds(result, "spelling")}
    assert found == {frozenset({"Sport", "sport"}), frozenset({"theatre", "theatres"})}
    assert ("film", "silent film") in {finding.nodes for finding in kinds(result, "chain")}
    assert [finding.nodes for finding in kinds(result, "empty")] == [("food",)]


# ---------------------------------------------------------------- rows

TEXTS = [
    "A good game of chess", "a good game of chess!", "", "!!!", "tennis match in the rain", "film about chess",
    "the annual general meeting of the local chess club was held on a monday evening",
    "the annual general meeting of the local chess club was held on a tuesday evening",
]  # fmt: skip


def test_duplicates_and_rows_without_content():
    assert exact_groups(TEXTS) == [[0, 1]]
    assert empty_rows(TEXTS) == [2, 3]
    assert exact_groups(np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])) == [[0, 1]]
    assert empty_rows(np.array([[0.0, 1.0], [0.0, 0.0]])) == [1]
    from sklearn.feature_extraction.text import CountVectorizer

    rows = CountVectorizer().fit_transform(TEXTS)
    assert {(a, b) for a, b, _ in near_pairs(rows)} == {(0, 1), (6, 7)}
    assert exact_groups(rows) == [[0, 1]]
    assert empty_rows(rows) == [2, 3]


def test_rows_with_other_labels_and_rows_of_the_test_data():
    y = ["chess", "tennis", "chess", "tennis", "tennis", "film", "chess", "film"]
    tree = Taxonomy.from_paths(["sport/chess", "sport/tennis", "film"])
    result = diagnose(TEXTS * 2, y * 2, tree, test=(["Tennis match, in the rain"], ["tennis"]), cv=2)
    assert any(set(f.nodes) == {"chess", "tennis"} for f in kinds(result, "duplicate"))
    assert any(set(f.rows) <= {6, 7, 14, 15} for f in kinds(result, "near duplicate"))
    assert {f.rows for f in kinds(result, "in train and test")} == {(4, 12)}
    assert {f.rows for f in kinds(result, "no content")} >= {(2,), (3,)}


def test_sets_of_labels():
    second = np.roll(DATA.y, 1)
    y = [{a, b} for a, b in zip(DATA.y, second, strict=True)]
    X = DATA.X + DATA.X[np.roll(np.arange(600), 1)]
    wrong = next(i for i in range(600) if DATA.y[i] != second[i])
    y[wrong] = {DATA.y[wrong], next(leaf for leaf in LEAVES if leaf not in y[wrong])}
    y[5] = {*y[5], TREE.parents_of(DATA.y[5])[0]}
    result = diagnose(X, y, TREE)
    assert wrong in result.label_errors[:60]
    assert (5,) in {finding.rows for finding in kinds(result, "inconsistent labels")}


# ---------------------------------------------------------------- what is written


def test_pages_and_values(planted):
    _, _, result = planted
    content = json.loads(result.to_json())
    assert content["n_rows"] == 600
    assert len(content["findings"]) == len(result.findings)
    page = result.to_html(title="<b>")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "://" not in page
    assert result.table.rows[0][0] in str(result)


def test_only_accepted_edits_are_read_and_applied(tmp_path):
    tree = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f/g"])
    edits = [
        Edit("relabel", 0, old="b", new="e", sure=0.9, evidence='=says "so", truly'),
        Edit("drop", 1, sure=1.0),
        Edit("merge", node="c", new="b"),
        Edit("remove", node="f"),
        Edit("move", node="b", old="a", new="d"),
        Edit("review", node="a b", evidence="look"),
    ]
    path = tmp_path / "edits.csv"
    write_edits(path, edits)
    assert read_edits(path) == []
    lines = path.read_text().splitlines()
    assert "'=says" in lines[1]
    path.write_text("\n".join([lines[0], *(f"yes{line}" for line in lines[1:])]) + "\n")
    accepted = read_edits(path)
    assert accepted == edits
    result = apply_edits(accepted, [["b"], ["c"], ["c"], ["g"]], tree)
    assert (result.rows, result.labels, result.n_edits) == ([0, 2, 3], [{"e"}, {"b"}, {"g"}], 5)
    assert parents_of(result.taxonomy) == {"a": None, "d": None, "e": "d", "b": "d", "g": "d"}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit("relabel", 9, old="b", new="e"), "row 10, and there are 1"),
        (Edit("relabel", 0, old="e", new="b"), "takes the label 'e' from row 1"),
        (Edit("relabel", 0, old="b", new="z"), "node 'z', which is not in the taxonomy"),
        (Edit("move", node="b", old="d", new="a"), "moves 'b' from 'd', which is not above it"),
        (Edit("remove", node="b"), "is the label of rows"),
        (Edit("merge", node="b", new="z"), "node 'z'"),
    ],
)
def test_edits_that_do_not_fit_are_refused(edit, message):
    with pytest.raises(DatasetError, match=message):
        apply_edits([edit], [["b"]], Taxonomy.from_paths(["a/b", "d/e"]))


@pytest.mark.parametrize(
    "text", ["", "no,columns\n", "accept,action,row,node,old,new,sure,evidence\nyes,fly,1,,,,1,\n"]
)
def test_files_that_are_no_edits_are_refused(tmp_path, text):
    path = tmp_path / "edits.csv"
    path.write_text(text)
    with pytest.raises(DatasetError, match=r"edit|wanted the columns"):
        read_edits(path)


def test_too_few_rows():
    with pytest.raises(ParameterError, match="cv=5 folds need as many rows; there are 2"):
        diagnose([[1.0], [0.0]], ["a", "b"])
