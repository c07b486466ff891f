"""Errors say where in a file a problem is, in words and in fields, and travel between processes."""

import io
import pickle

import pytest

from cladist.datasets import read_arff_hmc, read_lshtc, read_rcv1, read_svmlight
from cladist.datasets.dataset import NotSplitError
from cladist.errors import CladistError, DatasetError, LocatedError, TaxonomyError
from cladist.taxonomy import Taxonomy

TREE = Taxonomy.from_paths(["a/b", "a/c"])
ARFF = "@attribute x real\n@attribute class hierarchical a,b\n@data\n"


def test_an_error_without_a_place_has_empty_fields() -> None:
    error = DatasetError("no rows.")
    assert str(error) == "no rows."
    assert (error.file, error.line, error.column, error.kind) == (None, None, None, None)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (("a.csv", 3, "label"), "a.csv, line 3, column 'label': bad."),
        (("a.csv", 3, 7), "a.csv, line 3, column 7: bad."),
        (("a.csv", 3, None), "a.csv, line 3: bad."),
        (("a.csv", None, None), "a.csv: bad."),
    ],
)
@pytest.mark.parametrize("error_class", [DatasetError, TaxonomyError, NotSplitError])
def test_errors_survive_pickling(error_class: type[LocatedError], place: tuple, sentence: str) -> None:
    error = error_class.at(*place, "bad.", kind="bad-thing")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is error_class
    assert str(again) == str(error) == sentence
    assert (again.file, again.line, again.column, again.kind) == (*place, "bad-thing")


def svmlight(text: str, **options: object) -> object:
    return read_svmlight(io.BytesIO(text.encode()), **options)  # type: ignore[arg-type]


def arff(text: str) -> object:
    return read_arff_hmc(io.BytesIO((ARFF + text).encode()))


@pytest.mark.parametrize(
    ("read", "line", "column", "kind"),
    [
        (lambda: svmlight("a 1:1\na 2:x\n"), 2, 5, "bad-number"),
        (lambda: svmlight("a 1:1e39\n"), 1, 5, "number-range"),
        (lambda: svmlight("a 2:1 1:1\n"), 1, 7, "index-order"),
        (lambda: svmlight("a 0:1\n", zero_based=False), 1, 3, "index-zero"),
        (lambda: svmlight("a 9:1\n", n_features=4), 1, 3, "index-range"),
        (lambda: svmlight("a qid:1\n"), 1, 3, "query-id"),
        (lambda: svmlight("a 1:1\n1:1\n"), 2, 1, "no-label"),
        (lambda: svmlight("b 1:1\nd 1:1\n", taxonomy=TREE), 2, 1, "unknown-label"),
        (lambda: svmlight(""), None, None, "no-rows"),
        (lambda: read_lshtc(io.BytesIO(b"b 0:7 1:1\nc 2:1\n"), TREE), 2, 3, "no-document-id"),
        (lambda: read_lshtc(io.BytesIO(b"b 1:1 1:1\n"), TREE), 1, 7, "repeated-index"),
        (lambda: arff("1,a\nx,b\n"), 5, 1, "bad-number"),
        (lambda: arff("1,a,2\n"), 4, 4, "column-count"),
        (lambda: arff("1,c\n"), 4, 3, "unknown-label"),
        (lambda: arff("{0 1}\n{1 q}\n"), 5, 4, "unknown-label"),
        (lambda: read_arff_hmc(io.BytesIO(b"@attribute a {x\n")), 1, None, "bad-header"),
        (lambda: read_arff_hmc(io.BytesIO(b"@attribute a hierarchical a//b\n@data\na\n")), 1, None, "bad-hierarchy"),
    ],
)
def test_readers_set_the_fields(read, line: int | None, column: int | None, kind: str) -> None:
    with pytest.raises(LocatedError) as caught:
        read()
    error = caught.value
    assert (error.file, error.line, error.column, error.kind) == ("the stream", line, column, kind)
    place = "the stream" + (f", line {line}" if line else "") + (f", column {column}" if column else "")
    assert str(error).startswith(f"{place}: ")


def test_every_error_is_one_of_ours() -> None:
    with pytest.raises(CladistError):
        read_rcv1("no such folder")
