"""The taxonomy over HTTP: children, search, columns, and the numbers of nodes against brute force."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from cladist import Taxonomy
from cladist.labels import encode
from cladist.server import Evaluation, LabelledRows
from cladist.server.nodes import Nodes
from tests.server.conftest import LABELS, TEXTS, Serve, taxonomy

DATA = LabelledRows(np.array(TEXTS, dtype=object), LABELS, TEXTS)
TREE = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e", "f/g", "f/h/i"])
TRUE = ["a/b/c", "a/b/c", "a/b/d", "a/e", "f/g", "f/h/i", "a/b/c", "f/g"]
GUESS = ["a/b/c", "a/b/d", "f/g", "a/b", "f/h/i", "f/h/i", "f/g", "a/e"]


def evaluation() -> Evaluation:
    true, guess = (encode(split(names), TREE).labels for names in (TRUE, GUESS))
    return Evaluation(true, guess, [f"text {k}" for k in range(len(TRUE))])


def split(names: list[str]) -> list[list[str]]:
    return [name.split("/") for name in names]


def test_the_children_of_nodes_make_up_the_taxonomy(serve: Serve, calibrated: Any) -> None:
    client, tree = serve({"topics": calibrated}), taxonomy()
    found, waiting = [], client.get("/taxonomy").json()["children"]
    while waiting:
        node = waiting.pop()
        assert node["name"] == tree.names[node["node"]]
        assert (
            node["n_leaves"] == len([u for u in tree.ids_below(node["node"]) if tree.is_leaf[u]])
            or node["n_leaves"] == 1
        )
        answer = client.get("/taxonomy", params={"node": node["node"]}).json()
        assert [step["name"] for step in answer["node"]["path"]] == tree.path(node["name"])
        assert [child["name"] for child in answer["children"]] == tree.children(node["name"])
        found.append(node["name"])
        waiting += answer["children"]
    assert sorted(found) == sorted(tree.names)
    page = client.get("/taxonomy", params={"limit": 1, "offset": 1}).json()
    assert (len(page["children"]), page["total"]) == (1, 2)


def test_search_finds_names_and_titles() -> None:
    nodes = Nodes(Taxonomy.from_parents({"a": None, "b": "a", "ab": "a"}, titles={"b": "Red kites", "ab": "red a b"}))
    names = nodes.taxonomy.names

    def found(query: str) -> list[str]:
        return [names[v] for v in nodes.search(query, 10)]

    assert found("RED") == ["ab", "b"]
    assert found("kite r") == ["b"]
    assert found("b")[0] == "b"
    assert found(" ") == []
    assert nodes.search("a", 1) == [nodes.taxonomy.index("a")]


def test_columns_describe_every_node(serve: Serve, calibrated: Any) -> None:
    client, tree = serve({"topics": calibrated}, data=DATA), taxonomy()
    answer = client.get("/taxonomy/arrays").json()
    columns = answer["columns"]
    assert columns["parent"] == tree.parent.tolist()
    assert columns["names"] == list(tree.names)
    assert columns["titles"][tree.index("tennis")] == "Tennis & <b>rackets</b>"  # the page escapes it
    assert all(len(values) == tree.n_nodes for values in columns.values())
    assert set(client.get("/taxonomy/arrays?columns=parent,f1").json()["columns"]) == {"parent", "f1"}
    assert client.get("/taxonomy/arrays?columns=parent,size").status_code == 422
    assert "f1" not in serve({"topics": calibrated[-1]}).get("/taxonomy/arrays").json()["columns"]


def test_a_dag_is_drawn_by_shortest_paths() -> None:
    dag = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c")])
    nodes = Nodes(dag)
    for v, name in enumerate(dag.names):
        path = dag.shortest_path(name)
        assert (nodes.parent[v] == -1) if len(path) == 1 else (dag.names[nodes.parent[v]] == path[-2])


def test_numbers_of_nodes_by_brute_force() -> None:
    told, columns = evaluation(), evaluation().columns
    for v, name in enumerate(TREE.names):
        true = [name in TREE.path(TREE.names[TREE.find_path(t.split("/"))]) for t in TRUE]  # type: ignore[index]
        guess = [name in TREE.path(TREE.names[TREE.find_path(g.split("/"))]) for g in GUESS]  # type: ignore[index]
        tp = sum(a and b for a, b in zip(true, guess, strict=True))
        assert columns["support"][v] == sum(true)
        assert columns["recall"][v] == (pytest.approx(tp / sum(true), abs=1e-4) if sum(true) else None)
        assert columns["precision"][v] == (pytest.approx(tp / sum(guess), abs=1e-4) if sum(guess) else None)
        both = sum(true) + sum(guess)
        assert columns["f1"][v] == (pytest.approx(2 * tp / both, abs=1e-4) if both else None)
        costs = [
            TREE.distance(*(TREE.names[TREE.find_path(p.split("/"))] for p in (t, g)))  # type: ignore[index]
            for t, g, inside in zip(TRUE, GUESS, true, strict=True)
            if inside
        ]
        assert columns["error_cost"][v] == (pytest.approx(np.mean(costs), abs=1e-4) if costs else None)
    assert told.summary()["accuracy"] == 0.25


def test_confusions_tell_siblings_from_far_branches() -> None:
    told, nodes = evaluation(), Nodes(TREE)

    def confusions(name: str) -> Counter[tuple[str, str]]:
        rows = told.describe(TREE.index(name), nodes)["confusions"]
        return Counter({(row["kind"], row["name"]): row["count"] for row in rows})

    assert confusions(TREE.names[TREE.find_path(["a", "b", "c"])]) == {("sibling", "d"): 1, ("far", "f"): 1}  # type: ignore[index]
    assert confusions("e") == {("sibling", "b"): 1}
    assert confusions("a") == {("sibling", "f"): 2}
    assert confusions("i") == {}
    assert confusions("d") == {("far", "f"): 1}


def test_a_prediction_above_a_node_is_told_as_such() -> None:
    true, guess = (encode(split(names), TREE).labels for names in (["a/b/c"], ["a/b"]))
    told = Evaluation(true, guess, ["x"]).describe(TREE.index("c"), Nodes(TREE))
    assert [(row["kind"], row["name"]) for row in told["confusions"]] == [("above", "b")]
    (sample,) = told["errors"]
    assert (sample["text"], sample["error"]) == ("x", 1.0)
    assert [part["name"] for part in sample["predicted"]] == ["b"]


def test_sets_of_labels_have_numbers_too() -> None:
    true, guess = (encode(sets, TREE).labels for sets in ([{"c", "e"}, set()], [{"c"}, {"g"}]))
    told = Evaluation(true, guess, ["x", "y"])
    assert told.errors.tolist() == [1, 2]
    assert told.describe(TREE.index("a"), Nodes(TREE))["metrics"]["recall"] == 1
    assert told.describe(TREE.index("e"), Nodes(TREE))["errors"][0]["text"] == "x"


def test_a_node_has_words_errors_and_children(serve: Serve, calibrated: Any, numbers: Any) -> None:
    client, tree = serve({"topics": calibrated, "numbers": numbers}, data=DATA), taxonomy()
    told = client.get(f"/nodes/{tree.index('tennis')}").json()
    assert "net" in [word["word"] for word in told["words"]]
    assert all(word["weight"] > 0 for word in told["words"])
    assert told["metrics"]["support"] == 2
    parent = client.get(f"/nodes/{tree.index('sport')}").json()
    assert [child["name"] for child in parent["children"]] == ["tennis", "chess"]
    features = client.get(f"/nodes/{tree.index('tennis')}?model=numbers").json()
    assert features["words"][0]["word"] == "0"
    assert features["metrics"] is None  # its rows are numbers, and the data are texts
    for node in (-1, 6, 10**12):
        assert client.get(f"/nodes/{node}").status_code == 404


def test_automation_is_told_where_there_are_probabilities(serve: Serve, calibrated: Any, numbers: Any) -> None:
    client = serve({"topics": calibrated, "numbers": numbers}, data=DATA)
    told = client.get("/automation").json()
    assert (told["source"], told["rows"]) == ("evaluation", len(TEXTS))
    sums = np.sum([told["curve"][name] for name in ("at_leaf", "above", "unanswered")], axis=0)
    assert sums == pytest.approx(1, abs=1e-3)
    assert client.get("/automation?model=numbers").json()["curve"] is None
