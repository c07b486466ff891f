"""SKOS vocabularies: texts, languages, schemes, polyhierarchies, faults, mappings, and that nothing is fetched."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cladist import Crosswalk, Taxonomy
from cladist.errors import TaxonomyError, TaxonomyWarning

rdflib = pytest.importorskip("rdflib")
FILES = Path(__file__).parent / "files" / "skos"
HEAD = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://x.org/> .\n"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def read(text: str, ending: str = "ttl", *, tmp: Path, **options: object) -> Taxonomy:
    path = tmp / f"x.{ending}"
    path.write_text(text, encoding="utf-8")
    return Taxonomy.read(path, **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------ real vocabularies, in the official form


def test_unesco_like_vocabulary_in_several_languages() -> None:
    """The form in which the UNESCO thesaurus is published: RDF/XML, six languages, top concepts."""
    english = Taxonomy.read(FILES / "thesaurus.rdf")
    assert english.title_of("concept2") == "Educational policy"
    assert english.parents_of("concept3") == ["concept2"]
    assert english.synonyms["concept2"] == ("Education policy",)
    assert "planning" in english.descriptions["concept2"]
    french = Taxonomy.read(FILES / "thesaurus.rdf", lang="fr")
    assert french.title_of("concept2") == "Politique de l'éducation"
    assert french == english


def test_classification_with_notations_and_schemes() -> None:
    """The form in which NACE is published: Turtle, notations, two schemes, mappings between them."""
    both = Taxonomy.read(FILES / "classification.ttl")
    assert both.names == Taxonomy.read(FILES / "classification.ttl").names
    new = Taxonomy.read(FILES / "classification.ttl", scheme="nace2.1")
    assert set(new.names) == {"K", "62", "62.1", "62.10"}
    assert new.title_of("62.10") == "Computer programming activities"
    assert new.path("62.10") == ["K", "62", "62.1", "62.10"]
    old = Taxonomy.read(FILES / "classification.ttl", scheme="NACE Rev. 2", lang="de")
    assert old.title_of("J-62.01") == "Programmierungstätigkeiten"
    walk = Crosswalk.read(FILES / "classification.ttl", old=old, new=new)
    assert walk.targets("J-62.01") == ("62.10",)
    assert walk.entries_of("J-62.01")[0].evidence == "skos:exactMatch"
    with pytest.raises(TaxonomyError, match="There is no scheme 'isic'; there are"):
        Taxonomy.read(FILES / "classification.ttl", scheme="isic")


# ------------------------------------------------------------------ form


def test_polyhierarchies_are_dags_and_narrower_is_the_other_way_round(tmp_path: Path) -> None:
    taxonomy = read(
        HEAD + ":a a skos:Concept; skos:narrower :c . :c a skos:Concept; skos:broader :b . :b a skos:Concept .",
        tmp=tmp_path,
    )
    assert taxonomy.kind == "dag"
    assert taxonomy.parents_of("c") == ["a", "b"]


def test_names_are_notations_ends_or_addresses(tmp_path: Path) -> None:
    notated = ':a a skos:Concept; skos:notation "1" . :b a skos:Concept; skos:notation "2"; skos:broader :a .'
    assert read(HEAD + notated, tmp=tmp_path).names == ("1", "2")
    assert read(HEAD + notated.replace('"2"', '"1"'), tmp=tmp_path).names == ("a", "b")
    clash = HEAD + ":a a skos:Concept . <http://y.org/a> a skos:Concept ."
    assert read(clash, tmp=tmp_path).names == ("http://x.org/a", "http://y.org/a")


def test_labels_of_skos_xl(tmp_path: Path) -> None:
    xl = "@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .\n"
    text = ':a a skos:Concept; xl:prefLabel [ xl:literalForm "One"@en ]; xl:altLabel [ xl:literalForm "1st"@en ] .'
    taxonomy = read(HEAD + xl + text, tmp=tmp_path)
    assert (taxonomy.titles, taxonomy.synonyms) == ({"a": "One"}, {"a": ("1st",)})


def test_the_language_of_most_titles_is_read(tmp_path: Path) -> None:
    text = (
        HEAD + ':a a skos:Concept; skos:prefLabel "eins"@de, "one"@en . :b a skos:Concept; skos:prefLabel "zwei"@de .'
    )
    assert read(text, tmp=tmp_path).titles == {"a": "eins", "b": "zwei"}
    assert read(text, tmp=tmp_path, lang="en").titles == {"a": "one"}
    british = HEAD + ':a a skos:Concept; skos:prefLabel "colour"@en-GB .'
    assert read(british, tmp=tmp_path, lang="en").titles == {"a": "colour"}


# ------------------------------------------------------------------ faults of editors


def test_cycles_are_refused_or_dropped(tmp_path: Path) -> None:
    text = HEAD + ":a a skos:Concept; skos:broader :b . :b a skos:Concept; skos:broader :a ."
    with pytest.raises(TaxonomyError, match=r"x\.ttl: Taxonomy has a cycle: .*closed by concept 'a'"):
        read(text, tmp=tmp_path)
    assert len(read(text, tmp=tmp_path, on_cycle="drop").dropped_edges) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            ":s skos:hasTopConcept :a . :a a skos:Concept . :b a skos:Concept .",
            "each with no broader concept and is no top concept of a scheme, so it is a root of its own: 'b'",
        ),
        (":a a skos:Concept; skos:broader :missing .", "not declared as a concept, so it may be misspelt: 'missing'"),
        (':a a skos:Concept; skos:prefLabel "x"@en, "y"@en .', "several preferred labels in one language"),
    ],
)
def test_faults_of_editors_are_warned_of(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.warns(TaxonomyWarning, match=sentence):
        read(HEAD + text, tmp=tmp_path)


@pytest.mark.parametrize(
    ("ending", "text", "sentence"),
    [
        ("ttl", "@prefix : <http://x/> .\n:a :b", "Not valid turtle"),
        ("ttl", "", "There is no skos:Concept"),
        ("jsonld", "{", "Not valid JSON"),
        ("jsonld", "3", "JSON-LD is an object or a list"),
        ("jsonld", '{"@context": "https://x.org/context.jsonld"}', "lies elsewhere, and nothing is fetched"),
        ("jsonld", '[{"a": {"@context": [{}, "https://x.org/c"]}}]', "lies elsewhere, and nothing is fetched"),
        ("jsonld", '{"@context": {"@import": "https://x.org/c"}}', "lies elsewhere, and nothing is fetched"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, ending: str, text: str, sentence: str) -> None:
    with pytest.raises(TaxonomyError, match=sentence):
        read(text, ending, tmp=tmp_path)


RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">'
    '<skos:Concept rdf:about="http://x/a"><skos:prefLabel>{}</skos:prefLabel></skos:Concept></rdf:RDF>'
)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]>',
        '<!DOCTYPE a [<!ENTITY % x "ha">]>',
        f'<!DOCTYPE a [<!ENTITY x "{"x" * 1000}">]>',
    ],
)
def test_entities_that_fetch_or_grow_are_refused(tmp_path: Path, doctype: str) -> None:
    with pytest.raises(TaxonomyError, match="nothing is fetched or expanded"):
        read(doctype + RDF.format("&x;"), "rdf", tmp=tmp_path, format="rdfxml")


def test_entities_for_namespaces_are_read(tmp_path: Path) -> None:
    text = '<!DOCTYPE rdf:RDF [<!ENTITY x "One">]>' + RDF.format("&x;")
    assert read(text, "rdf", tmp=tmp_path).titles == {"a": "One"}


def test_options_of_skos_for_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="scheme and lang are of SKOS vocabularies; this file is read as edges"):
        read("a b", "edges", tmp=tmp_path, lang="en")


# ------------------------------------------------------------------ any bytes

LISTED = b'[{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#"}, "@id": "urn:a", "@type": "skos:Concept", '
LISTED += b'"skos:broader": {"@id": "urn:b"}, "skos:exactMatch": {"@id": "urn:c"}, "skos:prefLabel": "A"}]'
SEEDS = {
    "ttl": (FILES / "classification.ttl").read_bytes(),
    "rdf": (FILES / "thesaurus.rdf").read_bytes(),
    "jsonld": LISTED,
}
PIECES = [
    b"",
    b"\x00",
    b"\xff",
    b"<",
    b">",
    b'"',
    b"@",
    b"_:",
    b"[",
    b"]",
    b"{",
    b"}",
    b";",
    b".",
    b"\\u0000",
    b"&x;",
    b"[]",
]
PIECES += [
    b"skos:broader",
    b"skos:narrower :a",
    b"skos:notation 3",
    b"@prefix",
    b"@context",
    b"@import",
    b"<!ENTITY",
    b"()",
]
CHANGES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(PIECES) | st.binary(max_size=3)), max_size=4
)


@pytest.mark.filterwarnings("ignore::cladist.errors.TaxonomyWarning")
@pytest.mark.parametrize("ending", list(SEEDS))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
def test_changed_vocabularies_are_read_or_refused(tmp_path: Path, ending: str, changes: list[tuple]) -> None:
    content = SEEDS[ending]
    for place, length, piece in changes:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + length :]
    path = tmp_path / f"x.{ending}"
    path.write_bytes(content)
    try:
        taxonomy = Taxonomy.read(path, on_cycle="drop")
    except TaxonomyError as problem:
        assert str(path) in str(problem)  # noqa: PT017 - no error at all is fine, too
    else:
        assert len(set(taxonomy.names)) == len(taxonomy) >= 1
    try:
        assert len(Crosswalk.read(path)) >= 1
    except TaxonomyError as problem:
        assert str(path) in str(problem)  # noqa: PT017


def test_the_fuzzer_begins_with_vocabularies_that_are_read_and_not_cut() -> None:
    from fuzz.run import LONGEST_INPUT
    from fuzz.targets import vocabularies

    for target in vocabularies().values():
        for seed in target.seeds:
            assert len(seed) <= LONGEST_INPUT
            target.read(seed)


# ------------------------------------------------------------------ round trips

WORD = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5).filter(str.strip)


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """DAGs with texts."""
    names = draw(st.lists(WORD, min_size=1, max_size=6, unique=True))
    parents = {
        name: draw(st.lists(st.sampled_from(names[:k]), max_size=2, unique=True)) if k else None
        for k, name in enumerate(names)
    }
    some = st.lists(st.sampled_from(names), unique=True)
    return Taxonomy.from_parents(
        parents,
        titles={name: draw(WORD) for name in draw(some)},
        descriptions={name: draw(WORD) for name in draw(some)},
        synonyms={name: sorted(draw(st.sets(WORD, min_size=1, max_size=3))) for name in draw(some)},
    )


@pytest.mark.parametrize("ending", ["ttl", "rdf", "jsonld"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taxonomy=taxonomies())
def test_round_trips(tmp_path: Path, ending: str, taxonomy: Taxonomy) -> None:
    path = tmp_path / f"x.{ending}"
    taxonomy.write(path)
    again = Taxonomy.read(path, lang="en")
    assert set(again.names) == set(taxonomy.names)
    assert set(again.edges()) == set(taxonomy.edges())
    assert again.titles == taxonomy.titles
    assert again.descriptions == taxonomy.descriptions
    assert {n: set(s) for n, s in again.synonyms.items()} == {n: set(s) for n, s in taxonomy.synonyms.items()}
    again.write(path)
    assert Taxonomy.read(path, lang="en") == again


def test_characters_that_xml_cannot_hold(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_parents({"a": None}, titles={"a": "\x01"})
    with pytest.raises(TaxonomyError, match="RDF/XML cannot hold the text"):
        taxonomy.write(tmp_path / "a.rdf")
    assert not (tmp_path / "a.rdf").exists()


# ------------------------------------------------------------------ mappings


def test_mappings_make_a_crosswalk(tmp_path: Path) -> None:
    path = tmp_path / "m.ttl"
    path.write_text(
        HEAD + "@prefix y: <http://y.org/> .\n"
        ":a skos:exactMatch y:A; skos:relatedMatch y:Z . :b skos:closeMatch y:B . :c skos:narrowMatch y:C, y:D . "
        ":d skos:broadMatch y:E . :e skos:relatedMatch y:F ."
    )
    walk = Crosswalk.read(path)
    assert {(e.old, e.new): (e.kind, e.confidence) for e in walk} == {
        ("a", "A"): ("rename", 1.0),
        ("b", "B"): ("rename", 0.9),
        ("c", "C"): ("split", 1.0),
        ("c", "D"): ("split", 1.0),
        ("d", "E"): ("rename", 1.0),
        ("e", "F"): ("rename", 0.3),
    }
    upper = Taxonomy.from_parents(dict.fromkeys("ABCDEFZ"))
    lower = Taxonomy.from_parents(dict.fromkeys("abcde"))
    turned = Crosswalk.read(path, old=upper, new=lower)
    assert turned.targets("D") == ("c",)
    path.write_text(HEAD + ":a a skos:Concept .")
    with pytest.raises(TaxonomyError, match="There are no mappings"):
        Crosswalk.read(path)


@pytest.mark.parametrize("ending", ["ttl", "rdf", "jsonld"])
def test_crosswalks_round_trip_as_mappings(tmp_path: Path, ending: str) -> None:
    walk = Crosswalk([("a", "a"), ("b b", "c/1"), ("b b", "c/2"), ("d", "e"), ("f", "e"), ("g", None)])
    walk.write(tmp_path / f"m.{ending}")
    again = Crosswalk.read(tmp_path / f"m.{ending}")
    assert {(e.old, e.new, e.kind) for e in again} == {(e.old, e.new, e.kind) for e in walk}


def test_contexts_in_the_file_are_read(tmp_path: Path) -> None:
    content = {
        "@context": {
            "skos": "http://www.w3.org/2004/02/skos/core#",
            "broader": {"@id": "skos:broader", "@type": "@id"},
        },
        "@graph": [
            {"@id": "http://x/a", "@type": "skos:Concept", "skos:prefLabel": {"@value": "One", "@language": "en"}},
            {"@id": "http://x/b", "@type": "skos:Concept", "broader": "http://x/a"},
        ],
    }
    taxonomy = read(json.dumps(content), "jsonld", tmp=tmp_path)
    assert list(taxonomy.edges()) == [("a", "b")]
    assert taxonomy.titles == {"a": "One"}
