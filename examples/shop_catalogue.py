"""A shop's catalogue: train on titles and descriptions, and write a report as a web page.

Run as ``python examples/shop_catalogue.py [page.html]``.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cladist import TextClassifier
from cladist.cli.sample import write_sample
from cladist.datasets import read_table
from cladist.metrics import report
from cladist.report import find_errors, html_report


def main(page: str = "shop-catalogue.html") -> None:
    """Train on the files of ``cladist sample``."""
    with TemporaryDirectory() as folder:
        write_sample(Path(folder))
        columns = {"text": ["title", "description"], "label": "category"}
        train, test = (
            read_table(Path(folder, name), taxonomy=Path(folder, "taxonomy.csv"), **columns)
            for name in ("train.csv", "test.csv")
        )
    model = TextClassifier("hr-svm", train.taxonomy).fit(train.X, train.y)
    predicted = model.predict(test.X)
    found, errors = report(test.y, predicted, train.taxonomy), find_errors(test.y, predicted, train.taxonomy)
    print(f"accuracy {found.metrics['accuracy']:.3f}, {found.metrics['tree_induced_error']:.2f} edges off on average")
    text = html_report(found, title="A shop's catalogue", errors=errors, texts=lambda row: str(test.X[row]))
    Path(page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
