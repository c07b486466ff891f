"""The log of corrections: nothing is lost, repeated or altered unnoticed, however its writers end."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from cladist.errors import DatasetError
from cladist.server.feedback_log import ConflictError, FeedbackLog, Position, _sealed

KINDS = ["text", "row"]


def correction(k: int) -> dict[str, Any]:
    return {"id": f"id {k}", "text": f"text {k} é\ud800\n<b>", "labels": [f"label {k % 3}"]}


def ids(log: FeedbackLog) -> list[str]:
    return [record.content["id"] for record in log.read()]


@pytest.fixture
def log(tmp_path: Path) -> FeedbackLog:
    log = FeedbackLog(tmp_path / "model.feedback")
    for k in range(5):
        assert log.append([correction(k)])[0].sequence == k + 1
    return log


def test_what_was_written_is_read(log: FeedbackLog) -> None:
    records = list(FeedbackLog(log.path).read())
    assert [record.sequence for record in records] == [1, 2, 3, 4, 5]
    assert [record.content["text"] for record in records] == [correction(k)["text"] for k in range(5)]


def test_an_id_is_kept_once_and_never_for_two_corrections(log: FeedbackLog) -> None:
    again = FeedbackLog(log.path)
    receipts = again.append([correction(2), correction(7), correction(7)])
    assert [(receipt.sequence, receipt.is_duplicate) for receipt in receipts] == [(3, True), (6, False), (6, True)]
    size = log.size
    with pytest.raises(ConflictError, match="id 2"):
        log.append([correction(8), correction(2) | {"labels": ["other"]}])
    assert log.size == size


@pytest.mark.parametrize("lost", range(1, 60, 7))
def test_a_last_line_that_is_not_whole_is_left_out_and_replaced(log: FeedbackLog, lost: int) -> None:
    raw = log.path.read_bytes()
    log.path.write_bytes(raw[:-lost])
    torn = FeedbackLog(log.path)
    assert ids(torn) == [f"id {k}" for k in range(4)]
    assert torn.append([correction(9)])[0].sequence == 5
    assert ids(FeedbackLog(log.path)) == ["id 0", "id 1", "id 2", "id 3", "id 9"]


def test_a_header_that_is_not_whole_is_replaced(tmp_path: Path, log: FeedbackLog) -> None:
    path = tmp_path / "torn"
    path.write_bytes(log.path.read_bytes()[:40])
    assert FeedbackLog(path).append([correction(0)])[0].sequence == 1
    assert ids(FeedbackLog(path)) == ["id 0"]


def test_every_altered_byte_is_noticed(log: FeedbackLog) -> None:
    raw = log.path.read_bytes()
    last = raw[:-1].rindex(b"\n") + 1
    for place in range(0, last, 11):
        log.path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(DatasetError, match=r"checksum|no log"):
            ids(FeedbackLog(log.path))


def test_a_line_that_was_removed_or_moved_is_noticed(log: FeedbackLog) -> None:
    lines = log.path.read_bytes().splitlines(keepends=True)
    for others in ([*lines[:2], *lines[3:]], [lines[0], lines[2], lines[1], *lines[3:]], lines[1:]):
        log.path.write_bytes(b"".join(others))
        with pytest.raises(DatasetError, match="checksum"):
            ids(FeedbackLog(log.path))


@pytest.mark.parametrize(
    "record",
    [
        {"sequence": 2, "id": "b", "labels": [], "text": "x"},
        {"sequence": 1, "labels": [], "text": "x"},
        {"sequence": 1, "id": "a", "labels": "x", "text": "x"},
        {"sequence": 1, "id": "a", "labels": [3], "text": "x"},
        {"sequence": 1, "id": "a", "labels": []},
        {"sequence": 1, "id": "a", "labels": [], "text": "x", "row": {}},
        {"sequence": 1, "id": "a", "labels": [], "row": [1]},
    ],
)
def test_records_that_are_no_corrections_are_refused(tmp_path: Path, record: dict[str, Any]) -> None:
    """Anyone can compute checksums: the content is checked as well."""
    header, digest = _sealed({"format": "cladist-feedback", "version": 1, "log": "a"}, b"")
    (tmp_path / "log").write_bytes(header + _sealed(record, digest)[0])
    with pytest.raises(DatasetError, match="record 0"):
        list(FeedbackLog(tmp_path / "log").read())


def test_reading_goes_on_where_it_ended(log: FeedbackLog) -> None:
    reader, position = FeedbackLog(log.path), Position()
    assert len(list(reader.read(position))) == 5
    assert list(reader.read(position)) == []
    log.append([correction(5), correction(6)])
    assert [record.sequence for record in reader.read(position)] == [6, 7]
    note = reader.note({"other": 1}, position)
    again = FeedbackLog(log.path)
    assert again.position(note) == position
    assert again.position({}) == Position()
    log.path.write_bytes(log.path.read_bytes()[:-200])
    with pytest.raises(DatasetError, match="shorter"):
        FeedbackLog(log.path).position(note)


def write_many(path: Path, first: int, count: int) -> None:
    log = FeedbackLog(path)
    for k in range(first, first + count):
        log.append([correction(k)])


def test_processes_take_turns(tmp_path: Path) -> None:
    path, context = tmp_path / "shared", multiprocessing.get_context("spawn")
    processes = [context.Process(target=write_many, args=(path, first, 30)) for first in (0, 20)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert sorted(ids(FeedbackLog(path))) == sorted(f"id {k}" for k in range(50))


def test_links_and_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="cannot be written"):
        FeedbackLog(tmp_path / "link").append([correction(0)])
    for text in ("a,b\n1,2\n", "one line", "one line\n", "\n"):
        (tmp_path / "other").write_text(text)
        with pytest.raises(DatasetError):
            FeedbackLog(tmp_path / "other").append([correction(0)])
        assert (tmp_path / "other").read_text() == text
