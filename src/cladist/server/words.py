"""The words, or features, that speak most for a node."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cladist.errors import CladistError
from cladist.learners.text_explanation import explainable
from cladist.server.served import ServedModel

N_WORDS = 20


def top_words(model: ServedModel, v: int, count: int = N_WORDS) -> list[dict[str, Any]]:
    """Return the words with the largest weights at a node, none if the model has no weights by word.

    They are what `explain` gives for a row that has every word once; n-grams of characters are left out.
    """
    names = names_of_features(model)
    columns = [k for k, name in enumerate(names) if not (model.n_features is None and name.startswith("["))]
    if not columns:
        return []
    node = model.nodes.taxonomy.names[v]
    row = sparse.csr_matrix((np.ones(len(columns)), columns, [0, len(columns)]), shape=(1, len(names)))
    try:
        (why,) = explainable(model.learner).explain(row, nodes=[node])
    except (CladistError, MemoryError):
        return []
    weights = list(why.contributions.get(node, {}).items())
    named = [(names[int(key[1:])] if key[:1] == "x" and key[1:].isdigit() else key, value) for key, value in weights]
    best = sorted((item for item in named if item[1] > 0 and item[0] != "(intercept)"), key=lambda item: -item[1])
    return [{"word": word, "weight": float(f"{value:.4g}")} for word, value in best[:count]]


def names_of_features(model: ServedModel) -> list[str]:
    """Return the names of the columns that the learner takes, [] if they have none."""
    if model.n_features is not None:
        return model.feature_names or [str(k) for k in range(model.n_features)]
    try:
        return [str(name) for name in model.model[:-1].get_feature_names_out()]
    except (ValueError, AttributeError):  # hashed
        return []
