"""Results in notebooks: HTML that closes its tags and escapes names, and data frames."""

from html.parser import HTMLParser

import numpy as np
import pytest

from cladist import DecisionClassifier, FlatSVM, Taxonomy
from cladist.datasets import Dataset, make_topics
from cladist.decisions import Confidence
from cladist.metrics import report
from cladist.notebook import MOST_NODES, MOST_ROWS

pandas = pytest.importorskip("pandas")
TREE = Taxonomy.from_paths(["sport/<i>tennis", "sport/chess & co", "art/film"])


class Reader(HTMLParser):
    """Collects texts, and checks that every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_taxonomies():
    read = Reader(TREE._repr_html_())
    assert read.texts[0] == repr(TREE)
    assert {"sport", "<i>tennis", "chess & co", "film"} <= set(read.texts)
    assert read.counts["details"] == 2
    frame = TREE.to_frame()
    assert frame["node"].tolist() == list(TREE.names)
    assert frame["parent"].isna().tolist() == [True, True, False, False, False]
    assert frame["parent"].tolist()[2:] == ["sport", "sport", "art"]
    assert frame["path"].tolist()[2] == ["sport", "<i>tennis"]
    dag = Taxonomy.from_edges([("a", "c"), ("b", "c")])
    assert dag.to_frame()["parent"].tolist() == [[], [], ["a", "b"]]
    Reader(dag._repr_html_())
    large = Taxonomy.from_parents({str(k): None for k in range(MOST_NODES + 7)})
    assert "… 7 more" in Reader(large._repr_html_()).texts


def test_reports():
    found = report(["film", "chess & co"], ["film", "film"], TREE)
    read = Reader(found._repr_html_())
    assert read.counts["table"] == 3
    assert repr(found) in read.texts
    assert found.to_frame().set_index("measure")["value"]["accuracy"] == 0.5
    assert found.to_frame("level")["level"].tolist() == list(range(len(found.per_level)))
    assert found.to_frame("node")["name"].tolist() == list(TREE.names)
    with pytest.raises(ValueError, match="per must be"):
        found.to_frame("row")


def test_datasets():
    data = Dataset(np.array([f"text <{k}>" for k in range(30)], dtype=object), ["a", "b"] * 15, source="by hand")
    read = Reader(data._repr_html_())
    assert "text <0>" in read.texts
    assert "… 25 more rows" in read.texts
    frame = data.split(0.2, random_state=0).to_frame()
    assert list(frame.columns) == ["text", "label", "part"]
    assert (frame["part"] == "test").sum() == 6
    numbers = Dataset(np.eye(3), [["a"], ["a", "b"], []], feature_names=["u", "v", "w"])
    assert list(numbers.to_frame().columns) == ["u", "v", "w", "label"]
    Reader(numbers._repr_html_())


def test_decisions():
    data = make_topics(n_samples=200, n_features=80, branching=(2, 2), n_test=40, random_state=0)
    model = DecisionClassifier(FlatSVM(data.taxonomy), rule=Confidence(0.6)).fit(data.X_train, data.y_train)
    found = model.predict_decisions(data.X_test)
    frame = found.to_frame()
    assert list(frame.columns) == list(found._fields)
    assert frame["labels"].tolist() == found.labels.tolist()
    read = Reader(found._repr_html_())
    assert read.counts["tr"] == 1 + MOST_ROWS
    assert "… 20 more rows" in read.texts
