"""The card of a saved model: readable by the Hub's tools, free of foreign names, and never written over an own one."""

from pathlib import Path
from typing import Any

import pytest

import cladist
from cladist import CalibratedClassifier, Hieron, TextClassifier
from cladist.persistence.models import save

HOSTILE = "<script>alert(1)</script>```\n---\n"


@pytest.fixture
def model() -> Any:
    return Hieron({"a": HOSTILE, "b": HOSTILE}).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])


def test_the_hub_reads_the_card(tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    texts = TextClassifier("hieron", taxonomy={"tea": "food", "soup": "food"}).partial_fit(
        ["hot", "cold"], ["tea", "soup"]
    )
    save(texts, tmp_path / "m")
    card = hub.ModelCard.load(tmp_path / "m" / "README.md")
    assert card.data.library_name == "cladist"
    assert card.data.pipeline_tag == "text-classification"
    assert card.data.tags == ["hierarchical-classification", "taxonomy", "Hieron"]
    assert "3 nodes in 2 levels" in card.text
    assert "assigns texts" in card.text


def test_a_card_holds_no_names_of_labels(tmp_path: Path, model: Any) -> None:
    save(model, tmp_path / "m", notes={"text": [HOSTILE]})
    card = (tmp_path / "m" / "README.md").read_text()
    assert "script" not in card
    assert card.count("```") == 4
    front = card.split("---\n")[1].splitlines()
    assert front[:2] == ["library_name: cladist", "pipeline_tag: tabular-classification"]
    assert cladist.load(tmp_path / "m").predict([[0.0, 2.0]]).tolist() == ["a"]


def test_what_is_wrapped_is_named(tmp_path: Path) -> None:
    X = [[float(i % 3), float(i % 2)] for i in range(24)]
    inner = cladist.FlatLogistic({"a": None, "b": None, "c": None})
    save(CalibratedClassifier(inner, cv=2).fit(X, ["a", "b", "c"] * 8), tmp_path / "m")
    assert "CalibratedClassifier around FlatLogistic" in (tmp_path / "m" / "README.md").read_text()


def test_a_card_is_written_anew_until_somebody_makes_it_their_own(tmp_path: Path, model: Any) -> None:
    card = tmp_path / "m" / "README.md"
    save(model, tmp_path / "m")
    first = card.read_text()
    card.write_text(first.replace("Hieron", "???"))
    save(model, tmp_path / "m")
    assert card.read_text() == first
    for own in ("Mine.", "", "\xff" * 10):
        card.write_bytes(own.encode("latin-1"))
        save(model, tmp_path / "m")
        assert card.read_bytes() == own.encode("latin-1")
    card.unlink()
    card.symlink_to(tmp_path / "elsewhere")
    save(model, tmp_path / "m")
    assert not (tmp_path / "elsewhere").exists()
    assert sorted(path.suffix for path in (tmp_path / "m").iterdir()) == [".json", ".md", ".safetensors"]
