"""OHSUMED: SMART's fields, MeSH terms as they are written there, and files that go wrong."""

import bz2
import io
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.datasets import Dataset
from cladist.datasets.corpora import ohsumed
from cladist.datasets.corpora.ohsumed import FIELDS, Record, read_ohsumed, records
from cladist.datasets.dataset import MOST_LABELS
from cladist.errors import CladistError, DatasetError, ParameterError, TaxonomyError
from cladist.kernels import svmlight

FOLDER = Path(__file__).parent / "files" / "ohsumed"
MESH = FOLDER / "mtrees.bin"
TITLES = ["Auditing the wards of a small hospital.", "Who reviews the reviewers?"]


def read(content: str | bytes, mesh: str | None = None, **options: object) -> Dataset:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    tree = MESH if mesh is None else io.BytesIO(mesh.encode())
    return read_ohsumed(stream, mesh=tree, **({"tree": "first-number"} | options))  # type: ignore[arg-type]


def labels(terms: str, **options: object) -> list[str]:
    (row,) = read(f".I 1\n.M\n{terms}\n.T\nx\n", **options).y
    return list(row)


@pytest.mark.parametrize("files", [FOLDER, str(FOLDER), [FOLDER / "ohsumed.87", FOLDER / "ohsumed.88"]])
def test_files_or_their_folder(files: object) -> None:
    data = read_ohsumed(files, mesh=MESH, tree="first-number")  # type: ignore[arg-type]
    assert data.X.tolist() == [
        f"{TITLES[0]} We audited four wards for a year. Charts were .5 of a page longer afterwards.",
        TITLES[1],
    ]
    assert data.y == [
        ["Medical Audit", "Quality of Health Care"],
        ["Utilization Review", "Professional Review Organizations"],
    ]
    assert data.taxonomy.kind == "tree"
    assert data.taxonomy.n_nodes == 6
    assert "ohsumed.87" in data.source


def test_descriptors_make_a_dag() -> None:
    data = read_ohsumed(FOLDER, mesh=MESH)
    assert data.taxonomy.kind == "dag"
    assert data.y == read_ohsumed(FOLDER, mesh=MESH, tree="first-number").y
    assert set(data.taxonomy.ancestors("Utilization Review")) == {
        "Quality of Health Care",
        "Quality Assurance, Health Care",
        "Health Care Evaluation Mechanisms",
    }


def test_numbers_label_with_every_place() -> None:
    data = read_ohsumed(FOLDER, mesh=MESH, tree="numbers")
    assert data.taxonomy.kind == "forest"
    assert data.y == [
        ["N04.761.700.350", "N04.761", "N05.715"],
        ["N04.761.700.900", "N05.715.360.950", "N05.715.360.950.600"],
    ]
    one = read_ohsumed(FOLDER, mesh=MESH, tree="numbers", below="N05.715")
    assert one.y == [["N05.715"], ["N05.715.360.950", "N05.715.360.950.600"]]


def test_all_of_mesh() -> None:
    data = read_ohsumed(FOLDER, mesh=MESH, tree="first-number", below=None)
    assert data.taxonomy.n_nodes == 8
    assert len(data.y) == 2


def test_a_cycle_is_dropped_and_listed_or_refused() -> None:
    mesh = "Quality of Health Care;N01\nAudit;N01.1\nReview;N01.1.1\nReview;N01.2\nAudit;N01.2.1\n"
    content = ".I 1\n.M\nReview.\n.T\nx\n"
    data = read(content, mesh, tree="descriptors")
    assert data.taxonomy.dropped_edges == (("Review", "Audit"),)
    with pytest.raises(TaxonomyError, match=r"the stream: Taxonomy has a cycle: .*line 5"):
        read(content, mesh, tree="descriptors", on_cycle="error")


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ("Medical Audit.", ["Medical Audit"]),
        ("Medical Audit", ["Medical Audit"]),
        ("Medical Audit/*.", ["Medical Audit"]),
        ("Medical Audit/*MT/TD.", ["Medical Audit"]),
        ("*Medical Audit/MT", ["Medical Audit"]),
        ("Human;Medical Audit ; Adult.", ["Medical Audit"]),
        ("Medical Audit/MT; Utilization Review; Medical Audit/*.", ["Medical Audit", "Utilization Review"]),
        ("Human; Utilization\nReview.", ["Utilization Review"]),
        ("Quality Assurance, Health Care.", ["Quality Assurance, Health Care"]),
        (";; / ; Medical Audit;", ["Medical Audit"]),
    ],
)
def test_terms_lose_their_qualifiers_and_stars(terms: str, found: list[str]) -> None:
    assert labels(terms) == found


def test_a_full_stop_of_the_descriptor_s_own_is_kept() -> None:
    mesh = "Support, U.S. Gov't, P.H.S.;N01\nSupport;N01.1\n"
    for terms in ("Support, U.S. Gov't, P.H.S..", "Support, U.S. Gov't, P.H.S.", "Support, U.S. Gov't, P.H.S./*."):
        assert labels(terms, mesh=mesh, below=None) == ["Support, U.S. Gov't, P.H.S."]


def test_fields_in_any_order_on_several_lines_and_packed(tmp_path: Path) -> None:
    content = (
        b"\xef\xbb\xbf.I 1\r\n.W\r\nFirst line,\r\n\r\n  second line.\r\n.T\r\nTitle.\r\n.M\r\nMedical Audit.\r\n"
        b".A\r\nx\r\n.T\r\nMore.\r\n.I\r\n.I 3\r\n"
    )
    (tmp_path / "ohsumed.90.bz2").write_bytes(bz2.compress(content))
    data = read_ohsumed(tmp_path, mesh=MESH, tree="first-number")
    assert data.X.tolist() == ["Title. More. First line, second line."]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (".T\nx\n", "the stream, line 1: a record is a line .I with a number, .*; got '.T'"),
        ("\n\nx\n", "line 3: a record is a line .I with a number, .*; got 'x'"),
        (".I 1\n.M\nx\n.B\ny\n", r"line 4: a record is .* one of USMTPWA above its text; got '\.B'"),
        (".I 1\n.T A title.\n", r"line 2: a record is .*; got '\.T A title\.'"),
        (".I 1\nA title.\n", r"line 2: a record is .*; got 'A title\.'"),
        (".I 1\n.T\nx\n.I 2\nlong " + "x" * 999, r"line 5: a record .* got 'long x{51}'…"),
        (b".I 1\n.T\nna\xefve\n", "line 3, column 3: byte 0xef is not UTF-8"),
        ("", "none of 0 records has a MeSH term of the 6 nodes below 'Quality of Health Care'; check"),
        (".I 1\n.M\nHuman.\n", "none of 1 records"),
    ],
)
def test_a_malformed_file_is_refused_where_it_is_wrong(content: str | bytes, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read(content)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"absent: there is no such file"):
        read_ohsumed(tmp_path / "absent", mesh=MESH, tree="numbers")
    with pytest.raises(DatasetError, match=r"there are no files named ohsumed\.… in this folder"):
        read_ohsumed(tmp_path, mesh=MESH, tree="numbers")
    with pytest.raises(DatasetError, match="one file at least"):
        read_ohsumed([], mesh=MESH, tree="numbers")
    with pytest.raises(DatasetError, match="no such file"):
        read_ohsumed(FOLDER, mesh=tmp_path / "absent", tree="numbers")


def test_what_is_asked_wrongly() -> None:
    with pytest.raises(ParameterError, match="read_ohsumed: tree must be one of 'descriptors'"):
        read(".I 1\n", tree="trees")
    with pytest.raises(TaxonomyError, match=r"mtrees\.bin: below='Qualities': there is no such descriptor"):
        read(".I 1\n", below="Qualities")
    with pytest.raises(TaxonomyError, match="the stream: line 2: 'descriptor;tree number' is wanted"):
        read(".I 1\n", "Body;A01\nAbdomen\n")


def test_records_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ohsumed, "LARGEST_RECORD", 10_000)
    for content in (f".I 1\n.W\n{'x' * 10_001}\n", ".I 1\n.A\n" + "x\n" * 200):
        with pytest.raises(DatasetError, match="the record that starts on line 1 takes more than 10,000 bytes"):
            read(content)
    monkeypatch.setattr("cladist.files.LONGEST_LINE", 100)
    with pytest.raises(DatasetError, match="line 1: the line is longer than"):
        read("x" * 101)


def test_memory_follows_the_texts() -> None:
    kept = f".M\nMedical Audit.\n.T\n{'word ' * 2000}\n"
    left_out = f".M\nHuman.\n.T\n{'word ' * 2000}\n.A\n{'Doe J; ' * 2000}\n"
    content = "".join(f".I {k}\n{left_out if k % 3 else kept}" for k in range(300)).encode()
    stream = io.BytesIO(content)
    read_ohsumed(io.BytesIO(content[:20_000]), mesh=MESH, tree="numbers")  # what is made once and for all
    tracemalloc.start()
    data = read_ohsumed(stream, mesh=MESH, tree="numbers")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data.X) == 100
    assert peak < 3 * sum(map(len, data.X)) + 2**19


def test_many_terms_take_little_memory() -> None:
    content = f".I 1\n.M\n{'a;' * 500_000}Medical Audit.\n".encode()
    tracemalloc.start()
    assert read_ohsumed(io.BytesIO(content), mesh=MESH, tree="first-number").y == [["Medical Audit"]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(content)


def test_too_many_labels_on_a_row_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ohsumed, "MOST_LABELS", 3)
    mesh = "Audit;N01\n" + "".join(f"Audit;N01.{k}\nReview;N01.{k}.1\n" for k in range(1, 4))
    content = ".I 1\n.M\nReview; Review/*.\n.I 2\n.M\n{}.\n"
    assert len(read(content.format("Review"), mesh, below=None, tree="numbers").y[1]) == 3
    for terms in ("Audit", "Review; Audit"):
        with pytest.raises(DatasetError, match="the stream, line 4: the record that starts here has more than 3 lab"):
            read(content.format(terms), mesh, below=None, tree="numbers")


def test_all_readers_have_one_limit() -> None:
    assert MOST_LABELS == svmlight.MOST_LABELS


def test_the_labels_of_a_hostile_descriptor_take_no_memory() -> None:
    n_places = MOST_LABELS + 1
    nodes_of = {"Audit": [""] * n_places}
    record = Record(7, {"M": ["Audit; " * 100]})
    tracemalloc.start()
    with pytest.raises(DatasetError, match=r"o\.87, line 7: the record that starts here has more than 100,000 labels"):
        ohsumed._labels("o.87", record, nodes_of)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**16


lines = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12).filter(
    lambda line: not line.startswith(".")
)


@given(st.lists(st.dictionaries(st.sampled_from("USMTPWA"), lines, max_size=7), min_size=1, max_size=5))
def test_what_is_written_is_read(documents: list[dict[str, str]]) -> None:
    content = "".join(
        f".I {k}\n" + "".join(f".{letter}\n{text}\n" for letter, text in document.items())
        for k, document in enumerate(documents, start=1)
    )
    found = list(records(io.BytesIO(content.encode())))
    assert [[record.text(letter) for letter in "MTW"] for record in found] == [
        [document.get(letter, "") for letter in "MTW"] for document in documents
    ]


ORIGINAL = (FOLDER / "ohsumed.87").read_bytes()
pieces = st.sampled_from(
    [f".{letter}\n".encode() for letter in [*FIELDS, "B"]] + [b"\n", b";", b"Medical Audit\n", b"\xff"]
)
damage = st.tuples(st.integers(0, len(ORIGINAL)), st.integers(0, 20), st.binary(max_size=4) | pieces)


@given(st.binary(max_size=100) | st.lists(pieces, max_size=12).map(b"".join) | st.lists(damage, min_size=1, max_size=3))
@settings(max_examples=200)
def test_whatever_bytes_come_in_only_our_error_comes_out(change: bytes | list[tuple[int, int, bytes]]) -> None:
    content = change if isinstance(change, bytes) else ORIGINAL
    if not isinstance(change, bytes):
        for position, n_cut, put in change:
            content = content[:position] + put + content[position + n_cut :]
    with suppress(CladistError):
        assert len(read(content).y) > 0
