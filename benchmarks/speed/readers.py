"""Reading and building: svmlight beside scikit-learn's reader, LSHTC and RCV1 files, large taxonomies, a million rows.

A row with a size has the rate too; one with a limit must stay below it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks.harness import best_of, print_rows, write_results
from cladist import Taxonomy
from cladist.datasets import Dataset, make_topics, read_svmlight
from cladist.datasets.formats.lshtc import read_lshtc, write_lshtc
from cladist.datasets.formats.rcv1 import read_rcv1
from cladist.datasets.formats.rcv1_writer import write_rcv1
from cladist.labels import LabelMatrix
from cladist.metrics import report


def svmlight_rows(folder: Path) -> list[dict[str, object]]:
    data = make_topics(n_samples=20_000, n_features=50_000, random_state=0)
    codes = np.unique(data.y, return_inverse=True)[1]
    single, several = folder / "single.svm", folder / "several.svm"
    dump_svmlight_file(data.X, codes, str(single))
    pairs = np.zeros((len(codes), codes.max() + 1))
    pairs[np.arange(len(codes)), codes] = pairs[np.arange(len(codes)), codes[::-1]] = 1
    dump_svmlight_file(data.X, pairs, str(several), multilabel=True)
    rows = []
    for name, path, multilabel in (("single label", single, False), ("multi-label", several, True)):
        ours = best_of(3, lambda p=path: read_svmlight(p))
        theirs = best_of(2, lambda p=path, m=multilabel: load_svmlight_file(str(p), multilabel=m))
        rows.append({"what": f"svmlight, {name}, 20,000 rows", "seconds": ours, "peer": theirs, "ratio": theirs / ours})
    return rows


def several_labels() -> Dataset:
    """20,000 rows with one to three labels each, over columns numbered as in LSHTC."""
    data = make_topics(n_samples=20_000, n_features=50_000, random_state=0)
    y = [sorted({data.y[i], data.y[-i], data.y[i // 2]}) for i in range(len(data.y))]
    return Dataset(data.X, y, data.taxonomy)


def rate_row(what: str, paths: list[Path], seconds: float) -> dict[str, object]:
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    return {"what": what, "seconds": seconds, "MB": megabytes, "MB/s": megabytes / seconds}


def family_rows(folder: Path) -> list[dict[str, object]]:
    data = several_labels()
    rows, hierarchy, rcv1 = folder / "lshtc.txt", folder / "hierarchy.txt", folder / "rcv1"
    write_lshtc(data, rows, hierarchy)
    write_rcv1(data, rcv1)
    lshtc = best_of(3, lambda: read_lshtc(rows, hierarchy))
    compact = best_of(3, lambda: read_lshtc(rows, hierarchy, compact=True))
    vectors = best_of(3, lambda: read_rcv1(rcv1))
    return [
        rate_row("LSHTC, multi-label, 20,000 rows", [rows, hierarchy], lshtc),
        rate_row("LSHTC, the same, compact", [rows, hierarchy], compact),
        rate_row("RCV1 vectors and judgements, 20,000 rows", list(rcv1.iterdir()), vectors),
    ]


def judgements_row(folder: Path) -> dict[str, object]:
    """As many judgements as the whole of RCV1-v2 has: 804,414 documents with 3.24 topics each."""
    place = folder / "judgements"
    place.mkdir()
    topics = [f"C{k}" for k in range(103)]
    chosen = np.random.default_rng(0).random((804_414, 103)).argpartition(3, axis=1)[:, :4]
    with open(place / "rcv1-v2.topics.qrels", "w", encoding="ascii") as file:
        for document, four in enumerate(chosen.tolist(), start=1):
            file.writelines(f"{topics[k]} {document} 1\n" for k in four[: 3 + (document % 100 < 24)])
    edges = "".join(f"parent: Root child: {topic}\n" for topic in topics)
    (place / "rcv1.topics.hier.orig").write_text(f"parent: None child: Root\n{edges}", encoding="ascii")
    (place / "lyrl2004_vectors_train.dat").write_text("".join(f"{k}  1:1\n" for k in range(1, 804_415)))
    seconds = best_of(2, lambda: read_rcv1(place))
    return rate_row("RCV1, 2,606,300 judgements of 804,414 documents", list(place.iterdir()), seconds)


def random_edges(n_nodes: int) -> list[tuple[str, str]]:
    random = np.random.default_rng(0)
    parents = (random.random(n_nodes - 1) * np.arange(1, n_nodes)).astype(int)
    return [(str(p), str(v)) for v, p in enumerate(parents.tolist(), start=1)]


def taxonomy_rows(folder: Path) -> list[dict[str, object]]:
    edges = random_edges(1_000_000)
    path = folder / "edges.txt"
    path.write_text("".join(f"{parent} {child}\n" for parent, child in edges[:500_000]), encoding="ascii")
    built = best_of(2, lambda: Taxonomy.from_edges(edges))
    read = best_of(3, lambda: Taxonomy.read(path))
    return [
        {"what": "Taxonomy.from_edges, 1,000,000 nodes", "seconds": built},
        {"what": "Taxonomy.read, a file of 500,000 edges", "seconds": read, "limit": 3.0},
    ]


def report_row() -> dict[str, object]:
    paths = [(f"{a}", f"{a}.{b}", f"{a}.{b}.{c}") for a in range(10) for b in range(100) for c in range(100)]
    taxonomy = Taxonomy.from_paths(paths)
    random = np.random.default_rng(0)
    true, predicted = (LabelMatrix.from_nodes(random.choice(taxonomy.leaves, 1_000_000), taxonomy) for _ in range(2))
    seconds = best_of(2, lambda: report(true, predicted, taxonomy))
    return {"what": f"report, 1,000,000 rows × {taxonomy.n_nodes:,} nodes", "seconds": seconds}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [*svmlight_rows(place), *family_rows(place), judgements_row(place), *taxonomy_rows(place), report_row()]
    print_rows(rows)
    write_results("readers", rows, data="generated by make_topics and at random", peer="scikit-learn's reader")


if __name__ == "__main__":
    main()
