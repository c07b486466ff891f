"""Who is compared: each peer's script, what to install for it, and what it is asked to do."""

from __future__ import annotations

from typing import Any, NamedTuple

Case = dict[str, Any]  # what a script is asked to do

CLADIST = "cladist"
OPTIONAL = ("pecos",)  # only when asked for
ONE_VS_REST, TREE = "one-vs-rest", "tree"  # all leaves against each other, or from the top down
C = 1.0
PRUNED = 0.1  # napkinXC, omikuji and PECOS drop weights below this
SOLVERS = {"hinge": "LIBLINEAR -s 3", "squared_hinge": "LIBLINEAR -s 1", "logistic": "LIBLINEAR -s 0"}
PROBLEMS = (
    {"loss": "hinge", "intercept": False},
    {"loss": "hinge", "intercept": True},
    {"loss": "squared_hinge", "intercept": False},
    {"loss": "squared_hinge", "intercept": True},
    {"loss": "logistic", "intercept": True},  # both sides have one unless told otherwise
)


class Peer(NamedTuple):
    """A library to compare with."""

    script: str
    families: tuple[str, ...]
    installs: tuple[tuple[str, ...], ...]  # arguments of one "pip install" after the other; none: this environment
    uses_threads: bool = True


PEERS = {
    CLADIST: Peer("with_cladist.py", (ONE_VS_REST, TREE), ()),
    "liblinear": Peer("with_sklearn.py", (ONE_VS_REST,), (("scikit-learn",),), uses_threads=False),
    "liblinear-official": Peer("with_liblinear.py", (ONE_VS_REST,), (("liblinear-official",),), uses_threads=False),
    "hiclass": Peer("with_hiclass.py", (TREE,), (("hiclass",),)),
    "napkinxc": Peer("with_napkinxc.py", (TREE,), (("napkinxc",),)),
    "omikuji": Peer("with_omikuji.py", (TREE,), (("omikuji", "numpy", "scipy"),)),
    # XR-Linear needs none of the gigabytes that libpecos asks for: torch and transformers serve its other models.
    "pecos": Peer("with_pecos.py", (TREE,), (("numpy<2", "scipy<1.14", "scikit-learn"), ("--no-deps", "libpecos"))),
}


def cases(name: str, families: set[str]) -> list[tuple[str, Case]]:
    """Return what a peer is asked to do, each with its name in the table."""
    wanted = families.intersection(PEERS[name].families)
    solved = [_one_vs_rest(name, problem) for problem in PROBLEMS] if ONE_VS_REST in wanted else []
    return solved + (_tree(name) if TREE in wanted else [])


def _one_vs_rest(name: str, problem: Case) -> tuple[str, Case]:
    loss, intercept = problem["loss"], problem["intercept"]
    logistic = loss == "logistic"
    words = ([] if logistic else [loss.replace("_", " ")]) + ["intercept" if intercept else "no intercept"]
    case = dict(problem)
    if name == CLADIST:
        method = "FlatLogistic" if logistic else "FlatSVM"
        options = {"C": C, "fit_intercept": intercept} | ({} if logistic else {"loss": loss})
        case |= {"learner": method, "options": options}
    elif name == "liblinear":
        method = "LogisticRegression, liblinear" if logistic else "LinearSVC"
    else:
        method = SOLVERS[loss]
    return ", ".join([method, *words]), case


def _tree(name: str) -> list[tuple[str, Case]]:
    found: dict[str, list[tuple[str, Case]]] = {
        CLADIST: [
            ("TopDown", {"learner": "TopDown", "options": {}}),
            (f"TopDown, pruned at {PRUNED}", {"learner": "TopDown", "options": {"prune": PRUNED}}),
        ],
        "hiclass": [("HiClass per parent node, LinearSVC", {})],
        "napkinxc": [("napkinXC PLT", {})],
        "omikuji": [
            ("omikuji, a tree of its own", {"trees": 1}),
            ("omikuji, 3 trees of its own", {"trees": 3}),  # as it comes
        ],
        "pecos": [("PECOS XR-Linear", {})],
    }
    return found[name]
