"""Phonemes: TIMIT's labels beside HTK's features, tables of frames, folding and the phonetic tree."""

import gzip
import io
import json
import struct
import tempfile
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from cladist import Taxonomy
from cladist.datasets import Dataset
from cladist.datasets.corpora import phonemes
from cladist.datasets.corpora.phonemes import phonetic_tree, read_phonemes
from cladist.errors import CladistError, DatasetError, ParameterError

MFCC_E_D_A = 6 | 0o100 | 0o400 | 0o1000
PERIOD = 100_000  # 10 ms, 160 samples of TIMIT
PHN = "0 480 h#\n480 800 sh\n800 1120 ix\n1120 1280 q\n1280 1600 h#\n"  # 3 + 2 + 2 + 1 + 2 frames
CSV = "utterance,phoneme,c1,c2\na,h#,0,1\na,iy,2,3\na,iy,4,5\nb,d,6,7\nb,ux,8,9\nb,q,10,11\nb,ao,12,13\nb,h#,14,15\n"


def as_htk(values: np.ndarray, period: int = PERIOD, kind: int = MFCC_E_D_A) -> bytes:
    return struct.pack(">iihH", len(values), period, 4 * values.shape[1], kind) + values.astype(">f4").tobytes()


def frames(n_frames: int = 10, width: int = 3) -> np.ndarray:
    return np.arange(n_frames * width, dtype=np.float32).reshape(n_frames, width)


def utterance(folder: Path, name: str = "SA1", labels: str = PHN, content: bytes | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.PHN").write_text(labels)
    (folder / f"{name}.mfc").write_bytes(as_htk(frames()) if content is None else content)
    return folder


def read_table(content: str, **options: object) -> Dataset:
    return read_phonemes(io.BytesIO(content.encode()), **options)  # type: ignore[arg-type]


# ---------------------------------------------------------------- a folder of TIMIT


def test_each_frame_is_stacked_with_its_neighbours(tmp_path: Path) -> None:
    data = read_phonemes(utterance(tmp_path / "dr1" / "fcjf0"), stack=3)
    # Frame 7 is a glottal stop, which is left out; frames 0 and 9 have one neighbour only.
    assert data.y.tolist() == ["sil", "sil", "sh", "sh", "ih", "ih", "sil"]
    middles = [1, 2, 3, 4, 5, 6, 8]
    assert data.X.dtype == np.float32
    assert np.array_equal(data.X, [np.concatenate(frames()[m - 1 : m + 2]) for m in middles])
    assert data.taxonomy == phonetic_tree()
    assert data.feature_names is None


def test_stack_of_five_by_default_and_of_one(tmp_path: Path) -> None:
    utterance(tmp_path)
    assert read_phonemes(tmp_path).X.shape == (5, 15)
    assert read_phonemes(tmp_path, stack=1).X.shape == (9, 3)
    assert read_phonemes(tmp_path, stack=1, n_phonemes=61).y.tolist() == [
        "h#", "h#", "h#", "sh", "sh", "ix", "ix", "q", "h#", "h#",
    ]  # fmt: skip
    assert read_phonemes(tmp_path, stack=9, n_phonemes=61).y.tolist() == ["sh", "ix"]
    with pytest.raises(DatasetError, match="no utterance has 11 frames with a phoneme in the middle"):
        read_phonemes(tmp_path, stack=11)


def test_a_frame_has_the_label_of_the_middle_of_its_step(tmp_path: Path) -> None:
    utterance(tmp_path, labels="100 239 iy\n240 300 s\n721 9999 z\n")
    # The middles are 80, 240, 400, 560, 720, 880, …: before, in, between, between, between, in.
    data = read_phonemes(tmp_path, stack=1)
    assert data.y.tolist() == ["s", "z", "z", "z", "z", "z"]
    assert data.X[:2, 0].tolist() == [3, 15]


def test_train_and_test_folders_split(tmp_path: Path) -> None:
    utterance(tmp_path / "TRAIN" / "DR1", "SA1")
    utterance(tmp_path / "TRAIN" / "DR2", "SA1")
    utterance(tmp_path / "TEST" / "DR1", "SX3")
    data = read_phonemes(tmp_path)
    assert (len(data.X_train), len(data.X_test)) == (10, 5)
    assert not read_phonemes(tmp_path / "TRAIN").is_split


def test_packed_files_and_the_other_ending(tmp_path: Path) -> None:
    (tmp_path / "sa1.phn.gz").write_bytes(gzip.compress(PHN.encode(), mtime=0))
    (tmp_path / "SA1.HTK.gz").write_bytes(gzip.compress(as_htk(frames()), mtime=0))
    assert len(read_phonemes(tmp_path).X) == 5


def test_a_given_tree(tmp_path: Path) -> None:
    utterance(tmp_path)
    tree = Taxonomy.from_paths(["sound/h#", "sound/sh", "sound/ix", "q"])
    data = read_phonemes(tmp_path, tree=tree, n_phonemes=61)
    assert data.taxonomy is tree
    assert set(data.y) == {"h#", "sh", "ix", "q"}
    with pytest.raises(
        DatasetError, match=r"SA1\.PHN, line 1: the phoneme 'sil' \(folded from 'h#'\) is not in the tree"
    ):
        read_phonemes(tmp_path, tree=tree)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("0 480\n", r"SA1\.PHN, line 1, column 1: a segment is 'start end phoneme'; got '0 480'"),
        ("0 480 h#\n\n480 x sh\n", "line 3, column 1: a segment is"),
        ("-1 480 h#\n", "line 1, column 1: a segment is"),
        (f"0 {'9' * 5000} h#\n", "line 1, column 1: a segment is"),
        ("0 ٤٨٠ h#\n", "line 1, column 1: a segment is"),
        ("480 480 h#\n", "line 1, column 1: segments follow each other in time; this one is 480 to 480"),
        ("480 800 h#\n0 480 sh\n", "line 2, column 1: segments follow each other in time; this one is 0 to 480"),
        ("0 480 xx\n", "line 1: the phoneme 'xx' is not in the tree"),
        ("\n\n", "there are no segments"),
    ],
)
def test_malformed_labels_are_refused_where_they_are_wrong(tmp_path: Path, labels: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read_phonemes(utterance(tmp_path, labels=labels))


def test_files_that_are_missing_or_do_not_belong_together(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"there are no \.phn files"):
        read_phonemes(tmp_path)
    (tmp_path / "SA1.PHN").write_text(PHN)
    with pytest.raises(DatasetError, match=r"SA1\.PHN: one feature file beside it is wanted, .*; there are 0"):
        read_phonemes(tmp_path)
    utterance(tmp_path)
    (tmp_path / "SA1.htk").write_bytes(as_htk(frames()))
    with pytest.raises(DatasetError, match="there are 2"):
        read_phonemes(tmp_path)
    (tmp_path / "SA1.htk").unlink()
    utterance(tmp_path, "SA2", content=as_htk(frames(width=4)))
    with pytest.raises(DatasetError, match=r"SA2\.mfc: its vectors have 4 entries, those before it 3"):
        read_phonemes(tmp_path)


def test_segments_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phonemes, "MOST_SEGMENTS", 4)
    with pytest.raises(DatasetError, match="line 5, column 1: more than 4 segments"):
        read_phonemes(utterance(tmp_path))


@given(st.binary(max_size=40), st.integers(0, 60), st.text("0189 h#\nqix٤", max_size=4))
@settings(max_examples=100)
def test_whatever_labels_come_in_only_our_error_comes_out(noise: bytes, position: int, put: str) -> None:
    changed = (PHN[:position] + put + PHN[position + len(put) :]).encode()
    with tempfile.TemporaryDirectory() as folder:
        utterance(Path(folder))
        for content in (noise, changed):
            (Path(folder) / "SA1.PHN").write_bytes(content)
            with suppress(CladistError):
                data = read_phonemes(folder)
                assert len(data.X) == len(data.y) > 0


# ---------------------------------------------------------------- tables


def test_a_table_of_frames() -> None:
    data = read_table(CSV, stack=3)
    assert data.y.tolist() == ["iy", "uw", "ao"]
    assert data.X.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [10, 11, 12, 13, 14, 15]]
    assert data.feature_names == ["c1[-1]", "c2[-1]", "c1[+0]", "c2[+0]", "c1[+1]", "c2[+1]"]
    assert read_table(CSV, stack=1).feature_names == ["c1", "c2"]
    assert read_table(CSV.replace(",", "\t"), stack=3).X.tolist() == data.X.tolist()


def test_a_table_of_json_lines() -> None:
    rows = [{"c1": k, "phoneme": "iy", "utterance": 7, "c2": -1.5} for k in range(4)]
    data = read_table("\n".join(map(json.dumps, rows)), stack=3)
    assert data.X.tolist() == [[0, -1.5, 1, -1.5, 2, -1.5], [1, -1.5, 2, -1.5, 3, -1.5]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("utterance,c1\na,1\n", "line 2: there is no column 'phoneme'; there are 'utterance', 'c1'"),
        ("phoneme,c1\na,1\n", "line 2: there is no column 'utterance'"),
        ("utterance,phoneme\na,iy\n", "line 2: there are no columns of features"),
        ("utterance,phoneme,c1\na,iy,x\n", "line 2, column 'c1': wanted a finite number, got 'x'"),
        ("utterance,phoneme,c1\na,iy,\n", "line 2, column 'c1': wanted a finite number, got ''"),
        ("utterance,phoneme,c1\na,iy,nan\n", "wanted a finite number, got 'nan'"),
        ("utterance,phoneme,c1\na,iy,1e39\n", "wanted a finite number, got '1e39'"),
        ("utterance,phoneme,c1\na,,1\n", "line 2, column 'phoneme': wanted a name, got ''"),
        ("utterance,phoneme,c1\na,zz,1\n", "line 2: the phoneme 'zz' is not in the tree"),
        ("utterance,phoneme,c1\na,iy,1\nb,iy,1\na,iy,1\n", "line 4, column 'utterance': 'a' ended further up"),
        ('{"utterance": "a", "phoneme": "iy", "c1": [1]}', r"wanted a finite number, got \[1\]"),
        ('{"utterance": "a", "phoneme": "iy", "c1": true}', "wanted a finite number, got True"),
        ('{"utterance": "a", "phoneme": "iy", "c1": ' + "9" * 999 + "}", "wanted a finite number, got 999"),
        ('{"utterance": {}, "phoneme": "iy", "c1": 1}', "column 'utterance': wanted a name, got {}"),
        (
            '{"utterance": "a", "phoneme": "iy", "c1": 1}\n{"utterance": "a", "phoneme": "iy", "c1": 1, "c2": 2}',
            r"line 2, column 1: the row has the columns \['c1', 'c2', .*, the first \['c1', 'p",
        ),
        ("utterance,phoneme,c1\na,iy,1\n", "no utterance has 5 frames with a phoneme in the middle"),
        ("", "the file is empty"),
    ],
)
def test_a_malformed_table_is_refused_where_it_is_wrong(content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read_table(content)


@pytest.mark.parametrize("stack", [0, 2, -1, 1.0, True, "5", None])
def test_a_stack_is_an_odd_number(stack: object) -> None:
    with pytest.raises(ParameterError, match="stack must be an odd number, 1 or more; got"):
        read_table(CSV, stack=stack)


def test_a_stack_of_more_frames_than_there_are_takes_no_memory() -> None:
    with pytest.raises(DatasetError, match="no utterance has"):
        read_table(CSV, stack=10**30 + 1)


def test_memory_follows_the_rows() -> None:
    values = np.round(np.random.default_rng(0).normal(size=(2000, 20)), 3)
    lines = [f"{k // 100},iy," + ",".join(map(str, row)) for k, row in enumerate(values)]
    content = "utterance,phoneme," + ",".join(f"c{k}" for k in range(20)) + "\n" + "\n".join(lines)
    stream = io.BytesIO(content.encode())
    tracemalloc.start()
    data = read_phonemes(stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data.X.shape == (1920, 100)
    assert peak < 3 * data.X.nbytes + 2**20


@given(st.data())
@settings(max_examples=50)
def test_what_is_written_is_read(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    stack = data.draw(st.sampled_from([1, 3, 5]))
    n_frames = sum(sizes)
    values = data.draw(npst.arrays(np.float32, (n_frames, 2), elements=st.floats(-1e6, 1e6, width=32)))
    labels = data.draw(st.lists(st.sampled_from(["iy", "s", "q"]), min_size=n_frames, max_size=n_frames))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    rows = [f"u{u},{label},{x!r},{y!r}" for u, label, (x, y) in zip(owner, labels, values.tolist(), strict=True)]
    half = stack // 2
    middles = [
        m
        for m in range(half, n_frames - half)
        if owner[m - half] == owner[m + half] and labels[m] != "q"
    ]  # fmt: skip
    content = "\n".join(["utterance,phoneme,a,b", *rows])
    if not middles:
        with pytest.raises(DatasetError, match="no utterance has"):
            read_table(content, stack=stack)
        return
    found = read_table(content, stack=stack)
    assert np.array_equal(found.X, [values[m - half : m + half + 1].ravel() for m in middles])
    assert found.y.tolist() == [labels[m] for m in middles]


@given(st.binary(max_size=80), st.integers(0, len(CSV)), st.text('abiyq,\n"0.e-', max_size=5))
@settings(max_examples=150)
def test_whatever_table_comes_in_only_our_error_comes_out(noise: bytes, position: int, put: str) -> None:
    changed = (CSV[:position] + put + CSV[position + len(put) :]).encode()
    for content in (noise, changed):
        with suppress(CladistError):
            assert len(read_phonemes(io.BytesIO(content), stack=3).X) > 0
