"""Two SKOS vocabularies as they are published, read by cladist, against what rdflib finds in them.

Both lie in source distributions of the package index: the sampling methods of boreholes of Geoscience Australia
(Turtle, a polyhierarchy), and the kinds of values and of decrees of the Flemish heritage agency (Turtle, two schemes
and collections). Concepts, broader and narrower pairs and preferred labels are counted by rdflib alone, with no code of
cladist. What is read is written in all three forms and read again.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import rdflib
from rdflib.namespace import RDF, SKOS

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import print_rows, write_results
from cladist import Taxonomy

FILES = {
    "Geoscience Australia, borehole sampling methods": ("vocexcel==1.0.4", "tests/data/100GA.ttl"),
    "Flanders Heritage, values and decrees": (
        "skosprovider_rdf==1.4.0",
        "tests/data/waarde_en_besluit_types.ttl",
    ),
}


def fetch(package: str, member: str, folder: Path) -> Path:
    """Return a file of a source distribution."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python"]
    pip += ["--no-binary", package.partition("==")[0], "--dest", str(folder)]
    subprocess.run([*pip, package], check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as files:
        content = files.extractfile(f"{package.replace('==', '-')}/{member}")
        assert content is not None
        (folder / Path(member).name).write_bytes(content.read())
    return folder / Path(member).name


def counted(path: Path) -> dict[str, int]:
    """Return what rdflib finds in a vocabulary."""
    graph = rdflib.Graph().parse(path)
    pairs = {(a, b) for a, b in graph.subject_objects(SKOS.broader)}
    pairs |= {(b, a) for a, b in graph.subject_objects(SKOS.narrower)}
    concepts = set(graph.subjects(RDF.type, SKOS.Concept))
    named = {concept for concept in concepts if (concept, SKOS.prefLabel, None) in graph}
    return {"concepts": len(concepts), "pairs": len(pairs), "labels": len(named)}


def read(path: Path) -> dict[str, Any]:
    """Return what cladist reads, and whether it is the same after it was written in each form."""
    taxonomy = Taxonomy.read(path)
    again = []
    for ending in ("ttl", "rdf", "jsonld"):
        copy = path.with_name(f"copy.{ending}")
        taxonomy.write(copy)
        other = Taxonomy.read(copy)
        again.append(set(other.edges()) == set(taxonomy.edges()) and other.titles == taxonomy.titles)
    sizes = {"concepts": taxonomy.n_nodes, "pairs": len(list(taxonomy.edges())), "labels": len(taxonomy.titles)}
    return {"kind": taxonomy.kind, **sizes, "same_after_writing": all(again)}


def main() -> None:
    """Read both."""
    rows = []
    for name, (package, member) in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = fetch(package, member, Path(folder))
            found, wanted = read(path), counted(path)
        rows.append({"vocabulary": name, **found, "as_rdflib": {k: found[k] for k in wanted} == wanted})
    print_rows(rows)
    write_results("vocabularies", rows)


if __name__ == "__main__":
    main()
