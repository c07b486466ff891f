"""Loaders of real data sets of texts, on small folders in the official formats."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from cladist.datasets.loaders.free_sets import load_clinc150, load_news20
from cladist.datasets.loaders.official_codes import load_naics2017, load_onet_titles
from cladist.errors import CladistError, DatasetError, ParameterError
from cladist.progress import report_to
from tests.datasets.folders import CLINC_QUERIES, TEXTS, workbook


@pytest.fixture
def made(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The folder of the data set that the test names."""
    TEXTS[request.param](tmp_path)
    return tmp_path


def in_folder_of(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("made", [name], indirect=True)


# ---------------------------------------------------------------- 20 Newsgroups


@in_folder_of("news20")
def test_news20(made: Path) -> None:
    data = load_news20(folder=made)
    assert repr(data) == "Dataset(4 + 1 rows, 23 features, 5 nodes, 20 Newsgroups by date)"
    assert data.taxonomy.names == ("rec", "sci", "rec.autos", "sci.med", "sci.space")
    assert data.y_train.tolist() == ["rec.autos", "sci.med", "sci.space", "sci.space"]
    assert data.y_test.tolist() == ["sci.space"]
    assert data.texts_train[1] == "From: c@d\n\nA naïve question about the flu.\n"
    assert data.X.dtype == np.float32
    assert {data.feature_names[k] for k in data.X_test.indices} == {"from", "the", "moon", "shuttle"}


@in_folder_of("news20")
def test_news20_shows_one_bar_a_part(made: Path) -> None:
    shown: dict[str, int] = {}

    class Counting:
        def start(self, description: str, total: int | None) -> Counting:
            self.name = description
            shown[description] = 0
            return self

        def advance(self, steps: int = 1) -> None:
            shown[self.name] += steps

        def finish(self, task: object) -> None:
            pass

    with report_to(Counting()):
        load_news20(folder=made)
    assert {name: n for name, n in shown.items() if "20news" in name} == {
        "Reading 20news-bydate-train": 4,
        "Reading 20news-bydate-test": 1,
    }
    assert set(shown) - {"Reading 20news-bydate-train", "Reading 20news-bydate-test"} <= {"Reading hierarchy.tsv"}


@in_folder_of("news20")
def test_news20_with_a_group_that_is_not_in_the_tree(made: Path) -> None:
    (made / "20news-bydate-test" / "sci.spade").mkdir()
    with pytest.raises(DatasetError, match=r"sci\.spade: the tree has no group 'sci\.spade'.*sci\.space"):
        load_news20(folder=made)


@in_folder_of("news20")
def test_news20_without_posts_to_test_on(made: Path) -> None:
    (made / "20news-bydate-test" / "sci.space" / "70").unlink()
    with pytest.raises(DatasetError, match="20 Newsgroups by date: there are no texts in the test part"):
        load_news20(folder=made)


# ---------------------------------------------------------------- CLINC150


@in_folder_of("clinc150")
def test_clinc150(made: Path) -> None:
    data = load_clinc150(folder=made)
    assert (len(data.y_train), len(data.y_test), len(data.y_validation)) == (3, 2, 1)
    assert data.taxonomy.path("recipe") == ["kitchen_and_dining", "recipe"]
    assert data.y_test.tolist() == ["reservation", "freeze_account"]
    assert data.texts_validation.tolist() == ["please freeze"]
    assert "please" not in data.feature_names  # learnt from the training part alone


@in_folder_of("clinc150")
def test_clinc150_with_queries_out_of_scope(made: Path) -> None:
    data = load_clinc150(folder=made, out_of_scope=True)
    assert data.y_train.tolist() == ["freeze_account", "reservation", "freeze_account", "oos"]
    assert data.texts_test.tolist() == ["a table for two", "freeze", "sing"]
    assert data.taxonomy.path("oos") == ["oos"]
    assert data.source == "CLINC150 with out-of-scope queries"
    with pytest.raises(ParameterError, match="out_of_scope must be one of True, False"):
        load_clinc150(folder=made, out_of_scope="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("data_full.json", '{"train": [\n["a", ', r"data_full\.json, line 2, column \d+: not valid JSON"),
        ("data_full.json", "[]", "wanted a JSON object, got list"),
        ("data_full.json", "{}", r"'train' must hold a list of \[query, intent\] pairs"),
        ("data_full.json", '{"train": [["a"]]}', r"train\[0\] must be a \[query, intent\] pair of texts; got \['a'\]"),
        ("data_full.json", '{"train": [["a", "b"]]}', r"train\[0\] has the intent 'b', which is in no domain"),
        (
            "data_full.json",
            json.dumps(CLINC_QUERIES | {"val": []}),
            "CLINC150: there are no texts in the validation part",
        ),
        ("data_full.json", json.dumps(CLINC_QUERIES | {"train": [["?", "recipe"]]}), "no features can be fitted"),
        ("domains.json", '{"a": "b"}', "domain 'a' must hold a list"),
        ("domains.json", '{"a": ["b"], "c": ["b"]}', "'b' stands there twice"),
        ("domains.json", '{"a": ["a"]}', "'a' stands there twice"),
        ("domains.json", "[" * 100_000, "not a file of CLINC150"),
    ],
)
@in_folder_of("clinc150")
def test_clinc150_malformed(made: Path, file: str, content: str, message: str) -> None:
    (made / file).write_text(content)
    with pytest.raises(DatasetError, match=message):
        load_clinc150(folder=made)


# ---------------------------------------------------------------- O*NET


@in_folder_of("onet_titles")
def test_onet_titles(made: Path) -> None:
    data = load_onet_titles(folder=made)
    assert not data.is_split
    assert data.X.tolist() == ["Bank President", "Programmer", "Chief Green Officer"]
    assert data.y.tolist() == ["11-1011.00", "15-1252.00", "11-1011.03"]
    assert data.taxonomy.path("11-1011.03") == ["11-0000", "11-1000", "11-1010", "11-1011", "11-1011.03"]
    assert data.taxonomy.path("15-1252.00")[:3] == ["15-0000", "15-1200", "15-1250"]
    assert data.taxonomy.titles["15-1252.00"] == "Software Developers"
    assert data.descriptions["15-1252.00"] == "Design software."
    assert (data.relations.n_nodes, data.relations.n_edges) == (3, 2)


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("Alternate Titles.txt", "99-9999.00\tX\tn/a\t09", "line 5, column .*'99-9999.00' is not an occupation"),
        ("Alternate Titles.txt", "11-1010\tX\tn/a\t09", "line 5, column .*'11-1010' is not an occupation"),
        ("Alternate Titles.txt", "11-1011.00\tX", "line 5, column 3: the row has 2 fields"),
        ("Related Occupations.txt", "11-1011.00\tX\tn/a\t09", "line 5, column 'Related O.*'X' is not an occupation"),
        ("Related Occupations.txt", "11-1011.00\t11-1011.00\tn/a\t1", "line 5, column .*related to itself"),
        ("Occupation Data.txt", "11-1011\tX\tY", r"line 5, column .*'11-1011' is not an O\*NET-SOC code"),
        ("Occupation Data.txt", "11-1011.00\tX\tY", "line 5, column .*11-1011.00 has a row already"),
    ],
)
@in_folder_of("onet_titles")
def test_onet_titles_malformed(made: Path, file: str, line: str, message: str) -> None:
    with open(made / file, "a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(DatasetError, match=rf"{file}, {message}"):
        load_onet_titles(folder=made)


@in_folder_of("onet_titles")
def test_onet_titles_without_a_column(made: Path) -> None:
    (made / "Alternate Titles.txt").write_text("O*NET-SOC Code\tTitle\n11-1011.00\tX\n")
    with pytest.raises(DatasetError, match="there is no column 'Alternate Title'"):
        load_onet_titles(folder=made)
    (made / "Alternate Titles.txt").write_text("O*NET-SOC Code\tAlternate Title\n")
    with pytest.raises(DatasetError, match="a header but no rows"):
        load_onet_titles(folder=made)


# ---------------------------------------------------------------- NAICS


@in_folder_of("naics2017")
def test_naics2017(made: Path) -> None:
    data = load_naics2017(folder=made)
    assert not data.is_split
    assert data.X.tolist()[:2] == ["Soybean farming, field and seed production", "Sawmills"]
    assert data.y.tolist() == ["111110", "321113", "339999", "111110"]
    assert data.taxonomy.path("321113") == ["31-33", "321", "3211", "32111", "321113"]
    assert data.taxonomy.path("339999")[0] == "31-33"
    assert data.taxonomy.n_nodes == 14
    assert data.descriptions == data.taxonomy.titles
    assert data.descriptions["321113"] == "Sawmills"
    assert len(data.descriptions) == 4


@in_folder_of("naics2017")
def test_naics2017_without_the_workbook(made: Path) -> None:
    (made / "2-6 digit_2017_Codes.xlsx").unlink()
    index = made / "2017_NAICS_Index_File.csv"
    (made / f"{index.name}.gz").write_bytes(gzip.compress(index.read_bytes()))
    index.unlink()
    data = load_naics2017(folder=made)
    assert (data.taxonomy.n_nodes, data.descriptions) == (14, {})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("11111,Five", "line 7, column 'NAICS17': wanted six digits .*got '11111'"),
        ("١١١١١١,Six", "wanted six digits"),
        ("111111", "line 7, column 2: the row has 1 field"),
    ],
)
@in_folder_of("naics2017")
def test_naics2017_malformed(made: Path, line: str, message: str) -> None:
    with open(made / "2017_NAICS_Index_File.csv", "a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(DatasetError, match=message):
        load_naics2017(folder=made)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04", "not an .xlsx workbook, or a damaged one"),
        (workbook([("a", "b", "c"), ("1", "x", "y")]), r"row 2: wanted a number, a code and a title"),
        (workbook([("", "", "")]).replace(b"sharedStrings", b"sharedStrinks"), "damaged one"),
    ],
)
@in_folder_of("naics2017")
def test_naics2017_with_a_bad_workbook(made: Path, content: bytes, message: str) -> None:
    (made / "2-6 digit_2017_Codes.xlsx").write_bytes(content)
    with pytest.raises(CladistError, match=message):
        load_naics2017(folder=made)
