"""Does the hierarchy help? A method with the tree and without, and an interval for the difference of their errors.

Run as ``python examples/does_the_tree_help.py [tree.svg]``.
"""

import sys
from pathlib import Path

from cladist import FlatSVM, RecursiveSVM
from cladist.datasets import make_topics
from cladist.metrics import significance, tree_induced_error
from cladist.report.taxonomy_drawing import taxonomy_drawing


def main(picture: str = "does-the-tree-help.svg") -> None:
    """Compare on documents drawn from topics below topics."""
    data = make_topics(n_samples=600, n_features=2000, branching=(5, 5), n_test=600, random_state=0)
    predictions = [
        cls(data.taxonomy).fit(data.X_train, data.y_train).predict(data.X_test) for cls in (RecursiveSVM, FlatSVM)
    ]
    errors = [tree_induced_error(data.y_test, predicted, data.taxonomy) for predicted in predictions]
    found = significance.bootstrap_difference(
        tree_induced_error, data.y_test, *predictions, data.taxonomy, n_resamples=500, random_state=0
    )
    print(f"edges off on average: {errors[0]:.3f} with the tree, {errors[1]:.3f} without")
    verdict = "helps" if found.high < 0 else "hurts" if found.low > 0 else "makes no difference that these rows show"
    print(f"difference {found.estimate:+.3f}, between {found.low:+.3f} and {found.high:+.3f}: the tree {verdict}")
    Path(picture).write_text(taxonomy_drawing(data.taxonomy, title="topics"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
