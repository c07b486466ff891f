"""``cladist predict``: what is written where, and what is refused."""

import csv
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import cladist
from cladist import FlatSVM, Taxonomy, Thresholded
from cladist.cli import input as cli_input
from cladist.cli.input import BATCH_ROWS, DataSource, open_model, resolve
from cladist.cli.predict import predict, predict_to, read_batches, set_separator
from cladist.datasets import read_texts
from cladist.decoders.thresholds import RCut
from cladist.errors import DatasetWarning
from cladist.features import text_features
from cladist.persistence import models
from cladist.storage import read_folder, write_folder
from tests.execution.engines import Isolated

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
@pytest.mark.filterwarnings("default:The model knows no word")
def test_a_header_is_not_taken_for_a_text(run, refused, shop, table, kind):
    given = ("predict", "model", "-", "--quiet")
    assert f"'title', 'description' that the model was trained on; add --format {kind}" in refused(*given, input=table)
    n_lines = table.count("\n")
    assert len(rows_of(run(*given, "--format", "lines", input=table).stdout)) == n_lines
    assert len(rows_of(run(*given, "--format", kind, input=table).stdout)) == (n_lines - 1 or 1)


@pytest.mark.parametrize("line", ["title", "title description", "a title, a description", '{"title": 1}', '"', "{"])
@pytest.mark.filterwarnings("default:The model knows no word")
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


@pytest.mark.filterwarnings("default:The model knows no word")
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
        for batch in read_batches(DataSource("big.txt", "lines")):
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
        (["model", "test.csv", "--keep", "sku"], "there is no column 'sku'; there are 'title'"),
        (["numbers", "numbers.svm", "--keep", "all"], "--keep names columns of a table, and numbers.svm is read as"),
        (["model", "-", "--out", "answers.xls"], ".csv, .tsv or .jsonl"),
        (["model", "-", "--out", "nowhere/answers.csv"], "nowhere: there is no such folder"),
        (["model", "numbers.svm"], "model was trained on texts"),
        (["numbers", "-"], "numbers was trained on numbers"),
        (["numbers", "wide.svm"], "line 1, column 3: the index of '9:1' is not in 1 … 4. The model was trained on"),
        (["numbers", "wide.svm"], "up to 4 and has no weights for others: leave out the features that are new"),
        (["numbers", "wide.svm", "--zero-based"], "is not in 0 … 3. The model was trained on indices up to 3 and"),
    ],
)
def test_what_is_refused(refused, shop, arguments, said):
    Path("wide.svm").write_text("a 9:1\n")
    Path("zero.svm").write_text("a 0:1\n")
    Path("new.xls").touch()
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
    assert "truncated or altered" in refused("predict", "model", "-", input="tent")


# ---------------------------------------------------------------- sets of labels

TEXTS = ["rain coat", "tea cup", "old stone", "rain hat", "tea pot"]
KINDS = [["coats", "rain"], ["cups"], [], ["rain", "hats"], ["pots"]]
TREE = "wear/coats\nwear/hats\nhome/cups\nhome/pots\nrain\n"


def train_sets(run, *options, method="svm", sep="|", kinds=KINDS, tree=TREE):
    rows = [f"{text},{sep.join(labels)}\n" for text, labels in zip(TEXTS, kinds, strict=True)]
    Path("sets.csv").write_text("title,kinds\n" + "".join(rows * 3))
    Path("sets.taxonomy").write_text(tree)
    columns = ("--text", "title", "--label", "kinds", "--label-sep", sep, "--taxonomy", "sets.taxonomy")
    run("train", "sets.csv", *columns, "--method", method, "--param", "C=100", *options, "--out", "sets", "--quiet")


@pytest.mark.parametrize(("method", "options"), [("svm", ()), ("lr", ("--param", "targets=nodes")), ("h-svm", ())])
def test_a_model_of_sets_answers_with_sets(run, shop, method, options):
    train_sets(run, *options, method=method)
    rows = rows_of(run("predict", "sets", "sets.csv").stdout)
    model, texts = cladist.load("sets"), read_texts("sets.csv", text=["title"])
    assert [set(row["labels"].split("|")) - {""} for row in rows] == [set(labels) for labels in model.predict(texts)]
    assert [set(row["labels"].split("|")) - {""} for row in rows[:5]] == [set(labels) for labels in KINDS]
    assert rows[2] == {"labels": "", "paths": "", "scores": ""}
    for row, X in zip(rows, model[:-1].transform(texts), strict=True):
        labels, scores = row["labels"].split("|"), row["scores"].split("|")
        if labels != [""]:
            assert [path.split(" > ") for path in row["paths"].split("|")] == [*map(model[-1].taxonomy_.path, labels)]
            wanted = model[-1].decision_function(X.reshape(1, -1), nodes=labels)[0].tolist()
            assert wanted == sorted(wanted, reverse=True)
            assert list(map(float, scores)) == pytest.approx(wanted, rel=1e-5)


def test_sets_in_json_are_lists(run, shop):
    train_sets(run)
    lines = "rain coat\nold stone\n"
    run("predict", "sets", "-", "--out", "answers.jsonl", input=lines)
    full, empty = map(json.loads, Path("answers.jsonl").read_text().splitlines())
    assert list(full) == ["labels", "paths", "scores"]
    assert dict(zip(full["labels"], full["paths"], strict=True)) == {"coats": ["wear", "coats"], "rain": ["rain"]}
    assert full["scores"] == sorted(full["scores"], reverse=True)
    assert empty == {"labels": [], "paths": [], "scores": []}
    assert json.loads(run("predict", "sets", "-", "--json", input=lines).stdout) == [full, empty]
    assert run("predict", "sets", "-", input="old stone\n" * 2).stdout == "labels,paths,scores\n" + ",,\n" * 2
    assert run("predict", "sets", "-", input="").stdout == "labels,paths,scores\n"


def test_the_best_k_of_a_model_of_sets(run, shop):
    train_sets(run)
    (row,) = rows_of(run("predict", "sets", "-", "--top-k", "2", input="old stone").stdout)
    assert list(row) == [f"{name}_{k}" for k in (1, 2) for name in ("label", "path", "score")]
    assert 0 > float(row["score_1"]) >= float(row["score_2"])


def test_a_model_of_sets_that_predicts_one_label(run, shop):
    train_sets(run, "--param", "decode=single", kinds=[["coats"], ["cups"], ["rain"], ["hats"], ["pots"]])
    (row,) = rows_of(run("predict", "sets", "-", input="tea cup").stdout)
    assert (row["label"], row["path"]) == ("cups", "home > cups")


@pytest.mark.parametrize(("sep", "joint"), [("; ", "; "), (" ", ";"), (".", ";"), ("|", "|")])
def test_what_joins_a_set(run, shop, sep, joint):
    train_sets(run, sep=sep)
    (row,) = rows_of(run("predict", "sets", "-", input="rain coat").stdout)
    assert {*zip(row["labels"].split(joint), row["paths"].split(joint), strict=True)} == {
        ("coats", "wear > coats"),
        ("rain", "rain"),
    }
    assert all(float(score) > 0 for score in row["scores"].split(joint))


@pytest.mark.parametrize("odd", ["wear;home/cups", "wear/cups;home"])
def test_names_that_could_not_be_told_apart(run, refused, shop, odd):
    kinds = [[odd.split("/")[1] if labels == ["cups"] else label for label in labels] for labels in KINDS]
    train_sets(run, sep=" ", kinds=kinds, tree=TREE.replace("home/cups", odd))
    said = "join the labels of a row by ';', which the model's label"
    assert said in refused("predict", "sets", "-", "--quiet", input="tea cup")
    assert said in refused("predict", "sets", "-", "--out", "answers.tsv", "--quiet", input="tea cup")
    (found,) = json.loads(run("predict", "sets", "-", "--json", input="tea cup").stdout)
    assert found["paths"] == [odd.split("/")]
    run("predict", "sets", "-", "--top-k", "1", input="tea cup")


def test_a_thresholded_model_answers_with_sets(run, shop):
    X, y = [text for text in TEXTS for _ in range(3)], [set(labels) for labels in KINDS for _ in range(3)]
    scorer = FlatSVM(Taxonomy.from_paths(TREE.split()))
    model = make_pipeline(text_features(), Thresholded(scorer, strategy=RCut(2), random_state=0)).fit(X, y)
    cladist.save(model, "cut")
    rows = rows_of(run("predict", "cut", "-", input="\n".join(TEXTS)).stdout)
    assert [set(row["labels"].split(";")) for row in rows] == model.predict(TEXTS)
    assert [len(row["paths"].split(";")) for row in rows] == [2] * 5
    first, second = map(float, rows[1]["scores"].split(";"))
    assert first > 0 > second


def test_sets_in_a_dag_have_the_shortest_paths(run, shop):
    edges = "top a\ntop b\na low\nlow c\nb c\na d\nb d\n"
    kinds = [["c", "d"], ["c"], [], ["d"], ["low"]]
    train_sets(run, "--param", "targets=nodes", kinds=kinds, tree=edges)
    rows = rows_of(run("predict", "sets", "sets.csv").stdout)[:5]
    path_of = {"c": "top > b > c", "d": "top > a > d", "low": "top > a > low"}
    assert [set(row["paths"].split("|")) - {""} for row in rows] == [{path_of[k] for k in row} for row in kinds]
    best = rows_of(run("predict", "sets", "sets.csv", "--top-k", "3").stdout)
    assert all(row[f"path_{k}"] in {*path_of.values(), "top", "top > a", "top > b"} for row in best for k in (1, 2, 3))


def test_a_label_in_a_dag_has_the_shortest_path(run, shop):
    Path("dag.edges").write_text("x a\ny a\nx b\ny c\nb c\n")
    run("train", "numbers.svm", "--taxonomy", "dag.edges", "--method", "svm", "--out", "dag", "--quiet")
    rows = rows_of(run("predict", "dag", "numbers.svm").stdout)
    assert [(row["label"], row["path"]) for row in rows[1:4]] == [("b", "x > b"), ("a", "x > a"), ("c", "y > c")]


def test_sets_are_scored_in_pieces(run, shop, monkeypatch):
    train_sets(run)
    whole = run("predict", "sets", "sets.csv").stdout
    sizes = []
    asked = FlatSVM.decision_function
    monkeypatch.setattr("cladist.learners.predictions.CHUNK_BYTES", 8 * 5 * 4)  # four rows of five labels
    monkeypatch.setattr(
        FlatSVM, "decision_function", lambda self, X, nodes: sizes.append(X.shape[0]) or asked(self, X, nodes)
    )
    assert run("predict", "sets", "sets.csv").stdout == whole
    assert sizes == [4, 4, 4, 3]


# ---------------------------------------------------------------- very many rows, very many labels

WALKED = "x/a\nx/b\ny/c\n"


@pytest.fixture
def walking(shop):
    """A model with vectors above its labels."""
    X = np.array([[1, 0, 0.5, 0], [0, 1, 0, 0], [0.5, 0, 1, 0], [0, 0.5, 0, 2], [0, 2, 0, 0], [0, 0, 0, 1]])
    model = cladist.RecursiveSVM(Taxonomy.from_paths(WALKED.split()), weights="differences")
    model.fit(X, ["a", "b", "a", "c", "b", "c"])
    cladist.save(model, "walking", notes={"zero_based": False})
    return model


def test_altered_weights_are_seen_on_request(refused, walking):
    content, arrays = read_folder("walking")
    arrays["model/state/weights/differences/values"][0] = np.inf
    write_folder("walking", content, arrays)
    assert "finite numbers" in refused("predict", "walking", "numbers.svm", "--mmap", "--verify")


def test_a_model_and_its_notes_are_of_one_save(walking, monkeypatch):
    """Another process saves while a model is opened: its notes must not be taken for those of the model before."""
    restored = models._unpack_model

    def restored_then_saved(*parts):
        model = restored(*parts)
        cladist.save(walking, "walking", notes={"zero_based": True})
        return model

    monkeypatch.setattr(models, "_unpack_model", restored_then_saved)
    assert open_model(Path("walking"))[1] == {"zero_based": False}


def test_a_beam_and_a_mapped_model(run, refused, walking):
    told = run("predict", "walking", "numbers.svm", "--top-k", "2").stdout
    assert run("predict", "walking", "numbers.svm", "--top-k", "2", "--mmap").stdout == told
    assert run("predict", "walking", "numbers.svm", "--top-k", "2", "--mmap", "--verify").stdout == told
    assert run("predict", "walking", "numbers.svm", "--top-k", "2", "--beam", "2", "--mmap").stdout == told
    assert rows_of(run("predict", "walking", "numbers.svm", "--beam", "1").stdout)[1]["label"] == "b"
    assert "keeps none" in refused("predict", "numbers", "numbers.svm", "--beam", "2")


def test_sets_have_no_beam(refused, shop):
    model = FlatSVM(Taxonomy.from_paths(WALKED.split())).fit(np.eye(4), [{"a"}, {"b"}, {"c"}, {"a", "c"}])
    cladist.save(model, "sets", notes={"zero_based": False})
    assert "add --top-k K" in refused("predict", "sets", "numbers.svm", "--beam", "2")


ARFF = (
    "@relation r\n" + "".join(f"@attribute f{k} numeric\n" for k in range(4)) + "@attribute c hierarchical a,b\n@data\n"
)
MANY = {  # header, row, source
    "svmlight": ("", "a 1:1 3:0.5\n", DataSource("many.svm", zero_based=False)),
    "arff": (ARFF, "1,0,0.5,0,a\n", DataSource("many.arff")),
    "lines": ("", "a tent for two\n", DataSource("many.txt", "lines")),
}


@pytest.mark.parametrize("kind", MANY)
def test_rows_are_read_as_they_are_answered(run, walking, kind, monkeypatch):
    """However many rows there are, only some are in memory; progress on standard output shows that, too."""
    monkeypatch.setattr("cladist.files.CHUNK_BYTES", 1 << 14)
    n_rows, model = 20_000, cladist.load("model" if kind == "lines" else "walking")
    header, line, source = MANY[kind]
    Path(source.path).write_text(header + line * n_rows)
    assert len(list(predict(model, read_batches(source, model=model)))) == n_rows
    tracemalloc.start()
    answers = predict(model, read_batches(source, model=model))
    first = next(answers)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    n_seen = 1 + sum(1 for _ in answers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_seen == n_rows
    assert first[0].label == (first[0].label if kind == "lines" else "a")
    assert peak - before < 4_000_000  # all rows at once take more than three times as much


def test_a_bad_row_far_down_leaves_no_file(refused, walking, monkeypatch):
    monkeypatch.setattr("cladist.files.CHUNK_BYTES", 1 << 10)
    Path("many.svm").write_text("a 1:1\n" * 5000 + "a 9:1\n")
    assert "The model was trained on indices up to 4" in refused("predict", "walking", "many.svm", "--out", "out.csv")


def test_labels_of_a_set_are_joined_as_in_training_unless_paths_or_scores_contain_the_separator():
    assert [set_separator(sep) for sep in ("|", None, "", " ", ">", "-", "0")] == ["|", *";;;;;;"]


@pytest.mark.parametrize(
    ("kind", "first_line"),
    [("csv", "title,description"), ("tsv", "title\tdescription"), ("jsonl", '{"title": "", "description": ""}')],
)
def test_a_table_on_standard_input_is_not_read_as_lines(refused, shop, kind, first_line):
    problem = refused("predict", "model", "-", input=f"{first_line}\ndome tent\n")
    assert "begins like a table with the columns 'title', 'description'" in problem
    assert f"add --format {kind} if it is one, --format lines if every line is a text." in problem


def test_kept_columns_stand_in_front_of_the_answers(run, shop):
    table = Path("test.csv").read_text()
    given = rows_of(table)
    plain = rows_of(run("predict", "model", "test.csv").stdout)
    for columns in (["category"], ["category", "title"]):
        rows = rows_of(run("predict", "model", "test.csv", *(w for c in columns for w in ("--keep", c))).stdout)
        assert list(rows[0]) == [*columns, "label", "path", "score"]
        expected = [{c: old[c] for c in columns} | new for old, new in zip(given, plain, strict=True)]
        assert rows == expected
    everything = run("predict", "model", "test.csv", "--keep", "all").stdout
    assert rows_of(everything) == [old | new for old, new in zip(given, plain, strict=True)]
    assert run("predict", "model", "-", "--format", "csv", "--keep", "all", input=table).stdout == everything


def test_kept_columns_in_batches_and_as_json(run, shop, monkeypatch):
    monkeypatch.setattr(cli_input, "BATCH_ROWS", 7)
    rows = [{"title": f"dome tent {k}", "description": "", "id": k, "tags": ["a"]} for k in range(30)]
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("predict", "model", "new.jsonl", "--keep", "id", "--keep", "tags", "--out", "answers.jsonl")
    found = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    assert [(row["id"], row["tags"]) for row in found] == [(k, ["a"]) for k in range(30)]
    assert found[0]["path"] == ["Outdoors", "Camping", "Tents"]
    cells = rows_of(run("predict", "model", "new.jsonl", "--keep", "all", "--top-k", "2").stdout)
    assert [(row["id"], row["tags"]) for row in cells] == [(str(k), '["a"]') for k in range(30)]


def test_names_that_are_taken_do_not_hide_each_other(run, shop):
    Path("new.csv").write_text("label,title,description\n=1+1,dome tent,\n")
    (row,) = rows_of(run("predict", "model", "new.csv", "--keep", "label").stdout)
    assert row["label"] == "'=1+1"  # as a label with this text would be written
    assert row["predicted_label"] == "Tents"


def test_more_labels_than_there_are_give_all(run, shop):
    (row,) = rows_of(run("predict", "model", "-", "--top-k", "99", input="a dome tent").stdout)
    labels = [row[f"label_{k}"] for k in range(1, 19)]
    assert sorted(labels) == sorted(cladist.load("model")[-1].classes_.tolist())
    assert "label_19" not in row


def test_paths_whose_last_part_is_not_unique(run, shop):
    """As `System > Admin > Program` beside `Home > Program`: each part once, in tables, JSON and Python."""
    labels = ["System > Admin > Program", "Home > Program", "System > Users"]
    texts = ["root daemon", "kitchen recipe", "login name"]
    lines = [f"{text} {k},{label}" for k in range(6) for text, label in zip(texts, labels, strict=True)]
    Path("paths.csv").write_text("\n".join(["t,c", *lines]) + "\n")
    run("train", "paths.csv", "--text", "t", "--label", "c", "--path-sep", " > ", "--out", "new", "--quiet")
    found = rows_of(run("predict", "new", "paths.csv", "--keep", "c").stdout)
    assert [row["path"] for row in found] == [row["c"] for row in found]
    assert [row["label"] for row in found] == [row["c"] for row in found]
    asked = json.loads(run("predict", "new", "-", "--json", input="root daemon").stdout)
    assert asked[0]["path"] == ["System", "Admin", "Program"]
    model = cladist.load("new")
    assert model[-1].predict_paths(model[:-1].transform(["root daemon"])) == [["System", "Admin", "Program"]]


def test_processes_predict_as_one_does(shop, run, monkeypatch):
    """In order, with the warnings, kept columns and decisions of a single process."""
    monkeypatch.setattr(cli_input, "BATCH_ROWS", 7)
    one, two = (run("predict", "model", "test.csv", "--keep", "title", "--jobs", jobs) for jobs in (1, 2))
    assert one.stdout == two.stdout
    assert len(one.stdout.splitlines()) > 14


def test_a_cluster_predicts_as_one_process_does(shop, run, refused, monkeypatch):
    engine = Isolated(2)
    monkeypatch.setattr("cladist.execution.ray_executor.Ray", lambda: engine)
    monkeypatch.setattr(cli_input, "BATCH_ROWS", 7)
    here = run("predict", "model", "test.csv", "--keep", "title")
    there = run("predict", "model", "test.csv", "--keep", "title", "--executor", "ray")
    assert here.stdout == there.stdout
    assert engine.n_tasks > 2
    assert "--executor must be ray; got 'spark'" in refused("predict", "model", "test.csv", "--executor", "spark")
    assert "leave one out" in refused("predict", "model", "test.csv", "--executor", "ray", "--jobs", "2")


def test_processes_count_texts_without_a_known_word(shop):
    source = resolve(DataSource("lines.txt", "lines"), *open_model(Path("model")), Path("model"))
    Path("lines.txt").write_text("rain coat\n\n" * 3)
    model = cladist.load("model")
    with pytest.warns(DatasetWarning, match=r"no word in 3 of 6 rows \(rows 2, 4, 6\)"):
        predict_to(model, source, Path("out.csv"), folder=Path("model"), workers=2)


def test_a_fault_in_the_input_ends_all_processes_with_one_sentence(shop, refused, monkeypatch):
    monkeypatch.setattr(cli_input, "BATCH_ROWS", 2)
    Path("bad.svm").write_text("a 1:1\n" * 9 + "a 1:x\n")
    assert "bad.svm, line 10" in refused("predict", "numbers", "bad.svm", "--jobs", "2", "--out", "answers.csv")
