"""What all commands share: help, version, and how they fail."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import cladist
from cladist.cli import app, methods

COMMANDS = ("demo", "sample", "train", "predict", "stream", "evaluate", "taxonomy", "methods", "bench")


def test_the_version(run):
    assert run("--version").stdout == f"cladist {cladist.__version__}\n"


def test_without_a_command_the_help_is_shown(run):
    shown = run().stdout
    assert all(command in shown for command in COMMANDS)
    assert shown.strip() == run("--help").stdout.strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_the_shared_options(run, command):
    shown = run(command, "--help", env={"COLUMNS": "200"}).stdout
    assert f"cladist {command} " in shown.partition("Example")[2] + " "
    assert all(option in shown for option in ("--json", "--quiet", "--debug"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trian"], "No such command 'trian'"),
        (["methods", "--jsn"], "No such option"),
        (["taxonomy"], "Missing argument 'FILE'"),
        (["demo", "--level", "codes"], "Invalid value for '--level'"),
        (["predict", "model", "-", "--top-k", "0"], "Invalid value for '--top-k'"),
    ],
)
def test_bad_usage_is_refused(refused, arguments, said):
    sentence = refused(*arguments)
    assert said in sentence
    assert "--help" in sentence


@pytest.mark.parametrize("command", ["train", "evaluate", "taxonomy"])
def test_a_missing_file_is_refused(refused, shop, command):
    given = {"evaluate": ["model", "nowhere.csv", "--text", "title", "--label", "category"]}.get(
        command, ["nowhere.csv"]
    )
    more = ["--text", "title", "--label", "category", "--out", "new"] if command == "train" else []
    assert "nowhere.csv" in refused(command, *given, *more)


def fail() -> None:
    raise RuntimeError("the roof\nis leaking")


def test_a_fault_of_ours_has_its_own_exit_code(capsys):
    assert app.exit_code(fail, debug=False) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "RuntimeError: the roof is leaking" in line
    assert "--debug" in line


def test_debug_shows_the_traceback(capsys):
    assert app.exit_code(fail, debug=True) == 1
    assert "in fail" in capsys.readouterr().err


def test_debug_shows_the_traceback_of_bad_input(shop):
    done = subprocess.run(
        [sys.executable, "-m", "cladist", "taxonomy", "no.csv", "--debug"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_being_interrupted_is_no_fault(capsys):
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert app.exit_code(interrupt, debug=False) == app.INTERRUPTED
    assert capsys.readouterr().err == "Stopped: the command was interrupted.\n"


def test_a_warning_is_one_line(capsys):
    def warn() -> None:
        warnings.simplefilter("always")
        warnings.warn("it is\nlate", stacklevel=1)

    assert app.exit_code(warn, debug=False) == 0
    assert capsys.readouterr().err == "Warning: it is late\n"


def test_a_file_that_may_not_be_read_is_bad_input(capsys):
    def refuse() -> None:
        raise PermissionError(13, "Permission denied", "data.csv")

    assert app.exit_code(refuse, debug=False) == 2
    assert capsys.readouterr().err == "Error: data.csv: Permission denied.\n"


def test_a_real_process_gets_code_and_streams(tmp_path: Path):
    command = [sys.executable, "-m", "cladist.cli"]
    done = subprocess.run([*command, "methods", "--json"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert json.loads(done.stdout) == methods.methods()
    assert done.stderr == ""
    bad = subprocess.run([*command, "predict", "none", "-"], capture_output=True, text=True, cwd=tmp_path, input="x")
    assert (bad.returncode, bad.stdout, len(bad.stderr.splitlines())) == (2, "", 1)


def test_a_reader_who_leaves_early_is_no_traceback(shop):
    command = f"{sys.executable} -m cladist.cli predict model big.txt --format lines"
    Path("big.txt").write_text("a dome tent\n" * 30_000)
    with subprocess.Popen(command.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"label,path,score\n"
        process.stdout.close()
        assert process.stderr.read() == b""


def test_methods_are_those_of_the_registry(run):
    shown = run("methods", env={"COLUMNS": "160"}).stdout
    for method in methods.methods():
        assert method["name"] in shown
        assert method["class"] in shown
