"""Compare: methods with the hierarchy and without it on the same rows held out, and a verdict.

Run as ``python examples/compare_methods.py [page.html]``; on the command line it is ``cladist compare``.
"""

import sys
from pathlib import Path

import numpy as np

from cladist.datasets import load_icd10cm
from cladist.evaluation import compare

N_TRAIN = 1_000
BUDGET = 120.0  # seconds


def main(page: str = "compare-methods.html") -> None:
    """Compare on a part of ICD-10-CM's descriptions, filed into blocks."""
    data = load_icd10cm(level="block")
    rows = np.random.default_rng(0).choice(len(data.y_train), N_TRAIN, replace=False)
    methods = ["hr-svm", "top-down", "svm"]
    texts, y = data.texts_train[rows], data.y_train[rows]
    found = compare(texts, y, data.taxonomy, methods=methods, cv=3, budget=BUDGET)
    print(found.verdict)
    for row in found.rows:
        scores = row.scores
        errors = f"{scores['tree_induced_error']:.2f} edges off, accuracy {scores['accuracy']:.3f}"
        print(f"{row.method}: macro-F1 {scores['macro_f1']:.3f}, {errors}")
    print(f"to use: {found.recommended}")
    Path(page).write_text(found.to_html(title="Blocks of ICD-10-CM"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
