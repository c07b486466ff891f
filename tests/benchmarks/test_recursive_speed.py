"""The studies of recursive regularisation: their trees, the formula of memory, and each of them run end to end."""

import doctest
import json

import numpy as np
import pytest

from benchmarks.speed import recursive
from benchmarks.speed.recursive_studies import dmoz, measuring, memory, rounds, thousand
from benchmarks.speed.recursive_studies.shapes import DMOZ, DMOZ_TREE, THOUSAND, Shape, data_of, tree_of
from cladist.datasets.loaders.catalogue import VARIABLE
from cladist.linear_model.problem_tree import ProblemTree, build_leaf_blocks


def levels(shape):
    """Return how many inner nodes and leaves the tree has at each level, and how many children each inner node has."""
    taxonomy = tree_of(shape)
    tree = ProblemTree(taxonomy.parent.astype(np.int64), taxonomy.leaves)
    n_levels = tree.depth.max() + 1
    inner = np.bincount(tree.depth[tree.inner], minlength=n_levels)
    return inner.tolist(), np.bincount(tree.depth[tree.leaves]).tolist(), tree.n_children[tree.inner]


def test_the_tree_has_the_counts_of_dmoz_2010():
    assert (DMOZ.n_samples, DMOZ.n_test, DMOZ.n_features) == (128_710, 10_000, 381_580)
    assert DMOZ.n_nodes == 15_358
    assert sum(DMOZ.leaves) == 12_294
    inner, leaves, children = levels(DMOZ)
    assert inner == [*DMOZ.inner, 0]
    assert leaves == list(DMOZ.leaves)
    assert len(children) == 3_064
    assert children.min() == 1
    assert children.max() > 5 * children.mean()
    assert tree_of(DMOZ).names == tree_of(DMOZ_TREE).names


def test_the_tree_of_a_thousand_leaves_is_regular():
    inner, leaves, children = levels(THOUSAND)
    assert (inner, leaves) == ([1, 10, 100, 0], [0, 0, 0, 1_000])
    assert set(children) == {10}


@pytest.mark.parametrize("shape", [DMOZ, THOUSAND])
@pytest.mark.parametrize("scale", [0.0005, 0.003, 0.05])
def test_a_small_tree_has_what_its_shape_says(shape, scale):
    small = shape.scaled(scale)
    inner, leaves, children = levels(small)
    assert (inner[:-1], leaves) == (list(small.inner), list(small.leaves))
    assert children.min() >= 1
    assert small.n_samples >= sum(small.leaves)
    assert shape.scaled(1.0) is shape


def test_documents_are_as_long_as_they_should_be():
    for shape, wanted in ((THOUSAND, 80), (DMOZ, 84)):
        part = data_of(Shape(400, 10, shape.n_features, shape.inner, shape.leaves, shape.doc_length, shape.even))
        assert part.X.nnz / part.X.shape[0] == pytest.approx(wanted, rel=0.05)


def test_examples():
    assert doctest.testmod(memory).failed == 0


def test_sizes_are_those_of_the_layout():
    # A root with two nodes of 16 leaves each: only the root has leaves in both blocks.
    tree = ProblemTree(np.array([-1, 0, 0, *[1] * 16, *[2] * 16]), np.arange(3, 35))
    facts = {"rows": 10, "nonzeros": 50, "features": 7, "workers": 2, "pairs": 12, "active": 5}
    one = memory.Sizes.of(build_leaf_blocks(tree, "zero"), blocks_per_round=1, **facts)
    both = memory.Sizes.of(build_leaf_blocks(tree, "zero"), blocks_per_round=8, **facts)
    assert (one.stored, one.blocks, one.together, one.touched, one.above) == (1, 2, 1, 1, 1)
    assert (both.stored, both.blocks, both.together, both.touched, both.above) == (1, 2, 2, 1, 1)
    terms = memory.predicted(both, "squared_hinge")
    assert terms["stored nodes"] == 4 * 7
    assert terms["workers"] == 3 * (128 * 7 + 88 * 10)
    assert terms["α"] == 5 * 68 * 12
    assert memory.predicted(both, "logistic")["α"] == 68 * (12 + 10 * 2)


# ---------------------------------------------------------------- the studies


def test_a_thousand_leaves_are_compared(results, capsys, monkeypatch):
    monkeypatch.setattr(thousand, "in_new_process", lambda _, number, scale: thousand.measured(number, scale))
    recursive.main(["--study", "thousand", "--scale", "0.01", "--turns", "2"])
    content = json.loads((results / "recursive-thousand-scale-0.01.json").read_text())
    rows = {row["method"]: row for row in content["rows"]}
    assert list(rows) == [method.title for method in thousand.METHODS]
    ours, theirs = rows["RecursiveSVM, squared_hinge, 0.001"], rows["LinearSVC, squared_hinge"]
    assert ours["LinearSVC / ours"] == theirs["fit CPU s"] / ours["fit CPU s"]
    assert ours["converged"]
    assert ours["gap"] <= 1e-3
    assert "mark" not in theirs
    assert rows["RecursiveLogistic, 0.01"]["wanted"] == 1
    assert content["data"]["features"] == 500
    assert "turn 2" in capsys.readouterr().err


def test_marks_are_met_or_not():
    seconds = [8.0, 6.0, 2.0, 2.0, 4.1, 1.0, 8.0]
    rows = [{"method": m.title, "fit CPU s": s} for m, s in zip(thousand.METHODS, seconds, strict=True)]
    found = [row.get("mark") for row in thousand.compared(rows)]
    assert found == [None, None, "met", "not met", "not met", "met", "met"]


def test_the_shortest_turn_counts():
    turns = [{"fit CPU s": 2.0, "fit wall s": 1.0, "k": 1}, {"fit CPU s": 1.0, "fit wall s": 3.0, "k": 2}]
    assert thousand.shortest(turns) == {"fit CPU s": 1.0, "fit wall s": 1.0, "k": 2}


@pytest.mark.parametrize("loss", measuring.LOSSES)
def test_dmoz_is_measured_and_its_checks_are_seen(results, capsys, loss):
    recursive.main(["--study", "dmoz", "--scale", "0.003", "--loss", loss, "--blocks-per-round", "2"])
    content = json.loads((results / f"recursive-dmoz-{loss}-scale-0.003.json").read_text())
    (row,) = content["rows"]
    assert (row["loss"], row["blocks_per_round"], row["converged"]) == (loss, 2, True)
    assert row["accuracy"] == pytest.approx(row["micro F1"])
    assert row["predicted MB"] == pytest.approx(sum(row["predicted MB, terms"].values()))
    assert row["predicted MB, terms"]["α"] > 0
    shown = capsys.readouterr()
    assert shown.err.count("check after") == len(row["history"])
    assert shown.err.count("\nsweep ") == row["sweeps"]
    assert "measured growth" in shown.out
    assert content["data"]["nodes"] == DMOZ.scaled(0.003).n_nodes


def test_the_most_alphas_seen_are_remembered():
    data, watched = data_of(DMOZ.scaled(0.003)), dmoz.Watched()
    model = measuring.recursive("squared_hinge", data.taxonomy, weights="dual")
    with measuring.told_of_checks(watched.check):
        model.fit(data.X_train, data.y_train)
    sums = model.weights_.sums
    assert watched.pairs >= max(sum(len(alphas.rows) for alphas in part) for part in (sums.state, sums.own))
    assert watched.active > 0
    before = watched.pairs
    model.fit(data.X_train, data.y_train)
    assert watched.pairs == before


def test_rounds_end_when_all_blocks_are_solved_at_once(results, monkeypatch, capsys):
    monkeypatch.delenv(VARIABLE, raising=False)
    recursive.main(["--study", "rounds", "--scale", "0.02", "--loss", "squared_hinge", "--tol", "0.1,0.01"])
    rows = json.loads((results / "recursive-rounds-squared_hinge-scale-0.02.json").read_text())["rows"]
    found = [(row["tol"], row["blocks_per_round"], row["at once"]) for row in rows if row["data"] == "thousand"]
    assert found == [(tol, size, size) for tol in (0.1, 0.01) for size in (1, 2)]
    sizes = [row["blocks_per_round"] for row in rows if row["data"] == "dmoz tree" and row["tol"] == 0.1]
    assert sizes == [1, 2, 8, 64]
    assert all(row["converged"] and row["gap"] <= row["tol"] for row in rows)
    assert "clinc150 is left out" in capsys.readouterr().err


@pytest.mark.data
def test_rounds_know_clinc150(data_folder):
    names = [name for name, _ in rounds.sets(0.02)]
    assert names == ["thousand", "clinc150", "dmoz tree"]


@pytest.mark.parametrize(("option", "value"), [("--scale", "0"), ("--turns", "0"), ("--study", "all")])
def test_other_arguments_are_refused(option, value, capsys):
    with pytest.raises(SystemExit):
        recursive.arguments(["--study", "thousand", option, value])
    assert option in capsys.readouterr().err
