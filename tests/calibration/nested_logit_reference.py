"""The nested logit model by its definition, one row and one node at a time."""

import numpy as np
from scipy.special import logsumexp


def class_probabilities(taxonomy, class_nodes, scores, scales, biases, by_maximum):
    """Return the probability of each class of one row; `scales` has one entry more, for the virtual root."""
    n_nodes = taxonomy.n_nodes
    column = {int(v): c for c, v in enumerate(class_nodes)}

    def options(v):
        """Return (bias, value, child or None) of what can be chosen at v."""
        found = []
        for u in taxonomy.child_ids(v).tolist():
            below = value(u)
            if below > -np.inf:
                found.append((biases[u], below, u))
        has_below = v >= 0 and any(int(u) in column for u in taxonomy.ids_below(v))
        if v in column and has_below and scores[column[v]] > -np.inf:
            found.append((biases[n_nodes + v], scores[column[v]], None))
        return found

    def value(v):
        found = options(v)
        if not found:
            return scores[column[v]] if v in column else -np.inf
        if by_maximum:
            return max(below for _, below, _ in found)
        return logsumexp([scales[v] * below + b for b, below, _ in found]) / scales[v]

    result = np.zeros(len(class_nodes))

    def descend(v, p):
        found = options(v)
        if not found:
            result[column[v]] = p
            return
        x = np.array([scales[v] * below + b for b, below, _ in found])
        shares = np.exp(x - logsumexp(x))
        for share, (_, _, u) in zip(shares, found, strict=True):
            if u is None:
                result[column[v]] = p * share
            else:
                descend(u, p * share)

    descend(-1, 1.0)
    return result
