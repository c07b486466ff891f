"""ARFF-HMC files that are wrong: one sentence about the place and what to do."""

import io

import numpy as np
import pytest

from cladist.datasets import Dataset
from cladist.datasets.formats import arff
from cladist.datasets.formats.arff import read_arff_hmc
from cladist.errors import DatasetError, ParameterError
from tests.datasets.arff_text import HEADER

ROW = "a,0.5,w,1/1,3\n"
SPARSE_ROW = "{0 a, 3 1/1}\n"


def read(content: str | bytes, **options: object) -> Dataset:
    raw = content.encode() if isinstance(content, str) else content
    return read_arff_hmc(io.BytesIO(raw), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROW + "a,x,w,2,3\n", {}, r"line 12, column 3: wanted a number of float32 or \? for 'alpha \"0\"', got 'x'"),
        (ROW + "a,,w,2,3\n", {}, "line 12, column 3: wanted a number"),
        (ROW + "a,1 2,w,2,3\n", {}, "line 12, column 3: wanted a number of float32 .* got '1 2'"),
        (ROW + "a,nan,w,2,3\n", {}, "wanted a number of float32 .* got 'nan'"),
        (ROW + "a,1e999,w,2,3\n", {}, "wanted a number of float32 .* got '1e999'"),
        (ROW + "a,1e39,w,2,3\n", {}, "line 12, column 3: wanted a number of float32 .* got '1e39'"),
        (ROW + "a,1" + "0" * 170 + ",w,2,3\n", {}, "line 12, column 3: wanted a number of float32 .* got '10+…'"),
        (ROW + "a,1,W,2,3\n", {}, r"line 12, column 5: wanted one of its values or \? for 'strand', got 'W'"),
        (ROW + "a,1,c  c,2,3\n", {}, "wanted one of its values .* for 'strand', got 'c  c'"),
        (ROW + 'a,1,"it\\"s",2,3\n', {}, "line 12, column 5: wanted one of its values .* for 'strand'"),
        (ROW + "a,1,\xff,2,3\n", {}, "wanted one of its values"),
        (ROW + "a,1,w,1/3,3\n", {}, "line 12, column 7: the label '1/3' is not in the hierarchy; did you mean '1/2/3'"),
        (ROW + "a,1,w,2@x,3\n", {}, "line 12, column 7: the label 'x' is not in the hierarchy"),
        (ROW + "a,1,w,2@?,3\n", {}, "the label '\\?' is not in the hierarchy"),
        (ROW + "a,1,w,,3\n", {}, "line 12, column 7: the label '' is not in the hierarchy"),
        (ROW + "a,1,w,2@,3\n", {}, "line 12, column 7: the label '' is not in the hierarchy"),
        (ROW + "a,1,w,2@@1,3\n", {}, "line 12, column 7: the label '' is not in the hierarchy"),
        (ROW + "a,1,w,2\n", {}, "line 12, column 8: the row has fewer values than the 5 attributes"),
        (ROW + "a,1,w,2 % no length\n", {}, "line 12, column 9: the row has fewer values than the 5 attributes"),
        (ROW + "a,1,w,2,3,4\n", {}, "line 12, column 10: the row has more values than the 5 attributes"),
        (ROW + "a,1,w,2,3,{5}\n", {}, "line 12, column 10: the row has more values than the 5 attributes"),
        (ROW + "'a' b,1,w,2,3\n", {}, "line 12, column 5: the row is malformed at 'b,1,w,2,3'; wanted values"),
        (ROW + "a,1,w,2,3 {5}\n", {}, "line 12, column 9: wanted a number of float32 .* got '3 .5.'"),
        (SPARSE_ROW + "{3 2}, {5}\n", {}, "line 12, column 5: the row is malformed at '}, .5.'"),
        (ROW + "'a,1,w,2,3\n", {}, "line 12, column 1: the row is malformed at ['\"]'"),
        (ROW + "a,1,'w,2,3\n", {}, "line 12, column 5: the row is malformed at ['\"]'"),
        (ROW + "a,1,w,'2,3\n", {}, "line 12, column 7: the row is malformed at ['\"]'"),
        (ROW + "a,1,w,'2\\", {}, "line 12, column 7: the row is malformed at ['\"]'"),
        (ROW + SPARSE_ROW, {}, "line 12, column 1: the row is malformed .* braces if the first row has them"),
        (SPARSE_ROW + ROW, {}, "line 12, column 1: the row is malformed .* braces if the first row has them"),
        (SPARSE_ROW + "{3}\n", {}, "line 12, column 2: wanted an index in 0 … 4, once in a row, and .* got '3'"),
        (SPARSE_ROW + "{x 1}\n", {}, "line 12, column 2: wanted an index in 0 … 4"),
        (SPARSE_ROW + "{-1 1}\n", {}, "line 12, column 2: wanted an index in 0 … 4"),
        (SPARSE_ROW + "{5 1}\n", {}, "line 12, column 2: wanted an index in 0 … 4, .* got '5 1'"),
        (SPARSE_ROW + "{0 1}\n", {"zero_based": False}, "wanted an index in 1 … 5, .* got '0 a'"),
        (SPARSE_ROW + "{1000000000000 1}\n", {}, "wanted an index in .* got '1000000000000 1'"),
        (SPARSE_ROW + "{99999999999999999999999999 1}\n", {}, "wanted an index in .* got '9+ 1'"),
        (SPARSE_ROW + "{1 1, 1 1}\n", {}, "line 12, column 7: wanted an index in 0 … 4, once in a row, .* got '1 1'"),
        (SPARSE_ROW + "{1 1, 3 2\n", {}, "line 12, column 5: the row is malformed at ', 3 2'"),
        (SPARSE_ROW + "{1 1,\n", {}, "line 12, column 5: the row is malformed at ','"),
        (SPARSE_ROW + "{1 1 3 2}\n", {}, "line 12, column 4: wanted a number of float32 .* got '1 3 2'"),
        (SPARSE_ROW + "{1 x}\n", {}, "line 12, column 4: wanted a number"),
        (SPARSE_ROW + "{2 x}\n", {}, "line 12, column 4: wanted one of its values .* for 'strand', got 'x'"),
        (SPARSE_ROW + "{3 9}\n", {}, "line 12, column 4: the label '9' is not in the hierarchy"),
        (SPARSE_ROW + "{0 'x}\n", {}, "line 12, column 4: the row is malformed at ['\"]'"),
        ("{1 1}\n", {}, "no row tells whether indices begin at 0 or at 1; say it with zero_based"),
        (ROW + "a,1,w,?,3\n", {}, "line 12, column 1: the row has no label"),
        (ROW + "a,1,w,?,3\n", {"multilabel": False}, "line 12, column 1: the row has no label"),
        (SPARSE_ROW + "{4 1}\n", {}, "line 12, column 1: the row has no label"),
        (ROW + "a,1,w,2@1/1,3\n", {"multilabel": False}, "line 12, column 1: the row has several labels"),
        ("", {}, "there are no rows below @data"),
        ("% nothing\n \n", {}, "there are no rows below @data"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("piece", [1 << 16, 1])
def test_a_malformed_row_is_refused_where_it_is_wrong(
    rows: str, options: dict[str, object], message: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arff, "PIECE", piece)
    with pytest.raises(DatasetError, match=message):
        read((HEADER + rows).encode("latin-1"), **options)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "wanted a header that ends with a line @data"),
        ("@relation x\n@attribute a numeric\n", "wanted a header that ends with a line @data"),
        ("1,2,3\n", "line 1: wanted @relation, @attribute, @data .* got '1,2,3'"),
        ("@attributes a numeric\n", "line 1: wanted @relation"),
        ("\u00a0\n", "line 1: wanted @relation"),
        ("@attribute a numeric\n@data\n1\n", "wanted a header .* has one attribute such as"),
        (
            "@attribute a hierarchical 1\n@attribute b hierarchical 1\n@data\n",
            "wanted a header .* has one attribute such as",
        ),
        ("@attribute\n", "line 1: wanted @attribute NAME TYPE"),
        ("@attribute 'a real\n", "line 1: wanted @attribute NAME TYPE"),
        ("@attribute a\n", "line 1: wanted @attribute NAME TYPE, .* got '@attribute a'"),
        ("@attribute a relational\n", "line 1: wanted .*, where TYPE is numeric, .* got '@attribute a relational'"),
        ("@attribute a b numeric\n", "wanted @attribute NAME TYPE"),
        ("@attribute a numeric [0,1]\n", "wanted @attribute NAME TYPE"),
        ("@attribute a {x,y\n", "different values as in {red, 'dark blue'}.* got '@attribute a {x,y'"),
        ("@attribute a {x,,y}\n", "different values as in .* got '@attribute a {x,,y}'"),
        ("@attribute a {}\n", "different values as in .* got '@attribute a {}'"),
        ("@attribute a {x,'y}\n", "different values as in"),
        ("@attribute a {x,y,x}\n", "different values as in .* got '@attribute a {x,y,x}'"),
        ("@attribute a {x,y} {2}\n", "different values as in"),
        ("@attribute a hierarchical\n@data\nx\n", "line 1: the hierarchical attribute lists ''"),
        ("@attribute a hierarchical a,,b\n@data\nx\n", "line 1: the hierarchical attribute lists ''; wanted paths"),
        ("@attribute a hierarchical a//b\n@data\nx\n", "line 1: the hierarchical attribute lists 'a//b'"),
        ("@attribute a hierarchical /a\n@data\nx\n", "line 1: the hierarchical attribute lists '/a'"),
        ("@attribute a hierarchical root/a,a/b,b/a\n@data\nx\n", "line 1: Taxonomy has a cycle: .* edge 'b/a'"),
        (
            "@attribute a hierarchical root/a,a/root\n@data\nx\n",
            "line 1: the hierarchical attribute lists 'a/root'; wanted edges 'parent/child', none to 'root'",
        ),
        ("@attribute a hierarchical ?\n@data\nx\n", "line 1: A taxonomy needs at least one node"),
    ],
)
def test_a_malformed_header_is_refused(header: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read(header)


def test_a_forced_kind_that_does_not_fit() -> None:
    with pytest.raises(DatasetError, match="line 1: the hierarchical attribute lists '1'; wanted edges 'parent/child'"):
        read("@attribute a hierarchical 1,1/2\n@data\n1\n", hierarchy="dag")


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(DatasetError, match="line 1, column 12: byte 0xe9 is not UTF-8"):
        read(b"@attribute \xe9 numeric\n")
    with pytest.raises(DatasetError, match=r"line 3, column 1: the label '\\\\xff' is not in"):
        read(b"@attribute a hierarchical 1\n@data\n\xff\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": np.int32}, "dtype must be float32 or float64"),
        ({"multilabel": "yes"}, "multilabel must be one of"),
        ({"hierarchy": "forest"}, "hierarchy must be one of"),
        ({"zero_based": 2}, "zero_based must be one of"),
        (
            {"id_columns": ["lenght"]},
            "id_columns must name attributes to leave out; the stream has no attribute 'lenght'",
        ),
        ({"id_columns": "class"}, "has no attribute 'class', or it holds the labels"),
    ],
)
def test_wrong_parameters(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read(HEADER + ROW, **options)


FIRST = "@attribute x real\n@attribute s {v, w}\n@attribute class hierarchical a,b\n@data\n1,v,a\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x real", "y real", "line 1: its attributes are not those of the stream; 'y' is the first that differs"),
        ("x real", "x string", "line 1: its attributes are not those of .* 'x' is the first that differs"),
        ("{v, w}", "{w, v}", "line 2: its attributes are not those of .* 's' is the first that differs"),
        ("@data", "@attribute z real\n@data", "line 4: its attributes are not those of .* 'z' is the first"),
        ("@attribute s {v, w}\n", "", "line 2: its attributes are not those of .* 'class' is the first"),
        ("hierarchical a,b", "hierarchical a,c", "line 3: its hierarchy is not that of the stream; say with taxonomy"),
        ("1,v,a", "1,v,c", "line 5, column 5: the label 'c' is not in the hierarchy"),
    ],
)
def test_a_second_file_that_does_not_suit_the_first(old: str, new: str, message: str) -> None:
    second = FIRST.replace(old, new)
    assert second != FIRST
    with pytest.raises(DatasetError, match=message):
        read_arff_hmc(io.BytesIO(FIRST.encode()), io.BytesIO(second.encode()))


def test_at_most_three_files() -> None:
    with pytest.raises(ParameterError, match="wanted a training, a validation and a test file at most; got 4 files"):
        read_arff_hmc(*[io.BytesIO(FIRST.encode()) for _ in range(4)])
