"""What decisions gain on real rows: stopping, guarantees, sets, and rules beside published heuristics.

`python -m benchmarks.decisions STUDY [SET …]` reads the scores of `benchmarks.held_out_scores` (part 0; of icd10cm with
`--parts` also the test part). Probabilities are those of a blend of all learners, fitted and calibrated on out-of-fold
scores of the training rows, and of the flat classifier (FlatLogistic, temperature without the tree). What a rule
learns from, and all its settings, come from one random half of the part's own rows; figures are of the other half.

stopping: icd10cm's test part, nothing chosen on its rows: accuracy and tree-induced error of leaves and of the node of
    least expected distance.
guarantees: the information kept at a guaranteed error of 5 % (δ = 0.1), of all rows or of the rows with an answer, 20
    splits, beside leaves filed where the flat classifier's highest probability reaches a threshold that is chosen by
    the same test. `depth_kept` is the depth of right answers relative to that of their labels, 0 for wrong ones and for
    rows without an answer. A split is over the bound if the error on all rows is. That answers of the greatest gain
    keep more than the deepest was first seen on naics2017.
conformal: coverage and sizes of sets, 100 splits, beside the flat sets of MAPIE, if it is installed; and enron.
heuristics: every rule on the metric that it is made for, beside climbing, DARTS, expected loss over leaves and a
    threshold for leaves, whose settings are chosen by that metric; differences by row, with their standard error.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, softmax

from benchmarks.calibration import blend, fit
from benchmarks.data_sets import tfidf
from benchmarks.harness import RESULTS, print_rows, write_results
from benchmarks.held_out_scores import FOLDER, PARTS, Scores, choose_C, load_part, load_scores
from benchmarks.held_out_scores import fit as fit_learner
from cladist import CalibratedClassifier, FlatLogistic
from cladist.calibration import calibrate
from cladist.datasets import load_enron
from cladist.decisions import Confidence, Conformal, MinimumRisk, RiskControl, Specificity
from cladist.decisions.risk_control import LEVELS, certify_answers
from cladist.errors import CladistWarning
from cladist.labels import LabelMatrix, TopK, encode
from cladist.learners.decision_classifier import LONGER
from cladist.losses import HierarchicalF, HLoss, TreeDistance, ZeroOne
from cladist.taxonomy import Taxonomy

N_SPLITS, AT_MOST, DELTA, LISTED = 20, 0.05, 0.1, 100
N_COVERED = 100  # splits over which coverage of sets is measured; MAPIE, which takes longer, has N_SPLITS of them
FLAT = "FlatLogistic"
ALPHAS = (0.05, 0.1, 0.2)
MOST_SETS = 3_000  # rows in the study of sets


class Rows(NamedTuple):
    """Probabilities of a part's own rows, by the blend and by the flat classifier, as lists, and their labels."""

    taxonomy: Taxonomy
    classes: list[str]
    blended: TopK
    flat: TopK
    nodes: Any
    P_flat: Any
    P_blend: Any

    def take(self, top: TopK, rows: Any) -> TopK:
        """Return some rows of lists."""
        return TopK(top.columns[rows], top.probabilities[rows])

    def fit(self, rule: Any, top: TopK, rows: Any) -> Any:
        """Return a rule fitted to some rows."""
        names = [self.taxonomy.names[v] for v in self.nodes[rows]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CladistWarning)
            return rule.fit(self.take(top, rows), names, self.taxonomy, classes=self.classes)


def load_rows(name: str, part: str, folder: Path) -> Rows:
    """Return the probabilities of a part's own rows; they are kept beside the scores."""
    scores, path = load_scores(name, part, folder), folder / name / part / "probabilities.npz"
    if not path.exists():
        _, P, _, _ = blend(scores, list(scores.out_of_fold))
        scale = flat_scale(name, scores, folder)
        P_flat = softmax(scale * np.asarray(scores.own[FLAT], dtype=np.float64), axis=1)
        listed, flat = (TopK.of(of, min(LISTED, of.shape[1])) for of in (P, P_flat))
        np.savez(path, listed=listed.columns, p=listed.probabilities, flat=flat.columns, p_flat=flat.probabilities,
                 P_flat=P_flat.astype(np.float32), P=P.astype(np.float32))  # fmt: skip
    kept = np.load(path)
    classes = [scores.taxonomy.names[v] for v in scores.class_nodes]
    lists = TopK(kept["listed"], kept["p"]), TopK(kept["flat"], kept["p_flat"])
    return Rows(scores.taxonomy, classes, *lists, scores.own_nodes, kept["P_flat"], kept["P"])


def flat_scale(name: str, scores: Scores, folder: Path) -> float:
    """Return the temperature of the flat classifier, as the factor of its scores.

    Where it has no out-of-fold scores, of a model trained on 80 % of part 0's training rows, fitted to the rest.
    """
    if FLAT in scores.out_of_fold:
        return float(fit(scores, FLAT, "temperature", "leaves")[0].model.scales[-1])
    path = folder / name / "flat-scale.json"
    if not path.exists():
        part = load_part(name, "0")
        own, others = np.split(np.random.default_rng(5).permutation(len(part.nodes)), [len(part.nodes) // 5])
        values, _ = fit_learner(name, FLAT, part, others, part.texts[own], C=choose_C(name, folder)[FLAT])
        classes = [part.taxonomy.names[v] for v in np.unique(part.nodes)]
        y = [part.taxonomy.names[v] for v in part.nodes[own]]
        calibrator = calibrate(values, y, part.taxonomy, level="leaves", classes=classes)
        path.write_text(json.dumps(float(calibrator.model.scales[-1])))
    return float(json.loads(path.read_text()))


def halves(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return two random halves of the rows."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: n_rows // 2], order[n_rows // 2 :]


def losses(loss: Any, taxonomy: Taxonomy, true: Any, answers: Any) -> Any:
    """Return the loss of each row; a row without an answer has that of the first root."""
    nodes = np.where(answers < 0, 0, answers)
    return loss.per_example(LabelMatrix.from_nodes(true, taxonomy), LabelMatrix.from_nodes(nodes, taxonomy), taxonomy)


# ---------------------------------------------------------------- stopping


def stopping(name: str, folder: Path) -> list[dict[str, Any]]:
    """Return the figures of leaves and of nodes of least expected distance on the test part, of each learner."""
    scores, table = load_scores(name, "test", folder), []
    learners = list(scores.out_of_fold)
    kinds = {who: fit(scores, who, "temperature", "levels")[0].predict(scores.own[who]) for who in learners}
    shares, kinds["blend"], _, _ = blend(scores, learners)
    for who, P in kinds.items():
        by_scores = {} if who == "blend" else {"by scores": scores.class_nodes[scores.own[who].argmax(axis=1)]}
        rules = {"most probable leaf": MinimumRisk("zero-one"), "leaf of least distance": MinimumRisk(over="leaves")}
        rules["node of least distance"] = MinimumRisk()
        classes = [scores.taxonomy.names[v] for v in scores.class_nodes]
        top = TopK.of(P, LISTED)
        answers = by_scores | {
            rule: fitted.fit(top, None, scores.taxonomy, classes=classes).answer(top).nodes
            for rule, fitted in rules.items()
        }
        for rule, nodes in answers.items():
            distance = losses(TreeDistance(), scores.taxonomy, scores.own_nodes, nodes)
            right = nodes == scores.own_nodes
            row = {"model": who, "answer": rule, "accuracy": float(right.mean()), "tree_induced_error": distance.mean()}
            row["standard_error"] = float(distance.std(ddof=1) / np.sqrt(len(distance)))
            row["share_of_leaves"] = float(scores.taxonomy.is_leaf[nodes].mean())
            table.append(row)
    print_rows(table)
    return [{"set": name, "rows": len(scores.own_nodes), "shares": shares, "answers": table}]


# ---------------------------------------------------------------- guarantees


class Kept(NamedTuple):
    """Shares: of depth kept by right answers, of wrong answers, of wrong ones among answers, of right leaves."""

    depth_kept: float
    error: float
    error_of_answers: float
    right_leaves: float


def kept(taxonomy: Taxonomy, true: Any, answers: Any) -> Kept:
    """Return what answers keep of the depth of labels, 0 for wrong ones and for rows without an answer."""
    has = answers >= 0
    right = (taxonomy.common_ancestors(np.maximum(answers, 0), true) == answers) & has
    share = np.where(right, (taxonomy.depth[answers] + 1) / (taxonomy.depth[true] + 1), 0.0)
    wrong = float((has & ~right).mean())
    return Kept(float(share.mean()), wrong, wrong / max(float(has.mean()), 1e-12), float((answers == true).mean()))


def threshold_leaves(top: TopK, hits: Any, of: str) -> float:
    """Return the lowest threshold of the highest probability that keeps the error, tested as in `RiskControl`."""
    filed = top.probabilities[:, 0] >= LEVELS[:, None]
    wrong, answered = (filed & ~hits).sum(axis=1).astype(float), filed.sum(axis=1)
    passed = np.logical_and.accumulate(bdtr(wrong, len(hits), AT_MOST) <= DELTA)
    if of == "answers":
        passed = certify_answers(wrong, answered, len(hits), AT_MOST, DELTA)
    return float(LEVELS[np.flatnonzero(passed)[-1]]) if passed.any() else np.inf


def guarantees(name: str, part: str, folder: Path) -> list[dict[str, Any]]:
    """Return what is kept at the guaranteed error by each way of answering."""
    rows, tables = load_rows(name, part, folder), dict[str, list[dict[str, Any]]]()
    class_nodes = np.array([rows.taxonomy.index(c) for c in rows.classes])
    for of in ("rows", "answers"):
        found, over = dict[str, list[Kept]](), dict[str, list[bool]]()
        for split in range(N_SPLITS):
            own, new = halves(len(rows.nodes), split)
            answers = dict[str, Any]()
            for who, top in {"flat": rows.flat, "blend": rows.blended}.items():
                best = class_nodes[top.columns[:, 0]]
                level = threshold_leaves(rows.take(top, own), best[own] == rows.nodes[own], of)
                answers[f"{who}, leaves over a threshold"] = np.where(top.probabilities[:, 0] >= level, best, -1)
                rule = rows.fit(RiskControl("error", at_most=AT_MOST, delta=DELTA, of=of), top, own)
                answers[f"{who}, deepest node"] = rule.answer(top).nodes
                rule = rows.fit(rule.set_params(answers="gain"), top, own)
                answers[f"{who}, greatest gain"] = rule.answer(top).nodes
            for way, nodes in answers.items():
                found.setdefault(way, []).append(kept(rows.taxonomy, rows.nodes[new], nodes[new]))
                everywhere = kept(rows.taxonomy, rows.nodes, nodes)
                over.setdefault(way, []).append((everywhere[1] if of == "rows" else everywhere[2]) > AT_MOST)
        base = np.mean([one.depth_kept for one in found["flat, leaves over a threshold"]])
        tables[of] = []
        for way, values in found.items():
            means = dict(zip(Kept._fields, np.mean(values, axis=0).tolist(), strict=True))
            row = {"answers": way, "ratio": means["depth_kept"] / max(base, 1e-12), **means}
            tables[of].append(row | {"splits_over_the_bound": float(np.mean(over[way]))})
        print(name, part, f"error of {of}")
        print_rows(tables[of])
    return [{"set": name, "part": part, "rows": len(rows.nodes), "of": tables}]


# ---------------------------------------------------------------- conformal sets


def conformal(name: str, part: str, folder: Path) -> list[dict[str, Any]]:
    """Return the coverage and the sizes of sets of every kind."""
    rows = load_rows(name, part, folder)
    some = np.random.default_rng(4).permutation(len(rows.nodes))[:MOST_SETS]
    lists = rows.take(rows.blended, some), rows.take(rows.flat, some)
    rows = Rows(rows.taxonomy, rows.classes, *lists, rows.nodes[some], rows.P_flat[some], rows.P_blend[some])
    class_nodes, table = np.array([rows.taxonomy.index(c) for c in rows.classes]), []
    kinds: dict[str, Any] = {
        "leaves": {"kind": "leaves"},
        "node": {"kind": "node"},
        "at most 3 nodes": {"kind": "nodes", "r": 3},
    }
    for alpha in ALPHAS:
        found = dict[str, list[tuple[float, float]]]()
        for split in range(N_COVERED):
            own, new = halves(len(rows.nodes), split)
            for kind, options in kinds.items():
                top = rows.blended
                rule = rows.fit(Conformal(alpha, **options), top, own)
                while rule.needs_longer_lists(top.columns.shape[1]):  # as DecisionClassifier does
                    top = TopK.of(rows.P_blend, min(LONGER * top.columns.shape[1], rows.P_blend.shape[1]))
                    rule = rows.fit(Conformal(alpha, **options), top, own)
                sets = rule.answer(rows.take(top, new)).nodes
                found.setdefault(kind, []).append(cover(rule, sets, rows.nodes[new]))
            if split >= N_SPLITS:
                continue
            for score, masks in mapie_sets(rows.P_flat, class_nodes, rows.nodes, own, new, alpha, split).items():
                hit = np.isin(rows.nodes[new], class_nodes)
                column = np.searchsorted(class_nodes, rows.nodes[new])
                inside = hit & masks[np.arange(len(new)), np.minimum(column, len(class_nodes) - 1)]
                found.setdefault(f"MAPIE, flat, {score}", []).append((inside.mean(), masks.sum(axis=1).mean()))
        table += [summarise(kind, alpha, values) for kind, values in found.items()]
    print(name)
    print_rows(table)
    return [{"set": name, "part": part, "rows": len(rows.nodes), "sets": table}]


def cover(rule: Any, sets: LabelMatrix, true: Any) -> tuple[float, float]:
    """Return how often sets cover the labels, and how many classes are in them on average."""
    indptr, nodes = sets.frontier
    owner = np.repeat(np.arange(len(true)), np.diff(indptr))
    tree, covered = rule._tree(), np.zeros(len(true), bool)
    np.logical_or.at(covered, owner, tree.contains(nodes.astype(np.int64), true[owner]))
    sizes = np.bincount(owner, tree.n_classes_below[nodes], len(true))
    if rule.kind == "leaves":
        sizes = np.diff(indptr)
    return float(covered.mean()), float(sizes.mean())


def summarise(kind: str, alpha: float, values: list[tuple[float, float]]) -> dict[str, Any]:
    """Return means over splits; the error is that of one split's coverage, over the square root of their number."""
    coverage, size = np.array(values).T
    error = float(coverage.std(ddof=1) / np.sqrt(len(coverage)))
    off = float((coverage.mean() - (1 - alpha)) / max(error, 1e-9))
    row = {"sets": kind, "alpha": alpha, "coverage": float(coverage.mean()), "standard_error": error}
    return row | {"errors_off": off, "mean_size": float(size.mean())}


def mapie_sets(P: Any, class_nodes: Any, nodes: Any, own: Any, new: Any, alpha: float, split: int) -> dict[str, Any]:
    """Return MAPIE's sets for two of its scores, as masks over classes; nothing if it is not installed."""
    try:
        from mapie.classification import SplitConformalClassifier
    except ImportError:
        return {}
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):
        """A classifier whose rows are their own probabilities."""

        def fit(self, X: Any, y: Any) -> Any:
            self.classes_ = np.arange(P.shape[1])
            return self

        def predict_proba(self, X: Any) -> Any:
            return X

        def predict(self, X: Any) -> Any:
            return X.argmax(axis=1)

    known = own[np.isin(nodes[own], class_nodes)]
    X = P / P.sum(axis=1, keepdims=True)
    found = {}
    for score in ("lac", "aps"):
        model = SplitConformalClassifier(
            Given().fit(None, None), confidence_level=1 - alpha, conformity_score=score, prefit=True, random_state=split
        )
        model.conformalize(X[known], np.searchsorted(class_nodes, nodes[known]))
        found[score] = model.predict_set(X[new])[1][:, :, 0]
    return found


def conformal_of_sets() -> list[dict[str, Any]]:
    """Return the coverage of whole sets of labels on enron."""
    data, table = tfidf(load_enron()), []
    labels = encode(data.y, data.taxonomy).labels
    order = np.random.default_rng(0).permutation(len(labels))
    fitted, others = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    model = CalibratedClassifier(FlatLogistic(data.taxonomy), random_state=0).fit(data.X[fitted], labels[fitted])
    P, true = model.predict_proba(data.X[others], nodes="all"), labels[others]
    for alpha in ALPHAS:
        values = []
        for split in range(N_COVERED):
            own, new = halves(len(others), split)
            rule = Conformal(alpha).fit(P[own], true[own], data.taxonomy, sets=True)
            inside = rule.answer(P[new]).nodes.to_indicator().toarray() > 0
            wanted = true[new].to_indicator().toarray() > 0
            values.append((float(np.all(inside >= wanted, axis=1).mean()), float(inside.sum(axis=1).mean())))
        table.append(summarise("sets of labels", alpha, values))
    print_rows(table)
    return [{"set": "enron", "part": "half", "rows": len(others), "sets": table}]


# ---------------------------------------------------------------- heuristics

METRICS: dict[str, Any] = {
    "tree distance": TreeDistance(),
    "zero-one": ZeroOne(),
    "H-loss": HLoss(),
    "H-loss, sibling": HLoss("sibling"),
    "hierarchical F1": HierarchicalF(),
    "hierarchical F½": HierarchicalF(0.5),
}
SETTINGS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def heuristics(name: str, part: str, folder: Path) -> list[dict[str, Any]]:
    """Return, for every metric, the rule made for it and the best of each kind of heuristic."""
    rows = load_rows(name, part, folder)
    own, new = halves(len(rows.nodes), 0)
    top, table = rows.blended, []
    mine, others = rows.take(top, own), rows.take(top, new)
    class_nodes = np.array([rows.taxonomy.index(c) for c in rows.classes])
    answers = {f"climbing {level:g}": rows.fit(Confidence(level), top, own) for level in SETTINGS}
    answers |= {f"DARTS {level:g}": rows.fit(Specificity(level), top, own) for level in SETTINGS}
    both = {way: (rule.answer(mine).nodes, rule.answer(others).nodes) for way, rule in answers.items()}
    for level in (0.0, *SETTINGS):
        both[f"threshold {level:g}"] = tuple(
            np.where(of.probabilities[:, 0] >= level, class_nodes[of.columns[:, 0]], -1) for of in (mine, others)
        )
    for metric, loss in METRICS.items():
        rule, leaves = (rows.fit(MinimumRisk(loss, over=over), top, own) for over in ("nodes", "leaves"))
        ours = losses(loss, rows.taxonomy, rows.nodes[new], rule.answer(others).nodes)
        ways = both | {"expected loss over leaves": (leaves.answer(mine).nodes, leaves.answer(others).nodes)}
        for kind in ("climbing", "DARTS", "threshold", "expected loss"):
            of_kind = [way for way in ways if way.startswith(kind)]
            chosen = min(of_kind, key=lambda way: losses(loss, rows.taxonomy, rows.nodes[own], ways[way][0]).mean())
            theirs = losses(loss, rows.taxonomy, rows.nodes[new], ways[chosen][1])
            difference = ours - theirs
            error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
            row = {"metric": metric, "rule": float(ours.mean()), "heuristic": chosen, "its_loss": float(theirs.mean())}
            row |= {"difference": float(difference.mean()), "standard_error": error}
            table.append(row | {"errors_worse": float(difference.mean() / max(error, 1e-12))})
    print(name)
    print_rows(table)
    return [{"set": name, "part": part, "rows": len(new), "comparisons": table}]


# ---------------------------------------------------------------- running


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["stopping", "guarantees", "conformal", "heuristics"])
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(PARTS)}, or enron; all by default")
    parser.add_argument("--part", default="0", help="0, or test")
    parser.add_argument("--scores", type=Path, default=FOLDER, help="the folder of the scores")
    given = parser.parse_args()
    name, sets = f"decisions-{given.study}", given.sets
    if not sets:
        sets = ["icd10cm"] if given.study == "stopping" else [*PARTS, *["enron"] * (given.study == "conformal")]
    for one in sets:
        print(one, flush=True)
        if one == "enron":
            found = conformal_of_sets()
        elif given.study == "stopping":
            found = stopping(one, given.scores)
        else:
            study = {"guarantees": guarantees, "conformal": conformal, "heuristics": heuristics}[given.study]
            found = study(one, given.part, given.scores)
        path = RESULTS / f"{name}.json"
        known = json.loads(path.read_text())["rows"] if path.exists() else []
        new = {(row["set"], row.get("part")) for row in found}
        write_results(name, [*(row for row in known if (row["set"], row.get("part")) not in new), *found], quiet=True)


if __name__ == "__main__":
    main()
