"""RCV1 in its official files: documents, judgements, hierarchies; what is chosen and what is refused."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cladist import files
from cladist.datasets import Dataset
from cladist.datasets.formats.rcv1 import Judgements, read_rcv1, read_tokens, read_topics
from cladist.datasets.formats.rcv1_writer import write_rcv1
from cladist.errors import CladistError, DatasetError, ParameterError, TaxonomyError
from cladist.taxonomy import Taxonomy
from tests.datasets.hostile import Repeated, damaged, peak_memory
from tests.datasets.same import same_dataset
from tests.strategies import forests

ORIG = """\
parent: None  child: Root          child-description: Root
parent: Root  child: CCAT          child-description: CORPORATE/INDUSTRIAL
parent: CCAT  child: C15           child-description: PERFORMANCE
parent: C15   child: C151          child-description: ACCOUNTS/EARNINGS
parent: Root  child: MCAT          child-description: MARKETS
parent: MCAT  child: M11           child-description: EQUITY MARKETS
"""
EXPANDED = ORIG.replace("parent: CCAT  child: C15 ", "parent: CCAT  child: C1  \nparent: C1    child: C15 ")
FILES = {
    "rcv1.topics.hier.orig": ORIG,
    "rcv1.topics.hier.expanded": EXPANDED,
    "rcv1-v2.topics.qrels": "M11 2286 1\nMCAT 2286 1\nC15 2287 1\nCCAT 2287 1\nC151 2400 1\nC15 2400 1\nCCAT 2400 1\n"
    "M11 26151 1\nC15 26152 1\nCCAT 26152 1\nMCAT 99999 1\nMCAT 2400 1\n",
    "lyrl2004_vectors_train.dat": "2286  1:0.25 3:0.5\n2400  4:1\n2287  2:0.125\n",
    "lyrl2004_vectors_test_pt0.dat": "26151  5:1\n",
    "lyrl2004_vectors_test_pt1.dat": "26152  1:1\n26153  2:1\n",
    "lyrl2004_tokens_train.dat": ".I 2286\n.W\nequit market\nrise\n\n.I 2400\n.W\nearn\n\n.I 2287\n.W\nprofit\n",
    "lyrl2004_tokens_test_pt0.dat": ".I 26151\n.W\nshar\n\n",
}


def write(folder: Path, changes: dict[str, str | bytes | None] | None = None) -> Path:
    for name, content in {**FILES, **(changes or {})}.items():
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_vectors(tmp_path: Path) -> None:
    data = read_rcv1(write(tmp_path))
    assert data.X_train.toarray().tolist() == [[0.25, 0, 0.5, 0, 0], [0, 0.125, 0, 0, 0], [0, 0, 0, 1, 0]]
    assert data.X_test.toarray().tolist() == [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert data.X.has_canonical_format
    assert data.y_train == [["M11", "MCAT"], ["C15", "CCAT"], ["C151", "C15", "CCAT", "MCAT"]]
    assert data.y_test == [["M11"], ["C15", "CCAT"], []]
    assert data.taxonomy == Taxonomy.from_paths([("CCAT", "C15", "C151"), ("MCAT", "M11")])
    assert data.descriptions["C151"] == "ACCOUNTS/EARNINGS"
    assert read_rcv1(tmp_path, n_features=47_236, dtype=np.float64).X.shape == (6, 47_236)


def test_tokens(tmp_path: Path) -> None:
    data = read_rcv1(write(tmp_path), features="tokens")
    assert data.X.tolist() == ["equit market rise", "profit", "earn", "shar"]
    assert data.y_test == [["M11"]]
    assert data.X.dtype == object


def test_hierarchies(tmp_path: Path) -> None:
    write(tmp_path)
    expanded = read_rcv1(tmp_path, hierarchy="expanded", root=True).taxonomy
    assert expanded is not None
    assert expanded.path("C151") == ["Root", "CCAT", "C1", "C15", "C151"]
    with_root = read_rcv1(tmp_path, root=True).taxonomy
    assert with_root is not None
    assert (with_root.kind, with_root.n_nodes) == ("tree", 6)
    other = ORIG.replace("Root", "Top")
    assert read_rcv1(write(tmp_path, {"rcv1.topics.hier.orig": other})).taxonomy.n_nodes == 6  # type: ignore[union-attr]


def test_a_family(tmp_path: Path) -> None:
    data = read_rcv1(write(tmp_path), family="CCAT")
    assert data.taxonomy is not None
    assert data.taxonomy.names == ("CCAT", "C15", "C151")
    assert data.y_train == [["C15", "CCAT"], ["C151", "C15", "CCAT"]]
    assert data.y_test == [["C15", "CCAT"]]
    assert data.X_test.toarray().tolist() == [[1, 0, 0, 0]]
    texts = read_rcv1(tmp_path, family="MCAT", features="tokens", n_train=1, root=True)
    assert texts.X.tolist() == ["equit market rise", "shar"]


def test_the_first_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_rcv1(write(tmp_path))
    for chunk_bytes in (1 << 23, 10):
        monkeypatch.setattr(files, "CHUNK_BYTES", chunk_bytes)
        for n_train in (1, 2, 3):
            data = read_rcv1(tmp_path, n_train=n_train, n_test=2, n_features=5)
            assert same_parts(data, whole, n_train, 2)


def same_parts(data: Dataset, whole: Dataset, n_train: int, n_test: int) -> bool:
    parts = (whole.X_train[:n_train], whole.y_train[:n_train], whole.X_test[:n_test], whole.y_test[:n_test])
    return same_dataset(data, Dataset.from_parts(*parts, taxonomy=whole.taxonomy))


def test_what_is_dropped_early_is_what_would_be_dropped_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    numbers = random.permutation(np.arange(1, 201))
    rows = "".join(f"{number}  {number}:1\n" for number in numbers)
    judgements = "".join(f"C15 {number} 1\n" for number in range(1, 201))
    write(tmp_path, {"lyrl2004_vectors_train.dat": rows, "rcv1-v2.topics.qrels": judgements})
    monkeypatch.setattr(files, "CHUNK_BYTES", 64)
    for name in FILES:
        if "test" in name:
            (tmp_path / name).unlink()
    data = read_rcv1(tmp_path, n_train=20)
    assert not data.is_split
    assert data.X.indices.tolist() == list(range(20))


def test_packed_files_in_folders_of_their_own(tmp_path: Path) -> None:
    whole = read_rcv1(write(tmp_path))
    for name, content in FILES.items():
        (tmp_path / name).unlink()
        folder = tmp_path / f"a-{name}"
        folder.mkdir()
        (folder / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    assert same_dataset(read_rcv1(tmp_path), whole)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"lyrl2004_vectors_train.dat": None}, {}, "there is no lyrl2004_vectors_train.dat, packed or not"),
        ({"lyrl2004_vectors_test_pt0.dat": None}, {}, "there is no lyrl2004_vectors_test_pt0.dat"),
        ({"rcv1-v2.topics.qrels": None}, {}, "there is no rcv1-v2.topics.qrels"),
        ({"rcv1.topics.hier.orig": None}, {}, "there is no rcv1.topics.hier.orig"),
        ({"rcv1-v2.topics.qrels": "C15 2287 1\nC15 x 1\n"}, {}, "line 2, column 5: wanted the number of a document"),
        ({"rcv1-v2.topics.qrels": "C15 2287\n"}, {}, "line 1, column 9: wanted a 1 at the end of the line, got ''"),
        ({"rcv1-v2.topics.qrels": "C15 2287 1\nC16 2287 1\n"}, {}, "line 2, column 1: 'C16' is not in the taxonomy"),
        ({"rcv1-v2.topics.qrels": "C15 7 1\nM11 7 1\nC15 7 1\n"}, {}, "document 7 has the topic 'C15' twice"),
        ({"rcv1-v2.topics.qrels": "C15 7 1\n"}, {}, "none of the 6 documents is in this file"),
        ({"rcv1-v2.topics.qrels": "\n"}, {}, "the file has no judgements"),
        ({"lyrl2004_vectors_train.dat": "2286 1:1\nx 1:1\n"}, {}, "line 2, column 1: wanted the number of a document"),
        ({"lyrl2004_vectors_train.dat": "1 1:1\n2147483648 1:1\n"}, {}, "line 2, column 1: .* at most 2,147,483,647"),
        ({"lyrl2004_vectors_train.dat": "2286 0:1\n"}, {}, "line 1, column 6: the index of '0:1' is not in 1"),
        ({"lyrl2004_vectors_train.dat": "2286 7:1\n"}, {"n_features": 6}, "the index of '7:1' is not in 1 … 6"),
        ({"lyrl2004_vectors_train.dat": "2286 1:1\n2286 2:1\n"}, {}, "the document 2286 is there twice"),
        ({"lyrl2004_vectors_test_pt0.dat": "2286 1:1\n"}, {}, "a document is in the train part and in the test part"),
        ({"lyrl2004_vectors_train.dat": ""}, {}, "at least 1 documents of the train part are wanted; there are 0"),
        ({}, {"n_train": 4}, "at least 4 documents of the train part are wanted; there are 3"),
        (
            {},
            {"family": "M11", "n_test": 2},
            "2 documents of the test part are wanted with a topic of the family; there are 1",
        ),
        (
            {"rcv1.topics.hier.orig": ORIG + "parent: Root child: GCAT\n"},
            {"family": "GCAT"},
            "no document has a topic of the family 'GCAT'",
        ),
        (
            {"lyrl2004_tokens_train.dat": "market\n"},
            {"features": "tokens"},
            "line 1, column 1: wanted '.I' and the num",
        ),
        (
            {"lyrl2004_tokens_train.dat": ".I x\n"},
            {"features": "tokens"},
            "line 1, column 1: wanted '.I' and the number",
        ),
        ({"lyrl2004_tokens_train.dat": ".I 4294967297\n"}, {"features": "tokens"}, "at most 2,147,483,647, got '.I 42"),
        ({"lyrl2004_tokens_train.dat": ".I 7\nmarket\n"}, {"features": "tokens"}, "line 2, column 1: wanted '.W', got"),
        ({"lyrl2004_tokens_train.dat": ".I 7\n.I 8\n"}, {"features": "tokens"}, "begins on line 1 has no '.W'"),
        ({"lyrl2004_tokens_train.dat": ".I 7\n"}, {"features": "tokens"}, "begins on line 1 has no '.W'"),
        (
            {"lyrl2004_tokens_train.dat": b".I 6\n.W\n\n.I 7\n.W\na\nb \xff\n"},
            {"features": "tokens"},
            "line 7, column 3: byte 0xff is not UTF-8",
        ),
    ],
)
def test_what_is_wrong_is_refused(
    tmp_path: Path, changes: dict[str, str | bytes | None], options: dict[str, object], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        read_rcv1(write(tmp_path, changes), **options)  # type: ignore[arg-type]


def test_no_test_files_and_a_number_of_them(tmp_path: Path) -> None:
    changes = {name: None for name in FILES if "test" in name}
    with pytest.raises(DatasetError, match="n_test is 3, but there are no test files"):
        read_rcv1(write(tmp_path, changes), n_test=3)


@pytest.mark.parametrize(
    ("hierarchy", "options", "message"),
    [
        ("parent: CCAT\n", {}, "rcv1.topics.hier.orig: line 1"),
        (ORIG, {"family": "GCAT"}, "'GCAT' is not in the taxonomy"),
        ("", {}, "at least one node"),
    ],
)
def test_a_wrong_hierarchy(tmp_path: Path, hierarchy: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        read_rcv1(write(tmp_path, {"rcv1.topics.hier.orig": hierarchy}), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"features": "words"},
        {"hierarchy": "new"},
        {"root": 1},
        {"n_train": 0},
        {"n_test": 2.5},
        {"n_features": -1},
        {"dtype": "int8"},
    ],
)
def test_wrong_parameters(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"read_rcv1: {next(iter(options))}"):
        read_rcv1(write(tmp_path), **options)  # type: ignore[arg-type]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = data.draw(damaged(FILES[name].encode(), b".I", b".W", b"1 1\n", b":", b"parent:", b"child: C15"))
    write(tmp_path, {name: content})
    features = "tokens" if "tokens" in name else "vectors"
    hierarchy = "expanded" if "expanded" in name else "orig"
    try:
        found = read_rcv1(tmp_path, features=features, hierarchy=hierarchy)  # type: ignore[arg-type]
    except CladistError:
        return
    assert len(found.y) == found.X.shape[0] > 0


@pytest.mark.parametrize("name", ["rcv1-v2.topics.qrels", "lyrl2004_vectors_train.dat", "rcv1.topics.hier.orig"])
def test_a_damaged_archive(tmp_path: Path, name: str) -> None:
    packed = gzip.compress(FILES[name].encode())
    write(tmp_path, {name: packed[: len(packed) // 2]})
    with pytest.raises(CladistError, match="damaged or cut short"):
        read_rcv1(tmp_path)


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (b"x", "line 3: the line is longer than 67,108,864 bytes"),
        (b"word " * 200 + b"\n", "column 1: document 1 takes more than 67,108,864 bytes"),
    ],
)
def test_a_document_of_a_gigabyte(piece: bytes, message: str) -> None:
    stream = Repeated(b".I 1\n.W\n", piece, 2**30)

    def refused() -> None:
        with pytest.raises(DatasetError, match=message):
            list(read_tokens(stream))  # type: ignore[arg-type]

    _, _, peak = peak_memory(refused)
    assert stream.n_read < 100 * 2**20
    assert peak < 220 * 2**20


def test_judgements_of_a_gigabyte_on_a_line() -> None:
    stream = Repeated(b"CCAT 1 1\n", b"CCAT 1 1 ", 2**30)
    with pytest.raises(DatasetError, match="line 2: the line is longer"):
        Judgements(stream, Taxonomy.from_edges([("CCAT", "C15")]))  # type: ignore[arg-type]
    assert stream.n_read < 100 * 2**20


def test_memory_stays_below_three_times_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 1 << 16)
    taxonomy = Taxonomy.from_edges([("CCAT", f"C{k}") for k in range(50)])
    X = sparse.random(4000, 3000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    y = [["CCAT", f"C{k % 50}"] for k in range(4000)]
    write_rcv1(Dataset(X, y, taxonomy), tmp_path)
    read_rcv1(tmp_path)
    data, held, peak = peak_memory(lambda: read_rcv1(tmp_path))
    assert data.X.nnz == X.nnz
    assert peak < 3 * held + 0.5e6


words = st.text("abcXY019-.,:é日", min_size=1, max_size=4).filter(lambda name: name not in ("Root", "None"))
texts = st.lists(st.text("abc.019é", min_size=1, max_size=4), max_size=5).map(" ".join)


@st.composite
def datasets(draw: st.DrawFn, *, with_texts: bool) -> Dataset:
    taxonomy = draw(forests(names=words))
    n_rows = draw(st.integers(2, 6))
    label = st.sampled_from(taxonomy.names)
    some = st.lists(label, unique=True, min_size=1, max_size=3)
    y = [draw(some), *draw(st.lists(st.just([]) | some, min_size=n_rows - 1, max_size=n_rows - 1))]
    if with_texts:
        X = np.empty(n_rows, dtype=object)
        X[:] = [draw(texts.filter(lambda text: not text.startswith(".I"))) for _ in range(n_rows)]
    else:
        row = st.lists(st.floats(-1e9, 1e9, width=32), min_size=4, max_size=4)
        X = np.array(draw(st.lists(row, min_size=n_rows, max_size=n_rows)), np.float32)
    cut = draw(st.integers(0, n_rows - 1))
    if not cut:
        return Dataset(X, y, taxonomy)
    return Dataset(X, y, taxonomy, train_rows=slice(0, cut), test_rows=slice(cut, n_rows))


@pytest.mark.parametrize("features", ["vectors", "tokens"])
@given(data=st.data())
def test_what_is_written_is_read(features: str, data: st.DataObject) -> None:
    written = data.draw(datasets(with_texts=features == "tokens"))
    with tempfile.TemporaryDirectory() as folder:
        write_rcv1(written, folder)
        again = read_rcv1(folder, features=features, n_features=4)  # type: ignore[arg-type]
        assert same_dataset(again, written)
        assert again.taxonomy == written.taxonomy


def test_a_taxonomy_with_a_root_of_its_own(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_edges([("Root", "CCAT"), ("Root", "MCAT")])
    data = Dataset(np.eye(2), [["CCAT"], ["MCAT"]], taxonomy)
    write_rcv1(data, tmp_path / "new" / "folder")
    assert same_dataset(read_rcv1(tmp_path / "new" / "folder", root=True), data)
    single = Dataset(np.eye(2), np.array(["CCAT", "MCAT"], dtype=object), taxonomy)
    write_rcv1(single, tmp_path)
    assert read_rcv1(tmp_path).y == [["CCAT"], ["MCAT"]]


TREE = Taxonomy.from_edges([("a", "b")])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Dataset(np.eye(1), [["a"]]), "the Dataset has no taxonomy to write"),
        (Dataset(np.eye(1), [["c"]], TREE), "the label 'c' of row 0 is not in the taxonomy"),
        (Dataset(np.eye(1), [["a", "a"]], TREE), "row 0 has a label twice"),
        (Dataset(np.eye(1), [[]], TREE), "no row has a label"),
        (Dataset(np.zeros((0, 1)), [], TREE), "a part without rows cannot be written"),
        (Dataset(np.array([[np.inf]]), [["a"]], TREE), "row 0 of X holds inf"),
        (Dataset(np.eye(1), [["a"]], Taxonomy.from_edges([("a", "b c")])), "the topic 'b c' cannot be written"),
        (Dataset(np.eye(1), [["a"]], Taxonomy.from_edges([("a", "x" * 1001)])), "more than 1,000 bytes"),
        (Dataset(["a  b"], [["a"]], TREE), "the text 'a  b' cannot be written: words want single blanks"),
        (Dataset([".I 3"], [["a"]], TREE), "the text '.I 3' cannot be written"),
        (Dataset(["\ud800"], [["a"]], TREE), "cannot be written"),
        (Dataset([3], [["a"]], TREE), "the text '3' cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, data: Dataset, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        write_rcv1(data, tmp_path)
    assert not list(tmp_path.glob("*.dat"))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatasetError, match="the folder cannot be made"):
        write_rcv1(Dataset(np.eye(1), [["a"]], TREE), tmp_path / "file" / "folder")
    with pytest.raises(DatasetError, match="there is no such folder"):
        read_rcv1(tmp_path / "file")


@pytest.mark.data
def test_the_official_judgements(data_folder: Path, tmp_path: Path) -> None:
    folder = data_folder / "rcv1"
    judgements = (folder / "rcv1-v2.topics.train.qrels").read_text()
    numbers = sorted({int(line.split()[1]) for line in judgements.splitlines()})
    edges = [line.split("\t") for line in (folder / "topics.edges.tsv").read_text().splitlines()[1:]]
    hierarchy = "parent: None child: Root\n" + "".join(f"parent: {p}  child: {c}\n" for p, c in edges)
    (tmp_path / "rcv1-v2.topics.qrels").write_text(judgements)
    (tmp_path / "rcv1.topics.hier.orig").write_text(hierarchy)
    (tmp_path / "lyrl2004_vectors_train.dat").write_text("".join(f"{number}  1:1\n" for number in numbers))
    data = read_rcv1(tmp_path)
    assert (data.X.shape[0], sum(map(len, data.y))) == (23_149, 73_697)
    assert data.taxonomy is not None
    assert (data.taxonomy.n_nodes, len(data.taxonomy.roots), int(data.taxonomy.depth.max())) == (103, 4, 3)
    assert len({topic for topics in data.y for topic in topics}) == 101
    assert data.y[0] == ["E11", "ECAT", "M11", "M12", "MCAT"]
    assert read_topics(tmp_path / "rcv1.topics.hier.orig", root=True).n_nodes == 104
    family = read_rcv1(tmp_path, family="CCAT", n_train=2500)
    assert family.taxonomy is not None
    assert (family.taxonomy.n_nodes, int(family.taxonomy.depth.max()), len(family.y)) == (34, 3, 2500)
