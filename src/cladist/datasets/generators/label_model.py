"""The label model behind the analysis of H-RLS (Cesa-Bianchi, Gentile & Zaniboni 2006), and data drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cladist.datasets.dataset import Dataset
from cladist.errors import ParameterError
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy

Rows = npt.NDArray[np.float64]
MOST_DRAWS = 1000  # rows drawn per row wanted, before the least margin is called too large


@dataclass(frozen=True, eq=False)
class LabelModel:
    """P(v is on | its parent is on, x) = (1 + u_v·x) / 2, and 0 where its parent is off; all vectors have length 1.

    Attributes
    ----------
    taxonomy : Taxonomy
        A tree or forest.
    u : array (nodes × features)
        The vector of each node.

    Examples
    --------
    >>> model = LabelModel.random(Taxonomy.from_paths(["a/b", "a/c"]), n_features=5, random_state=0)
    >>> data = model.sample(100, random_state=1)
    >>> data
    Dataset(100 rows, 5 features, 3 nodes, label model)
    >>> len(model.predict(data.X))
    100
    """

    taxonomy: Taxonomy
    u: Rows

    @classmethod
    def random(
        cls, taxonomy: Taxonomy, *, n_features: int, random_state: int | np.random.Generator | None = None
    ) -> LabelModel:
        """Draw the nodes' vectors uniformly from the sphere."""
        taxonomy.require_tree("LabelModel")
        if n_features < 1:
            raise ParameterError(f"LabelModel: n_features must be at least 1; got {n_features!r}.")
        return cls(taxonomy, _on_sphere(np.random.default_rng(random_state), taxonomy.n_nodes, n_features))

    def predict(self, X: npt.ArrayLike) -> LabelMatrix:
        """Return the labels of the reference classifier, which knows u: on where u·x ≥ 0 and the parent is on."""
        return self._labels(np.asarray(X) @ self.u.T >= 0)

    def draw(self, X: npt.ArrayLike, *, random_state: int | np.random.Generator | None = None) -> LabelMatrix:
        """Draw labels for rows of unit length."""
        rows = np.asarray(X)
        chance = np.random.default_rng(random_state).random((len(rows), self.taxonomy.n_nodes))
        return self._labels(chance < (1 + rows @ self.u.T) / 2)

    def sample(
        self, n_samples: int, *, least_margin: float = 0.0, random_state: int | np.random.Generator | None = None
    ) -> Dataset[Taxonomy]:
        """Draw rows uniformly from the sphere, and their labels.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        least_margin : float
            Rows with ``|u_v·x|`` below this at some node are drawn again; the paper's bound has it in the denominator.
        random_state : int, Generator or None
            The same seed makes the same data.

        Returns
        -------
        Dataset
            y is a `LabelMatrix`.
        """
        if n_samples < 1 or not 0 <= least_margin < 1:
            raise ParameterError(
                "LabelModel: n_samples must be at least 1 and least_margin from 0 to below 1; "
                f"got {n_samples!r} and {least_margin!r}."
            )
        rng = np.random.default_rng(random_state)
        parts: list[Rows] = []
        n_accepted = n_drawn = 0
        while n_accepted < n_samples:
            rows = _on_sphere(rng, n_samples, self.u.shape[1])
            parts.append(rows[np.abs(rows @ self.u.T).min(axis=1) >= least_margin])
            n_accepted, n_drawn = n_accepted + len(parts[-1]), n_drawn + n_samples
            if n_drawn > MOST_DRAWS * n_samples:
                raise ParameterError(
                    f"LabelModel: hardly any row has margins of {least_margin:g} at all nodes; lower least_margin."
                )
        X = np.concatenate(parts)[:n_samples]
        return Dataset(X, self.draw(X, random_state=rng), self.taxonomy, source="label model")

    def _labels(self, on: npt.NDArray[np.bool_]) -> LabelMatrix:
        """Switch off all nodes below a node that is off."""
        for level in self.taxonomy.levels[1:]:
            on[:, level] &= on[:, self.taxonomy.parent[level]]
        indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
        return LabelMatrix(indptr, np.nonzero(on)[1].astype(np.int32), self.taxonomy)


def make_label_model(
    *,
    n_samples: int = 1000,
    n_features: int = 10,
    taxonomy: Taxonomy | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Dataset[Taxonomy]:
    """Make data in which siblings are drawn independently, each on with probability (1 + u·x) / 2 below its parent.

    Parameters
    ----------
    n_samples, n_features : int
        The shape of `X`.
    taxonomy : Taxonomy, optional
        A binary tree of seven nodes by default.
    random_state : int, Generator or None
        The same seed makes the same data.

    Examples
    --------
    >>> make_label_model(n_samples=50, random_state=0)
    Dataset(50 rows, 10 features, 7 nodes, label model)
    """
    rng = np.random.default_rng(random_state)
    tree = taxonomy or Taxonomy.from_parents({v: (v - 1) // 2 if v else None for v in range(7)})
    return LabelModel.random(tree, n_features=n_features, random_state=rng).sample(n_samples, random_state=rng)


def _on_sphere(rng: np.random.Generator, n_rows: int, n_features: int) -> Rows:
    rows = rng.standard_normal((n_rows, n_features))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
