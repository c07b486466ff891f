"""``cladist stream`` when something goes wrong: whatever it is, learnt rows and noted rows stay the same rows."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.cli import stream_files, stream_loop
from cladist.cli.stream_files import Consumed
from cladist.errors import DatasetError, LabelError
from cladist.learners.online.base import OnlineClassifier
from cladist.persistence.models import load_noted, save
from tests.cli.conftest import call, contents

TREE = "sport/tennis\nsport/chess\nart/opera\nart/film\n"
LABELS = ("tennis", "chess", "opera", "film")


def rows(n, *, ids=False):
    """Rows of three numbers, every third without a label, the last but one with a new label."""
    found = []
    for k in range(n):
        row = {"x": [float(k % 2), float(k % 3), 1.0]} | ({"label": LABELS[k % 4]} if k % 3 else {})
        found.append(({"id": k} if ids else {}) | row)
    found[-2]["label"] = "golf"
    return found


def write(path, objects):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in objects))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tree.paths").write_text(TREE)
    (folder / "first.svm").write_text("tennis 1:1\nfilm 2:1\nopera 3:1\nchess 1:1 2:1\n")
    options = ("--taxonomy", folder / "tree.paths", "--method", "hieron", "--quiet", "--out", folder / "model")
    assert call("train", folder / "first.svm", *options).exit_code == 0
    return folder / "model"


@pytest.fixture
def place(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, "original")
    begin_again()
    monkeypatch.setattr(stream_files, "READ_BYTES", 100)  # some two rows a batch
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # nothing here outlives the machine
    return tmp_path


def begin_again():
    shutil.rmtree("model", ignore_errors=True)
    shutil.copytree("original", "model")
    Path("a.jsonl").unlink(missing_ok=True)


def run(**options):
    """Run a stream in this process as the command does."""
    with closing(stream_loop.Stream(Path("model"), "new.jsonl", out=Path("a.jsonl"), grow=True, **options)) as stream:
        return stream.run()


def learnt_and_noted(folder="model"):
    model, notes, arrays = load_noted(folder)
    return model, Consumed.from_notes(notes.get("stream"), arrays, Path(folder))


# ------------------------------------------------------------------ an exception at every step


class Boom(Exception):  # noqa: N818 - no error of anybody
    pass


@contextmanager
def tracing(on_line):
    """Call `on_line(place)` before every line of the stream's own code that runs after a batch was read."""
    files = {module.__file__ for module in (stream_loop, stream_files)}
    skipped = {"__init__", "_load", "_reader", "__enter__", "__exit__", "ready", "of_notes", "_open", "close"}

    def local(frame, event, _):
        if event == "line":
            on_line((frame.f_code.co_filename, frame.f_lineno))
        return local

    def watch(frame, event, _):
        ours = frame.f_code.co_filename in files and frame.f_code.co_name not in skipped
        return local if ours else None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_run(**options):
    seen = []
    with tracing(seen.append):
        run(**options)
    return seen


def fail_at(wanted):
    count = 0

    def on_line(_):
        nonlocal count
        count += 1
        if count == wanted:
            raise Boom

    return on_line


@pytest.mark.parametrize("ids", [False, True], ids=["by place", "by id"])
def test_an_exception_at_any_step_loses_no_row_and_learns_none_twice(place, ids):
    given = rows(6, ids=ids)
    write("new.jsonl", given)
    seen = lines_run(save_every=3)
    expected, _ = learnt_and_noted()
    answers = Path("a.jsonl").read_bytes()
    labelled = np.cumsum([0, *("label" in row for row in given)])
    last = {line: k for k, line in enumerate(seen, 1)}  # for each line, the last time that it runs
    assert len(last) > 70
    for step in last.values():
        begin_again()
        with pytest.raises(Boom) as caught, tracing(fail_at(step)):
            run(save_every=3)
        found, consumed = learnt_and_noted()
        assert found.rows_seen_ == 4 + labelled[consumed.rows], seen[step - 1]
        assert found.taxonomy_.find("golf") is None or consumed.rows >= len(given) - 1
        for note in getattr(caught.value, "__notes__", ()):
            assert "The model in model is that of its last save" in note
        run(save_every=3)
        again, consumed = learnt_and_noted()
        assert consumed.rows == len(given)
        assert again.rows_seen_ == expected.rows_seen_
        assert again.taxonomy_ == expected.taxonomy_
        np.testing.assert_array_equal(again.node_coef_, expected.node_coef_)
        assert Path("a.jsonl").read_bytes() == answers, seen[step - 1]


def failing(function, problem, number, *, after):
    """Return a function whose call of this number fails, before or after it has done its work."""
    count = 0

    def wrapper(*args, **kwargs):
        nonlocal count
        count += 1
        if count == number and not after:
            raise problem
        result = function(*args, **kwargs)
        if count == number:
            raise problem
        return result

    return wrapper


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("where", "name"),
    [
        (OnlineClassifier, "predict_then_learn"),
        (OnlineClassifier, "add_node"),
        (stream_loop, "transformed"),
        (stream_loop, "to_answer"),
        (stream_loop, "save"),
        (stream_files.Answers, "encode"),
        (os, "fsync"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize(
    "problem", [MemoryError(), LabelError("odd"), OSError(28, "full")], ids=["memory", "ours", "OS"]
)
def test_what_fails_below_the_streams_own_code(place, monkeypatch, where, name, after, problem):
    write("new.jsonl", rows(7))
    run(save_every=3)
    expected, answers = learnt_and_noted()[0], Path("a.jsonl").read_bytes()
    begin_again()
    for number in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, failing(getattr(where, name), problem, number, after=after))
            try:
                run(save_every=3)
            except type(problem):
                pass
            else:
                assert number == 2, "it is called once"
    run(save_every=3)
    found = learnt_and_noted()[0]
    assert found.rows_seen_ == expected.rows_seen_
    np.testing.assert_array_equal(found.node_coef_, expected.node_coef_)
    assert Path("a.jsonl").read_bytes() == answers


def test_the_sentence_says_what_is_saved(place, monkeypatch):
    write("new.jsonl", rows(7))
    number = 3
    learn = failing(OnlineClassifier.predict_then_learn, MemoryError(), number, after=True)
    monkeypatch.setattr(OnlineClassifier, "predict_then_learn", learn)
    result = call("stream", "model", "new.jsonl", "--grow", "--save-every", "2", "--out", "a.jsonl")
    assert result.exit_code == 3
    consumed = learnt_and_noted()[1].rows
    assert consumed > 0
    assert f"The model in model is that of its last save, which has consumed {consumed:,} rows" in result.stderr


# ------------------------------------------------------------------ rows that cannot be answered


@pytest.mark.parametrize(
    "bad",
    [
        '{"id": "\\ud800", "x": [0, 0, 1], "label": "film"}',
        '{"\\u0069d": "\\ud800", "x": [0, 0, 1], "label": "film"}',
        '{"id": "a", "x": [0, 0, 1], "label": "\\udfff"}',
        '{"id": NaN, "x": [0, 0, 1], "label": "film"}',
        '{"id": -Infinity, "x": [0, 0, 1], "label": "film"}',
        '{"id": [1], "x": [0, 0, 1], "label": "film"}',
        '{"id": "a", "x": [0, NaN, 1], "label": "film"}',
        '{"id": "a", "x": [0, 1' + "0" * 400 + ', 1], "label": "film"}',
    ],
)
def test_a_bad_row_is_refused_before_it_is_learnt(place, bad):
    given = rows(9, ids=True)
    write("new.jsonl", given)
    lines = Path("new.jsonl").read_text().splitlines()
    Path("new.jsonl").write_text("\n".join([*lines[:5], bad, *lines[5:]]) + "\n")
    result = call("stream", "model", "new.jsonl", "--grow", "--out", "a.jsonl")
    assert result.exit_code == 2, result.stderr
    assert "new.jsonl, line 6" in result.stderr
    assert "last save" not in result.stderr
    found, consumed = learnt_and_noted()
    assert consumed.rows == 5, "what came before is learnt and saved"
    assert found.rows_seen_ == 4 + sum("label" in row for row in given[:5])
    write("new.jsonl", given)
    assert call("stream", "model", "new.jsonl", "--grow", "--out", "a.jsonl").exit_code == 0
    assert learnt_and_noted()[0].rows_seen_ == 4 + sum("label" in row for row in given)
    assert [json.loads(line)["id"] for line in Path("a.jsonl").read_text().splitlines()] == list(range(9))


def test_a_label_that_cannot_be_added_grows_nothing(place):
    save(cladist.load("model"), "model", notes={"path_sep": "/"})
    write("new.jsonl", [{"x": [0, 0, 1], "label": "art/film"}, {"x": [0, 0, 1], "label": "art/new/"}])
    result = call("stream", "model", "new.jsonl", "--grow", "--out", "a.jsonl")
    assert result.exit_code == 2
    assert "new.jsonl, line 2" in result.stderr
    found, consumed = learnt_and_noted()
    assert (found.rows_seen_, consumed.rows) == (5, 1)
    assert found.taxonomy_.find("new") is None


@pytest.mark.parametrize("batch", [10, 10_000], ids=["in several batches", "in one batch"])
@pytest.mark.parametrize("save_every", [1, 100])
def test_ids_are_the_same_within_a_batch_and_across_saves(place, monkeypatch, batch, save_every):
    monkeypatch.setattr(stream_files, "READ_BYTES", batch)
    ids = [1, True, 1.0, "1", 1, True, 1.0, "1", "True", "é", "\u00e9", 100, 1e2]
    write("new.jsonl", [{"id": row_id, "x": [0, 0, 1], "label": "film"} for row_id in ids])
    assert run(save_every=save_every).trained == 8
    assert learnt_and_noted()[0].rows_seen_ == 4 + 8
    assert run(save_every=save_every).trained == 0


def test_ids_of_older_models_are_known(place):
    ids = [1, 2.5, True, "é", "r1"]
    digests = [hashlib.blake2b(repr(row_id).encode(), digest_size=16).digest() for row_id in ids]
    notes = {"stream": {"rows": 5, "digest": "", "out": "a.jsonl", "out_bytes": 3}}
    arrays = {"stream_ids": np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)}
    save(cladist.load("model"), "model", notes=notes, note_arrays=arrays)
    Path("a.jsonl").write_text("{}\nmore that was not saved")
    write("new.jsonl", [{"id": row_id, "x": [0, 0, 1], "label": "film"} for row_id in [*ids, 3]])
    assert run().trained == 1
    first, second = Path("a.jsonl").read_text().splitlines()
    assert (first, json.loads(second)["id"]) == ("{}", 3)


# ------------------------------------------------------------------ where answers go


def spelt(path):
    """Every way to name a file."""
    yield path
    yield f"./{path}"
    yield Path(path).absolute()
    Path("link.jsonl").symlink_to(path)
    yield "link.jsonl"
    Path("hard.jsonl").hardlink_to(path)
    yield "hard.jsonl"


def test_answers_do_not_replace_the_input_nor_the_model(place):
    write("new.jsonl", rows(5))
    inside = ["model/manifest.json", "model/new.jsonl", Path("model").absolute() / "a.jsonl"]
    names = [*spelt("new.jsonl"), *inside]
    Path("other").symlink_to("model")
    before = contents(place)
    for out in [*names, "other/a.jsonl"]:
        result = call("stream", "model", "new.jsonl", "--out", out)
        assert result.exit_code == 2
        assert "write to" in result.stderr
    assert contents(place) == before


@pytest.mark.parametrize("first", range(5))
def test_a_file_of_answers_is_known_by_any_of_its_names(place, first):
    write("new.jsonl", rows(9)[:5])
    Path("b.jsonl").touch()
    names = list(spelt("b.jsonl"))
    assert call("stream", "model", "new.jsonl", "--out", names[first]).exit_code == 0
    for n, name in zip((6, 7, 8, 9, 9), names, strict=True):
        write("new.jsonl", rows(9)[:n])
        result = call("stream", "model", "new.jsonl", "--grow", "--out", name)
        assert result.exit_code == 0, result.stderr
        assert len(Path("b.jsonl").read_text().splitlines()) == n


def test_a_file_that_the_model_does_not_know_is_not_cut(place):
    write("new.jsonl", rows(9)[:5])
    Path("mine.jsonl").write_text("mine\n")
    Path("empty.jsonl").touch()
    result = call("stream", "model", "new.jsonl", "--out", "mine.jsonl")
    assert result.exit_code == 2
    assert "move it away, or name another file with --out" in result.stderr
    assert call("stream", "model", "new.jsonl", "--out", "empty.jsonl").exit_code == 0
    assert call("stream", "model", "new.jsonl", "--new-input", "--out", "empty.jsonl").exit_code == 2
    assert len(Path("empty.jsonl").read_text().splitlines()) == 5
    assert Path("mine.jsonl").read_text() == "mine\n"
    assert call("stream", "model", "new.jsonl", "--new-input", "--out", "/dev/null").exit_code == 0


@pytest.mark.parametrize("new_input", [False, True])
def test_answers_of_a_run_that_never_came_to_a_save_are_known(place, monkeypatch, new_input):
    if new_input:
        write("new.jsonl", rows(9)[:5])
        run()
        write("new.jsonl", rows(9)[1:6])
        Path("a.jsonl").unlink()
    else:
        write("new.jsonl", rows(9)[:5])
    saves = []

    def killed(*args, **kwargs):
        saves.append(1)
        if len(saves) > 1:
            raise Boom
        return save(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(stream_loop, "save", killed)
        with pytest.raises(Boom):
            run(new_input=new_input)
    assert Path("a.jsonl").stat().st_size
    run(new_input=new_input)
    assert len(Path("a.jsonl").read_text().splitlines()) == 5


# ------------------------------------------------------------------ two at once


def test_two_streams_do_not_share_a_file_of_answers(place):
    first = stream_files.Answers(Path("a.jsonl"))
    with pytest.raises(DatasetError, match="another process writes its predictions there"):
        stream_files.Answers(Path("a.jsonl"))
    first.close()
    stream_files.Answers(Path("a.jsonl")).close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_second_stream_is_refused_until_the_first_has_ended(place):
    write("new.jsonl", rows(5))
    command = [sys.executable, "-m", "cladist.cli", "stream", "model", "-", "--out", "first.jsonl", "--grow"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        lines = Path("new.jsonl").read_bytes().splitlines(keepends=True)
        process.stdin.write(lines[0])
        process.stdin.flush()
        while not Path("first.jsonl").exists() or not Path("first.jsonl").stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        before = contents(place)
        result = call("stream", "model", "new.jsonl", "--out", "second.jsonl")
        assert result.exit_code == 2
        assert f"(id {process.pid})" in result.stderr
        assert call("train", "new.jsonl", "--text", "x", "--label", "label", "--out", "model").exit_code == 2
        assert contents(place) == before
        process.send_signal(signal.SIGKILL)
        process.communicate()
    result = call("stream", "model", "new.jsonl", "--grow", "--out", "first.jsonl")
    assert result.exit_code == 0, result.stderr
    assert len(Path("first.jsonl").read_text().splitlines()) == 5
    assert learnt_and_noted()[0].rows_seen_ == 4 + sum("label" in row for row in rows(5))
