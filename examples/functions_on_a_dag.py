"""Functions of genes on a DAG: an ontology in OBO, sets of its terms as labels, and AU(PRC).

The terms are real in form only: rows are drawn so that each term has features of its own. Run as
``python examples/functions_on_a_dag.py [tree.svg]``.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cladist import FlatLogistic, LabelMatrix, Taxonomy
from cladist.metrics import average_precision
from cladist.report.taxonomy_drawing import taxonomy_drawing

PARENTS = {"growth": ["process"], "cellular": ["process"], "cell growth": ["growth", "cellular"],
           "division": ["cellular"], "organ growth": ["growth"], "budding": ["division", "cell growth"]}  # fmt: skip


def ontology() -> Taxonomy:
    """Write the terms as an OBO file, and read it."""
    stanzas = ["format-version: 1.2\n", "[Term]\nid: process\nname: process\n"]
    for term, parents in PARENTS.items():
        above = "".join(f"is_a: {parent}\n" for parent in parents)
        stanzas.append(f"[Term]\nid: {term}\nname: {term}\n{above}")
    with TemporaryDirectory() as folder:
        path = Path(folder, "functions.obo")
        path.write_text("\n".join(stanzas), encoding="utf-8")
        return Taxonomy.read(path)


def main(picture: str = "functions-on-a-dag.svg") -> None:
    """Train on genes with one or two terms each."""
    taxonomy, rng = ontology(), np.random.default_rng(0)
    terms = [set(rng.choice(taxonomy.names, rng.integers(1, 3), replace=False).tolist()) for _ in range(900)]
    on = LabelMatrix.from_sets(terms, taxonomy).to_indicator().toarray()
    X = on @ rng.normal(size=(taxonomy.n_nodes, 30)) + 2 * rng.normal(size=(900, 30))
    model = FlatLogistic(taxonomy, targets="nodes").fit(X[:600], terms[:600])
    scores = model.decision_function(X[600:], nodes=taxonomy.names)
    for average in ("micro", "macro"):
        found = average_precision(terms[600:], scores, taxonomy, average=average)
        print(f"area below precision and recall, {average}: {found:.3f}")
    print(f"{taxonomy!r}; {model.predict(X[600:601])[0]} for a gene with {terms[600]}")
    Path(picture).write_text(taxonomy_drawing(taxonomy, title="functions"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
