"""``cladist stream``: rows are answered, learnt once and only once, whatever happens to the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.cli.stream_files import Consumed, missing_nodes
from cladist.persistence.models import load_noted
from tests.cli.conftest import call

TREE = {"tennis": "sport", "chess": "sport", "opera": "art", "film": "art"}
WORDS = {
    "tennis": "racket court serve net",
    "chess": "rook pawn mate board",
    "opera": "aria stage voice",
    "film": "camera scene",
}


def rows(n, *, seed=0, ids=False):
    random = np.random.default_rng(seed)
    found = []
    for k in range(n):
        label = str(random.choice(list(WORDS)))
        text = " ".join(random.choice(WORDS[label].split(), 3)) + f" w{random.integers(50)}"
        row = {"text": text, "label": label} if k % 5 else {"text": text}
        found.append({**({"id": f"r{k}"} if ids else {}), **row})
    return found


def write(path, objects):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in objects))


def answers(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tree.json").write_text(json.dumps(TREE))
    first = [{**row, "label": row.get("label", "film")} for row in rows(20, seed=9)]
    write("first.jsonl", first)
    options = ("--taxonomy", "tree.json", "--text", "text", "--label", "label", "--hashing", "--quiet")
    for method in ("h-perc", "hieron"):
        result = call("train", "first.jsonl", *options, "--method", method, "--out", method)
        assert result.exit_code == 0, result.stderr
    return tmp_path


def seen(folder):
    return cladist.load(folder)[-1].rows_seen_


def test_it_predicts_then_learns(place):
    write("new.jsonl", rows(100))
    before = cladist.load("hieron")
    result = call("stream", "hieron", "new.jsonl", "--out", "answers.jsonl", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["rows"], told["trained"], told["skipped"]) == (100, 80, 0)
    found = answers("answers.jsonl")
    for row, answer in zip(rows(100), found, strict=True):
        assert answer["label"] == before.predict([row["text"]])[0]
        assert answer["path"] == before[-1].taxonomy_.path(answer["label"])
        assert answer.get("trained", False) == ("label" in row)
        if "label" in row:
            before[-1].partial_fit(before[:-1].transform([row["text"]]), [row["label"]])
    after = cladist.load("hieron")
    np.testing.assert_array_equal(after[-1].node_coef_, before[-1].node_coef_)
    assert told["right"] == sum(row.get("label") == a["label"] for row, a in zip(rows(100), found, strict=True))


@pytest.mark.parametrize("ids", [False, True], ids=["by place", "by id"])
def test_started_again_it_skips_what_it_has_learnt(place, ids):
    write("new.jsonl", rows(60, ids=ids))
    call("stream", "h-perc", "new.jsonl", "--out", "a.jsonl", "--quiet")
    learnt, first = seen("h-perc"), Path("a.jsonl").read_bytes()
    write("new.jsonl", rows(90, ids=ids))
    result = call("stream", "h-perc", "new.jsonl", "--out", "a.jsonl", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["skipped"] == 60
    assert seen("h-perc") == learnt + sum("label" in row for row in rows(90)[60:])
    assert Path("a.jsonl").read_bytes().startswith(first)
    assert len(answers("a.jsonl")) == 90
    call("stream", "h-perc", "new.jsonl", "--out", "a.jsonl", "--quiet")
    assert seen("h-perc") == learnt + sum("label" in row for row in rows(90)[60:])


def test_rows_with_ids_may_come_in_any_order_and_twice(place):
    given = rows(40, ids=True)
    write("new.jsonl", [*given, *given[:10]])
    call("stream", "h-perc", "new.jsonl", "--quiet")
    write("new.jsonl", given[::-1])
    result = call("stream", "h-perc", "new.jsonl", "--out", "a.jsonl", "--json")
    assert json.loads(result.stdout)["skipped"] == 40
    assert seen("h-perc") == 20 + sum("label" in row for row in given)


def test_another_input_is_refused_or_announced(place):
    write("new.jsonl", rows(30))
    call("stream", "h-perc", "new.jsonl", "--quiet")
    write("other.jsonl", rows(30, seed=5))
    learnt = seen("h-perc")
    result = call("stream", "h-perc", "other.jsonl")
    assert result.exit_code == 2
    assert "--new-input" in result.stderr
    assert seen("h-perc") == learnt
    write("short.jsonl", rows(10))
    assert call("stream", "h-perc", "short.jsonl").exit_code == 2
    assert call("stream", "h-perc", "other.jsonl", "--new-input", "--quiet").exit_code == 0
    assert seen("h-perc") > learnt
    assert call("stream", "h-perc", "other.jsonl", "--quiet").exit_code == 0


def test_new_labels_grow_the_taxonomy_if_asked(place):
    write(
        "new.jsonl",
        [*rows(20), {"text": "ball club tee", "label": "sport/golf"}, {"text": "tee ball", "label": "golf"}],
    )
    result = call("stream", "hieron", "new.jsonl", "--quiet")
    assert result.exit_code == 2
    assert "line 21" in result.stderr
    assert "--grow" in result.stderr
    assert seen("hieron") == 20 + sum("label" in row for row in rows(20)), "what came before is learnt and saved"
    Path("tree.json").write_text("a/b\na/c\n")
    write("paths.jsonl", [{"text": "one two", "label": "a/b"}, {"text": "three four", "label": "a/c"}])
    train = ("train", "paths.jsonl", "--text", "text", "--label", "label", "--path-sep", "/", "--hashing", "--quiet")
    assert call(*train, "--method", "h-rls", "--out", "p").exit_code == 0
    write(
        "more.jsonl", [{"text": "five six", "label": "a/d/e"}, {"text": "five six", "label": "a/d/e"}, {"text": "five"}]
    )
    result = call("stream", "p", "more.jsonl", "--grow", "--out", "a.jsonl")
    assert result.exit_code == 0, result.stderr
    assert cladist.load("p")[-1].taxonomy_.path("e") == ["a", "d", "e"]
    assert answers("a.jsonl")[-1]["path"] == ["a", "d", "e"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2"),
        ("[1]", "JSON array"),
        ('{"label": "film"}', "text"),
        ('{"text": "a", "label": ["film", "opera"]}', "one label"),
        ('{"text": "a", "label": {"a": 1}}', "no label"),
        ('{"text": "a", "label": "filme"}', "did you mean 'film'"),
        ('{"text": "a", "id": 3}', "those before it have none"),
        ('{"text": "a", "id": [3]}', "an id is"),
    ],
)
def test_bad_lines(place, line, says):
    Path("new.jsonl").write_text('{"text": "aria", "label": "opera"}\n' + line + "\n")
    result = call("stream", "h-perc", "new.jsonl")
    assert result.exit_code == 2, result.stderr
    assert says in result.stderr
    assert seen("h-perc") == 21


def test_models_of_numbers_and_models_that_do_not_stream(shop):
    write("new.jsonl", [{"x": {"0": 1, "2": 0.5}, "label": "a"}, {"x": [0, 1, 0, 0]}])
    result = call("stream", "numbers", "new.jsonl", "--out", "a.jsonl")
    assert result.exit_code == 0, result.stderr
    assert len(answers("a.jsonl")) == 2
    write("new.jsonl", [{"x": [1, 2]}])
    assert "features" in call("stream", "numbers", "new.jsonl", "--new-input").stderr
    result = call("stream", "model", "new.jsonl")
    assert result.exit_code == 2
    assert "row by row" in result.stderr


def test_sets_of_labels(place):
    write("sets.jsonl", [{"text": "aria rook", "label": ["opera", "chess"]}, {"text": "pawn", "label": ["chess"]}])
    options = ("--taxonomy", "tree.json", "--text", "text", "--label", "label", "--hashing", "--quiet")
    assert call("train", "sets.jsonl", *options, "--method", "h-rls", "--out", "sets").exit_code == 0
    write("new.jsonl", [{"text": "rook", "label": ["chess"]}, {"text": "aria", "label": []}, {"text": "aria"}])
    result = call("stream", "sets", "new.jsonl", "--out", "a.jsonl")
    assert result.exit_code == 0, result.stderr
    assert [set(a) for a in answers("a.jsonl")] == [{"labels", "paths", "trained"}] * 2 + [{"labels", "paths"}]
    assert seen("sets") == 4


def test_ids_are_kept_small():
    consumed = Consumed()
    for k in range(1000):
        consumed.add(b"", k)
    notes, arrays = consumed.to_notes()
    assert arrays["stream_ids"].shape == (1000, 16)
    again = Consumed.from_notes(notes, arrays, Path("model"))
    assert all(again.knows(k) for k in range(1000))
    assert not any(again.knows(k) for k in range(1000, 2000))
    assert not again.knows("1")


# ------------------------------------------------------------------ killed

KILLER = """
    import os, random, signal, sys, time
    from pathlib import Path
    from cladist.cli.stream_loop import Stream

    def run():
        stream = Stream(Path("model"), "new.jsonl", out=Path("answers.jsonl"), save_every=7)
        stream.run()
        stream.close()

    chance = random.Random(int(sys.argv[1]))
    killed = 0
    while True:
        child = os.fork()
        if child == 0:
            run()
            os._exit(0)
        deadline = time.monotonic() + (chance.uniform(0.0, 0.15) if killed < 20 else 600)
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done or time.monotonic() > deadline:
                break
            time.sleep(0.001)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, status
            if killed == 20:
                break
            # It came to its end: the rest of the kills hit a process that finds nothing new to learn.
        if not done:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        killed += 1 if killed < 20 else 0
        with open("progress", "a") as log:
            log.write(f"{'ended' if done else 'killed'}\\n")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("ids", [False, True], ids=["by place", "by id"])
def test_killed_twenty_times_it_learns_every_row_once(place, ids):
    given = rows(400, ids=ids)
    write("new.jsonl", given)
    for name in ("whole", "model"):
        subprocess.run(["cp", "-r", "h-perc", name], check=True)
    call("stream", "whole", "new.jsonl", "--out", "whole.jsonl", "--quiet")
    script = textwrap.dedent(KILLER)
    done = subprocess.run([sys.executable, "-c", script, "3"], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert Path("progress").read_text().count("killed") >= 15
    expected, found = cladist.load("whole")[-1], cladist.load("model")[-1]
    assert found.rows_seen_ == expected.rows_seen_ == 20 + sum("label" in row for row in given)
    np.testing.assert_array_equal(found.node_coef_, expected.node_coef_)
    assert Path("answers.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    _, notes, arrays = load_noted("model")
    assert notes["stream"]["rows"] == 400
    assert len(arrays["stream_ids"]) == (400 if ids else 0)
    assert len(list(Path("model").iterdir())) <= 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_signals_save_and_stop(place):
    command = [sys.executable, "-m", "cladist.cli", "stream", "h-perc", "-", "--save-every", "100000"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for row in rows(12)[:6]:
        process.stdin.write(json.dumps(row).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["label"], "every line is answered before the next comes"
    process.send_signal(signal.SIGUSR1)
    learnt = 20 + sum("label" in row for row in rows(12)[:6])
    deadline = time.monotonic() + 600
    while seen("h-perc") < learnt and time.monotonic() < deadline:
        time.sleep(0.05)
    assert seen("h-perc") == learnt
    process.stdin.write(json.dumps(rows(12)[6]).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert b"trained on" in errors
    assert seen("h-perc") == learnt + 1


def test_nodes_that_a_taxonomy_lacks_come_parents_first():
    labels = [["sport", "ball", "golf"], ["art"], ["sport", "tennis"]]
    nodes = missing_nodes(cladist.Taxonomy.from_paths(["sport/tennis"]), labels)
    assert nodes == [("ball", "sport"), ("golf", "ball"), ("art", None)]
