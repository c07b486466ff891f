"""``cladist explore``."""

import json
import re
from pathlib import Path

import pytest


def models_of(path):
    page = Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)[1])["models"]


def test_one_file_with_rows(run, shop):
    answer = json.loads(run("explore", "model", "test.csv", "--html", "model.html", "--rows", "10", "--json").stdout)
    assert answer == {"html": "model.html", "models": {"model": 30}, "rows": 108}
    (model,) = models_of("model.html")
    assert len(model["samples"]) == 10
    assert model["evaluation"]["rows"] == 108


def test_two_models_without_rows(run, shop):
    run("explore", "model", "--against", "numbers", "--html", "both.html")
    assert [model["name"] for model in models_of("both.html")] == ["model", "numbers"]


def test_a_model_of_other_labels_has_no_numbers(run, shop):
    Path("old.csv").write_text("t,c\n" + "rain coat,coats\ntea cup,cups\n" * 4)
    run("train", "old.csv", "--text", "t", "--label", "c", "--out", "old", "-q")
    run("explore", "model", "test.csv", "--against", "old", "--html", "both.html")
    new, old = models_of("both.html")
    assert new["evaluation"] is not None
    assert (old["evaluation"], old["samples"]) == (None, [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model"], "Name the web page to write"),
        (["nowhere", "--html", "x.html"], "nowhere is not a folder"),
        (["model", "nowhere.csv", "--html", "x.html"], "nowhere.csv: there is no such file"),
        (["model", "--html", "model/x.html"], "lies in the folder of a model"),
        (["model", "--findings", "test.csv", "--html", "x.html"], "cladist doctor --json"),
        (["model", "--against", "model", "--html", "x.html"], "Two models are called 'model'"),
    ],
)
def test_what_is_refused(refused, shop, arguments, said):
    assert said in refused("explore", *arguments, "--quiet")
    assert not Path("x.html").exists()
