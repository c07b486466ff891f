"""The one door for files: opened and unpacked by content, held to limits, written whole or not at all."""

import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cladist import files, progress
from cladist.errors import CladistError, DatasetError, ModelFormatError, TaxonomyError

TEXT = "a tree\nüber\n" * 50
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
MARK = b"\xef\xbb\xbf"


class Recorder:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.started: list[tuple[str, int | None]] = []
        self.n_steps, self.n_finished = 0, 0

    def start(self, description: str, total: int | None) -> Any:
        self.started.append((description, total))
        return self

    def advance(self, steps: int = 1) -> None:
        self.n_steps += steps

    def finish(self, task: Any) -> None:
        self.n_finished += 1


def content_of(source: Any, **options: Any) -> bytes:
    with files.open_for_reading(source, **options) as stream:
        return stream.read()


# Names


def test_names_in_messages() -> None:
    assert files.display_name("a/b.csv") == "a/b.csv"
    assert files.display_name(Path("a") / "b.csv") == str(Path("a") / "b.csv")
    assert files.display_name(io.BytesIO()) == "the stream"


def test_endings_tell_below_the_packing() -> None:
    for name, ending in [("t.CSV", ".csv"), ("t.csv.GZ", ".csv"), ("t.tar.xz", ".tar"), ("t", ""), ("t.gz", "")]:
        assert files.data_suffix(name) == ending
    assert files.data_suffix(io.BytesIO()) == ""
    assert files.PACKED_ENDINGS == (".gz", ".xz", ".bz2")
    assert all(files.data_suffix(f"t.csv{ending}") == ".csv" for ending in files.PACKED_ENDINGS)


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(DatasetError, match=r"^t\.csv, line 3, column 7: no good$"):
        files.refuse("t.csv", 3, 7, "no good")
    with pytest.raises(DatasetError, match=r"^t\.csv, line 3, column 'text': no good$"):
        files.refuse("t.csv", 3, "text", "no good")


# Opening


@pytest.mark.parametrize("ending", ["", ".txt", ".gz", ".xz", ".csv.bz2"])
@pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)
def test_packed_files_are_known_by_their_content(tmp_path: Path, packer: Callable[[bytes], bytes], ending: str) -> None:
    path = tmp_path / f"t{ending}"
    packed = packer(TEXT.encode())
    path.write_bytes(packed)
    assert content_of(path) == content_of(str(path)) == TEXT.encode()
    for stream in (io.BytesIO(packed), io.BufferedReader(io.BytesIO(packed))):  # type: ignore[arg-type]
        assert content_of(stream) == TEXT.encode()
        assert not stream.closed


def test_files_packed_in_several_parts_are_read_to_the_end() -> None:
    for packer in PACKERS.values():
        assert content_of(io.BytesIO(packer(b"a\n") + packer(b"b\n"))) == b"a\nb\n"


@pytest.mark.parametrize("packer", [".gz", ".xz", ".bz2"])
def test_damaged_archives_are_told_of(tmp_path: Path, packer: str) -> None:
    packed = PACKERS[packer](os.urandom(5000))
    path = tmp_path / "t"
    for damaged in (packed[:20], packed[:-3], packed[:1000] + b"\0" * 100 + packed[1100:], packed[:6]):
        path.write_bytes(damaged)
        with pytest.raises(TaxonomyError, match=r"t: (the compressed file is damaged or cut short|cannot be read) \("):
            content_of(path, error=TaxonomyError)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "absent: there is no such file"),
        ("absent/below", "below: there is no such file"),
        ("", "cannot be read .*irectory"),
        ("file/below", "below: cannot be read"),
        ("a\0b", r"a\\x00b': no file can have this name"),
        ("a\ud800b", r"a\\ud800b': no file can have this name"),
        ("x" * 300, "cannot be read .*name too long"),
    ],
)
def test_paths_that_cannot_be_opened(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    for error in (DatasetError, ModelFormatError):
        with pytest.raises(error, match=message):
            content_of(f"{tmp_path}/{name}", error=error)


def test_streams_that_cannot_be_read(tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_text("a\n")
    closed = io.BytesIO(b"a")
    closed.close()
    with open(text) as stream:
        for source, message in [
            (io.StringIO("a\n"), "the stream: cannot be read .a stream of bytes is wanted, as open"),
            (stream, "t.txt: cannot be read .a stream of bytes is wanted"),
            (closed, "the stream: cannot be read .the stream is closed"),
            (b"t.txt", "Wanted a path or a stream of bytes to read from, got bytes"),
            (None, "got NoneType"),
        ]:
            with pytest.raises(DatasetError, match=message):
                content_of(source)


def test_a_stream_needs_only_read() -> None:
    class Bare:
        name = "bare"

        def __init__(self, content: bytes) -> None:
            self.rest = content

        def read(self, n_bytes: int) -> bytes:
            block, self.rest = self.rest[: min(n_bytes, 7)], self.rest[min(n_bytes, 7) :]
            return block

    for packer in PACKERS.values():
        assert content_of(Bare(packer(TEXT.encode()))) == TEXT.encode()
    with pytest.raises(DatasetError, match=r"^bare, line 1, column 1: byte 0xff"):
        files.read_text(Bare(b"\xff"))  # type: ignore[arg-type]


def test_errors_inside_the_block_become_the_readers() -> None:
    for problem in (OSError("disk"), EOFError("end")):
        with pytest.raises(TaxonomyError), files.open_for_reading(io.BytesIO(b"a"), error=TaxonomyError):
            raise problem
    for problem in (ValueError("mine"), DatasetError("ours"), KeyError("mine")):
        with pytest.raises(type(problem)) as caught, files.open_for_reading(io.BytesIO(b"a"), error=TaxonomyError):
            raise problem
        assert caught.value is problem


@pytest.mark.parametrize("packer", PACKERS.values(), ids=PACKERS)
def test_progress_counts_the_bytes_of_the_file(tmp_path: Path, packer: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(packer(os.urandom(700_000)))
    recorder = Recorder()
    with progress.report_to(recorder):
        content_of(path)
        assert recorder.started == [("Reading t.csv", path.stat().st_size)]
        assert recorder.n_steps == path.stat().st_size
        with pytest.raises(KeyError), files.open_for_reading(path):
            raise KeyError
    assert recorder.n_finished == 2


def test_an_empty_file_has_no_size_to_compare_with(tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    recorder = Recorder()
    with progress.report_to(recorder):
        assert content_of(tmp_path / "t") == b""
    assert recorder.started == [("Reading t", None)]


# Lines

endings = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"", b"\x0b", b"\x1c"])
contents = st.lists(st.tuples(st.binary(max_size=6), endings)).map(lambda parts: b"".join(map(b"".join, parts)))


@given(contents)
@example(MARK + MARK + b"a")
def test_lines_are_numbered_and_lose_only_the_mark(content: bytes) -> None:
    lines = list(files.iterate_byte_lines("t", io.BytesIO(content)))
    assert [number for number, _ in lines] == list(range(1, len(lines) + 1))
    assert b"".join(line for _, line in lines) == content.removeprefix(MARK)
    assert all(line.find(b"\n") in (-1, len(line) - 1) for _, line in lines)


@given(contents)
def test_lines_of_text_are_decoded_or_refused_at_the_byte(content: bytes) -> None:
    try:
        expected = content.removeprefix(MARK).decode()
    except UnicodeDecodeError as problem:
        before = content.removeprefix(MARK)[: problem.start]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        with pytest.raises(DatasetError, match=f"^t, line {line}, column {column}: byte 0x.. is not UTF-8"):
            list(files.iterate_text_lines("t", io.BytesIO(content)))
    else:
        assert "".join(line for _, line in files.iterate_text_lines("t", io.BytesIO(content))) == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_texts_are_recognised(encoding: str) -> None:
    content = "text,label\n".encode(encoding)
    for read in (
        lambda: list(files.iterate_text_lines("t", io.BytesIO(content), error=TaxonomyError)),
        lambda: files.read_text(io.BytesIO(content), error=TaxonomyError),
    ):
        with pytest.raises(
            TaxonomyError, match=r"line 1, column 1: byte 0xff is not UTF-8 .it looks like UTF-16.; save"
        ):
            read()
    with pytest.raises(DatasetError, match="line 2, column 1: byte 0xff is not UTF-8; save the file as UTF-8"):
        files.decode("t", b"a\n" + content)
    with pytest.raises(DatasetError, match="line 8, column 3: byte 0xe4"):
        files.decode("t", b"a\nbl\xe4h", 7)


def test_long_lines_are_refused_when_they_prove_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    monkeypatch.setattr(files, "CHUNK_BYTES", 64)

    class Endless(io.RawIOBase):
        n_bytes = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.n_bytes += len(buffer)
            assert self.n_bytes < 100_000, "read on and on"
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    fine = b"a\n" + b"x" * 999 + b"\n"
    assert [len(line) for _, line in files.iterate_byte_lines("t", io.BytesIO(fine))] == [2, 1000]
    for read in (files.iterate_byte_lines, files.iterate_text_lines, files.iterate_chunks):
        for stream, number in [(io.BufferedReader(Endless(), 64), 1), (io.BytesIO(fine + b"x" * 2000), 3)]:
            with pytest.raises(TaxonomyError, match=f"^t, line {number}: the line is longer than 1,000 bytes; if the"):
                for _ in read("t", stream, error=TaxonomyError):
                    pass


@given(contents, st.integers(3, 40), st.booleans())
def test_chunks_of_whole_lines_make_the_file(content: bytes, chunk_bytes: int, mark: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK_BYTES", chunk_bytes)
        chunks = list(files.iterate_chunks("t", io.BytesIO(MARK * mark + content)))
    assert all(chunk.endswith(b"\n") for chunk in chunks)
    whole = b"".join(chunks)
    expected = content if mark else content.removeprefix(MARK)
    assert whole in (expected, expected + b"\n")
    assert (whole == expected) == (expected.endswith(b"\n") or not expected)


# Whole texts


def test_a_text_is_read_whole(tmp_path: Path) -> None:
    for name, packer in PACKERS.items():
        path = tmp_path / f"t{name}"
        path.write_bytes(packer(MARK + "a\r\nü\rb".encode()))
        assert files.read_text(path) == "a\r\nü\rb"


def test_a_text_has_a_limit_even_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_TEXT", 1000)
    assert len(files.read_text(io.BytesIO(b"x" * 1000))) == 1000
    for packer in PACKERS.values():
        with pytest.raises(TaxonomyError, match=r"the stream: .*1,000 bytes"):
            files.read_text(io.BytesIO(packer(b"x" * 1001)), error=TaxonomyError)


# Writing


@pytest.mark.parametrize("ending", PACKERS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_what_is_written_is_read(tmp_path: Path, ending: str, content: bytes) -> None:
    one, two = tmp_path / f"one.txt{ending.upper()}", tmp_path / f"two.txt{ending}"
    for path in (one, two):
        with files.open_for_writing(path) as stream:
            stream.write(content[:7])
            stream.write(content[7:])
    packed = content.startswith((b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh"))  # a plain file that looks like an archive
    assert packed or content_of(one) == content
    assert one.read_bytes() == two.read_bytes()
    assert (one.read_bytes() == content) == (ending == "")


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("problem", [ValueError("mine"), DatasetError("ours"), KeyboardInterrupt()])
def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path, ending: str, problem: BaseException) -> None:
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"before")

    def fail() -> None:
        with files.open_for_writing(path) as stream:
            stream.write(b"after")
            raise problem

    with pytest.raises(type(problem)) as caught:
        fail()
    assert caught.value is problem
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == [path.name]


def test_nobody_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with files.open_for_writing(path) as stream:
        stream.write(b"half")
        stream.flush()
        assert not path.exists()
        path.write_bytes(b"written meanwhile")
        stream.write(b" whole")
    assert path.read_bytes() == b"half whole"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent/t", "absent.*t: cannot be written"),
        ("", "cannot be written"),
        ("folder", "folder: cannot be written"),
        ("a\0b", r"a\\x00b': no file can have this name"),
        ("a\ud800b", r"a\\ud800b': no file can have this name"),
        ("x" * 300, "cannot be written"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(TaxonomyError, match=message),
        files.open_for_writing(f"{tmp_path}/{name}", error=TaxonomyError) as stream,
    ):
        stream.write(b"a")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.skipif(sys.platform == "win32", reason="paths are shorter there")
def test_a_name_may_be_as_long_as_any(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    with files.open_for_writing(path) as stream:
        stream.write(b"a")
    assert path.read_bytes() == b"a"


def test_a_full_disk_is_told_of_as_an_error_of_the_room(tmp_path: Path) -> None:
    with (
        pytest.raises(TaxonomyError, match=r"t: cannot be written \(.*disk"),
        files.open_for_writing(tmp_path / "t", error=TaxonomyError),
    ):
        raise OSError("no space left on the disk")
    assert os.listdir(tmp_path) == []


# Whatever comes


@settings(max_examples=200)
@given(st.sampled_from([b"", b"\x1f\x8b\x08\0", b"\xfd7zXZ\0", b"BZh9", MARK]), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(head: bytes, rest: bytes) -> None:
    for read in (
        lambda stream: content_of(stream),
        lambda stream: files.read_text(stream),
    ):
        try:
            read(io.BytesIO(head + rest))
        except CladistError as problem:
            assert "the stream" in str(problem)  # noqa: PT017 - most bytes are read, and raise nothing


def test_what_is_written_over_keeps_its_rights_and_links(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    with files.open_for_writing(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o600
    with files.open_for_writing("/dev/null") as stream:
        stream.write(b"gone")
    assert Path("/dev/null").is_char_device()


def test_a_text_of_one_endless_line_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 2**20)
    for line in (b"a" * 2**21, b"b\n" + b"a" * 2**21):
        with pytest.raises(DatasetError, match="the line is longer than 1,048,576 bytes"):
            files.read_text(io.BytesIO(line))
    assert len(files.read_text(io.BytesIO((b"a" * 1000 + b"\n") * 2000))) == 2_002_000
