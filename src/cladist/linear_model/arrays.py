"""Linear weights in any form ↔ named arrays of a model file."""

from __future__ import annotations

from cladist.errors import ModelFormatError
from cladist.linear_model.node_differences import DifferenceWeights
from cladist.linear_model.path_sums import PathSumWeights
from cladist.linear_model.problem_tree import ProblemTree
from cladist.linear_model.sparse import SparseWeights
from cladist.linear_model.weights import DenseWeights, DualWeights, Weights
from cladist.storage.array_groups import Arrays

# How the names of a form's arrays begin.
FORMS: dict[str, type[Weights]] = {
    "sparse/": SparseWeights,
    "differences/": DifferenceWeights,
    "paths/": PathSumWeights,
    "shares/": DualWeights,
    "blocks": DenseWeights,
}


def pack_weights(weights: Weights) -> Arrays:
    """Return the arrays of weights in any form."""
    return {"intercepts": weights.intercepts, **weights.to_arrays()}


def unpack_weights(arrays: Arrays, n_features: int, tree: ProblemTree | None = None, root: str = "zero") -> Weights:
    """Return the weights that `pack_weights` wrote; path sums and differences must be those of the learner's `tree`."""
    for prefix, form in FORMS.items():
        if any(name.startswith(prefix) for name in arrays):
            return form.from_arrays(arrays, n_features, tree, root)
    raise ModelFormatError("Its weights do not fit: they have no form that is known here.")
