"""Doctor: labels that are probably wrong, found among products of which some were filed in the wrong place.

Run as ``python examples/wrong_labels.py [page.html]``; on the command line it is ``cladist doctor``.
"""

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cladist.cli.sample import write_sample
from cladist.datasets import read_table
from cladist.evaluation import apply_edits, diagnose


def main(page: str = "wrong-labels.html") -> None:
    """File one product in twenty somewhere else, look for them, and put the surest back."""
    with TemporaryDirectory() as folder:
        write_sample(Path(folder, "shop"))
        path = Path(folder, "shop", "train.csv")
        data = read_table(
            path, text=["title", "description"], label="category", taxonomy=path.with_name("taxonomy.csv")
        )
    rng = random.Random(0)
    labels, leaves = data.y.tolist(), sorted(set(data.y.tolist()))
    moved = set(rng.sample(range(len(labels)), len(labels) // 20))
    for row in moved:
        labels[row] = rng.choice([leaf for leaf in leaves if leaf != labels[row]])

    diagnosis = diagnose(data.X, labels, data.taxonomy)
    for n_read in (len(moved), 2 * len(moved), len(labels) // 4):
        n_found = len(moved & set(diagnosis.label_errors[:n_read].tolist()))
        print(f"of {len(moved)} products in the wrong place, {n_found} are among the first {n_read} of {len(labels)}")
    print(diagnosis)

    edits = [edit for edit in diagnosis.edits if edit.action == "relabel" and edit.sure > 0.9]
    mended = apply_edits(edits, [[label] for label in labels], data.taxonomy).labels
    n_right = sum(mended[row] == {data.y[row]} for row in moved)
    n_spoilt = sum(mended[row] != {data.y[row]} for row in range(len(labels)) if row not in moved)
    print(f"{len(edits)} edits applied: {n_right} labels mended, {n_spoilt} spoilt")
    Path(page).write_text(diagnosis.to_html(title="A shop's catalogue"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
