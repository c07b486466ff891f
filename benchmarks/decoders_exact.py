"""Decisions compared with all other answers, on thousands of random taxonomies, and with integer programs.

`python -m benchmarks.decoders_exact` draws trees, forests and DAGs of up to 9 nodes, classes at leaves and at some
inner nodes, and probabilities that are multiples of 1/16, so that ties are common. `MinimumRisk` is compared with the
least of all risks, for every loss of the library, hierarchical F with β of ½ and 2, and matrices of costs: over all
nodes and over leaves, from arrays or from lists.
For sets of labels, with all consistent sets and distributions over them.
`Confidence` is compared with its definition, and sets of at most r nodes with scipy's integer program. With `--seed`
and `--add` it is run in parts, whose counts are added up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from scipy import optimize, sparse

from benchmarks.harness import RESULTS, print_rows, write_results
from cladist import Taxonomy
from cladist.decisions import Confidence, Conformal, MinimumRisk
from cladist.labels import LabelMatrix, TopK
from cladist.losses import LOSSES, HierarchicalF, HLoss, SymmetricDifference, ZeroOne

PATH = RESULTS / "decoders-exact.json"
N_TAXONOMIES, N_PROGRAMS = 1_000, 10_000  # of each kind; rows
N_ROWS, PARTS, MOST_NODES = 4, 16, 9
CLOSE = 1e-9  # of two risks that differ by rounding alone
KINDS = ("tree", "forest", "dag")
ALL_LOSSES = (*LOSSES, HierarchicalF(0.5), HierarchicalF(2.0))


def draw_taxonomy(random: Any, kind: str, most: int = MOST_NODES) -> Taxonomy:
    """Return a random taxonomy; a DAG has at least one node of two parents where it has three nodes."""
    n_nodes = int(random.integers(2, most + 1))
    parents: dict[str, list[str]] = {"v0": []}
    for v in range(1, n_nodes):
        if kind == "tree":
            parents[f"v{v}"] = [f"v{random.integers(v)}"]
        elif kind == "forest":
            parents[f"v{v}"] = [f"v{p}" for p in [random.integers(-1, v)] if p >= 0]
        else:
            count = 2 if v == 2 else min(v, int(random.integers(0, 4)))
            parents[f"v{v}"] = [f"v{p}" for p in random.choice(v, size=count, replace=False)]
    return Taxonomy.from_parents({v: above or None for v, above in parents.items()})


def draw_problem(random: Any, kind: str, most: int = MOST_NODES, n_rows: int = N_ROWS) -> tuple[Taxonomy, Any, Any]:
    """Return a taxonomy, its classes and probabilities."""
    taxonomy = draw_taxonomy(random, kind, most)
    inner = np.flatnonzero(~taxonomy.is_leaf)
    stops = inner[random.random(len(inner)) < 0.3 * random.integers(2)]
    classes = np.sort(np.concatenate([taxonomy.leaves, stops]))
    P = random.multinomial(PARTS, random.dirichlet(np.full(len(classes), 0.4)), size=n_rows) / PARTS
    return taxonomy, classes, P


def names_of(taxonomy: Taxonomy, nodes: Any) -> list[str]:
    """Return the names of nodes."""
    return [taxonomy.names[v] for v in nodes]


def closure_of(taxonomy: Taxonomy, nodes: Any) -> Any:
    """Return which nodes are at or above each of some nodes (nodes × all nodes)."""
    return LabelMatrix.from_nodes(nodes, taxonomy).to_indicator().toarray()


def losses_of_pairs(loss: Any, taxonomy: Taxonomy, classes: Any) -> Any:
    """Return the loss of every node as the answer for every class."""
    n_nodes = taxonomy.n_nodes
    true = LabelMatrix.from_nodes(np.repeat(classes, n_nodes), taxonomy)
    answers = LabelMatrix.from_nodes(np.tile(np.arange(n_nodes), len(classes)), taxonomy)
    return loss.per_example(true, answers, taxonomy).reshape(len(classes), n_nodes)


# ---------------------------------------------------------------- one label per row


def check_risks(random: Any, kind: str) -> Iterator[tuple[str, bool]]:
    """Yield, for each loss on one taxonomy, whether all answers have the least risk, and ties go to the first node."""
    taxonomy, classes, P = draw_problem(random, kind)
    names = names_of(taxonomy, classes)
    costs = random.integers(0, 5, (len(classes), taxonomy.n_nodes)) / 4
    cases = [(str(loss), loss, losses_of_pairs(loss, taxonomy, classes)) for loss in ALL_LOSSES]
    for name, loss, pairs in [*cases, ("a matrix of costs", costs, costs)]:
        for over in ("nodes", "leaves"):
            risks = P @ pairs
            if over == "leaves":
                risks[:, ~np.isin(np.arange(taxonomy.n_nodes), classes) | ~taxonomy.is_leaf] = np.inf
            rule = MinimumRisk(loss, over=over).fit(P, None, taxonomy, classes=names)
            nodes = rule.answer(P if random.integers(2) else TopK.of(P, P.shape[1])).nodes
            least = risks.min(axis=1)
            right = bool((nodes >= 0).all() and (risks[np.arange(len(P)), nodes] <= least + CLOSE).all())
            if isinstance(loss, ZeroOne):  # a node that is no class is never the answer
                of_classes = np.where(np.isin(np.arange(taxonomy.n_nodes), classes), risks, np.inf)
                right &= bool((nodes == of_classes.argmin(axis=1)).all())
            else:
                first = (risks <= least[:, None] + 1e-14).argmax(axis=1)
                exact = isinstance(loss, np.ndarray) or np.all(pairs == np.round(pairs))
                right &= not exact or bool((nodes == first).all())
            yield f"MinimumRisk, {name}, {over}", right


def check_confidence(random: Any, kind: str) -> Iterator[tuple[str, bool]]:
    """Yield, for several levels, whether the answers are the deepest nodes of that probability."""
    taxonomy, classes, P = draw_problem(random, kind)
    masses = P @ closure_of(taxonomy, classes)
    for level in (0.25, 0.5, 0.75, 1.0):
        nodes = Confidence(level).fit(P, None, taxonomy, classes=names_of(taxonomy, classes)).answer(P).nodes
        for m, node in zip(masses, nodes, strict=True):
            enough = np.flatnonzero(m >= level)
            best = max(enough, key=lambda v: (taxonomy.depth[v], m[v], -v), default=-1)
            yield "Confidence", bool(node == best)


# ---------------------------------------------------------------- sets of labels


def consistent_sets(taxonomy: Taxonomy) -> Any:
    """Return all sets of nodes that hold the parents of their nodes, one row each."""
    n_nodes = taxonomy.n_nodes
    every = (np.arange(2**n_nodes)[:, None] >> np.arange(n_nodes)) & 1
    edges = taxonomy.parents.tocoo()
    return every[np.all(every[:, edges.row] <= every[:, edges.col], axis=1)]


def check_sets(random: Any, kind: str) -> Iterator[tuple[str, bool]]:
    """Yield whether sets have the least expected loss, or the greatest ratio of expectations, of all closed ones."""
    taxonomy = draw_taxonomy(random, kind, most=6)
    sets = consistent_sets(taxonomy)
    weights = random.multinomial(64, random.dirichlet(np.full(len(sets), 0.4)), size=3) / 64
    marginals, place = weights @ sets, {tuple(z): k for k, z in enumerate(sets)}
    matrix = LabelMatrix.from_indicator(sets, taxonomy)
    left, right = np.repeat(np.arange(len(sets)), len(sets)), np.tile(np.arange(len(sets)), len(sets))
    losses = [SymmetricDifference()] if kind == "dag" else [SymmetricDifference(), HLoss(), HLoss("sibling")]
    for loss in losses:
        risks = weights @ loss.per_example(matrix[left], matrix[right], taxonomy).reshape(len(sets), len(sets))
        chosen = MinimumRisk(loss).fit(marginals, None, taxonomy, sets=True).answer(marginals).nodes
        ours = [risks[i, place[tuple(z)]] for i, z in enumerate(chosen.to_indicator().toarray())]
        yield f"sets, {loss}", bool(np.all(ours <= risks.min(axis=1) + CLOSE))
    for beta in (0.5, 1.0, 2.0):
        rule = MinimumRisk(HierarchicalF(beta)).fit(marginals, None, taxonomy, sets=True)
        for p, z in zip(marginals, rule.answer(marginals).nodes.to_indicator().toarray(), strict=True):
            ratios = [p @ a / (beta**2 * p.sum() + a.sum()) for a in sets if a.any()]
            ours = p @ z / (beta**2 * p.sum() + z.sum()) if z.any() else 0.0
            yield f"sets, ratio of expected F, β = {beta:g}", bool(not p.any() or ours >= max(ratios) - CLOSE)


# ---------------------------------------------------------------- integer programs


def program(masses: Any, sizes: Any, on_path: Any, r: int, level: float) -> float:
    """Return the least number of classes below at most r disjoint nodes whose masses exceed a level; inf if none."""
    exceeding = level + 0.005  # masses are multiples of 1/16, and the program's own tolerance is 1e-6
    constraints = [
        optimize.LinearConstraint(sparse.csr_array(masses[None]), lb=exceeding),
        optimize.LinearConstraint(sparse.csr_array(np.ones((1, len(sizes)))), ub=r),
        optimize.LinearConstraint(sparse.csr_array(on_path), ub=1),
    ]
    found = optimize.milp(sizes, constraints=constraints, integrality=np.ones(len(sizes)), bounds=(0, 1))
    return float(round(found.fun)) if found.success else float("inf")


def check_covers(random: Any) -> Iterator[tuple[str, bool]]:
    """Yield whether sets of at most r nodes are as small as those of the integer program; ties of masses included."""
    taxonomy, classes, P = draw_problem(random, str(random.choice(["tree", "forest"])), most=20, n_rows=5)
    r = int(random.integers(1, 5))
    rule = Conformal(kind="nodes", r=r).fit(P, [taxonomy.names[classes[0]]] * len(P), taxonomy,
                                            classes=names_of(taxonomy, classes))  # fmt: skip
    on_path = closure_of(taxonomy, classes).astype(float)
    masses, sizes = P @ on_path, on_path.sum(axis=0)
    level = float(random.choice([0.25, 0.5, 0.75, 0.8, 0.9]))
    rule.threshold_ = level
    for m, z in zip(masses, rule.answer(P).nodes.frontier_names(), strict=True):
        nodes = [taxonomy.index(name) for name in z]
        least = program(m, sizes, on_path, r, level)
        if np.isinf(least):
            yield "at most r nodes", nodes == taxonomy.roots.tolist()
        else:
            fits = len(nodes) <= r and m[nodes].sum() > level and bool(on_path[:, nodes].sum(axis=1).max() <= 1)
            yield "at most r nodes", bool(fits and sizes[nodes].sum() == least)


def count(results: Iterator[tuple[str, bool]], table: dict[str, list[int]], extra: str) -> None:
    """Add results to the counts of cases and differences."""
    for name, right in results:
        row = table.setdefault(f"{name} · {extra}", [0, 0])
        row[0] += 1
        row[1] += not right


def write(table: dict[str, list[int]], facts: dict[str, Any], *, add: bool) -> None:
    """Write counts, added to those of other seeds in the file if that is asked for."""
    known = json.loads(PATH.read_text()) if add and PATH.exists() else {"rows": []}
    if set(facts["seeds"]) & set(known.get("seeds", [])):
        raise SystemExit(f"{PATH.name} has seed {facts['seeds'][0]} already.")
    for row in known["rows"]:
        of = table.setdefault(row["decision"], [0, 0])
        of[0], of[1] = of[0] + row["cases"], of[1] + row["differences"]
    facts = {name: known.get(name, type(value)()) + value for name, value in facts.items()}
    rows = [{"decision": name, "cases": cases, "differences": wrong} for name, (cases, wrong) in table.items()]
    print_rows(rows)
    write_results(PATH.stem, rows, data=f"random, up to {MOST_NODES} nodes; programs: up to 20", **facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taxonomies", type=int, default=N_TAXONOMIES, help="of each kind; a half of it for sets")
    parser.add_argument("--programs", type=int, default=N_PROGRAMS, help="rows compared with an integer program")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--add", action="store_true", help="to the counts of other seeds in the results")
    given, started = parser.parse_args(), time.process_time()
    random, table = np.random.default_rng(given.seed), dict[str, list[int]]()
    studies: list[tuple[Callable[..., Any], int]] = [
        (check_risks, given.taxonomies),
        (check_confidence, given.taxonomies),
        (check_sets, given.taxonomies // 2),
    ]
    for _ in range(given.programs // 5):
        count(check_covers(random), table, "integer program")
    for check, times in studies:
        for kind in KINDS:
            for _ in range(times):
                count(check(random, kind), table, kind)
    facts = {"taxonomies of each kind": given.taxonomies, "cpu_seconds": time.process_time() - started}
    write(table, {"seeds": [given.seed], **facts}, add=given.add)


if __name__ == "__main__":
    main()
