"""Every learner that takes an executor, on more than sixteen leaves, with several blocks a round if it has rounds."""

from cladist import Relations, registry
from cladist.datasets import make_topics

# 72 leaves: five blocks; six nodes are above two blocks or more, and so have vectors, which workers share.
DATA = make_topics(n_samples=250, n_features=150, branching=(2, 4, 9), random_state=0)
OPTIONS = {
    "hr-svm": {"loss": "hinge", "sharing": 1, "relations": Relations(blocks_per_round=3)},
    "hr-lr": {"sharing": 1, "solver": "coordinate", "relations": Relations(blocks_per_round=2)},
    "structural-svm": {"max_iter": 2},
    "hblr": {"max_iter": 3},
    **{name: {"max_iter": 4} for name in ("hp", "sp", "ksp", "h-m3", "ot")},
}


def learners():
    """Return a function of the executor for each method, by its name."""
    made = {}
    for method in registry.METHODS:
        parameters = method.load()().get_params(deep=False)
        if "executor" in parameters:
            seed = {"random_state": 0} if "random_state" in parameters else {}
            made[method.name] = maker(method.load(), {**seed, **OPTIONS.get(method.name, {})})
    return made


def maker(learner, options):
    return lambda executor: learner(DATA.taxonomy, **options, executor=executor)
