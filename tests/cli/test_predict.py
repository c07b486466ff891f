"""``cladist predict``: what is written where, and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.cli.predict import predict
from cladist.cli.reading import BATCH_ROWS, DataSource, read_batches
from cladist.datasets import read_texts

COLUMNS = ("--text", "title", "--text", "description")


def rows_of(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines(), delimiter=delimiter))


def test_a_table_of_answers(run, shop):
    result = run("predict", "model", "test.csv", *COLUMNS, "--out", "answers.csv")
    rows = rows_of(Path("answers.csv").read_text())
    model = cladist.load("model")
    texts = read_texts("test.csv", text=["title", "description"])
    assert [row["label"] for row in rows] == model.predict(texts).tolist()
    assert [row["path"].split(" > ") for row in rows] == model[-1].predict_paths(model[:-1].transform(texts))
    assert result.stdout == ""
    assert "Predicted 108 rows" in result.stderr


def test_text_columns_are_those_of_training(run, shop):
    told = run("predict", "model", "test.csv", *COLUMNS).stdout
    assert run("predict", "model", "test.csv").stdout == told
    assert run("predict", "model", "test.csv", "--text", "title").stdout != told
    Path("test.txt").write_text(Path("test.csv").read_text())
    assert run("predict", "model", "test.txt").stdout == told


def test_tables_on_standard_input(run, shop):
    told = run("predict", "model", "test.csv", *COLUMNS).stdout
    table = Path("test.csv").read_text()
    for given in (COLUMNS, ("--format", "csv"), ("--format", "csv", *COLUMNS)):
        assert run("predict", "model", "-", *given, input=table).stdout == told


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("title,description,category\na,b,c\n", "csv"),
        ('\ufeffn,"description", title\r\n1,b,c\r\n', "csv"),
        ("title\tdescription\na\tb\n", "tsv"),
        ('{"title": "a", "description": "b"}\n', "jsonl"),
    ],
)
def test_a_header_is_not_taken_for_a_text(run, refused, shop, table, kind):
    given = ("predict", "model", "-", "--quiet")
    assert f"'title', 'description' that the model was trained on; add --format {kind}" in refused(*given, input=table)
    n_lines = table.count("\n")
    assert len(rows_of(run(*given, "--format", "lines", input=table).stdout)) == n_lines
    assert len(rows_of(run(*given, "--format", kind, input=table).stdout)) == (n_lines - 1 or 1)


@pytest.mark.parametrize("line", ["title", "title description", "a title, a description", '{"title": 1}', '"', "{"])
def test_a_text_is_not_taken_for_a_header(run, shop, line):
    text = f"{line}\ntitle,description\n"
    assert len(rows_of(run("predict", "model", "-", input=text).stdout)) == 2
    cladist.save(cladist.load("model"), "bare")
    assert len(rows_of(run("predict", "bare", "-", input="title,description\n" + text).stdout)) == 3


def test_json_tells_where_the_answers_are(run, shop):
    result = run("predict", "model", "test.csv", *COLUMNS, "--out", "answers.csv", "--json")
    assert json.loads(result.stdout)["rows"] == 108
    assert result.stderr == ""


def test_the_best_k_with_their_scores(run, shop):
    (row,) = rows_of(run("predict", "model", "-", "--top-k", "3", input="a dome tent with pegs").stdout)
    assert list(row) == [f"{name}_{k}" for k in (1, 2, 3) for name in ("label", "path", "score")]
    assert row["path_1"] == "Outdoors > Camping > Tents"
    assert float(row["score_1"]) >= float(row["score_2"]) >= float(row["score_3"])


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_the_ending_says_what_is_written(run, shop, ending):
    run("predict", "model", "-", "--out", f"answers.{ending}", input="dome tent\nskillet\n")
    text = Path(f"answers.{ending}").read_text()
    if ending == "jsonl":
        found = [json.loads(line) for line in text.splitlines()]
        assert found[0]["path"] == ["Outdoors", "Camping", "Tents"]
    else:
        found = rows_of(text, "\t" if ending == "tsv" else ",")
    assert [row["label"] for row in found] == ["Tents", "Frying pans"]


def test_json_on_standard_output_is_one_list(run, shop):
    found = json.loads(run("predict", "model", "-", "--json", "--top-k", "2", input="dome tent\nskillet").stdout)
    assert [row["top"][0]["label"] for row in found] == ["Tents", "Frying pans"]
    assert json.loads(run("predict", "model", "-", "--json", input="").stdout) == []


def test_every_line_has_its_answer(run, shop):
    lines = "dome tent\n\nskillet\r\n"
    assert len(rows_of(run("predict", "model", "-", input=lines).stdout)) == 3
    Path("lines.txt").write_text(lines)
    assert len(rows_of(run("predict", "model", "lines.txt", "--format", "lines").stdout)) == 3


def test_nothing_in_gives_a_header_out(run, shop):
    assert run("predict", "model", "-", input="").stdout == "label,path,score\n"


def test_tables_come_on_standard_input_too(run, shop):
    line = json.dumps({"t": "dome tent", "n": None}) + "\n"
    result = run("predict", "model", "-", "--format", "jsonl", "--text", "t", "--text", "n", input=line)
    assert rows_of(result.stdout)[0]["label"] == "Tents"


def test_numbers(run, shop):
    Path("new.svm").write_text("? 1:1\n 2:3\na,b 4:1\n")
    found = rows_of(run("predict", "numbers", "new.svm").stdout)
    assert [row["label"] for row in found] == ["a", "b", "c"]
    assert [row["path"] for row in found] == ["x > a", "x > b", "y > c"]


def test_rows_come_in_batches_that_are_asked_for_one_by_one(shop):
    n_rows = 2 * BATCH_ROWS + 1
    Path("big.txt").write_text("dome tent\n" * n_rows)
    sizes = []

    def watched():
        for batch in read_batches(DataSource("big.txt", "lines")).rows:
            sizes.append(len(batch))
            yield batch

    answers = predict(cladist.load("model"), watched())
    assert next(answers)[0].label == "Tents"
    assert sizes == [BATCH_ROWS]
    assert sum(1 for _ in answers) == n_rows - 1
    assert sizes == [BATCH_ROWS, BATCH_ROWS, 1]


def test_scores_are_the_models(shop):
    model = cladist.load("numbers")
    rows = np.eye(4)
    ((first, second), *_) = predict(model, [rows], top_k=2)
    labels, scores = model.predict_top_k(rows, 2)
    assert [first.label, second.label] == labels[0].tolist()
    assert [first.score, second.score] == scores[0].tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "-"], "nowhere is not a folder"),
        ([".", "-"], "manifest.json is missing"),
        (["model", "nowhere.csv", "--text", "title"], "nowhere.csv: there is no such file"),
        (["model", "test.csv", "--text", "titel"], "there is no column 'titel'"),
        (["nowhere", "test.csv"], "nowhere is not a folder"),
        (["bare", "test.csv"], "name its columns with --text COLUMN, or --format lines"),
        (["model", "-", "--text", "title"], "line 1: there is no column 'title'; there are 'dome tent'"),
        (["model", "new.xls"], ".xls files are not read yet"),
        (["numbers", "zero.svm"], "add --zero-based"),
        (["model", "-", "--top-k", "99"], "between 1 and the number of classes, 18"),
        (["model", "-", "--out", "answers.xls"], ".csv, .tsv or .jsonl"),
        (["model", "-", "--out", "nowhere/answers.csv"], "nowhere: there is no such folder"),
        (["model", "numbers.svm"], "model was trained on texts"),
        (["numbers", "-"], "numbers was trained on numbers"),
        (["numbers", "wide.svm"], "line 1, column 3: the index of '9:1' is not in 1 … 4; the model learnt from"),
        (["numbers", "wide.svm"], "up to 4 and has no weights for others: leave out the features that are new"),
        (["numbers", "wide.svm", "--zero-based"], "is not in 0 … 3; the model learnt from indices up to 3 and"),
    ],
)
def test_what_is_refused(refused, shop, arguments, said):
    Path("wide.svm").write_text("a 9:1\n")
    Path("zero.svm").write_text("a 0:1\n")
    cladist.save(cladist.load("model"), "bare")
    assert said in refused("predict", *arguments, "--quiet", input="dome tent")


def test_a_row_that_is_malformed_late_leaves_no_file(refused, shop):
    Path("late.csv").write_text("title\n" + "dome tent\n" * (BATCH_ROWS + 1) + "a,b\n")
    given = ("late.csv", "--text", "title", "--out", "answers.csv", "--quiet")
    assert f"line {BATCH_ROWS + 3}" in refused("predict", "model", *given)


def test_a_line_that_is_not_utf8_is_named(refused, shop):
    assert "line 2" in refused("predict", "model", "-", input=b"tent\ncaf\xe9\n")


def test_a_damaged_model_is_refused(refused, shop):
    (arrays,) = Path("model").glob("*.safetensors")
    arrays.write_bytes(arrays.read_bytes()[:-1])
    assert "cut or altered" in refused("predict", "model", "-", input="tent")
