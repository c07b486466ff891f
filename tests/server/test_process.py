"""Servers as users start them: kills, signals, several processes, and refusals."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import httpx
import pytest

from cladist.cli.serve import read_token
from cladist.persistence.models import load_noted, save
from cladist.server.feedback_log import FeedbackLog
from cladist.server.learner import Learning
from cladist.server.served import ServedModel
from tests.cli.conftest import call
from tests.server.conftest import AUTHORISED, TEXTS
from tests.server.processes import kill_while_posting, serving, wait_until_ready
from tests.server.test_feedback import same, weights

WORDS = ["quantum", "kettle", "net", "rook", "pawn", "leaves", "carrots", "cup", "racket", "bowl"]


def corrections(start: int, count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"n{k}", "text": f"{WORDS[k % 10]} {WORDS[k * 7 % 9]} {k}", "labels": [["tea", "soup", "chess"][k % 3]]}
        for k in range(start, start + count)
    ]


@pytest.fixture
def folder(tmp_path: Path, online_folder: Path) -> Path:
    shutil.copytree(online_folder, tmp_path / "model")
    return tmp_path / "model"


def test_what_was_acknowledged_survives_a_kill(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.feedback"
    acknowledged: dict[str, int] = {}
    for turn, after in enumerate((1, 40)):
        # Those of the turn before are sent again, as by a client that does not know which of them were kept.
        sent = corrections(max(0, 100 * (turn - 1)), 200)
        kept = kill_while_posting(folder, sent, after)
        assert len(kept) >= after
        for given, sequence in kept:
            assert acknowledged.setdefault(given, sequence) == sequence
        records = list(FeedbackLog(path).read())
        ids = [record.content["id"] for record in records]
        assert len(ids) == len(set(ids))
        assert [record.sequence for record in records] == list(range(1, len(records) + 1))
        assert {given: ids.index(given) + 1 for given in acknowledged} == acknowledged
    with path.open("ab") as file:  # a line that a kill cut off
        file.write(b"0123456789abcdef")
    replayed = call("replay", folder, "--out", tmp_path / "replayed", "--json")
    assert replayed.exit_code == 0, replayed.stderr
    live = Learning(ServedModel(*load_noted(folder)[:2]), FeedbackLog(path))
    for record in FeedbackLog(path).read():  # as they were learnt live: one after the other
        live._learn([record])
    save(live.model.model, tmp_path / "live")
    assert same(weights(tmp_path / "live"), weights(tmp_path / "replayed"))


def test_a_request_that_has_begun_is_finished(folder: Path) -> None:
    body = json.dumps({"texts": TEXTS}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with serving(folder, token=None) as (process, address):
        wait_until_ready(address)
        # Without a token in its environment the server has made one, which nobody here knows.
        assert httpx.post(f"{address}feedback", json={}, timeout=600).status_code == 401
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=600) as client:
            client.sendall(f"{head}\r\n\r\n".encode() + body[:5])
            httpx.get(f"{address}healthz", timeout=600)  # what was sent before has arrived by now
            process.send_signal(signal.SIGTERM)
            while is_listening(host, int(port)):
                time.sleep(0.01)
            client.sendall(body[5:])
            answer = b""
            while part := client.recv(1 << 16):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert process.wait() in (0, -signal.SIGTERM)


def is_listening(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=600).close()
    except OSError:
        return False
    return True


def test_several_processes_answer_and_learn_together(folder: Path) -> None:
    with serving(folder, "--workers", "2") as (process, address):
        wait_until_ready(address)
        answers = []
        for k, correction in enumerate(corrections(0, 12)):
            answer = httpx.post(f"{address}feedback", json=correction, headers=AUTHORISED, timeout=600).json()
            assert (answer["sequence"], answer["learnt"], answer["duplicate"]) == (k + 1, True, False)
            answers.append(httpx.post(f"{address}predict", json={"texts": ["quantum"]}, timeout=600).json())
        again = [httpx.post(f"{address}predict", json={"texts": ["quantum"]}, timeout=600).json() for _ in range(8)]
        assert all(answer == again[0] for answer in again)
        text = httpx.get(f"{address}metrics", timeout=600).text
        assert 'cladist_requests_total{route="/feedback",status="200"} 12' in text
        assert 'cladist_feedback_total{model="model"} 12' in text
        process.send_signal(signal.SIGTERM)
        assert process.wait() in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("model", "--host", "0.0.0.0"), "token"),
        (("model", "--token-file", "short"), "16 or more"),
        (("model", "--token-file", "nowhere"), "nowhere"),
        (("model", "model"), "another name"),
        (("nothing",), "not a folder"),
        (("model", "--data", "nothing.csv"), "no such file"),
        (("model", "--feedback", "nothing"), "not a folder"),
        (("model", "--host", "no.such.host.invalid", "--token-file", "long"), "listen"),
    ],
)
def test_mistakes_are_refused_before_anything_listens(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLADIST_TOKEN", raising=False)
    monkeypatch.delenv("CLADIST_TOKEN_FILE", raising=False)
    for name, text in (("short", "abc\n"), ("long", "0123456789abcdef\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    result = call("serve", *arguments)
    assert result.exit_code == 2
    assert word in result.stderr


def test_the_token_is_found_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLADIST_TOKEN", "CLADIST_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert read_token(None) is None
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    with pytest.warns(UserWarning, match="chmod 600"):
        assert read_token(file) == "0123456789abcdef"
    file.chmod(0o440)  # as stat shows a credential of systemd
    with pytest.warns(UserWarning, match="chmod 600"):
        read_token(file)
    with monkeypatch.context() as context, warnings.catch_warnings():
        warnings.simplefilter("error")
        context.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
        assert read_token(file) == "0123456789abcdef"
    file.chmod(0o600)
    monkeypatch.setenv("CLADIST_TOKEN_FILE", str(file))
    assert read_token(None) == "0123456789abcdef"
    monkeypatch.delenv("CLADIST_TOKEN_FILE")
    monkeypatch.setenv("CLADIST_TOKEN", "fedcba9876543210")
    assert read_token(None) == "fedcba9876543210"


def test_replay_needs_no_web_framework(folder: Path, tmp_path: Path) -> None:
    FeedbackLog(tmp_path / "model.feedback").append(corrections(0, 1))
    code = f"""if True:
        import sys
        sys.modules["fastapi"] = sys.modules["starlette"] = sys.modules["uvicorn"] = None
        from cladist.cli.app import app
        codes = []
        for arguments in (["replay", {str(folder)!r}, "--out", {str(tmp_path / "out")!r}], ["serve", {str(folder)!r}]):
            try:
                app(arguments)
            except SystemExit as end:
                codes.append(end.code)
        assert codes == [0, 2], codes"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 are new" in done.stdout
    assert "cladist[web]" in done.stderr


def test_replay_refuses_what_it_cannot_do(folder: Path, tmp_path: Path, calibrated: Any) -> None:
    result = call("replay", folder)
    assert result.exit_code == 2
    assert "no such log" in result.stderr
    save(calibrated, tmp_path / "topics")
    FeedbackLog(tmp_path / "topics.feedback").append(corrections(0, 1))
    result = call("replay", tmp_path / "topics", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "hieron" in result.stderr
    assert not (tmp_path / "out").exists()
    assert call("replay", tmp_path / "topics").exit_code == 0
