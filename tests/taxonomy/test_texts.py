"""Titles, descriptions and synonyms of nodes: kept by transforms, files and models."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import RecursiveSVM, Taxonomy, load
from cladist.errors import ModelFormatError, TaxonomyError
from cladist.evaluation.edits import Edit, apply_edits
from cladist.taxonomy.arrays import pack_taxonomy, unpack_taxonomy
from cladist.taxonomy.formats.reader import parse
from cladist.taxonomy.formats.writer import format_taxonomy
from tests.strategies import AWKWARD, dags, forests, plain_names

TITLES = {"J": "Lungs", "J45": "Asthma"}
DESCRIPTIONS = {"J": "Diseases of the respiratory system", "J20": 'A "chest cold", as\nit is called; short'}
SYNONYMS = {"J45": ("wheezing", "reactive airways, chronic"), "J20": ("chest cold",)}
TREE = Taxonomy.from_parents(
    {"J": None, "J45": "J", "J20": "J"}, titles=TITLES, descriptions=DESCRIPTIONS, synonyms=SYNONYMS
)
DAG = Taxonomy.from_parents(
    {"J": None, "K": None, "J45": ["J", "K"], "J20": "J"}, titles=TITLES, descriptions=DESCRIPTIONS, synonyms=SYNONYMS
)
letters = st.text(AWKWARD.replace("\0", "").replace("|", "") + "ab", min_size=1, max_size=5)
words = letters.map(str.strip).filter(bool)


def texts_of(taxonomy):
    return taxonomy.titles, taxonomy.descriptions, taxonomy.synonyms


@st.composite
def described(draw, shapes, texts=words):
    taxonomy = draw(shapes)
    names = st.sampled_from(taxonomy.names)
    several = st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple)
    drawn = (draw(st.dictionaries(names, kind)) for kind in (texts, texts, several))
    return taxonomy.with_texts(*drawn)


def test_texts_are_given_by_name():
    assert texts_of(TREE) == (TITLES, DESCRIPTIONS, SYNONYMS)
    assert texts_of(DAG) == (TITLES, DESCRIPTIONS, SYNONYMS)
    bare = Taxonomy.from_parents({"J": None, "J45": "J", "J20": "J"})
    assert bare == TREE
    assert texts_of(bare) == ({}, {}, {})


def test_numbers_name_nodes_and_missing_texts_are_none():
    tree = Taxonomy.from_parents(
        {1: None, 2: 1},
        titles={1: "one", 2: float("nan")},
        descriptions={2: None, 1: ""},
        synonyms={1: ["", "uno"], 2: []},
    )
    assert texts_of(tree) == ({"1": "one"}, {}, {"1": ("uno",)})


def test_what_is_returned_is_a_copy():
    TREE.descriptions["J"] = "changed"
    TREE.synonyms.clear()
    assert texts_of(TREE) == (TITLES, DESCRIPTIONS, SYNONYMS)


def test_words_of_a_node():
    assert TREE.words_of("J45") == "Asthma. wheezing. reactive airways, chronic"
    assert TREE.words_of("J") == "Lungs. Diseases of the respiratory system"
    assert Taxonomy.from_parents({"J": None}).words_of("J") == "J"


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({"descriptions": {"J": ["a", "list"]}}, r"descriptions are texts; that of 'J' is \['a', 'list'\]"),
        ({"titles": ["a"]}, "titles must be a mapping by name of node; got list"),
        ({"synonyms": {"J": "chest cold"}}, "synonyms are lists of texts; those of 'J' are 'chest cold'"),
        ({"synonyms": {"J": [1]}}, r"synonyms are lists of texts; those of 'J' are \(1,\)"),
    ],
)
def test_texts_of_another_kind_are_refused(texts, problem):
    with pytest.raises(TaxonomyError, match=problem):
        Taxonomy.from_parents({"J": None}, **texts)


@given(described(forests()))
def test_transforms_keep_the_texts(taxonomy):
    texts = texts_of(taxonomy)
    stars = [taxonomy.flattened(), taxonomy.flattened(keep="leaves")]
    wholes = [taxonomy.with_stop_leaves(), taxonomy.with_separator(">"), taxonomy.with_node("one more")]
    for made in [taxonomy.contracted(), taxonomy.spanning_forest(), *stars, *wholes, *map(taxonomy.subtree, taxonomy)]:
        for before, after in zip(texts, texts_of(made), strict=True):
            assert after == {name: text for name, text in before.items() if name in made}
    assert texts_of(taxonomy.with_titles({})) == ({}, *texts[1:])
    assert texts_of(taxonomy.with_texts(synonyms={})) == (*texts[:2], {})


@given(described(dags()))
def test_a_forest_of_a_dag_and_its_contraction_keep_the_texts(taxonomy):
    for made in (taxonomy.spanning_forest(), taxonomy.contracted()):
        for before, after in zip(texts_of(taxonomy), texts_of(made), strict=True):
            assert after == {name: text for name, text in before.items() if name in made}


@pytest.mark.parametrize("again", [copy.deepcopy(TREE), pickle.loads(pickle.dumps(TREE))], ids=["copy", "pickle"])
def test_copies_keep_the_texts(again):
    assert texts_of(again) == texts_of(TREE)


@given(described(forests() | dags()), st.sampled_from(["csv", "tsv", "json"]))
def test_files_hold_the_texts(taxonomy, kind):
    again = parse(format_taxonomy(taxonomy, kind), kind)
    assert again == taxonomy
    assert texts_of(again) == texts_of(taxonomy)


@pytest.mark.parametrize("taxonomy", [TREE, DAG])
@pytest.mark.parametrize("name", ["tree.csv", "tree.tsv", "tree.json", "tree.json.gz"])
def test_written_files_hold_the_texts(tmp_path, taxonomy, name):
    taxonomy.write(tmp_path / name)
    again = Taxonomy.read(tmp_path / name)
    assert again == taxonomy
    assert texts_of(again) == texts_of(taxonomy)


def test_columns_of_texts():
    text = "Code,Parent,Title,Description,Synonyms\nJ,,Lungs,,\nJ45,J,Asthma,Bad breath, wheezing | | short breath \n"
    taxonomy = parse(text, "csv")
    assert texts_of(taxonomy) == (
        {"J": "Lungs", "J45": "Asthma"}, {"J45": "Bad breath"}, {"J45": ("wheezing", "short breath")}
    )  # fmt: skip
    both = parse("node,parent,title,name\nJ,,a title,a name\n", "csv")
    assert both.titles == {"J": "a name"}


@pytest.mark.parametrize(
    ("header", "first", "second", "problem"),
    [
        ("description", "one", "two", "line 4: the node 'b' is described as 'two' here, 'one' before"),
        ("synonyms", "x|y", "y", "line 4: the node 'b' has the synonyms 'y' here, 'x|y' before"),
        ("title", "one", "two", "line 4: the node 'b' is called 'two' here, 'one' before"),
        ("description,description", "one,", "two,", "line 1: the header names 'description' twice"),
    ],
)
def test_rows_of_a_node_agree(header, first, second, problem):
    extra = "," * header.count(",")
    with pytest.raises(TaxonomyError) as caught:
        parse(f"node,parent,{header}\na,,{extra}\nb,a,{first}\nb,c,{second}\n", "csv")
    assert problem in str(caught.value)


@pytest.mark.parametrize("synonym", ["a|b", " a", "a "])
def test_a_synonym_that_no_cell_can_hold_is_refused(synonym):
    taxonomy = Taxonomy.from_parents({"J": None}, synonyms={"J": ["fine", synonym]})
    with pytest.raises(TaxonomyError, match=r"A table cannot hold the synonym .* of 'J', .* write JSON instead"):
        format_taxonomy(taxonomy, "csv")
    assert parse(format_taxonomy(taxonomy, "json"), "json").synonyms == taxonomy.synonyms


def test_json_of_nodes_by_hand():
    text = json.dumps(
        [
            {"node": "J", "parent": None, "title": "Lungs", "other": {"ignored": [1, {}]}},
            {"node": 45, "parent": ["J"], "description": "Bad breath", "synonyms": "wheezing"},
            {"name": "Bronchitis", "node": "J20", "parent": "J"},
        ]
    )
    taxonomy = parse(text, "json")
    assert taxonomy.parents_of("45") == taxonomy.parents_of("J20") == ["J"]
    assert texts_of(taxonomy) == (
        {"J": "Lungs", "J20": "Bronchitis"}, {"45": "Bad breath"}, {"45": ("wheezing",)}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ('[{"node": "a"},\n 3]', "line 2: a list of nodes holds objects; this entry is '3'"),
        ('[{"node": "a"},\n []]', "line 2: a list of nodes holds objects; this entry is another list"),
        ('[{"node": "a"},\n {"parent": "a"}]', 'line 2: "node" is a name'),
        ('[{"node": "a", "parent": {}}]', 'line 1: "node" is a name'),
        ('[{"node": "a", "description": 3}]', '"name" and "description" are texts'),
        ('[{"node": "a", "synonyms": [3]}]', "\"synonyms\" is a list of texts; those of the node 'a' are not"),
        ('[{"node": "a", "node": "b"}]', "line 1: the key 'node' is in one JSON object twice"),
        ('[{"node": "a"}, {"node": "a"}]', "line 1: the node 'a' has a row without a parent already"),
        ('[{"node": ""}]', "A node needs a name; line 1 has an empty one"),
        ('[{"node": "a", "parent": "b"}, {"node": "b", "parent": "a"}]', "cycle"),
    ],
)
def test_json_of_nodes_that_is_malformed(entries, problem):
    with pytest.raises(TaxonomyError) as caught:
        parse(entries, "json")
    assert problem in str(caught.value)


@given(described(forests() | dags(), texts=plain_names))
def test_packed_texts_come_back(taxonomy):
    again = unpack_taxonomy(*pack_taxonomy(taxonomy))
    assert texts_of(again) == texts_of(taxonomy)


def test_damaged_texts_are_refused():
    content, arrays = pack_taxonomy(TREE)
    for change in (
        {"n_synonyms": arrays["n_synonyms"][:2]},
        {"n_synonyms": arrays["n_synonyms"] + 1},
        {"n_synonyms": arrays["n_synonyms"] * -1},
        {"descriptions/offsets": arrays["descriptions/offsets"][:-1]},
    ):
        with pytest.raises(ModelFormatError):
            unpack_taxonomy(content, arrays | change)


def test_models_hold_the_texts(tmp_path):
    model = RecursiveSVM(TREE).fit([[1.0, 0.0], [0.0, 1.0]], ["J45", "J20"])
    model.save(tmp_path / "model")
    assert texts_of(load(tmp_path / "model").taxonomy_) == texts_of(TREE)


def test_edits_keep_the_texts():
    applied = apply_edits([Edit("move", node="J45", old="J", new="J20")], [["J45"]], TREE)
    assert texts_of(applied.taxonomy) == texts_of(TREE)
