"""OBO and OWL files as taxonomies."""

import pytest

from cladist.errors import TaxonomyError
from cladist.taxonomy import Taxonomy

OBO = """format-version: 1.2
ontology: go

[Term]
id: GO:1
name: process

[Term]
id: GO:2
name: growth ! of cells
is_a: GO:1 {source="x"} ! process

[Term]
id: GO:3
name: cell growth
is_a: GO:2 ! growth
is_a: GO:4 ! cellular process
relationship: part_of GO:1 ! process

[Term]
id: GO:4
name: cellular process
is_a: GO:1

[Term]
id: GO:5
is_obsolete: true
is_a: GO:1

[Typedef]
id: part_of
"""
OWL = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY obo "http://purl.obolibrary.org/obo/"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Ontology rdf:about="http://example.org/go.owl"/>
<owl:Class rdf:about="http://www.w3.org/2002/07/owl#Thing"/>
<owl:Class rdf:about="&obo;GO_1"><rdfs:label>process</rdfs:label>
  <rdfs:subClassOf rdf:resource="http://www.w3.org/2002/07/owl#Thing"/></owl:Class>
<owl:Class rdf:about="&obo;GO_2"><rdfs:label xml:lang="en">growth</rdfs:label>
  <rdfs:subClassOf rdf:resource="&obo;GO_1"/>
  <rdfs:subClassOf><owl:Restriction/></rdfs:subClassOf></owl:Class>
<owl:Class rdf:about="&obo;GO_3"><rdfs:label>cell growth</rdfs:label>
  <rdfs:subClassOf rdf:resource="&obo;GO_2"/><rdfs:subClassOf rdf:resource="&obo;GO_4"/></owl:Class>
<owl:Class rdf:about="&obo;GO_4"><rdfs:label>cellular process</rdfs:label>
  <rdfs:subClassOf rdf:resource="&obo;GO_1"/></owl:Class>
<owl:Class rdf:about="&obo;GO_5"><owl:deprecated>true</owl:deprecated>
  <rdfs:subClassOf rdf:resource="&obo;GO_1"/></owl:Class>
<owl:Class><owl:unionOf/></owl:Class>
</rdf:RDF>
"""


@pytest.mark.parametrize(("name", "text"), [("go.obo", OBO), ("go.owl", OWL), ("go.txt", OBO), ("go.xml", OWL)])
def test_terms_are_nodes_of_a_dag(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    tree = Taxonomy.read(path)
    assert tree.kind == "dag"
    assert sorted(tree.names) == ["GO:1", "GO:2", "GO:3", "GO:4"]
    assert sorted(tree.ancestors("GO:3")) == ["GO:1", "GO:2", "GO:4"]
    assert tree.titles["GO:3"] == "cell growth"
    assert tree.titles["GO:2"].startswith("growth")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.obo", "format-version: 1.2\n", "There is no term: a stanza"),
        ("a.obo", "[Term]\nname: x\n", "line 1: a term has one id"),
        ("a.obo", "[Term]\nid: a\nid: b\n", "line 1: a term has one id"),
        ("a.obo", "[Term]\nid: a\nis_a: b\n[Term]\nid: b\nis_a: a\n", "has a cycle"),
        ("a.owl", "<a/>", "There is no class"),
        ("a.owl", "<a>", "Not valid XML"),
        ("a.owl", OWL.replace("&obo;GO_1", "http://x/", 1), "has no name at its end"),
        ("a.owl", "<!DOCTYPE a [" + "".join(
            f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(12)
        ) + ']><a>&e12;</a>', "Not valid XML"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TaxonomyError, match=said):
        Taxonomy.read(path)


def test_definitions_and_exact_synonyms_of_obo_are_texts_of_nodes(tmp_path):
    """Quotes, braces, exclamation marks and escapes belong to a text; what has no quotes is left out."""
    path = tmp_path / "go.obo"
    path.write_text(
        "format-version: 1.2\n\n[Term]\nid: GO:1\nname: process\n"
        'def: "Grows {quickly} ! on \\"agar\\"\\, at C\\:37." [PMID:1, "a source"] {x="y"} ! remark\n'
        'synonym: "the process" EXACT []\nsynonym: "method" RELATED [A:1]\nsynonym: "the process" EXACT [A:1]\n'
        "\n[Term]\nid: GO:2\nname: growth\nis_a: GO:1\ndef: no quotes\nsynonym: EXACT []\n"
        '\n[Term]\nid: GO:3\nname: other\nis_a: GO:1\ndef: "never ends\n'
    )
    tree = Taxonomy.read(path)
    assert dict(tree.descriptions) == {"GO:1": 'Grows {quickly} ! on "agar", at C:37.'}
    assert dict(tree.synonyms) == {"GO:1": ("the process",)}
    assert tree.titles["GO:2"] == "growth"
    assert tree.words_of("GO:1").startswith("process")
