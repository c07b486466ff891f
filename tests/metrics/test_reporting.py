"""The report: its numbers, its tables, its JSON."""

import json

import pytest

from cladist import Taxonomy
from cladist.metrics import report

TREE = Taxonomy.from_parents({0: None, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2})
TRUE = [{3}, {3, 5}, {1}, {6}, {4}, {5}]
PRED = [{4}, {3}, {3}, {2}, {5}, {5}]
SINGLE = [3, 5, 1, 6, 4, 0], [4, 3, 3, 2, 4, 6]

MULTI_TABLE = {
    "accuracy": 0.1667,
    "zero_one_loss": 0.8333,
    "symmetric_difference_loss": 1.6667,
    "hamming_loss": 0.2381,
    "h_loss": 1.1667,
    "h_loss_sibling": 0.4167,
    "h_loss_subtree": 0.3095,
    "macro_f1_present": 0.25,
    "micro_precision": 0.4,
    "micro_recall": 0.3333,
    "micro_f1": 0.3636,
    "macro_precision": 0.25,
    "macro_recall": 0.25,
    "macro_f1": 0.25,
    "micro_precision_all": 0.7647,
    "micro_recall_all": 0.6842,
    "micro_f1_all": 0.7222,
    "macro_precision_all": 0.5238,
    "macro_recall_all": 0.4881,
    "macro_f1_all": 0.5034,
    "hierarchical_precision": 0.6364,
    "hierarchical_recall": 0.5385,
    "hierarchical_f1": 0.5833,
    "hierarchical_precision_samples": 0.6667,
    "hierarchical_recall_samples": 0.5833,
    "hierarchical_f1_samples": 0.6222,
}


def test_every_number_of_the_multi_label_example():
    assert report(TRUE, PRED, TREE).metrics == pytest.approx(MULTI_TABLE, abs=5e-5)


def test_errors_of_nodes_appear_for_single_labels_only():
    metrics = report(*SINGLE, TREE).metrics
    assert metrics["tree_induced_error"] == pytest.approx(1.6667, abs=5e-5)
    assert metrics["multiclass_error"] == pytest.approx(0.8333, abs=5e-5)
    assert set(metrics) - set(MULTI_TABLE) == {"tree_induced_error", "multiclass_error"}
    assert "tree-induced" in str(report(*SINGLE, TREE))
    assert "tree-induced" not in str(report(TRUE, PRED, TREE))


def test_per_node_scores():
    rows = report(TRUE, PRED, TREE).per_node
    assert [row.name for row in rows] == list(TREE.names)
    assert [row.support for row in rows] == [6, 4, 3, 2, 1, 2, 1]
    assert [row.f1 for row in rows] == pytest.approx([1, 0.8571, 0.6667, 0.5, 0, 0.5, 0], abs=5e-5)
    assert rows[1].precision == 1
    assert rows[1].recall == 0.75


def test_weights_reach_every_number():
    doubled = report(TRUE * 2, PRED * 2, TREE)
    weighted = report(TRUE, PRED, TREE, sample_weight=[2] * 6)
    assert weighted.metrics == pytest.approx(doubled.metrics)
    assert weighted.per_node == doubled.per_node
    assert weighted.to_dict()["weight"] == 12


def test_json_holds_what_the_report_holds():
    result = report(*SINGLE, TREE)
    content = json.loads(result.to_json())
    assert content == json.loads(json.dumps(result.to_dict()))
    assert (content["n_rows"], content["n_nodes"]) == (6, 7)
    assert content["metrics"] == result.metrics
    assert content["per_level"][1] == {"level": 1, **result.per_level[1]._asdict()}
    assert "per_node" not in content
    with_nodes = json.loads(result.to_json(per_node=True, indent=None))
    assert [row["name"] for row in with_nodes["per_node"]] == list(TREE.names)


def test_the_printed_tables_are_aligned():
    title, *tables = str(report(TRUE, PRED, TREE)).split("\n\n")
    assert title == "6 rows, 7 nodes (tree)"
    assert len(tables) == 3
    for table in tables:
        assert len({len(line) for line in table.splitlines()}) == 1
    assert "hierarchical, mean of rows       0.6667  0.5833  0.6222" in tables[1]
    assert tables[2].splitlines()[2].split() == ["1", "2", "0.8333", "0.7143", "0.7692"]


def test_the_markdown_tables():
    tables = report(TRUE, PRED, TREE).to_markdown().split("\n\n")
    assert tables[0].splitlines()[:3] == [
        "| measure | value |",
        "| --- | ---: |",
        "| accuracy (exact match) | 0.1667 |",
    ]
    assert tables[2].splitlines()[-1] == "| 2 | 4 | 0.4000 | 0.3333 | 0.3636 |"


def test_small_numbers_do_not_print_as_zero():
    wide = Taxonomy.from_parents(dict.fromkeys(range(5000)))
    text = str(report([1, 2, 3], [1, 2, 4], wide))
    assert "1.33e-04" in text


def test_the_short_form():
    assert repr(report(TRUE, PRED, TREE)) == "Report(6 rows, accuracy 0.1667)"
