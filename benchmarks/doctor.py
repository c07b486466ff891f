"""What `cladist.evaluation.diagnose` finds of planted faults: wrong labels, beside cleanlab, and faults of a taxonomy.

    python benchmarks/doctor.py labels --cleanlab FOLDER [--sets naics2017,clinc150,icd10cm]
    python benchmarks/doctor.py structure

Labels: 5 % of the rows get another label at random, of any label ("any") or of a sibling ("sibling"). cleanlab sees the
same calibrated out-of-fold probabilities as a dense array; FOLDER holds it, made by ``pip install --no-deps --target
FOLDER cleanlab tqdm termcolor``. Its list is that of `find_label_issues`, ranked by self-confidence, at most a tenth of
the rows; beside it is its ranking of all rows by self-confidence. Recall is the share of planted errors in the first
tenth of a list; "rare" are errors whose wrong label has fewer than 10 rows.

Structure: twenty faults, planted one by one in CLINC150, of which `diagnose` has to name the kind and the nodes.
Writes doctor-labels.json and doctor-structure.json after every step.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.harness import RESULTS, in_new_process, peak_memory, print_rows, write_results
from cladist import Taxonomy, datasets
from cladist.evaluation import diagnose
from cladist.evaluation.diagnosis import _default_estimator
from cladist.evaluation.doubts import doubt_labels, predict_out_of_fold
from cladist.features import text_features
from cladist.labels import LabelMatrix, encode

LABELS, STRUCTURE = "doctor-labels", "doctor-structure"
RATE, SHARE, RARE = 0.05, 0.1, 10
PLANTS = ("any", "sibling")
FAULTS = ("moved", "merged", "split", "copied", "misspelt")
TIMES = 4  # each


def load(name: str) -> tuple[Any, np.ndarray[Any, Any], Taxonomy]:
    """Return rows as features, labels and taxonomy."""
    if name == "icd10cm":
        data = datasets.load_icd10cm()
        texts, y = list(data.texts_train), data.y_train
    elif name == "clinc150":
        data = datasets.load_clinc150()
        texts, y = list(data.texts), data.y
    else:
        data = datasets.load_naics2017()
        texts, y = list(data.X), data.y
    X = text_features(characters=False).fit_transform(texts)
    assert data.taxonomy is not None
    return X, encode(list(map(str, y)), data.taxonomy).labels.nodes(name), data.taxonomy


def plant(nodes: Any, taxonomy: Taxonomy, kind: str, seed: int = 0) -> tuple[Any, Any]:
    """Return labels of which 5 % are wrong, and the rows with a wrong one."""
    random, known = np.random.default_rng(seed), np.unique(nodes)
    rows = random.permutation(len(nodes))[: int(RATE * len(nodes))]
    noisy = nodes.copy()
    for i in rows:
        others = known
        if kind == "sibling":
            siblings = taxonomy.child_ids(int(taxonomy.parent[nodes[i]]))
            others = np.intersect1d(siblings, known) if len(np.intersect1d(siblings, known)) > 1 else known
        noisy[i] = random.choice(others[others != nodes[i]])
    return noisy, rows


def measure_labels(name: str, kind: str, folder: str) -> dict[str, Any]:
    """Return the recall of planted errors by both, on the same out-of-fold probabilities."""
    X, nodes, taxonomy = load(name)
    noisy, rows = plant(nodes, taxonomy, kind)
    labels = LabelMatrix.from_nodes(noisy, taxonomy)
    cpu, wall = time.process_time(), time.perf_counter()
    predicted = predict_out_of_fold(_default_estimator(labels, None), X, labels)
    ours = np.argsort(doubt_labels(predicted).score, kind="stable")
    seconds = {"cpu_s": round(time.process_time() - cpu, 1), "wall_s": round(time.perf_counter() - wall, 1)}
    memory = round(peak_memory() / 2**20)
    classes = predicted.calibrator.class_nodes
    P = np.zeros((len(noisy), len(classes)), np.float32)
    for part, columns, values in predicted.chunks():
        P[part[:, None], columns] = values
    P /= P.sum(axis=1, keepdims=True)
    sys.path.insert(0, folder)
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    codes = np.searchsorted(classes, noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        issues = find_label_issues(codes, P, return_indices_ranked_by="self_confidence", n_jobs=1)
    quality = np.argsort(get_label_quality_scores(codes, P, method="self_confidence"), kind="stable")
    is_error = np.zeros(len(noisy), bool)
    is_error[rows] = True
    is_rare = np.bincount(noisy, minlength=taxonomy.n_nodes)[noisy] < RARE
    n_first = int(SHARE * len(noisy))

    def recall(ranked: Any, among: Any) -> float | None:
        first = np.zeros(len(noisy), bool)
        first[ranked[:n_first]] = True
        return round(float(first[among].mean()), 4) if among.any() else None

    lists = {"cladist": ours, "cleanlab issues": issues, "cleanlab ranking": quality}
    return {
        "data": name, "planted": kind, "rows": len(noisy), "classes": len(classes), "errors": len(rows),
        "rare errors": int((is_error & is_rare).sum()),
        **{f"{tool}": recall(ranked, is_error) for tool, ranked in lists.items()},
        **{f"{tool}, rare": recall(ranked, is_error & is_rare) for tool, ranked in lists.items()},
        "cleanlab's issues": len(issues), **seconds, "peak_mib": memory,
    }  # fmt: skip


def fault(kind: str, number: int) -> dict[str, Any]:
    """Plant one fault in CLINC150 and tell whether it is named."""
    data = datasets.load_clinc150()
    taxonomy, texts = data.taxonomy, list(data.texts)
    assert taxonomy is not None
    y, random = np.array(list(map(str, data.y)), dtype=object), np.random.default_rng(number)
    parents = {c: p for p, c in taxonomy.edges()} | {taxonomy.names[v]: None for v in taxonomy.roots}
    leaf = str(random.choice([taxonomy.names[v] for v in taxonomy.leaves]))
    home = parents[leaf]
    other_parent = str(random.choice([taxonomy.names[v] for v in taxonomy.roots if taxonomy.names[v] != home]))
    half = (y == leaf) & (random.random(len(y)) < 0.5)
    sibling = str(random.choice(taxonomy.siblings(leaf)))
    wanted: tuple[str, ...] = (leaf,)
    found_as = {
        "moved": "misplaced",
        "merged": "two in one",
        "split": "alike",
        "copied": "alike",
        "misspelt": "spelling",
    }
    if kind == "moved":
        parents[leaf] = other_parent
    elif kind == "merged":
        y[y == sibling] = leaf
        del parents[sibling]
    else:
        new = {"split": f"{leaf} (2)", "copied": f"{leaf} copy", "misspelt": leaf.replace("_", " ").title()}[kind]
        y[half], parents[new], wanted = new, other_parent if kind == "copied" else home, (leaf, new)
    cpu = time.process_time()
    result = diagnose(texts, y, Taxonomy.from_parents(parents))
    named = [f for f in result.findings if f.kind == found_as[kind] and set(wanted) <= set(f.nodes)]
    structural = [
        f for f in result.findings if f.kind in ("misplaced", "two in one", "alike", "spelling", "empty", "chain")
    ]
    return {
        "fault": kind, "number": number, "nodes": " and ".join(wanted), "named": bool(named),
        "evidence": named[0].evidence if named else "", "structural findings": len(structural),
        "cpu_s": round(time.process_time() - cpu, 1),
    }  # fmt: skip


def _kept(name: str, keys: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    path = RESULTS / f"{name}.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return {tuple(row[key] for key in keys): row for row in rows}


def main() -> None:
    """Measure what is missing, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("labels", "structure"))
    parser.add_argument("--cleanlab", default="", help="the folder that holds cleanlab")
    parser.add_argument("--sets", default="naics2017,clinc150,icd10cm")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.what == "labels":
        rows, name = _kept(LABELS, ("data", "planted")), LABELS
        for case in [(data, kind) for kind in PLANTS for data in options.sets.split(",")]:
            if options.again or case not in rows:
                rows[case] = in_new_process("benchmarks.doctor:measure_labels", *case, options.cleanlab)
                write_results(name, list(rows.values()), quiet=True, data="5 % planted label errors, seed 0")
                print_rows([rows[case]])
    else:
        rows, name = _kept(STRUCTURE, ("fault", "number")), STRUCTURE
        for case in [(kind, number) for number in range(TIMES) for kind in FAULTS]:
            if options.again or case not in rows:
                rows[case] = in_new_process("benchmarks.doctor:fault", *case)
                write_results(name, list(rows.values()), quiet=True, data="faults planted one by one in CLINC150")
                print_rows([{k: v for k, v in rows[case].items() if k != "evidence"}])
        print(f"named: {sum(row['named'] for row in rows.values())} of {len(rows)}")


if __name__ == "__main__":
    main()
