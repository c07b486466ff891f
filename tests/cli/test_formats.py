"""``train``, ``predict`` and ``evaluate`` on every format of data."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

import cladist
from cladist import progress
from cladist.cli.evaluate import evaluate
from cladist.cli.input import DataSource, missing, open_model
from cladist.cli.train import train
from cladist.datasets.formats.arff import read_arff_hmc
from cladist.errors import ModelFormatError

TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm"}
HEADER = """@relation shapes
@attribute id string
@attribute height numeric
@attribute width numeric
@attribute colour {red, blue}
@attribute class hierarchical flat,flat/wide,flat/low,tall
@data
"""
WHOLE = """a,1,9,red,flat/wide
b,1,8,blue,flat/wide
c,1,1,red,flat/low
d,0,1,blue,flat/low
e,9,1,red,tall
f,8,1,red,tall
"""
HOLES = WHOLE.replace("b,1,8,blue", "b,1,8,?").replace("f,8", "f,?")
HIERARCHY = "1 2 20\n1 2 21\n1 3 30\n"
LSHTC = "20 0:7 100:1 5:2\n21 0:8 7:1\n30 0:9 900:3\n20 0:1 100:2\n30 0:2 900:1 7:0.1\n"


def labels_of(text: str) -> list[str]:
    return [row["label"] for row in csv.DictReader(text.splitlines())]


@pytest.fixture
def shapes(shop):
    """ARFF files without and with missing values, and a model of the former."""
    Path("whole.arff").write_text(HEADER + WHOLE)
    Path("holes.arff").write_text(HEADER + HOLES)
    return shop


def trained(run, *arguments):
    return json.loads(run("train", *arguments, "--json").stdout)


# ---------------------------------------------------------------- ARFF


def test_arff_brings_its_taxonomy(run, shapes):
    done = trained(run, "whole.arff", "--out", "new")
    assert (done["rows"], done["features"], done["nodes"], done["classes"]) == (6, 4, 4, 3)
    assert cladist.load("new").taxonomy_.path("flat/low") == ["flat", "flat/low"]
    assert labels_of(run("predict", "new", "whole.arff").stdout) == ["flat/wide"] * 2 + ["flat/low"] * 2 + ["tall"] * 2
    assert json.loads(run("evaluate", "new", "whole.arff", "--json").stdout)["metrics"]["accuracy"] == 1.0


def test_another_taxonomy_takes_the_place_of_that_in_the_file(run, refused, shapes):
    Path("tree.paths").write_text("flat/wide\nflat/low\nother/tall\n")
    trained(run, "whole.arff", "--taxonomy", "tree.paths", "--out", "new")
    assert cladist.load("new").taxonomy_.path("tall") == ["other", "tall"]
    Path("tree.paths").write_text("flat/wide\nflat/low\n")
    assert "tall" in refused("train", "whole.arff", "--taxonomy", "tree.paths", "--out", "newer")


def test_sparse_rows(run, refused, shapes):
    header = HEADER.replace("@attribute id string\n", "")
    Path("sparse.arff").write_text(header + "{0 1, 3 flat/wide}\n{1 2, 3 tall}\n")
    trained(run, "sparse.arff", "--out", "new")
    assert labels_of(run("predict", "new", "sparse.arff").stdout) == ["flat/wide", "tall"]
    plain = (
        "@relation r\n"
        + "".join(f"@attribute a{k} numeric\n" for k in range(3))
        + "@attribute class hierarchical x,y\n"
    )
    Path("vague.arff").write_text(plain + "@data\n{1 1}\n{2 1}\n")
    assert refused("predict", "new", "vague.arff").endswith("add --zero-based or --one-based.")


def test_arff_on_standard_input(run, shapes):
    text = Path("whole.arff").read_text()
    assert json.loads(run("train", "-", "--format", "arff", "--out", "new", "--json", input=text).stdout)["rows"] == 6
    assert len(labels_of(run("predict", "new", "-", "--format", "arff", input=text).stdout)) == 6
    found = json.loads(run("evaluate", "new", "-", "--format", "arff", "--json", input=text).stdout)
    assert found["metrics"]["accuracy"] == 1.0


def test_arff_with_attributes_of_the_same_name(run, shapes):
    header = "@attribute a real\n@attribute a real\n@attribute class hierarchical x,y\n@data\n"
    Path("twice.arff").write_text(header + "1,0,x\n0,1,y\n")
    trained(run, "twice.arff", "--out", "new")
    assert labels_of(run("predict", "new", "twice.arff").stdout) == ["x", "y"]


def test_rows_to_predict_for_need_no_labels(run, shapes):
    trained(run, "whole.arff", "--out", "new")
    Path("new.arff").write_text(HEADER.replace("tall\n@data", "tall,x\n@data") + "a,1,9,red,?\nb,9,1,blue,x\n")
    assert labels_of(run("predict", "new", "new.arff").stdout) == ["flat/wide", "tall"]


# ---------------------------------------------------------------- missing values


def test_means_take_the_place_of_missing_values(run, shapes):
    result = run("train", "holes.arff", "--method", "hieron", "--out", "new")
    assert "3 values are missing; each is replaced by the mean of its column" in result.stderr
    model = cladist.load("new")
    imputer = model[0]
    assert isinstance(imputer, SimpleImputer)
    assert imputer.statistics_[0] == pytest.approx((1 + 1 + 1 + 0 + 9) / 5)
    told = labels_of(run("predict", "new", "holes.arff").stdout)
    assert told == model.predict(read_arff_hmc("holes.arff").X).tolist()
    whole = read_arff_hmc("whole.arff")
    found = json.loads(run("evaluate", "new", "whole.arff", "--json").stdout)
    assert found["metrics"]["accuracy"] == pytest.approx(np.mean(model.predict(whole.X) == whole.y))


def test_sparse_rows_may_miss_values_too(run, shapes):
    header = HEADER.replace("@attribute id string\n", "")
    Path("sparse.arff").write_text(header + "{0 ?, 3 flat/wide}\n{1 2, 3 tall}\n{0 4, 3 flat/wide}\n")
    trained(run, "sparse.arff", "--out", "new")
    assert cladist.load("new")[0].statistics_[0] == pytest.approx(2.0)
    assert len(labels_of(run("predict", "new", "sparse.arff").stdout)) == 3


def test_a_column_without_any_value_stays(run, shapes):
    Path("hollow.arff").write_text(HEADER + "a,?,9,red,flat/wide\nb,?,1,blue,tall\n")
    trained(run, "hollow.arff", "--out", "new")
    assert len(labels_of(run("predict", "new", "whole.arff").stdout)) == 6


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_that_never_missed_a_value_says_so(refused, run, shapes, command):
    trained(run, "whole.arff", "--out", "new")
    said = refused(command, "new", "holes.arff")
    assert said.startswith("holes.arff: row 2 has no value for 'colour=red', and the model has seen no missing value")
    Path("sparse.arff").write_text(HEADER + "{1 1, 4 tall}\n{1 1, 2 ?, 4 tall}\n")
    assert refused(command, "new", "sparse.arff").startswith("sparse.arff: row 2 has no value for 'width'")


@pytest.mark.filterwarnings("ignore:.*there is no hierarchy")
def test_an_imputer_saved_from_python_serves_as_well(run, shapes):
    learner = cladist.Hieron()
    model = Pipeline([("fill", SimpleImputer()), ("model", learner)])
    model.fit(np.array([[1, 9, 1, 0], [1, np.nan, 0, 1], [9, 1, 1, 0]], np.float32), ["flat/wide", "flat/low", "tall"])
    cladist.save(model, "new")
    assert len(labels_of(run("predict", "new", "holes.arff").stdout)) == 6


def test_missing_entries_are_found_in_both_kinds_of_rows():
    dense = np.array([[1, np.nan], [0, 2]])
    assert missing(dense).sum() == 1
    from scipy import sparse

    assert missing(sparse.csr_matrix(dense)).tolist() == [False, True, False]


# ---------------------------------------------------------------- columns


def test_other_attributes_are_refused(refused, run, shapes):
    trained(run, "whole.arff", "--out", "new")
    Path("swapped.arff").write_text(HEADER.replace("height", "WIDTH").replace("width", "height") + WHOLE)
    said = refused("predict", "new", "swapped.arff")
    assert "swapped.arff: feature 1 is 'WIDTH', and the model was trained on 'height' in its place" in said
    Path("more.arff").write_text(HEADER.replace("blue}", "blue, green}") + WHOLE)
    assert "there are 5 features, and the model was trained on 4" in refused("evaluate", "new", "more.arff")


def test_numbers_from_elsewhere_suit_if_there_are_as_many(run, shapes):
    trained(run, "whole.arff", "--out", "new")
    Path("new.svm").write_text("tall 1:9 2:1\n")
    assert labels_of(run("predict", "new", "new.svm").stdout) == ["tall"]
    assert len(labels_of(run("predict", "numbers", "whole.arff").stdout)) == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["train", "whole.arff", "--label", "class", "--out", "x"],
            "in which no columns are named; leave out --label",
        ),
        (["train", "whole.arff", "--hashing", "--out", "x"], "--hashing is for texts"),
        (["train", "bad.arff", "--out", "x"], "bad.arff, line 1"),
        (["train", "unlabelled.arff", "--out", "x"], "the row has no label."),
        (["train", "nowhere.arff", "--out", "x"], "nowhere.arff: there is no such file"),
        (["predict", "model", "whole.arff"], "model was trained on texts, and whole.arff holds numbers."),
        (["train", "rows.txt", "--format", "lshtc", "--out", "x"], "name that with --taxonomy FILE."),
        (
            ["predict", "numbers", "rows.txt", "--format", "lshtc"],
            "numbers was trained on numbers, and rows.txt holds LSHTC rows.",
        ),
        (["predict", "lshtc", "numbers.svm"], "lshtc was trained on LSHTC rows, and numbers.svm holds numbers."),
        (["predict", "model", "rows.txt", "--format", "lshtc"], "model was trained on texts"),
        (
            ["predict", "lshtc", "train.csv", "--text", "title"],
            "lshtc was trained on LSHTC rows, and train.csv holds texts.",
        ),
        (["predict", "lshtc", "empty.txt"], "empty.txt: the file has no rows."),
        (["predict", "lshtc", "bad.txt"], "bad.txt, line 1"),
        (["predict", "lshtc", "mixed.txt"], "if 0 is a feature like others, read with --format svmlight --zero-based."),
        (["train", "odd.parquet", "--text", "t", "--label", "c", "--out", "x"], "damaged, cut short or not of this"),
    ],
)
def test_what_is_refused(refused, run, shapes, arguments, said):
    Path("bad.arff").write_text("title,category\n")
    Path("unlabelled.arff").write_text(HEADER + "a,1,9,red,?\n")
    Path("rows.txt").write_text(LSHTC)
    Path("hierarchy.txt").write_text(HIERARCHY)
    Path("empty.txt").write_text("\n")
    Path("bad.txt").write_text("20 x\n")
    Path("mixed.txt").write_text("20 0:1 5:1\n20 5:1\n")
    Path("odd.parquet").write_bytes(b"PAR1")
    run("train", "rows.txt", "--format", "lshtc", "--taxonomy", "hierarchy.txt", "--out", "lshtc", "--quiet")
    assert said in refused(*arguments, "--quiet")


# ---------------------------------------------------------------- LSHTC


@pytest.fixture
def lshtc(shop, run):
    Path("rows.txt").write_text(LSHTC)
    Path("hierarchy.txt").write_text(HIERARCHY)
    run("train", "rows.txt", "--format", "lshtc", "--taxonomy", "hierarchy.txt", "--out", "lshtc", "--quiet")
    return shop


def test_lshtc_rows_have_only_the_features_that_are_used(run, lshtc):
    model, notes = open_model(Path("lshtc"))
    assert model.n_features_in_ == 4
    assert notes == {"format": "lshtc", "features": ["5", "7", "100", "900"]}
    assert model.taxonomy_.path("21") == ["1", "2", "21"]


def test_the_format_need_not_be_told_again(run, lshtc):
    assert labels_of(run("predict", "lshtc", "rows.txt").stdout) == ["20", "21", "30", "20", "30"]
    assert labels_of(run("predict", "lshtc", "-", input=LSHTC).stdout) == ["20", "21", "30", "20", "30"]
    assert json.loads(run("evaluate", "lshtc", "rows.txt", "--json").stdout)["metrics"]["accuracy"] == 1.0


def test_features_that_are_new_are_left_out_with_a_remark(run, lshtc):
    Path("new.txt").write_text("0 0:7 100:1 6:1 2000000:1\n0 0:8 8:4 7:1 6:1\n")
    result = run("predict", "lshtc", "new.txt", "--out", "answers.csv")
    assert "3 of the 5 features in new.txt were in no row of training; they are left out." in result.stderr
    assert labels_of(Path("answers.csv").read_text()) == ["20", "21"]
    Path("new.txt").write_text("20 0:7 100:1 6:1\n")
    assert "1 of the 2 features" in run("evaluate", "lshtc", "new.txt").stderr
    assert run("evaluate", "lshtc", "new.txt", "--quiet").stderr == ""


@pytest.mark.parametrize("features", [[], ["5", "x"], ["7", "5"], ["5", "5"], ["99999999999"], ["٣"]])
def test_numbers_that_were_tampered_with(lshtc, features):
    cladist.save(cladist.load("lshtc"), "odd", notes={"format": "lshtc", "features": features})
    with pytest.raises(ModelFormatError, match="must be rising numbers"):
        open_model(Path("odd"))


# ---------------------------------------------------------------- Parquet and Arrow


@pytest.mark.parametrize("ending", ["parquet", "pq", "arrow", "feather"])
def test_columnar_tables(run, shop, ending):
    pytest.importorskip("pyarrow")
    from pyarrow import csv as reader
    from pyarrow import feather, parquet

    for name in ("train", "test"):
        table = reader.read_csv(f"{name}.csv")
        if ending in ("parquet", "pq"):
            parquet.write_table(table, f"{name}.{ending}")
        else:
            feather.write_feather(table, f"{name}.{ending}", compression="uncompressed")
    given = ("--text", "title", "--text", "description", "--label", "category", "--taxonomy", "taxonomy.csv")
    assert trained(run, f"train.{ending}", *given, "--out", "new")["rows"] == 252
    told = run("predict", "model", "test.csv").stdout
    assert run("predict", "new", f"test.{ending}").stdout == told
    content = Path(f"test.{ending}").read_bytes()
    kind = "parquet" if ending in ("parquet", "pq") else "arrow"
    assert run("predict", "new", "-", "--format", kind, input=content).stdout == told
    found, expected = (
        json.loads(run("evaluate", "new", f"test.{end}", "--json").stdout)["metrics"] for end in (ending, "csv")
    )
    assert found == expected
    assert json.loads(run("evaluate", "new", "-", "--json", input=content).stdout)["metrics"] == expected


# ---------------------------------------------------------------- progress


class Listener:
    def __init__(self):
        self.started = []

    def start(self, description, total):
        self.started.append(description)
        return self

    def advance(self, steps=1):
        pass

    def finish(self, task):
        pass


@pytest.mark.parametrize("name", ["train.csv", "whole.arff", "numbers.svm", "rows.txt"])
def test_every_file_is_shown_once(shapes, lshtc, name):
    source = {
        "train.csv": DataSource("train.csv", text=("title",), label="category", labelled=True),
        "rows.txt": DataSource("rows.txt", "lshtc", labelled=True, features=("5", "7", "100", "900")),
    }.get(name, DataSource(name, labelled=True))
    listener = Listener()
    with progress.report_to(listener):
        train(source, Path("new"), taxonomy=Path("hierarchy.txt") if name == "rows.txt" else None)
        evaluate(cladist.load("new"), source)
    assert [text for text in listener.started if text == f"Reading {name}"] == [f"Reading {name}"] * 2


def test_standard_input_is_shown_too(run, shop):
    given = ("train", "-", "--text", "title", "--label", "category", "--out", "new")
    assert "Reading standard input" in run(*given, input=Path("train.csv").read_text(), env=TERMINAL).stderr


@pytest.mark.filterwarnings("default:The model knows no word")
def test_bars_count_bytes_of_a_table_and_not_rows_as_well(run, shop):
    shown = run("predict", "model", "test.csv", "--out", "answers.csv", env=TERMINAL).stderr
    size = Path("test.csv").stat().st_size
    assert f"{size / 1000:,.0f} / {size / 1000:,.0f} kB" in shown
    shown = run("predict", "model", "-", "--out", "answers.csv", env=TERMINAL, input="a\nb\n").stderr
    assert "Predicting" in shown
