"""``cladist train``: what it makes, and what it refuses before it makes anything."""

import json
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.cli.train import new_features
from cladist.errors import DatasetError

TEXT = ("--text", "title", "--label", "category")
TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm"}  # makes rich take the streams for a terminal
TRAIN = ("train", "train.csv", "--taxonomy", "taxonomy.csv", *TEXT)


@pytest.mark.parametrize(("method", "classes"), [("top-down", 18), ("hieron", 30)])
def test_a_text_model(run, shop, method, classes):
    result = run(*TRAIN, "--method", method, "--out", "new", "--json")
    summary = json.loads(result.stdout)
    model = cladist.load("new")
    assert summary | {"seconds": 0} == {
        "method": method,
        "rows": 252,
        "features": model[-1].n_features_in_,
        "nodes": 30,
        "classes": classes,
        "seconds": 0,
        "model": "new",
    }
    assert result.stderr == ""
    assert model.predict(["a dome tent"]).tolist() == ["Tents"]


def test_the_summary_for_people(run, shop):
    result = run(*TRAIN, "--out", "new", env=TERMINAL)
    assert "Trained svm on 252 rows" in result.stdout
    assert "Chosen: svm, with C=" in result.stdout
    assert "Training" in result.stderr
    named = run(*TRAIN, "--method", "top-down", "--out", "new", env=TERMINAL)
    assert "Trained top-down on 252 rows" in named.stdout
    assert "Chosen" not in named.stdout
    assert "Training top-down" in named.stderr
    assert run(*TRAIN, "--out", "new").stderr == ""
    assert run(*TRAIN, "--out", "new", "--quiet").output == ""


def test_a_model_of_numbers(run, shop):
    model = cladist.load("numbers")
    assert model.taxonomy_.path("c") == ["y", "c"]
    summary = json.loads(run("train", "numbers.svm", "--out", "star", "--json").stdout)
    assert (summary["rows"], summary["features"], summary["nodes"]) == (6, 4, 3)


def test_features_can_be_counted_from_zero(run, shop):
    Path("zero.svm").write_text("a 0:1\nb 1:1\n")
    run("train", "zero.svm", "--zero-based", "--out", "new")
    assert cladist.load("new").n_features_in_ == 2


def test_several_labels_are_refused_by_methods_that_take_one(refused, run, shop):
    Path("many.csv").write_text("title,category\na tent,Tents;Duvets\n")
    given = ("many.csv", "--taxonomy", "taxonomy.csv", *TEXT, "--label-sep", ";", "--out", "new")
    run("train", *given)
    given = (*given, "--method", "top-down")
    assert "row 0 has 2 labels: 'Duvets', 'Tents'" in refused("train", *given, "--quiet")


def test_labels_can_be_paths(run, shop):
    Path("paths.jsonl").write_text('{"t": "rain coat", "c": "wear > coats"}\n{"t": "tea cup", "c": "home > cups"}\n')
    run("train", "paths.jsonl", "--text", "t", "--label", "c", "--path-sep", ">", "--out", "new")
    assert cladist.load("new")[-1].taxonomy_.path("cups") == ["home", "cups"]


def test_hashing_keeps_no_vocabulary(run, shop):
    run(*TRAIN, "--hashing", "--method", "hieron", "--out", "new")
    assert cladist.load("new")[-1].n_features_in_ == 2**18


def test_characters_are_features_unless_declined(run, shop):
    run(*TRAIN, "--no-characters", "--out", "new")
    words = cladist.load("new")[0].get_feature_names_out().tolist()
    run(*TRAIN, "--out", "new")
    both = cladist.load("new")[0].get_feature_names_out().tolist()
    assert both[: len(words)] == words
    assert {name[0] + name[-1] for name in both[len(words) :]} == {"[]"}
    Path("words.toml").write_text("characters = false\n")
    run(*TRAIN, "--config", "words.toml", "--hashing", "--out", "new")
    assert cladist.load("new")[0].characters is False


def test_parameters_reach_the_method(run, shop):
    given = ("--param", "max_iter=2", "--param", "update=prediction", "--param", "random_state=3")
    run(*TRAIN, "--method", "hieron", *given, "--out", "new")
    model = cladist.load("new")[-1]
    assert (model.max_iter, model.update, model.random_state, len(model.history_)) == (2, "prediction", 3, 2)


def test_parameters_reach_the_classifier_at_the_nodes(run, shop):
    for C, name in ((0.01, "new"), (1, "other")):
        run(*TRAIN, "--method", "top-down", "--param", f"C={C}", "--out", name)
    weak, strong = (cladist.load(name)[-1].decisions_[-1].weights.matrix() for name in ("new", "other"))
    assert np.abs(weak.data).max() < np.abs(strong.data).max()


def test_a_config_file_stands_for_options_and_loses_against_them(run, shop):
    Path("train.toml").write_text(
        'method = "hieron"\nout = "new"\ntaxonomy = "taxonomy.csv"\ntext = "title"\nlabel = "category"\n'
        "[param]\nmax_iter = 3\nrandom_state = 0\n"
    )
    run("train", "train.csv", "--config", "train.toml", "--param", "max_iter=2")
    model = cladist.load("new")[-1]
    assert (model.max_iter, model.random_state) == (2, 0)
    Path("no-param.toml").write_text(Path("train.toml").read_text().partition("[param]")[0])
    run("train", "train.csv", "--config", "no-param.toml", "--method", "top-down", "--out", "other")
    assert type(cladist.load("other")[-1]) is cladist.TopDown


def test_an_older_model_is_replaced(run, shop):
    run(*TRAIN, "--method", "hieron", "--out", "model")
    assert type(cladist.load("model")[-1]) is cladist.Hieron


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--method", "heron", "--out", "new"], "the methods are hr-svm, hr-lr, hieron, h-rls"),
        (["--method", "hieron", "--param", "c=1", "--out", "new"], "it has C, allowed_labels"),
        (["--method", "svm", "--param", "taxonomy=x", "--out", "new"], "has no parameter 'taxonomy'"),
        (["--param", "C=1", "--out", "new"], "--param C: --method auto, the default, chooses the method"),
        (["--param", "budget=0", "--out", "new"], "auto: budget must be a positive number"),
        (["--param", "C", "--out", "new"], "wanted NAME=VALUE"),
        (["--method", "hieron", "--param", "max_iter=0", "--out", "new"], "max_iter must be"),
        (["--method", "hieron", "--param", "C=much", "--out", "new"], "Hieron: C must be"),
        (["--method", "svm", "--param", "C=much", "--out", "new"], "C must be"),
        (["description", "--out", "new"], "repeat it for each: --text title --text description"),
        ([], "--out"),
        (["--out", "train.csv"], "is a file"),
        (["--out", "."], "contains files but no cladist model"),
        (["--text", "titel", "--out", "new"], "there is no column 'titel'"),
        (["--label", "kind", "--out", "new"], "there is no column 'kind'"),
        (["--taxonomy", "nowhere.csv", "--out", "new"], "nowhere.csv"),
        (["--taxonomy", "numbers.paths", "--out", "new"], "line 2, column 'category'"),
        (["--config", "nowhere.toml", "--out", "new"], "nowhere.toml"),
        (["--format", "svmlight", "--out", "new"], "in which no columns are named"),
    ],
)
def test_what_is_refused(refused, shop, arguments, said):
    assert said in refused(*TRAIN, "--quiet", *arguments)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("short.csv", "title,category\na tent,Tents\nonly one field\n", "line 3"),
        ("odd.csv", 'title,category\n"a tent,Tents\n', "quote"),
        ("empty.csv", "", "empty"),
        ("header.csv", "title,category\n", "no rows"),
        ("latin.csv", b"title,category\ncaf\xe9,Tents\n", "UTF-8"),
        ("bad.jsonl", '{"title": "a", "category": "Tents"}\n{"title": \n', "line 2"),
        ("unlabelled.csv", "title,category\na tent,\n", "line 2, column 'category'"),
        ("wordless.csv", "title,category\n!!!,Tents\n...,Duvets\n", "none of the texts has a word"),
    ],
)
def test_malformed_tables_are_refused(refused, shop, name, content, said):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert said in refused("train", name, "--taxonomy", "taxonomy.csv", *TEXT, "--out", "new", "--quiet")


def test_a_table_needs_its_columns_named(refused, shop):
    assert "--text COLUMN and --label COLUMN" in refused("train", "train.csv", "--out", "new")


def test_malformed_numbers_are_refused(refused, shop):
    Path("bad.svm").write_text("a 1:1\nb 0:1\n")
    said = refused("train", "bad.svm", "--out", "new", "--quiet")
    assert "line 2" in said
    assert said.endswith("If the file counts its features from 0, add --zero-based.")
    Path("bad.svm").write_text("a 1:1\nb -1:1\n")
    assert "--zero-based" not in refused("train", "bad.svm", "--out", "new", "--quiet")


@pytest.mark.parametrize("name", ["shop.xls"])
@pytest.mark.parametrize("columns", [(), TEXT])
def test_formats_that_are_not_read(refused, shop, name, columns):
    Path(name).write_bytes(b"PK")
    assert f"{name}: .{name[5:]} files are not read yet; convert" in refused("train", name, *columns, "--out", "new")


def test_a_taxonomy_of_such_names_is_enough(run, shop):
    Path("new.csv").write_text("t,c\n" + "rain coat,a/b\ntea cup,c/d\n" * 2)
    Path("tree.json").write_text('{"x": ["a/b", "c/d"]}')
    given = ("--text", "t", "--label", "c", "--taxonomy", "tree.json", "--out", "new")
    assert run("train", "new.csv", *given).stderr == ""


def test_a_table_comes_on_standard_input_too(run, shop):
    given = ("train", "-", "--taxonomy", "taxonomy.csv", *TEXT, "--out", "new", "--json")
    assert json.loads(run(*given, input=Path("train.csv").read_text()).stdout)["rows"] == 252


def test_cycles_in_the_taxonomy_are_named_with_a_way_out(refused, run, shop):
    Path("tangle.edges").write_text("x\tTents\nTents\tDuvets\nDuvets\tx\n")
    Path("two.csv").write_text("title,category\na tent,Tents\na duvet,Duvets\n")
    said = refused("train", "two.csv", *TEXT, "--taxonomy", "tangle.edges", "--out", "new")
    assert said == (
        "tangle.edges: 1 edge closes a cycle (Duvets → x): x → Tents → Duvets → x; remove it, or write the file "
        "without it by `cladist taxonomy FILE --drop-cycles --convert OUT`."
    )
    run("taxonomy", "tangle.edges", "--drop-cycles", "--convert", "tree.edges")
    run("train", "two.csv", *TEXT, "--taxonomy", "tree.edges", "--out", "new")


def test_numbers_are_not_hashed():
    with pytest.raises(DatasetError, match="--hashing is for texts"):
        new_features(text=False, hashing=True)


def test_a_c_that_was_chosen_is_told(run, shop):
    given = ("train", "numbers.svm", "--method", "top-down", "--param", "C=cv", "--out", "chosen")
    summary = json.loads(run(*given, "--json").stdout)
    C = cladist.load("chosen").C_
    assert summary["C"] == C
    assert f"C={C:g} was chosen by cross-validation.\n" in run(*given).stdout
    assert "chosen by" not in run(*TRAIN, "--method", "top-down", "--out", "new").stdout


def test_rows_held_out_are_reported(run, refused, shop):
    columns = ("--text", "title", "--text", "description", "--label", "category")
    given = ("train", "train.csv", "--taxonomy", "taxonomy.csv", *columns, "--out", "new", "--method", "top-down")
    told = json.loads(run(*given, "--test-size", "0.25", "--json").stdout)
    assert (told["rows"], told["test"]["n_rows"]) == (189, 63)
    assert 0.5 < told["test"]["metrics"]["accuracy"] < 1
    assert "On 63 rows held out: accuracy" in run(*given, "--test-size", "0.25").stdout
    assert "between 0 and 1; got 25" in refused(*given, "--test-size", "25")
    Path("c.toml").write_text("test-size = 0.5\n")
    assert json.loads(run(*given, "--config", "c.toml", "--json").stdout)["test"]["n_rows"] == 126


def test_labels_only_among_the_rows_held_out_count_as_wrong(run, shop):
    Path("new.csv").write_text("t,c\n" + "".join(f"word{k},label{k}\n" for k in range(8)))
    told = run("train", "new.csv", "--text", "t", "--label", "c", "--method", "svm", "--out", "n", "--test-size", "0.5")
    assert "Rows held out: 4 labels are not in the taxonomy (4 times); they count as wrong" in told.stderr
    assert "accuracy 0.0000" in told.stdout


def test_what_may_surprise_is_told(run, shop):
    Path("new.csv").write_text("t,c\n" + "rain coat,a\ntea cup,b\n" * 3 + "???,a\ndesk lamp,only\n")
    given = ("train", "new.csv", "--text", "t", "--label", "c", "--method", "svm", "--out", "n")
    told = run(*given).stderr
    assert "There is no hierarchy: the 3 labels are trained on as unrelated" in told
    assert "1 of 8 texts has no word (row 7)" in told
    assert "1 of 3 labels has a single row, so no other row tests them: 'only'." in told
    assert run(*given, "--quiet").stderr == ""
