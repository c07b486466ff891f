"""Medical coding: diagnoses in plain words → blocks of ICD-10-CM, with the words behind an answer.

Run as ``python examples/medical_coding.py [page.html]``.
"""

import sys
from pathlib import Path

from cladist import TextClassifier
from cladist.datasets import load_icd10cm
from cladist.metrics import accuracy
from cladist.report.page import plain_page

N_TRAIN, N_TEST = 6_000, 1_000


def main(page: str = "medical-coding.html") -> None:
    """Train on some descriptions, and explain new ones."""
    data = load_icd10cm(level="block")
    step = len(data.y_train) // N_TRAIN
    model = TextClassifier("top-down", data.taxonomy).fit(data.texts_train[::step], data.y_train[::step])
    predicted = model.predict(data.texts_test[:N_TEST])
    print(f"{accuracy(data.y_test[:N_TEST], predicted, data.taxonomy):.0%} of {N_TEST:,} other wordings are right")
    whys = model.explain(["broken left wrist", "severe asthma attack", "bitten by a dog"])
    for why in whys:
        print(f"{why.text}: {' > '.join(data.descriptions[node] for node in why.path)}")
    Path(page).write_text(plain_page("Diagnoses", "".join(why.to_html() for why in whys)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
