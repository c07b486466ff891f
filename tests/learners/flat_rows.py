"""Rows for tests of linear learners: names or sets of labels, and features that tell something of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cladist import LabelMatrix, Taxonomy
from tests.solvers.problems import random_rows

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music", "art/film", "food"])


def rows_of(labels, seed=0, *, n_features=40, density=0.3, noise=0.6):
    """Rows that a linear classifier can tell apart, but not well: a direction a label, and noise."""
    random = np.random.default_rng(seed)
    names = sorted(set(labels))
    directions = random_rows(random, len(names), n_features, density)
    places = [names.index(label) for label in labels]
    return sparse.csr_array(directions[places] + noise * random_rows(random, len(labels), n_features, density))


def single(n_rows=90, seed=0, labels=("tennis", "chess", "music", "film"), **options):
    y = np.random.default_rng(seed + 100).choice(labels, n_rows)
    return rows_of(y, seed, **options), y


def sets_of(n_rows=80, seed=0, taxonomy=TAXONOMY, most=3):
    """Rows with none to `most` nodes each, inner ones among them, and features that tell something of them."""
    random = np.random.default_rng(seed)
    y = [set(random.choice(taxonomy.names, k, replace=False).tolist()) for k in random.integers(0, most + 1, n_rows)]
    has = LabelMatrix.from_sets(y, taxonomy).to_indicator().toarray()
    X = has @ random_rows(random, taxonomy.n_nodes, 30, 0.5) + 0.5 * random_rows(random, n_rows, 30, 0.3)
    return sparse.csr_array(X), y, has


def best_entry(results):
    """The entry of highest score among those that were looked at most closely, the first of equals."""
    most = max(entry["folds"] for entry in results)
    return max((entry for entry in results if entry["folds"] == most), key=lambda entry: entry["score"])
