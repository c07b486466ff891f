"""What is fuzzed: each reader with small valid files to start from and the words of its format."""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cladist import Crosswalk, RelationGraph, Taxonomy, datasets
from cladist.errors import CladistError
from cladist.server.feedback_log import FeedbackLog
from cladist.taxonomy.formats.ipc import ipc_taxonomy
from cladist.taxonomy.formats.mesh import mesh_taxonomy

FILES = Path(__file__).parents[1] / "tests" / "datasets" / "files"


@dataclass(frozen=True)
class Target:
    """One reader of one file."""

    read: Callable[[bytes], Any]
    seeds: tuple[bytes, ...] = field(repr=False)
    words: tuple[bytes, ...] = ()

    def prepare(self) -> None:
        """Read the seeds, which compiles what needs compiling, and see that they are valid."""
        for seed in self.seeds:
            if not self.accepts(seed):
                raise AssertionError(f"a seed is refused: {seed!r}")

    def accepts(self, data: bytes) -> bool:
        """Read some bytes; False if they were refused by one of our errors, and any other error is let through."""
        try:
            self.read(data)
        except CladistError:
            return False
        return True


# ---------------------------------------------------------------- how bytes come to a reader

_scratch = Path(tempfile.mkdtemp(prefix="cladist-fuzz-"))


def at_path(read: Callable[[Path], Any], name: str) -> Callable[[bytes], Any]:
    """Give bytes to a reader that takes the path of a file."""
    path = _scratch / name

    def from_bytes(data: bytes) -> Any:
        path.write_bytes(data)
        return read(path)

    return from_bytes


def in_folder(read: Callable[[Path], Any], folder: str, name: str, beside: dict[str, bytes]) -> Callable[[bytes], Any]:
    """Give bytes to a reader that takes a folder, as one of its files, beside others that are valid."""
    home = _scratch / folder

    def from_bytes(data: bytes) -> Any:
        if not home.exists():
            for other, content in beside.items():
                (home / other).parent.mkdir(parents=True, exist_ok=True)
                (home / other).write_bytes(content)
            (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
        return read(home)

    return from_bytes


def as_stream(read: Callable[[io.BytesIO], Any]) -> Callable[[bytes], Any]:
    """Give bytes to a reader that takes a binary stream."""
    return lambda data: read(io.BytesIO(data))


def as_text(read: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """Give bytes to a function that takes a text."""
    return lambda data: read(data.decode("utf-8", "surrogateescape"))


# ---------------------------------------------------------------- taxonomies


def taxonomy(format: str | None) -> Callable[[bytes], Any]:  # noqa: A002
    """Read and draw; cycles are dropped, so that they do not hide what comes after."""
    return at_path(lambda path: str(Taxonomy.read(path, format=format, on_cycle="drop")), f"tree-{format}")


EDGES = (b"a b\na c\nb d\nc d\n", b"a\tb c\na\td\n# x\n\ne\n")
PATHS = (b"sport/tennis\nsport/chess\nart\n", b"1 2 20\n1 3 30\n")
CSV_TREE = (b'node,parent,name\na,,"A, B"\nb,a,\nb,c,\nc,,C\n', b"code,parent\r\n1,\r\n11,1\r\n")
JSON_TREE = (b'{"a": null, "b": "a"}', b'{"a": {"b": [1, "c"]}}', b'[["a", "b"], ["c"]]')
INDENTED = (b"a\n  b\n    c\n  d\ne\n", b"a\n\tb\n\tc\n")
RCV1_TREE = (b"parent: None child: A child-description: x y\nparent: A child: B\n",)
RELATIONS = (b"a b\nb c 0.5\nd\n", b"a b\tc d\t2\n")
MESH = (b"Body Regions;A01\nAbdomen;A01.047\nHead;A01.456\nAbdomen;A02\nFace;A01.456.505\n",)
OBO = (
    b"format-version: 1.2\n\n[Term]\nid: GO:1\nname: root\n\n[Term]\nid: GO:2\nname: a\nis_a: GO:1 ! root\n"
    b"[Term]\nid: GO:3\nis_obsolete: true\n[Typedef]\nid: part_of\n",
)
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#" '
OWL = (
    b'<?xml version="1.0"?>' + RDF + b'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">'
    b'<owl:Class rdf:about="http://x/GO_1"><rdfs:label>root</rdfs:label></owl:Class>'
    b'<owl:Class rdf:about="http://x#B"><rdfs:subClassOf rdf:resource="http://x/GO_1"/></owl:Class></rdf:RDF>',
)
IPC = (b"A01B00106", b"A01B   1/06", b"A01B0001060000", b"D")

# ---------------------------------------------------------------- data

SVMLIGHT = (b"1 1:0.5 3:2e-1\n2 2:1 # x\n", b"1,3 1:1\n2 2:-.5 7:1e3\n\n", b"a 0:1 5:1\r\n")
LSHTC = (b"3 0:7 5:1 2:3\n4 0:8 1:1\n", b"Data\n3, 4 5:1 2:3\n3,4 1:2\n")
LSHTC_TREE = Taxonomy.from_edges([("1", "3"), ("1", "4"), ("2", "4")])
ARFF = (
    b"@RELATION x\n@ATTRIBUTE a numeric\n@ATTRIBUTE 'b c' {red,'dark blue'}\n@ATTRIBUTE id string\n"
    b"@ATTRIBUTE class hierarchical 1,1/2,3\n@DATA\n1.5,red,x,1/2\n?,?,'y z',1@3\n",
    b"@relation x\n@attribute a numeric\n@attribute class hierarchical root/a,root/b,a/c,b/c\n"
    b"% no\n@data\n{1 2.5, 2 c}\n{2 a@b}\n",
)
TABLES = {
    "csv": (b'text,label\nred tent,a/b\n"big, dog",c\n', b"text;label\na;b\n", b"sep=;\ntext;label\na;b\n"),
    "tsv": (b"text\tlabel\nred tent\ta/b\n",),
    "jsonl": (
        b'{"text": "red tent", "label": "a"}\n{"text": 3, "label": 11}\n',
        b'{"text": null, "label": ["a", "b"]}\n',
    ),
}
QRELS = b"C15 1 1\nE11 1 1\nC15 2 1\nE11 3 1\n"
VECTORS = b"1  1:0.5 3:0.2\n2  2:1.0\n"
TOKENS = b".I 1\n.W\nred tent big\ndog\n\n.I 2\n.W\nchess\n\n"
RCV1 = {
    "rcv1.topics.hier.orig": b"parent: None child: Root\nparent: Root child: C15\nparent: Root child: E11\n",
    "lyrl2004_vectors_train.dat": VECTORS,
    "lyrl2004_vectors_test_pt0.dat": b"3  1:0.5 2:0.2\n",
    "rcv1-v2.topics.qrels": QRELS,
}
RCV1_TOKENS = {
    "rcv1.topics.hier.orig": RCV1["rcv1.topics.hier.orig"],
    "lyrl2004_tokens_test_pt0.dat": b".I 3\n.W\nred\n\n",
    "rcv1-v2.topics.qrels": QRELS,
}
OHSUMED, MTREES = (FILES / "ohsumed" / "ohsumed.87").read_bytes(), (FILES / "ohsumed" / "mtrees.bin").read_bytes()
WIPO = next((FILES / "wipo-alpha").rglob("0100004.xml")).read_bytes()
PHN = b"0 480 h#\n480 800 sh\n800 1120 ix\n1120 1280 q\n1280 1600 h#\n"
HTK = struct.pack(">iihH", 10, 100_000, 12, 6 | 0o100 | 0o400 | 0o1000) + struct.pack(">30f", *range(30))
FRAMES = (
    b"utterance,phoneme,c1,c2\na,h#,0,1\na,iy,2,3\na,iy,4,5\nb,d,6,7\nb,ux,8,9\nb,q,10,11\nb,ao,12,13\nb,h#,14,15\n"
)


def table(format: str, **options: Any) -> Callable[[bytes], Any]:  # noqa: A002
    """Read a table of texts with paths for labels."""
    return as_stream(lambda s: datasets.read_table(s, text="text", label="label", format=format, **options))


def rcv1(name: str) -> Callable[[bytes], Any]:
    """Read a folder of RCV1's files, of which one is not as it should be."""
    return in_folder(datasets.read_rcv1, f"rcv1-{name}", name, RCV1)


def columnar(format: str) -> Target:  # noqa: A002
    """Read a Parquet or Arrow file."""
    import numpy as np

    rows = datasets.Dataset(np.array(["red tent", "dog"], dtype=object), np.array(["a", "b"], dtype=object))
    several = datasets.Dataset(np.array(["red tent", "dog"], dtype=object), [["a"], ["a", "b"]])
    seeds = []
    for k, data in enumerate((rows, several)):
        path = _scratch / f"seed{k}.{format}"
        datasets.write_table(data, path)
        seeds.append(path.read_bytes())
    return Target(table(format), tuple(seeds), (b"PAR1", b"ARROW1"))


def workbooks() -> dict[str, Target]:
    """Read workbooks as tables and taxonomies, if python-calamine is there to read them."""
    if find_spec("python_calamine") is None:
        return {}
    book = FILES / "workbook"
    targets = {}
    for kind in ("xlsx", "ods"):
        targets[f"table-{kind}"] = Target(table(kind), ((book / f"table.{kind}").read_bytes(),))
        targets[f"taxonomy-{kind}"] = Target(taxonomy(kind), ((book / f"tree.{kind}").read_bytes(),))
    return targets


TREES = FILES.parents[1] / "taxonomy"
WALKS = (
    b'old,new,kind,confidence,evidence\na,b,rename,0.9,"x, y"\nc,,retire,1,\n,d,new,1,\n',
    *(path.read_bytes() for path in sorted((TREES / "revisions" / "files").glob("*.[ct]sv"))),
)
OBSOLETE = OBO[0] + b"[Term]\nid: GO:4\nis_obsolete: true\nreplaced_by: GO:2\n[Term]\nid: GO:5\nalt_id: GO:9\n"
SKOS_WORDS = (b"skos:broader", b"skos:narrower", b"skos:notation", b"skos:exactMatch", b"@en", b"skos:Concept")


def crosswalk(ending: str) -> Callable[[bytes], Any]:
    """Read, draw and invert a crosswalk."""
    return at_path(lambda path: (str(Crosswalk.read(path)), Crosswalk.read(path).invert()), f"walk.{ending}")


def vocabularies() -> dict[str, Target]:
    """Read SKOS vocabularies as taxonomies and as mappings, if rdflib is there to read them."""
    if find_spec("rdflib") is None:
        return {}
    # Short ones: inputs are cut where `run.LONGEST_INPUT` ends, and half of a vocabulary is none.
    turtle = (
        b"@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://x/> .\n:s a skos:ConceptScheme .\n"
    )
    turtle += b':a a skos:Concept ; skos:inScheme :s ; skos:prefLabel "A"@en, "B"@de ; skos:notation "1" .\n'
    turtle += b':b a skos:Concept ; skos:broader :a ; skos:altLabel "b" ; skos:exactMatch <http://y/c> .\n'
    xml = b'<!DOCTYPE rdf:RDF [<!ENTITY x "http://x/">]>' + RDF + b'xmlns:skos="http://www.w3.org/2004/02/skos/core#">'
    xml += b'<skos:Concept rdf:about="&x;a"><skos:prefLabel xml:lang="en">A</skos:prefLabel></skos:Concept>'
    xml += b'<skos:Concept rdf:about="&x;b"><skos:broader rdf:resource="&x;a"/></skos:Concept></rdf:RDF>'
    listed = b'{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#"}, "@id": "urn:a", "@type": "skos:Concept"}'
    mapped = b'{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#"}, "@id": "urn:a", '
    mapped += b'"skos:exactMatch": {"@id": "urn:b"}}'
    return {
        "skos-turtle": Target(taxonomy("turtle"), (turtle,), SKOS_WORDS),
        "skos-rdfxml": Target(taxonomy("rdfxml"), (xml,), (b"<!ENTITY", b"SYSTEM", *SKOS_WORDS)),
        "skos-jsonld": Target(taxonomy("jsonld"), (listed,), (b"@context", b"@graph", b"@import", b"http://x")),
        "crosswalk-skos": Target(crosswalk("ttl"), (turtle,), SKOS_WORDS),
        "crosswalk-jsonld": Target(crosswalk("jsonld"), (mapped,), (b"@context", b"@graph")),
    }


NUMBERS = (b"nan", b"inf", b"1e999", b"-0", b"1e-400", b"99999999999999999999", b"0.1e")


def log_of_corrections() -> Target:
    """Read the log of a server, with one that it wrote to start from."""
    log = FeedbackLog(_scratch / "seed.feedback")
    log.append([{"id": "a", "text": "hot water", "labels": ["tea"]}, {"id": "b", "row": {"x": 1.5}, "labels": []}])
    read = at_path(lambda path: list(FeedbackLog(path).read()), "log.feedback")
    return Target(read, (log.path.read_bytes(),), (b'"format"', b'"sequence"', b'"labels"', b'"id"', b'"text"'))


TARGETS: dict[str, Target] = {
    "feedback": log_of_corrections(),
    "taxonomy": Target(taxonomy(None), (*EDGES, *PATHS, *CSV_TREE, *JSON_TREE, *INDENTED, *RCV1_TREE)),
    "taxonomy-edges": Target(taxonomy("edges"), EDGES),
    "taxonomy-paths": Target(taxonomy("paths"), PATHS),
    "taxonomy-csv": Target(taxonomy("csv"), CSV_TREE, (b"node", b"parent", b"name")),
    "taxonomy-tsv": Target(taxonomy("tsv"), (b"node\tparent\na\t\nb\ta\n",), (b"node", b"parent", b"name")),
    "taxonomy-json": Target(taxonomy("json"), JSON_TREE, (b"null", b"true", b"\\ud800", b"NaN")),
    "taxonomy-indented": Target(taxonomy("indented"), INDENTED),
    "taxonomy-rcv1": Target(taxonomy("rcv1"), RCV1_TREE, (b"parent:", b"child:", b"child-description:", b"None")),
    "taxonomy-mesh": Target(as_text(lambda text: mesh_taxonomy(text, on_cycle="drop")), MESH),
    "taxonomy-obo": Target(taxonomy("obo"), OBO, (b"[Term]", b"id:", b"is_a:", b"is_obsolete: true")),
    "taxonomy-owl": Target(taxonomy("owl"), OWL, (b"<!ENTITY", b"owl:Class", b"rdf:about", b"rdfs:subClassOf")),
    "crosswalk": Target(crosswalk("csv"), WALKS, (b"old", b"new", b"split", b"code", b"Previous Code(s)")),
    "crosswalk-obo": Target(crosswalk("obo"), (OBSOLETE,), (b"alt_id:", b"consider:", b"replaced_by:", b"[Term]")),
    **vocabularies(),
    **workbooks(),
    "taxonomy-ipc": Target(as_text(lambda text: ipc_taxonomy(text.split("\n"), level="subgroup")), IPC),
    "relations": Target(at_path(RelationGraph.read, "relations"), RELATIONS),
    "svmlight": Target(as_stream(datasets.read_svmlight), SVMLIGHT, (b"qid:1", b"#", *NUMBERS)),
    "lshtc": Target(as_stream(lambda s: datasets.read_lshtc(s, LSHTC_TREE)), LSHTC, (b"Data\n", b"0:", *NUMBERS)),
    "lshtc-hierarchy": Target(
        at_path(lambda p: datasets.read_lshtc(io.BytesIO(b"3 1:1\n"), p, on_cycle="drop"), "hier"),
        (b"1 3\n", b"1 2 3\n"),
    ),
    "arff": Target(
        as_stream(datasets.read_arff_hmc),
        ARFF,
        (b"@attribute", b"@data", b"hierarchical", b"root/", b"{", b"?", *NUMBERS),
    ),
    "table-csv": Target(table("csv", label_sep=";"), TABLES["csv"][:1]),
    "table-csv-single": Target(table("csv"), TABLES["csv"], (b"sep=;", b"text", b"label")),
    "table-tsv": Target(table("tsv", path_sep="/"), TABLES["tsv"]),
    "table-jsonl": Target(table("jsonl"), TABLES["jsonl"], (b"text", b"label", b"null", b"NaN", b"\\ud800")),
    "table-parquet": columnar("parquet"),
    "table-arrow": columnar("arrow"),
    "rcv1-vectors": Target(
        in_folder(datasets.read_rcv1, "rcv1-a", "lyrl2004_vectors_train.dat", RCV1), (VECTORS,), NUMBERS
    ),
    "rcv1-judgements": Target(in_folder(datasets.read_rcv1, "rcv1-b", "rcv1-v2.topics.qrels", RCV1), (QRELS,), NUMBERS),
    "rcv1-topics": Target(
        rcv1("rcv1.topics.hier.orig"),
        (RCV1["rcv1.topics.hier.orig"],),
        (b"parent:", b"child:", b"child-description:", b"None"),
    ),
    "rcv1-tokens": Target(
        in_folder(
            lambda p: datasets.read_rcv1(p, features="tokens"), "rcv1-d", "lyrl2004_tokens_train.dat", RCV1_TOKENS
        ),
        (TOKENS,),
        (b".I ", b".W\n"),
    ),
    "wipo": Target(
        in_folder(datasets.read_wipo_alpha, "wipo", "D/01/B/1.xml", {}),
        (WIPO,),
        (b"<!ENTITY", b"&amp;", b"&#x41;", b"mc="),
    ),
    "ohsumed": Target(
        as_stream(lambda s: datasets.read_ohsumed(s, mesh=io.BytesIO(MTREES))),
        (OHSUMED,),
        (b"\n.I ", b"\n.M\n", b"\n.W\n"),
    ),
    "phonemes-labels": Target(in_folder(datasets.read_phonemes, "phn", "SA1.PHN", {"SA1.mfc": HTK}), (PHN,)),
    "phonemes-htk": Target(in_folder(datasets.read_phonemes, "htk", "SA1.mfc", {"SA1.PHN": PHN}), (HTK,)),
    "phonemes-table": Target(as_stream(lambda s: datasets.read_phonemes(s, stack=1)), (FRAMES,), NUMBERS),
}
