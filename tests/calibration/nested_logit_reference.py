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


def level_off(shares, most):
    """Return shares that sum to 1 − `most`, none above `most`, proportional below that: bisection for the factor."""
    shares, (low, high) = np.array(shares), (0.0, 1e12)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(most, middle * shares).sum() < 1 - most else (low, middle)
    return np.minimum(most, low * shares)


def bend_best_path(taxonomy, class_nodes, P, curve, kept):
    """Return the class probabilities of one row after the best path's nodes got what `curve` says of each step."""
    column, P = {int(v): c for c, v in enumerate(class_nodes)}, P.copy()
    before = P.copy()

    def classes_below(v):
        below = range(taxonomy.n_nodes) if v < 0 else [v, *taxonomy.ids_below(v)]
        return [column[int(u)] for u in below if int(u) in column]

    v, step, mass, old_mass = -1, 0, 1.0, 1.0
    while True:
        options = [(before[classes_below(u)].sum(), classes_below(u), u) for u in taxonomy.child_ids(v).tolist()]
        if v >= 0 and int(v) in column:
            options.insert(0, (before[column[int(v)]], [column[int(v)]], None))
        options = [option for option in options if option[0] > 0]
        if v >= 0 and all(u is None for *_, u in options):
            return P
        best = max(options, key=lambda option: option[0])  # the first of several
        q = best[0] / old_mass
        share, others = q, [option for option in options if option is not best]
        if others:
            share = (1 - kept) * min(1.0, curve(step, best[0]) / mass) + kept * q
            share = max(share, 1 / len(options))
        capped = level_off([option[0] / old_mass for option in others], share)
        for (p, columns, _), new in zip([best, *others], [share, *capped], strict=True):
            P[columns] = before[columns] * mass * new / p
        mass, old_mass, v, step = mass * share, best[0], best[2], step + 1
        if v is None:
            return P
