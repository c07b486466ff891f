"""WIPO-alpha: records as WIPO ships them, and XML that means harm."""

import gzip
import tempfile
import tracemalloc
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist import Taxonomy, progress
from cladist.datasets.corpora import wipo as wipo_records
from cladist.datasets.corpora.wipo import PARTS, read_wipo_alpha
from cladist.errors import CladistError, DatasetError, ParameterError, TaxonomyError
from cladist.taxonomy.formats.ipc import ipc_taxonomy

FOLDER = Path(__file__).parent / "files" / "wipo-alpha"
HEMP = FOLDER / "train" / "D" / "01" / "B" / "0100001.xml"


def record(inside: str, mc: str = "D01B00106", before: str = "") -> bytes:
    return f'{before}<record><ipcs mc="{mc}"/>{inside}</record>'.encode()


def title(text: str) -> str:
    return f"<tis><ti>{text}</ti></tis>"


def read_one(folder: Path, content: bytes, **options: object) -> str:
    (folder / "1.xml").write_bytes(content)
    (text,) = read_wipo_alpha(folder, **options).X  # type: ignore[arg-type]
    return str(text)


def test_the_collection_comes_split_as_its_folders_say() -> None:
    data = read_wipo_alpha(FOLDER, parts=["title"])
    assert data.X_train.tolist() == ["SPADE", "SEPARATING FIBRES FROM HEMP STALKS", "PAPER WITH STARCH"]
    assert data.X_test.tolist() == ["WASHING WOOL"]
    assert data.y_train.tolist() == ["A01B 1/00", "D01B 1/00", "D21H 17/00"]
    assert data.y_test.tolist() == ["D01B 3/00"]
    assert data.taxonomy == ipc_taxonomy(["A01B 1/00", "D01B 1/00", "D01B 3/00", "D21H 17/00"])
    assert str(FOLDER) in data.source


def test_a_section_and_a_level() -> None:
    data = read_wipo_alpha(FOLDER, section="D", level="subclass")
    assert (len(data.y_train), len(data.y_test)) == (2, 1)
    assert data.y.tolist() == ["D01B", "D21H", "D01B"]
    assert data.taxonomy.names == ("D", "D01", "D21", "D01B", "D21H")
    assert data.taxonomy.kind == "tree"
    assert read_wipo_alpha(FOLDER, section="D", level="subgroup").y.tolist() == ["D01B 1/10", "D21H 17/12", "D01B 3/04"]


def test_all_symbols_of_a_record() -> None:
    data = read_wipo_alpha(FOLDER, section="D", main_only=False)
    assert data.y == [["D01B 1/00", "D21H 17/00"], ["D21H 17/00"], ["D01B 3/00"]]
    deeper = read_wipo_alpha(FOLDER, section="D", main_only=False, level="subgroup")
    assert deeper.y_train == [["D01B 1/10", "D01B 1/06", "D21H 17/12"], ["D21H 17/12"]]


def test_symbols_that_are_not_asked_for_are_not_judged(tmp_path: Path) -> None:
    content = b'<record><ipcs mc="D01B00106"><ipc ic="?"/></ipcs><tis><ti>Hemp</ti></tis></record>'
    assert read_one(tmp_path, content) == "Hemp"
    with pytest.raises(DatasetError, match=r"ic='\?' is no IPC symbol"):
        read_one(tmp_path, content, main_only=False)


def test_the_parts_of_a_text() -> None:
    (text,) = read_wipo_alpha(HEMP.parent).X
    assert text == (
        "SEPARATING FIBRES FROM HEMP STALKS "
        "Stalks (1) are crushed between rollers & combed. The café-coloured dust is drawn off. "
        "1. A method of separating fibres, in which stalks are crushed between rollers. "
        "Field of the invention. The invention relates to bast fibres, α-cellulose and &shy2; such."
    )
    (text,) = read_wipo_alpha(HEMP.parent, parts=("claims", "title", "claims")).X
    assert text.startswith("1. A method")
    assert text.endswith("rollers. SEPARATING FIBRES FROM HEMP STALKS")
    (text,) = read_wipo_alpha(FOLDER / "train" / "D" / "21", parts="text").X
    assert " ".join(text.split()) == "Starch is cheap. Paper is dear."


def test_a_given_taxonomy_is_kept_and_its_spelling_answered_in(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_paths(["IPC/D/D01/D01B/D01B00100", "IPC/D/D01/D01B/D01B00300", "IPC/D/D21/D21H/D21H01700"])
    data = read_wipo_alpha(FOLDER, section="D", taxonomy=taxonomy)
    assert data.taxonomy is taxonomy
    assert data.y.tolist() == ["D01B00100", "D21H01700", "D01B00300"]
    with pytest.raises(DatasetError, match=r"0100003.xml: A01B 1/00 is not in the taxonomy"):
        read_wipo_alpha(FOLDER, taxonomy=taxonomy)
    (tmp_path / "twice.txt").write_text("D01B00100\tx\nD01B 1/00\ty\n")
    with pytest.raises(TaxonomyError, match="'D01B00100' and 'D01B 1/00' are the same IPC symbol"):
        read_wipo_alpha(FOLDER, taxonomy=tmp_path / "twice.txt")


def test_lists_split_a_collection_that_has_no_folders_for_it(tmp_path: Path) -> None:
    for name, text in {"a": "one", "b": "two", "c": "three"}.items():
        (tmp_path / f"{name}.xml").write_bytes(record(title(text)))
    assert not read_wipo_alpha(tmp_path).is_split
    (tmp_path / "train.txt").write_text("c\n\nA.xml\n")
    with pytest.raises(DatasetError, match=r"of train\.txt and test\.txt, only one is there"):
        read_wipo_alpha(tmp_path)
    (tmp_path / "test.txt").write_text("b")
    data = read_wipo_alpha(tmp_path)
    assert (data.X_train.tolist(), data.X_test.tolist()) == (["three", "one"], ["two"])
    (tmp_path / "test.txt").write_text("b\na\n")
    with pytest.raises(DatasetError, match=r"test\.txt, line 2: 'a': there is no such file, or it is listed already"):
        read_wipo_alpha(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.xml").write_bytes(record(title("two more")))
    with pytest.raises(DatasetError, match=r"test\.txt, line 1: 'b': several files have this name"):
        read_wipo_alpha(tmp_path)


def test_packed_files_and_folders_in_capitals(tmp_path: Path) -> None:
    for part in ("TRAIN", "Test"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "1.XML.gz").write_bytes(gzip.compress(record(title(part)), mtime=0))
    data = read_wipo_alpha(tmp_path)
    assert (data.X_train.tolist(), data.X_test.tolist()) == (["TRAIN"], ["Test"])


def test_progress_counts_files() -> None:
    seen: list[tuple[str, int | None]] = []

    class Reporter:
        def start(self, description: str, total: int | None) -> "Reporter":
            seen.append((description, total))
            return self

        def finish(self, task: object) -> None:
            pass

        def advance(self, steps: int = 1) -> None:
            pass

    with progress.report_to(Reporter()):
        read_wipo_alpha(FOLDER)
    assert seen[0] == ("Reading WIPO-alpha", 4)


BOMB = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(9))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"line 1, column 1: not well-formed XML \(no element found\)"),
        (b"<record>\n<ipcs", r"line 2, column 1: not well-formed XML \(unclosed token\)"),
        (b"<record>\n</ipcs>", r"line 2, column 3: not well-formed XML \(mismatched tag\)"),
        (b"<record/>\n", 'the record has no <ipcs mc="…">'),
        (b"<patent/>", "line 1, column 1: a WIPO-alpha file holds one <record>; this one holds <patent>"),
        (b"<record>\n <ipcs/></record>", "line 2, column 2: mc='' is no IPC symbol"),
        (b'<record>\n<ipcs mc="D01B00106"><ipc ic="D01"/><ipc ic="x"/>', "line 2, column 37: ic='x' is no IPC symbol"),
        (b'<record><ipcs mc="D"/><ipcs mc="D"/></record>', "two <ipcs>"),
        (record(title("x"), mc="D01B"), "D01B is a subclass, above the level asked for, main-group"),
        (record(title("&undeclared;")), "undefined entity"),
        (record(title("&e9;"), before=f'<!DOCTYPE record [<!ENTITY e0 "ha">{BOMB}]>'), "declares the entity 'e0'"),
        (
            record(title("&e;"), before='<!DOCTYPE record [<!ENTITY e SYSTEM "file:///etc/passwd">]>'),
            "line 1, column .*: the record declares the entity 'e'",
        ),
        (
            record(title("x"), before='<!DOCTYPE record [<!ENTITY % e SYSTEM "file:///etc/passwd">%e;]>'),
            "declares the entity 'e'",
        ),
        (b'<?xml version="1.0" encoding="utf-7"?><record/>', "the encoding 'utf-7' is not read"),
        (b'<?xml version="1.0" encoding="unicode_escape"?><record/>', "the encoding 'unicode_escape' is not read"),
        (b"<record>\xe9</record>", r"column 9: not well-formed XML \(not well-formed \(invalid token\)\)"),
        (record("<a>" * 200), "not well-formed XML"),
        (record(title("")), "no English title or abstract or claims or text in any of its 1 records"),
        (record('<tis><ti xml:lang="DE">Hanf</ti></tis>'), "no English title"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused_where_it_is_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        read_one(tmp_path, content, main_only=False)
    assert str(tmp_path) in str(caught.value)
    assert "root:" not in str(caught.value)


def test_sizes_beyond_any_patent_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wipo_records, "LARGEST_RECORD", 1 << 19)
    long = "x " * (1 << 17)
    assert read_one(tmp_path, record(title(long))) == long.strip()
    with pytest.raises(DatasetError, match="longer than 524,288 bytes"):
        read_one(tmp_path, record(title(long * 3)))


def test_memory_follows_the_texts(tmp_path: Path) -> None:
    kept, passed_over = "hemp " * 40_000, "wool " * 400_000
    for name in range(10):
        inside = f"{title(kept)}<txts><txt>{passed_over}</txt></txts>"
        (tmp_path / f"{name}.xml").write_bytes(record(inside))
    tracemalloc.start()
    data = read_wipo_alpha(tmp_path, parts=["title"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * sum(map(len, data.X)) + 2**21


def test_folders_that_are_not_there_or_empty(tmp_path: Path) -> None:
    for folder, message in [
        (tmp_path / "absent", "cannot be read"),
        (tmp_path, r"there are no \.xml files"),
        ("a\0b", "no folder can have this name"),
        (HEMP, "cannot be read"),
    ]:
        with pytest.raises(DatasetError, match=message):
            read_wipo_alpha(folder)
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
    (tmp_path / "train" / "1.xml").write_bytes(record(title("x")))
    with pytest.raises(DatasetError, match=r"test: there are no \.xml files"):
        read_wipo_alpha(tmp_path)


@pytest.mark.parametrize("option", [{"section": "Y"}, {"level": "group"}, {"parts": []}, {"parts": ["claim"]}])
def test_wrong_parameters(option: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(option))):
        read_wipo_alpha(FOLDER, **option)  # type: ignore[arg-type]


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"), max_size=20)


@given(st.dictionaries(st.sampled_from(sorted(PARTS)), texts, min_size=1), st.sampled_from(["utf-8", "utf-16"]))
@settings(max_examples=50)
def test_what_is_written_is_read(parts: dict[str, str], encoding: str) -> None:
    inside = "".join(f"<{PARTS[part]}>{escape(text)}</{PARTS[part]}>" for part, text in parts.items())
    content = f'<?xml version="1.0" encoding="{encoding}"?><record><ipcs mc="A01B00106"/>{inside}</record>'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "1.xml").write_bytes(content.encode(encoding))
        for part, text in parts.items():
            if text.strip():
                assert read_wipo_alpha(folder, parts=part).X.tolist() == [text.strip()]


damage = st.tuples(
    st.integers(0, 1300), st.integers(0, 20), st.binary(max_size=8) | st.sampled_from([b"<", b"]]>", b"&#0;"])
)


@given(st.binary(max_size=200) | st.lists(damage, min_size=1, max_size=3))
@settings(max_examples=200)
def test_whatever_bytes_come_in_only_our_error_comes_out(change: bytes | list[tuple[int, int, bytes]]) -> None:
    content = change if isinstance(change, bytes) else HEMP.read_bytes()
    if not isinstance(change, bytes):
        for position, n_cut, put in change:
            content = content[:position] + put + content[position + n_cut :]
    with tempfile.TemporaryDirectory() as folder, suppress(CladistError):
        (Path(folder) / "1.xml").write_bytes(content)
        assert len(read_wipo_alpha(folder).X) == 1
