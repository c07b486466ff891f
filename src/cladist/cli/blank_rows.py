"""Rows of texts in which a model knows no word: counted while rows are answered, told once at the end."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from cladist.cli.model_input import features_of
from cladist.errors import DatasetWarning

MOST_NAMED = 5


class BlankRows:
    """Counts rows of zeros; of a model that learnt from numbers, of which 0 is one like others, none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from cladist import FlatSVM
    >>> from cladist.features import text_features
    >>> model = make_pipeline(text_features(), FlatSVM()).fit(["red wine", "green tea"], ["wine", "tea"])
    >>> blank = BlankRows(model)
    >>> blank.note(model[:-1].transform(["tea", "", "qqq"]), [1, 2, 3])
    >>> blank.count, blank.first
    (2, [2, 3])
    """

    def __init__(self, model: Any) -> None:
        self.learnt_from_texts = features_of(model) is None
        self.count = self.n_rows = 0
        self.first: list[int] = []

    def note(self, X: Any, numbers: Sequence[int]) -> None:
        """Take account of some rows, as the learner gets them; `numbers` say where they stand."""
        if not self.learnt_from_texts:
            return
        self.n_rows += len(numbers)
        filled = abs(sparse.csr_array(X)).sum(axis=1)
        blank = np.flatnonzero(np.asarray(filled).ravel() == 0)
        self.count += len(blank)
        self.first += [numbers[k] for k in blank[: MOST_NAMED - len(self.first)].tolist()]

    def warn(self, unit: str) -> None:
        """Say how many there were and where the first stand; `unit` is what their numbers count, "row" or "line"."""
        if not self.count:
            return
        which = ", ".join(map(str, self.first)) + (", …" if self.count > len(self.first) else "")
        warnings.warn(
            f"The model knows no word in {self.count:,} of {self.n_rows:,} rows ({unit}{'s' * (self.count > 1)} "
            f"{which}); for all such rows it predicts the same, whatever they say.",
            DatasetWarning,
            stacklevel=2,
        )
