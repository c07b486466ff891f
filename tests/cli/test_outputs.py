"""Text of strangers in what commands print and write: no terminal obeys it, no spreadsheet computes it."""

import csv
import errno
import io
import json
import os
import re
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import cladist
from cladist import Taxonomy
from cladist.cli import app as application
from cladist.cli import output
from cladist.cli.output import Terminal, standard_output, table
from cladist.cli.predict import Layout, escape_formula, write_rows
from cladist.errors import visible
from cladist.learners.predictions import Prediction

EVIL = "\x1b]0;owned\x07 \x9b31m \x7f \u202egolf\u2066 \x08\r\u2028"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
STYLES = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\r?\x1b\[[0-9]*[A-K]")  # what rich writes, and EVIL has not


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


def on_screen(show):
    """Let standard output and error be one terminal; return what came there, without the styles of our own."""
    shown = Screen()
    with redirect_stdout(shown), redirect_stderr(shown):
        show()
    return STYLES.sub("", shown.getvalue())


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A taxonomy and a model whose names and titles a terminal would obey."""
    monkeypatch.chdir(tmp_path)
    names = [f"a{EVIL}", f"b{EVIL}"]
    tree = Taxonomy.from_edges([("root", name) for name in names])
    tree.with_titles(dict.fromkeys(names, f"title{EVIL}")).write("tree.csv")
    cladist.save(cladist.Hieron(tree).fit([[0.0, 1.0], [1.0, 0.0]], names), "model")
    Path("new.svm").write_text("? 1:1\n? 2:1\n")
    Path("new.jsonl").write_text('{"x": [0, 1]}\n')
    Path("cycle.edges").write_text("a\x1b]0;x\x07 b\nb a\x1b]0;x\x07\n")
    return names


def shown_by(arguments):
    """Run a command in this process, as the program does."""
    from cladist.cli.app import app

    with pytest.raises(SystemExit) as ended:
        app([str(argument) for argument in arguments])
    return ended.value.code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["predict", "model", "new.svm"], 0),
        (["predict", "model", "new.svm", "--json"], 0),
        (["predict", "model", "new.svm", "--top-k", "2"], 0),
        (["taxonomy", "tree.csv"], 0),
        (["taxonomy", "tree.csv", "--json"], 0),
        (["taxonomy", "cycle.edges"], 2),
        (["taxonomy", "cycle.edges", "--debug"], 2),
        (["taxonomy", "cycle.edges", "--drop-cycles"], 0),
        (["taxonomy", EVIL], 2),
        (["evaluate", "model", "new.svm"], 2),
        (["train", "new.svm", f"--{EVIL}"], 2),
        (["predict", "model", "new.svm", "--out", f"{EVIL}.csv"], 0),
    ],
    ids=lambda value: " ".join(map(visible, value)) if isinstance(value, list) else None,
)
def test_no_command_steers_a_terminal(evil, arguments, code):
    codes = []
    shown = on_screen(lambda: codes.append(shown_by(arguments)))
    assert codes == [code], shown
    assert len(shown) > 10
    assert not OBEYED.search(shown)


def test_answers_of_a_stream_do_not_either(evil):
    screen = Screen()
    screen.buffer = io.BytesIO()
    with redirect_stdout(screen):
        assert shown_by(["stream", "model", "new.jsonl", "--quiet"]) == 0
    text = screen.buffer.getvalue().decode()
    assert not OBEYED.search(text)
    assert json.loads(text)["label"] in evil


def test_files_and_pipes_get_every_character(evil, run):
    given = ("predict", "model", "new.svm")
    listed = json.loads(run(*given, "--json").stdout)
    assert {row["label"] for row in listed} == set(evil)
    run(*given, "--out", "a.jsonl", "--quiet")
    assert [json.loads(line) for line in Path("a.jsonl").read_bytes().split(b"\n")[:-1]] == listed
    run(*given, "--out", "a.csv", "--quiet")
    with open("a.csv", encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == [row["label"] for row in listed]


def test_json_on_a_terminal_means_the_same():
    content = {EVIL: [EVIL, "naïve 🎾 \t\n"]}
    shown = on_screen(lambda: Terminal(json=True).answer(content))
    assert json.loads(shown) == content
    assert "naïve 🎾" in shown


@pytest.mark.parametrize(
    "show",
    [
        lambda: Terminal().show(EVIL, Text(EVIL, style="bold"), table([EVIL], [[EVIL]])),
        lambda: Terminal().note(EVIL),
        lambda: Terminal().plain(EVIL),
        lambda: application._print_sentence("Error", EVIL),
        lambda: standard_output().write(EVIL),
        lambda: _drawn_bar(),
    ],
)
def test_nothing_that_is_shown_is_obeyed(show):
    shown = on_screen(show)
    assert "]0;owned" in shown
    assert not OBEYED.search(shown)


def _drawn_bar():
    from cladist import progress

    with Terminal().bars(), progress.task(EVIL, 2) as running:
        running.advance(2)


def test_the_console_is_ours_everywhere():
    """rich asks `render` of a console for everything that it prints."""
    assert type(output._console()) is not Console
    assert Console.render is not type(output._console()).render


# ------------------------------------------------------------------ spreadsheets

DANGEROUS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", "=", "-", "'=x", "''+x"]
HARMLESS = ["tents", "'tis", "a=b", "-5", "+3", "-0.5", "-1e-05", "+.5", "−5", "", "'", "3-4", "' =x"]


def test_a_cell_is_no_formula_and_can_be_read_back():
    for text in DANGEROUS:
        assert escape_formula(text) == f"'{text}"
    for text in HARMLESS:
        assert escape_formula(text) == text
    cells = [escape_formula(text) for text in DANGEROUS + HARMLESS]
    assert len(set(cells)) == len(cells), "no two texts give one cell"


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize("layout", [Layout(), Layout(top_k=2), Layout(separator=";")], ids=["one", "best", "set"])
@pytest.mark.parametrize("label", DANGEROUS)
def test_tables_of_answers_hold_no_formula_and_whole_scores(kind, layout, label):
    out = io.StringIO(newline="")
    predictions = [Prediction(label, [label, "b"], -0.5), Prediction("b", ["b"], -1e-5)]
    assert write_rows(out, kind, layout, [predictions[: 2 if layout != Layout() else 1]]) == 1
    rows = list(csv.DictReader(io.StringIO(out.getvalue(), newline=""), delimiter="," if kind == "csv" else "\t"))
    (row,) = rows
    assert None not in row
    for name, cell in row.items():
        for part in cell.split(";") if layout.separator else [cell]:
            if name.startswith("score"):
                assert float(part) in (-0.5, -1e-5)
            else:
                assert part[0] not in "=+-@\t\r\n"
    first = next(iter(row.values()))
    assert first == f"'{label}" or (layout.separator and first == f"'{label};b")


def test_json_lines_are_exact(evil, run):
    tree = Taxonomy.from_edges([("=root", label) for label in ("=a", "-b")])
    cladist.save(cladist.Hieron(tree).fit([[0.0, 1.0], [1.0, 0.0]], ["=a", "-b"]), "formulas")
    run("predict", "formulas", "new.svm", "--out", "a.jsonl")
    found = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert [(row["label"], row["path"]) for row in found] == [("-b", ["=root", "-b"]), ("=a", ["=root", "=a"])]
    run("predict", "formulas", "new.svm", "--out", "a.csv")
    assert Path("a.csv").read_text().splitlines()[1].startswith("'-b,'=root > -b,")


# ------------------------------------------------------------------ faults


def test_memory_that_runs_out_is_no_fault_of_ours(capsys):
    from cladist import progress

    def exhaust():
        with progress.task("Training svm"), progress.task("node 3"):
            raise MemoryError("Unable to allocate 9 TiB")

    assert application.exit_code(exhaust, debug=False) == application.OUT_OF_MEMORY == 3
    (line,) = capsys.readouterr().err.splitlines()
    for said in ("Unable to allocate 9 TiB", "fewer rows", "weights=sparse", "during: Training svm."):
        assert said in line
    assert "fault" not in line


def test_a_full_disk_names_the_file_and_says_what_to_do(capsys):
    def fill():
        raise OSError(errno.ENOSPC, "No space left on device", "model")

    assert application.exit_code(fill, debug=False) == 2
    assert capsys.readouterr().err == "Error: model: No space left on device; make room there, or write elsewhere.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("target", ["/dev/full", None], ids=["--out", "standard output"])
def test_answers_to_a_full_disk(evil, target):
    command = [sys.executable, "-m", "cladist.cli", "taxonomy", "tree.csv", "--json"]
    if target:
        command += ["--svg", target]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.DEVNULL if target else full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Error: {target or 'standard output'}")
    assert "No space left on device; make room" in line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_what_is_still_to_be_written_at_the_end_counts(capsys):
    with open("/dev/full", "w") as full, redirect_stdout(full):
        assert application.exit_code(lambda: print("answers"), debug=False) == 2
    assert "standard output" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["file.txt/model", "file.txt", "mine", "/proc/model"])
def test_a_place_that_cannot_be_written_is_known_before_the_fit(evil, refused, monkeypatch, out):
    if out.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("needs a file system that nobody can write to")
    Path("file.txt").write_text("mine")
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    monkeypatch.setattr(cladist.Hieron, "fit", lambda *_: pytest.fail("it was fitted"))
    sentence = refused("train", "new.svm", "--taxonomy", "tree.csv", "--method", "hieron", "--out", out, "--quiet")
    assert out.partition("/model")[0] in sentence


@pytest.mark.parametrize("option", ["predict --out", "evaluate --html", "taxonomy --svg"])
def test_a_file_that_cannot_be_written_is_known_before_the_work(evil, refused, option):
    if not Path("/proc").is_dir():
        pytest.skip("needs a file system that nobody can write to")
    command, option = option.split()
    given = {"predict": ["model", "new.svm"], "evaluate": ["model", "new.svm"], "taxonomy": ["tree.csv"]}[command]
    assert "/proc: no file can be made in this folder" in refused(command, *given, option, "/proc/new.csv", "--quiet")


def test_two_options_do_not_write_one_file(evil, refused):
    assert "written for another option" in refused("taxonomy", "tree.csv", "--convert", "new.csv", "--svg", "./new.csv")


def test_what_is_read_from_standard_input_is_not_written_over(evil):
    command = [sys.executable, "-m", "cladist.cli", "taxonomy", "-", "--format", "csv", "--convert", "tree.csv"]
    before = Path("tree.csv").read_bytes()
    with open("tree.csv", "rb") as given:
        done = subprocess.run(command, stdin=given, capture_output=True, text=True)
    assert done.returncode == 2
    assert "tree.csv is also read" in done.stderr
    assert Path("tree.csv").read_bytes() == before


def test_a_warning_is_not_obeyed():
    def warn():
        warnings.simplefilter("always")
        warnings.warn(EVIL, stacklevel=1)

    shown = on_screen(lambda: application.exit_code(warn, debug=False))
    assert "Warning" in shown
    assert not OBEYED.search(shown)


def test_an_edited_document_keeps_its_edits(tmp_path, monkeypatch, run):
    """The demo's document is read when the table is written, not a minute before."""
    from cladist.cli import demo, demo_methods

    document = f"before\n{demo.BEGIN}\n{demo.END}\n"
    monkeypatch.chdir(tmp_path)
    Path("mine.md").write_text(document)

    def compared(*_, **__):
        Path("mine.md").write_text(document.replace("before", "edited"))

    monkeypatch.setattr(demo_methods, "compare", compared)
    monkeypatch.setattr("cladist.datasets.load_icd10cm", lambda **_: None)
    for name, value in {"page": "", "to_dict": {}, "render": ""}.items():
        monkeypatch.setattr(demo, name, lambda *_, value=value, **__: value)
    monkeypatch.setattr(demo, "with_comparison", lambda text, *_: text)
    run("demo", "--html", "page.html", "--markdown", "mine.md", "--quiet")
    assert Path("mine.md").read_text().startswith("edited")
    assert os.path.exists("page.html")
