"""Decisions from class probabilities: masses of nodes, the node of least risk, the deepest sure node, smallest covers.

Row i gives class ``columns[i, k]`` the probability ``values[i, k]``. The mass of a node is the sum over the classes at
and below it; `closure` lists, as CSR, the nodes at and above each class. Ids are topological: parents come first.
"""

from __future__ import annotations

import numpy as np

from cladist.kernels.jit import kernel

SLACK = 1e-9  # of a sum of probabilities


@kernel
def add_mass(columns, values, closure_indptr, closure_indices, mass, touched):
    """Add the probabilities of a row to the masses of nodes, which are 0 before; return how many are positive now.

    `touched` receives these nodes.
    """
    count = 0
    for k in range(columns.shape[0]):
        p = values[k]
        if p > 0.0:
            for e in range(closure_indptr[columns[k]], closure_indptr[columns[k] + 1]):
                v = closure_indices[e]
                if mass[v] == 0.0:
                    touched[count] = v
                    count += 1
                mass[v] += p
    return count


@kernel
def order_touched(mass, touched, count, every):
    """Sort the nodes with a mass, or list every node if there is any mass; return how many are listed."""
    if not every and 8 * count < mass.shape[0]:
        touched[:count] = np.sort(touched[:count])
        return count
    listed = 0
    if count:
        for v in range(mass.shape[0]):  # quicker than sorting many
            if every or mass[v] > 0.0:
                touched[listed] = v
                listed += 1
    return listed


@kernel
def clear_mass(mass, touched, count):
    """Set the masses of some nodes to 0."""
    for t in range(count):
        mass[touched[t]] = 0.0


@kernel
def node_masses(columns, values, closure_indptr, closure_indices, n_nodes):
    """Return the mass of every node (rows × nodes)."""
    out = np.zeros((columns.shape[0], n_nodes))
    touched = np.empty(n_nodes, np.int64)
    for i in range(columns.shape[0]):
        add_mass(columns[i], values[i], closure_indptr, closure_indices, out[i], touched)
    return out


@kernel
def mass_at(columns, values, closure_indptr, closure_indices, nodes):
    """Return the mass of one node per row; 0 for −1."""
    out = np.zeros(columns.shape[0])
    for i in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            c = columns[i, k]
            for e in range(closure_indptr[c], closure_indptr[c + 1]):
                if closure_indices[e] == nodes[i]:
                    out[i] += values[i, k]
    return out


@kernel
def least_risk(columns, values, closure_indptr, closure_indices, parent, cost, allowed, first_mistakes):
    """Return the allowed node of least expected loss of every row of a tree or forest, and that loss.

    Along an edge from p down to b, with masses m and total mass T, the risk changes by ``c_b (T − 2 m_b)`` if all
    wrong nodes count, and by ``c_b (m_p − 2 m_b) + Q_b`` if only first mistakes do, with Q_b = Σ_{children c} c_c m_c.
    A node without mass is never better than its parent, so that nodes with mass suffice where all are allowed.
    Ties go to the lowest id; −1 for a row without probabilities.
    """
    n_rows, n_nodes = columns.shape[0], parent.shape[0]
    best, risk = np.full(n_rows, -1, np.int64), np.full(n_rows, np.inf)
    mass, below, here = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    touched, some = np.empty(n_nodes, np.int64), not allowed.all()
    for i in range(n_rows):
        count = add_mass(columns[i], values[i], closure_indptr, closure_indices, mass, touched)
        count = order_touched(mass, touched, count, some)
        total, above = 0.0, 0.0  # risk of stopping above the roots
        for t in range(count):
            v = touched[t]
            if parent[v] < 0:
                total += mass[v]
            if first_mistakes and parent[v] >= 0:
                below[parent[v]] += cost[v] * mass[v]
            else:
                above += cost[v] * mass[v]
        for t in range(count):
            v = touched[t]
            p = parent[v]
            start = here[p] if p >= 0 else above
            if first_mistakes:
                m = mass[p] if p >= 0 else total
                here[v] = start + cost[v] * (m - 2.0 * mass[v]) + below[v]
            else:
                here[v] = start + cost[v] * (total - 2.0 * mass[v])
            if allowed[v] and here[v] < risk[i]:
                best[i], risk[i] = v, here[v]
        for t in range(count):
            below[touched[t]] = 0.0
        clear_mass(mass, touched, count)
    return best, risk


@kernel
def highest_overlap(columns, values, closure_indptr, closure_indices, parent, depth, allowed, beta):
    """Return the allowed node of highest expected F_β of every row of a tree or forest, and 1 minus that.

    F_β = (1 + β²) |A ∩ B| / (β² |A| + |B|) for the nodes A at and above the true class and B at and above the answer.
    For answers at one depth, |B| is constant and |A ∩ B| a sum over the answer's path, so that expectations are path
    sums of masses in which each class is weighted by 1 / (β² |A| + |B|).
    """
    n_rows, n_nodes, factor = columns.shape[0], parent.shape[0], beta * beta
    best, risk = np.full(n_rows, -1, np.int64), np.full(n_rows, np.inf)
    mass, here, touched = np.zeros(n_nodes), np.zeros(n_nodes), np.empty(n_nodes, np.int64)
    weighted, some = np.empty(columns.shape[1]), not allowed.all()
    for i in range(n_rows):
        total = 0.0
        for k in range(columns.shape[1]):
            total += max(values[i, k], 0.0)
        for level in range(depth.max() + 1):
            for k in range(columns.shape[1]):
                length = closure_indptr[columns[i, k] + 1] - closure_indptr[columns[i, k]]
                weighted[k] = values[i, k] * (1.0 + factor) / (factor * length + level + 1)
            count = add_mass(columns[i], weighted, closure_indptr, closure_indices, mass, touched)
            count = order_touched(mass, touched, count, some)
            for t in range(count):
                v = touched[t]
                here[v] = mass[v] + (here[parent[v]] if parent[v] >= 0 else 0.0)
                if depth[v] == level and allowed[v]:
                    loss = total - here[v]
                    if loss < risk[i] or (loss == risk[i] and v < best[i]):
                        best[i], risk[i] = v, loss
            clear_mass(mass, touched, count)
    return best, risk


@kernel
def deepest_nodes(columns, values, closure_indptr, closure_indices, depth, levels):
    """Return, for each row and level, the deepest node whose mass reaches the level, −1 if none does, and its mass.

    Of several nodes of that depth, the one of greatest mass; then the lowest id.
    """
    n_rows, n_levels = columns.shape[0], levels.shape[0]
    best, sure = np.full((n_rows, n_levels), -1, np.int64), np.zeros((n_rows, n_levels))
    mass, touched = np.zeros(depth.shape[0]), np.empty(depth.shape[0], np.int64)
    for i in range(n_rows):
        count = add_mass(columns[i], values[i], closure_indptr, closure_indices, mass, touched)
        for t in range(count):
            v = touched[t]
            for j in range(n_levels):
                if mass[v] >= levels[j] - SLACK:
                    b = best[i, j]
                    deeper = b < 0 or depth[v] > depth[b]
                    if not deeper and depth[v] == depth[b]:
                        deeper = mass[v] > sure[i, j] or (mass[v] == sure[i, j] and v < b)
                    if deeper:
                        best[i, j], sure[i, j] = v, mass[v]
        clear_mass(mass, touched, count)
    return best, sure


@kernel
def greatest_gain(columns, values, closure_indptr, closure_indices, reward, levels, margin):
    """Return, for each row and level, the node of greatest gain and its mass; −1 if no gain is positive.

    The gain is the expected reward less λ times how far the probability of an error exceeds a margin: reward · m −
    λ (1 − m − margin), with λ = level / (1 − level) and the mass m. Ties go to the highest id, the deeper node.
    """
    n_rows, n_levels = columns.shape[0], levels.shape[0]
    best, sure = np.full((n_rows, n_levels), -1, np.int64), np.zeros((n_rows, n_levels))
    mass, touched = np.zeros(reward.shape[0]), np.empty(reward.shape[0], np.int64)
    highest = np.empty(n_levels)
    for i in range(n_rows):
        count = add_mass(columns[i], values[i], closure_indptr, closure_indices, mass, touched)
        highest[:] = 0.0
        for t in range(count):
            v = touched[t]
            for j in range(n_levels):
                gain = (1.0 - levels[j]) * reward[v] * mass[v] - levels[j] * (1.0 - mass[v] - margin)
                if gain > highest[j] or (gain == highest[j] and v > best[i, j]):
                    best[i, j], sure[i, j], highest[j] = v, mass[v], gain
        clear_mass(mass, touched, count)
    return best, sure


@kernel
def most_informative(columns, values, closure_indptr, closure_indices, reward, multiplier):
    """Return the node of greatest (reward + multiplier) · mass of every row and its mass; ties to the lowest id."""
    n_rows, n_nodes = columns.shape[0], reward.shape[0]
    best, sure = np.full(n_rows, -1, np.int64), np.zeros(n_rows)
    mass, touched = np.zeros(n_nodes), np.empty(n_nodes, np.int64)
    for i in range(n_rows):
        count = add_mass(columns[i], values[i], closure_indptr, closure_indices, mass, touched)
        highest = -np.inf
        for t in range(count):
            v = touched[t]
            value = (reward[v] + multiplier) * mass[v]
            if value > highest or (value == highest and v < best[i]):
                best[i], sure[i], highest = v, mass[v], value
        clear_mass(mass, touched, count)
    return best, sure


# -------------------------------------------------------------------- smallest covers


@kernel
def grow(array, needed):
    """Return the array, or a copy of twice the length needed if it is shorter."""
    if needed <= array.shape[0]:
        return array
    larger = np.empty(2 * needed, array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def merge_frontiers(a, a_end, b, b_end, v, v_size, v_mass, low, high, sizes, masses, nodes, rest, used):
    """Append the best of the sets a … a_end and of the sets b … b_end with node v added; return the new length.

    Both come with growing size and mass, and so does the result. It has sets of more mass than `low`, up to the first
    of more than `high`.
    """
    best = low
    while (a < a_end or b < b_end) and best <= high:
        without = b == b_end
        if a < a_end and b < b_end:
            with_size, with_mass = sizes[b] + v_size, masses[b] + v_mass
            without = sizes[a] < with_size or (sizes[a] == with_size and masses[a] >= with_mass)  # the deeper ones
        if without:
            if masses[a] > best:
                best = masses[a]
                sizes[used], masses[used], nodes[used], rest[used] = sizes[a], masses[a], nodes[a], rest[a]
                used += 1
            a += 1
        else:
            if masses[b] + v_mass > best:
                best = masses[b] + v_mass
                sizes[used], masses[used], nodes[used], rest[used] = sizes[b] + v_size, best, v, b
                used += 1
            b += 1
    return used


@kernel
def put_in_preorder(mass, touched, rank, by_rank, order):
    """Set the first of `order` to the nodes with a mass, in preorder."""
    if 8 * touched.shape[0] < rank.shape[0]:
        for t, place in enumerate(np.sort(rank[touched])):
            order[t] = by_rank[place]
    else:  # quicker than sorting many
        t = 0
        for v in by_rank:
            if mass[v] > 0.0:
                order[t] = v
                t += 1


@kernel
def look_ahead(order, rank, last_rank, mass, behind, suffix, largest):
    """Set, for nodes in preorder, the position behind the subtree, the mass from there on, and the largest mass before.

    The last is that of a node whose subtree ends before the position.
    """
    count = order.shape[0]
    largest[: count + 1] = 0.0
    suffix[count] = 0.0
    for t in range(count - 1, -1, -1):
        v, e = order[t], t + 1
        while e < count and rank[order[e]] <= last_rank[v]:
            e = behind[e]
        behind[t], suffix[t] = e, suffix[e] + mass[v]
        largest[e] = max(largest[e], mass[v])
    for t in range(1, count):
        largest[t] = max(largest[t], largest[t - 1])


@kernel
def smallest_covers(columns, values, closure_indptr, closure_indices, size, rank, last_rank, most, level):
    """Return, for every row, the sets of at most `most` disjoint nodes of a forest that no other set dominates.

    A set dominates another if it has no more classes and no less mass. Each row's sets come with growing size and mass.
    Nodes are visited in preorder, backwards: the best sets from a position on either leave its node out, or take it and
    go on behind its subtree, with one node less. So frontiers are merged, never multiplied.

    From a level of 0 on, only the first set of each row is returned whose mass exceeds it, if there is one. Of the sets
    from a position on, those are dropped that would not reach it with the nodes still allowed in front of it: each
    adds no more than the most probable node there does, and all together no more than the classes there do.

    Parameters are the number of classes at and below each node, its place in preorder, and the last place in its
    subtree. Returned are the first set of each row, and of each set its mass and its nodes, filled up with −1.
    """
    n_rows, n_nodes = columns.shape[0], size.shape[0]
    mass, touched = np.zeros(n_nodes), np.empty(n_nodes, np.int64)
    by_rank, order = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    by_rank[rank] = np.arange(n_nodes)
    behind, suffix, largest = np.empty(n_nodes, np.int64), np.zeros(n_nodes + 1), np.zeros(n_nodes + 1)
    high = level if level >= 0.0 else np.inf
    out_indptr = np.zeros(n_rows + 1, np.int64)
    out_mass, out_nodes = np.empty(64), np.empty(64 * most, np.int64)
    # Sets of one row: classes, mass, first node, and the set of the other nodes. Set 0 is empty.
    sizes, masses = np.zeros(256, np.int64), np.zeros(256)
    nodes, rest = np.full(256, -1, np.int64), np.full(256, -1, np.int64)
    # The sets from each position on, of up to so many nodes; of none, the empty set.
    start, stop = np.zeros((n_nodes + 1, most + 1), np.int64), np.ones((n_nodes + 1, most + 1), np.int64)
    total = 0
    for i in range(n_rows):
        count = add_mass(columns[i], values[i], closure_indptr, closure_indices, mass, touched)
        put_in_preorder(mass, touched[:count], rank, by_rank, order)
        look_ahead(order[:count], rank, last_rank, mass, behind, suffix, largest)
        start[count], stop[count] = 0, 1
        used, most_size = 1, closure_indptr.shape[0]
        if level >= 0.0:
            for t in range(count):
                if mass[order[t]] > level:
                    most_size = min(most_size, size[order[t]])
        for t in range(count - 1, -1, -1):
            v, e, needed = order[t], behind[t], used
            for j in range(1, most + 1):
                needed += stop[t + 1, j] - start[t + 1, j] + stop[e, j - 1] - start[e, j - 1]
            if needed > sizes.shape[0]:
                sizes, masses = grow(sizes, needed), grow(masses, needed)
                nodes, rest = grow(nodes, needed), grow(rest, needed)
            for j in range(1, most + 1):
                a, a_end, b, b_end = start[t + 1, j], stop[t + 1, j], start[e, j - 1], stop[e, j - 1]
                low = level
                if j < most:
                    low = max(level - min(suffix[0] - suffix[t], (most - j) * largest[t]) - SLACK, -1.0)
                start[t, j], stop[t, j] = a, a_end
                # Where no set with this node is of use, those without it stay as they are.
                if b < b_end and size[v] + sizes[b] <= most_size and mass[v] + masses[b_end - 1] > low:
                    start[t, j] = used
                    used = merge_frontiers(
                        a, a_end, b, b_end, v, size[v], mass[v], low, high, sizes, masses, nodes, rest, used
                    )
                    stop[t, j] = used
        n_sets = stop[0, most] - start[0, most]
        out_mass, out_nodes = grow(out_mass, total + n_sets), grow(out_nodes, (total + n_sets) * most)
        for e in range(start[0, most], stop[0, most]):
            if nodes[e] >= 0:  # not the empty set
                out_mass[total] = masses[e]
                out_nodes[total * most : (total + 1) * most] = -1
                k, s = 0, e
                while nodes[s] >= 0:
                    out_nodes[total * most + k] = nodes[s]
                    k, s = k + 1, rest[s]
                total += 1
        out_indptr[i + 1] = total
        clear_mass(mass, touched, count)
    return out_indptr, out_mass[:total].copy(), out_nodes[: total * most].copy().reshape(total, most)
