"""``cladist demo``, on a data set that takes no time."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.cli import demo, demo_methods
from cladist.cli.demo_methods import DIAGNOSES, FLAT, FLAT_SVM, PAIRS, RECURSIVE, TOP_DOWN, TREE, Result, compare
from cladist.cli.sample import sample_files
from cladist.datasets import Dataset, read_table
from cladist.datasets.loaders.official_codes import _icd_entries
from cladist.errors import DatasetError
from cladist.features import text_features
from cladist.taxonomy import Taxonomy

MARKED = "# Title\n\n<!-- demo:begin -->\nold\n<!-- demo:end -->\n\nafter\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The shop's products, as the demo's own data is: vectorised, split, with titles."""
    folder = tmp_path_factory.mktemp("shop")
    for name, text in sample_files().items():
        (folder / name).write_text(text)
    tree = Taxonomy.read(folder / "taxonomy.csv")
    tree = tree.with_titles({name: f"{name} (A00-B99)" for name in tree.names})
    train, test = (
        read_table(folder / name, text=["title", "description"], label="category", taxonomy=tree)
        for name in ("train.csv", "test.csv")
    )
    vectoriser = text_features().fit(train.X)
    return Dataset.from_parts(
        vectoriser.transform(train.X),
        train.y,
        vectoriser.transform(test.X),
        test.y,
        taxonomy=tree,
        source="the shop",
        texts=np.concatenate([train.X, test.X]),
        descriptions=tree.titles,
    )


@pytest.fixture(scope="module")
def comparison(data: Dataset) -> Result:
    return compare(data, texts=("a dome tent with pegs", "cast iron skillet for eggs"))


def test_six_methods_are_judged_on_the_original_tree_recursive_svm_first(comparison, data):
    names = ["RecursiveSVM", "TopDown", "FlatSVM", TREE, FLAT, "Hieron, greedy"]
    assert list(comparison.reports) == [row["name"] for row in comparison.values["methods"]] == names
    assert comparison.report is comparison.reports["RecursiveSVM"]
    for report in comparison.reports.values():
        assert report.counts.taxonomy == data.taxonomy
        assert report.counts.n_rows == 108
    for row in comparison.values["methods"]:
        assert row["accuracy"] > 0.5
        assert row["seconds"] > 0


def test_the_methods_see_what_their_names_say(data):
    models = demo_methods.methods(data.taxonomy)
    svms = [RECURSIVE, TOP_DOWN, FLAT_SVM]
    assert [type(models[name]).__name__ for name in svms] == svms
    assert models[RECURSIVE].loss == models[FLAT_SVM].loss
    assert models[TOP_DOWN].estimator is None
    assert models[TREE].taxonomy is data.taxonomy
    assert models[FLAT].taxonomy.depth.max() == 0
    assert models[FLAT].taxonomy.n_nodes == data.taxonomy.n_nodes


def test_it_is_repeatable(comparison, data):
    again = compare(data, texts=("a tent",))
    for first, second in zip(comparison.reports.values(), again.reports.values(), strict=True):
        assert first.metrics == second.metrics


def test_with_an_embedding_the_first_model_has_it(comparison, data):
    pytest.importorskip("wordllama")
    pytest.importorskip("tokenizers")
    found = compare(data, texts=("a tent",), embedding=True)
    assert found.name == demo_methods.EMBEDDED
    assert [name for name in found.reports if name != demo_methods.EMBEDDED] == list(comparison.reports)
    for name, report in comparison.reports.items():
        assert found.reports[name].metrics == report.metrics
    assert found.reports[demo_methods.EMBEDDED].metrics["accuracy"] > 0.5
    assert found.samples[0].titles[0] == "Outdoors"


def test_an_embedding_that_is_not_installed_is_told(refused, monkeypatch):
    monkeypatch.setattr(demo_methods, "NEEDED", ("no_such_package",))
    assert "--embedding needs the package wordllama" in refused("demo", "--embedding")
    assert "--level code has none" in refused("demo", "--embedding", "--level", "code")


def test_samples_come_with_readable_paths(comparison):
    assert [sample.titles for sample in comparison.samples] == [
        ["Outdoors", "Camping", "Tents"],
        ["Home", "Cookware", "Frying pans"],
    ]


def test_the_best_has_the_smallest_error(comparison):
    errors = {name: report.metrics["tree_induced_error"] for name, report in comparison.reports.items()}
    assert errors[comparison.values["best"]] == min(errors.values())
    assert comparison.values["tree_beats_flat"] == {
        "RecursiveSVM": errors["RecursiveSVM"] < errors["FlatSVM"],
        "TopDown": errors["TopDown"] < errors["FlatSVM"],
        "Hieron": errors[TREE] < errors[FLAT],
    }


def arranged(comparison, helped):
    """The same numbers under other names, so that the tree helps those in `helped` and no others."""
    reports = sorted(comparison.reports.values(), key=lambda report: report.metrics["tree_induced_error"])
    low, high = reports[0], reports[-1]
    middle = next(
        report for report in reports if report.metrics["tree_induced_error"] > low.metrics["tree_induced_error"]
    )
    found = {flat: middle for _, flat in PAIRS.values()}
    found |= {tree: low if who in helped else high for who, (tree, _) in PAIRS.items()}
    return demo_methods.summarise(comparison.data, found, dict.fromkeys(found, 1.0), [])


@pytest.mark.parametrize(
    ("helped", "said"),
    [
        (["RecursiveSVM", "TopDown", "Hieron"], "The tree helps here: RecursiveSVM is "),
        ([], "The tree does not help here: RecursiveSVM is "),
        (["Hieron"], "The tree helps Hieron, and not RecursiveSVM or TopDown: RecursiveSVM is "),
        (["RecursiveSVM", "TopDown"], "The tree helps RecursiveSVM and TopDown, and not Hieron: RecursiveSVM is "),
    ],
)
def test_what_is_said_of_the_tree_is_what_was_found(comparison, helped, said):
    found = arranged(comparison, helped)
    assert found.values["tree_beats_flat"] == {who: who in helped for who in PAIRS}
    assert found.verdict.startswith(said)
    measures = {name: report.metrics for name, report in found.reports.items()}
    assert f"Hieron is {measures[TREE]['tree_induced_error']:.3f} edges off on average" in found.verdict
    assert f"{measures[FLAT_SVM]['accuracy']:.1%} without; Hieron" in found.verdict


def test_the_best_numbers_are_marked(comparison):
    table = comparison.table
    for column, better in ((1, max), (2, min), (3, max), (4, min)):
        values = [float(row[column]) for row in table.rows]
        marked = [values[k] for k in range(len(values)) if (k, column) in table.best]
        assert marked
        assert set(marked) == {better(values)}


def test_json_says_it_all(comparison):
    found = json.loads(json.dumps(demo.to_dict(comparison)))
    assert found["data"] == {"source": "the shop", "train_rows": 252, "test_rows": 108, "nodes": 30, "leaves": 18}
    assert found["methods"][0].keys() == {"name", "accuracy", "tree_induced_error", "hierarchical_f1", "seconds"}
    assert found["samples"][0]["label"] == "Tents"
    assert found["lead"] == "RecursiveSVM"
    assert found["best"] == comparison.values["best"]


def test_the_page_has_everything(comparison):
    page = demo.page(comparison)
    for wanted in (
        "RecursiveSVM on the shop",
        "Hieron, greedy",
        "What matters",
        "Map of errors",
        "Errors by depth",
        'class="map"',
        "a dome tent with pegs",
        comparison.verdict,
    ):
        assert wanted in page


def test_the_picture_asks_no_host(comparison):
    svg = demo.picture(demo.render(comparison), title="cladist demo")
    assert svg.startswith("<svg")
    assert re.findall(r"https?://[^\"' )]+", svg) == ["http://www.w3.org/2000/svg"]
    assert "@font-face" not in svg
    assert "RecursiveSVM" in svg


def test_a_document_gets_the_table_between_its_markers(comparison):
    text = demo.with_comparison(MARKED, comparison, "cladist demo")
    before, inside, after = re.split(r"<!-- demo:(?:begin|end) -->", text)
    assert (before, after) == ("# Title\n\n", "\n\nafter\n")
    assert "old" not in inside
    assert "| Hieron, tree |" in inside
    assert "`cladist demo` on a machine with" in inside
    assert comparison.verdict in inside
    again = demo.with_comparison(text, comparison, "cladist demo")
    assert again == text


@pytest.mark.parametrize(
    "text", ["none", "<!-- demo:begin -->", "<!-- demo:end --> <!-- demo:begin -->", MARKED + MARKED]
)
def test_a_document_without_markers_is_refused(tmp_path, text):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(DatasetError, match="demo:begin"):
        demo.check_markers(tmp_path / "README.md")


def test_the_command(run, monkeypatch, tmp_path, data):
    """The command on small data: every file is written, standard output holds JSON alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cladist.datasets.load_icd10cm", lambda level: data)
    Path("README.md").write_text(MARKED)
    result = run("demo", "--markdown", "README.md", "--svg", "demo.svg", "--json")
    assert json.loads(result.stdout)["html"] == str(Path("cladist-demo", "report.html"))
    assert "| Hieron, tree |" in Path("README.md").read_text()
    assert Path("cladist-demo", "report.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "cladist-demo", "demo.svg"]
    shown = run("demo", "--html", "page.html", "--level", "block")
    assert "severe asthma" in shown.stdout
    assert "The report is in page.html" in shown.stderr
    quiet = run("demo", "--quiet")
    assert "severe asthma" not in quiet.stdout
    assert "Hieron, tree" in quiet.stdout
    assert quiet.stderr == ""


@pytest.mark.parametrize("option", ["--html", "--svg", "--markdown"])
def test_targets_are_checked_before_the_work(refused, monkeypatch, tmp_path, option):
    monkeypatch.chdir(tmp_path)
    assert "nowhere" in refused("demo", option, "nowhere/file")


def test_the_samples_are_new():
    texts = {text.lower() for entry in _icd_entries() for text in (entry.description, *entry.inclusion_terms)}
    assert "asthma" in texts
    assert len(DIAGNOSES) == 10
    assert not texts & {text.lower() for text in DIAGNOSES}


# ---------------------------------------------------------------- the level of codes


def test_at_the_level_of_codes_one_model_is_saved_mapped_and_asked(run, monkeypatch, tmp_path, data):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cladist.datasets.load_icd10cm", lambda level: data)
    found = json.loads(run("demo", "--level", "code", "--json").stdout)
    assert found["data"]["leaves"] == 18
    assert [way["name"] for way in found["ways"]] == ["all codes scored", "beam 10", "beam 3"]
    assert found["ways"][0]["same_first"] == 1
    for way in found["ways"]:
        assert way["among_best"] >= way["accuracy"] > 0.5
    model = cladist.load(found["model"], mmap=True)
    assert model.weights == "differences"
    assert sum(file.stat().st_size for file in Path(found["model"]).iterdir()) == found["model_bytes"]
    page = Path(found["html"]).read_text()
    for wanted in ("RecursiveSVM on the shop", "beam 10", "MiB on disk", "severe asthma"):
        assert wanted in page
    shown = run("demo", "--level", "code", "--svg", "codes.svg")
    assert "beam 10" in shown.stdout
    assert "the model in" in shown.stderr
    assert Path("codes.svg").read_text().startswith("<svg")


def test_a_document_gets_no_table_of_one_model(refused, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text(MARKED)
    assert "leave one of them out" in refused("demo", "--level", "code", "--markdown", "README.md")
