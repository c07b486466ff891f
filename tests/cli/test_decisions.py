"""``train --calibrate`` and the options of ``predict`` that decide by probabilities."""

import csv
import json

import pytest

from cladist import Taxonomy
from tests.cli.conftest import COLUMNS, call

OPTIONS = [
    ("--proba",),
    ("--min-confidence", "0.6"),
    ("--minimise", "tree-distance"),
    ("--conformal", "0.2"),
    ("--min-confidence", "0.3", "--abstain"),
]
PLACES = {"leaf", "inner node", "set", "abstained"}


@pytest.fixture(scope="module")
def calibrated(original_shop, tmp_path_factory):
    """A calibrated model of the sample, of twice as many rows."""
    folder = tmp_path_factory.mktemp("calibrated")
    header, *rows = (original_shop / "train.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join([header, *rows, *rows, *rows]) + "\n")
    taxonomy = original_shop / "taxonomy.csv"
    result = call("train", folder / "train.csv", "--taxonomy", taxonomy, *COLUMNS, "--method", "lr", "--calibrate",
                  "--out", folder / "model", "--quiet")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    return folder / "model"


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_decided_rows(calibrated, shop, options):
    taxonomy = Taxonomy.read(shop / "taxonomy.csv")
    result = call("predict", calibrated, "test.csv", *options, "--out", "answers.csv")
    assert result.exit_code == 0, result.stderr
    with open("answers.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    name = "labels" if "--conformal" in options else "label"
    assert list(rows[0]) == [name, f"{name.replace('label', 'path')}", "confidence", "decided_at", "reason"]
    for row in rows:
        assert row["decided_at"] in PLACES
        assert 0 <= float(row["confidence"]) <= 1 + 1e-9
        assert (row["decided_at"] == "abstained") == (row["reason"] != "")
        assert all(label in taxonomy for label in filter(None, row[name].split(";")))
        if row["decided_at"] == "leaf":
            assert taxonomy.is_leaf[taxonomy.index(row[name])]
    if "--min-confidence" in options:
        assert all(float(row["confidence"]) >= float(options[1]) - 1e-6 for row in rows if not row["reason"])


def test_json_and_texts_without_a_known_word(calibrated):
    result = call("predict", calibrated, "-", "--min-confidence", "0.5", "--json", input="zzz qqq\n\n")
    assert result.exit_code == 0, result.stderr
    for row in json.loads(result.stdout):
        assert row == {
            "label": None, "path": None, "confidence": 0.0, "decided_at": "abstained", "reason": "no known feature",
        }  # fmt: skip


def test_a_calibrated_model_is_evaluated_and_lists_labels(calibrated, shop):
    assert call("evaluate", calibrated, "test.csv", "--json").exit_code == 0
    result = call("predict", calibrated, "test.csv", "--top-k", "3", "--json")
    assert result.exit_code == 0, result.stderr
    first = json.loads(result.stdout)[0]["top"]
    assert 0 <= sum(label["score"] for label in first) <= 1 + 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model", "test.csv", "--min-confidence", "0.9"), "train it again with cladist train --calibrate"),
        (("CALIBRATED", "test.csv", "--min-confidence", "0.9", "--conformal", "0.1"), "two rules for the same rows"),
        (("CALIBRATED", "test.csv", "--proba", "--top-k", "2"), "leave one out"),
        (("CALIBRATED", "test.csv", "--minimise", "tree"), "loss must be one of"),
        (("CALIBRATED", "test.csv", "--conformal", "0"), "alpha must be between 0 and 1"),
    ],
)
def test_what_is_refused(calibrated, shop, arguments, message):
    result = call("predict", *(calibrated if word == "CALIBRATED" else word for word in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_the_report_has_a_slider(calibrated, shop):
    result = call("evaluate", calibrated, "test.csv", "--html", "report.html")
    assert result.exit_code == 0, result.stderr
    page = (shop / "report.html").read_text(encoding="utf-8")
    assert 'input type="range"' in page
    assert call("evaluate", "model", "test.csv", "--html", "plain.html").exit_code == 0
    assert 'input type="range"' not in (shop / "plain.html").read_text(encoding="utf-8")
