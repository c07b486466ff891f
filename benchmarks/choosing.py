"""The choice of parameters on training rows: C by cross-validation, others one after the other on rows held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

MOST_STATE_BYTES = 4 * 2**30  # α of all folds; beyond, each C is learnt from scratch
HELD_OUT = 0.25  # of the training rows, to choose parameters one after the other
Stages = dict[str, tuple[Any, ...]]  # parameter → values, the first being the default
PATIENCE = 2  # values of C in a row without a gain that end the search: large values cost most


class Chosen(NamedTuple):
    """The C that scored best, and the mean score of each."""

    C: float
    scores: dict[float, float]


def choose_C(  # noqa: N802 - C is the papers' letter
    make: Callable[[float], Any],
    X: Any,
    y: Any,
    Cs: Iterable[float],
    *,
    score: Callable[[Any, Any], float] | None = None,
    folds: int = 3,
    random_state: int = 0,
    workers: int = 1,
) -> Chosen:
    """Choose C by cross-validation on these rows; of several that score best, the smallest.

    Values are tried from small to large until two in a row gain nothing, once the score has risen by a standard error.
    Large values cost most. A learner that has `C_path` walks it in every fold, if
    its α fit: each C begins where the one before ended.

    Parameters
    ----------
    make : callable
        C → unfitted estimator.
    X, y : training rows and their labels, in any form that has rows
    Cs : iterable of float
    score : callable, optional
        ``score(y_true, y_pred)``, the larger the better; None: the share of labels that are right.
    folds, random_state : int
        Rows are shuffled once; every C sees the same folds.
    workers : int
        Threads, each with a fold of its own; what is chosen does not depend on them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import LinearSVC
    >>> X, y = np.array([[0.0], [1.0]] * 9), np.array(["no", "yes"] * 9)
    >>> choose_C(lambda C: LinearSVC(C=C), X, y, [0.1, 1, 10])
    Chosen(C=0.1, scores={0.1: 1.0, 1: 1.0, 10: 1.0})
    """
    # Imported here: other benchmarks measure what starts without these.
    import numpy as np
    from sklearn.model_selection import KFold
    from threadpoolctl import threadpool_limits

    from cladist import progress
    from cladist.datasets.dataset import length, take_rows
    from cladist.execution import executor_for

    judge = _share_right if score is None else score
    parts = list(KFold(folds, shuffle=True, random_state=random_state).split(np.empty(length(X))))
    ascending = sorted(Cs)
    paths = [_path(make, X, y, train, ascending, folds) for train, _ in parts]

    def scored(k: int) -> float:
        with progress.hide():
            model = next(paths[k])
            test = parts[k][1]
            return float(judge(take_rows(y, test), model.predict(take_rows(X, test))))

    found: dict[float, float] = {}
    tried: list[dict[str, float]] = []
    # Learners limit BLAS for themselves, which side by side they would undo for each other.
    with progress.task("Choosing C", total=len(ascending) * folds) as running, threadpool_limits(1, user_api="blas"):
        for C in ascending:
            scores = []
            for value in executor_for(workers).map(scored, range(folds)):
                scores.append(value)
                running.advance()
            found[C] = float(np.mean(scores))
            error = float(np.std(scores, ddof=1) / np.sqrt(folds))
            tried.append({"C": C, "score": found[C], "standard_error": error})
            if is_past(tried):
                break
    return Chosen(max(found, key=lambda C: (found[C], -C)), found)


def is_past(results: list[dict[str, float]]) -> bool:
    """Tell whether the last two values of C gained nothing, after some value has gained something."""
    best = max(results, key=lambda entry: entry["score"])
    rose = best["score"] > results[0]["score"] + results[0]["standard_error"]
    return rose and len(results) - results.index(best) > PATIENCE


def walks_path(model: Any, n_rows: int) -> bool:
    """Tell whether C is chosen along the model's own path for so many rows, those of all folds taken together.

    Examples
    --------
    >>> from cladist import FlatSVM, Taxonomy
    >>> tree = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> walks_path(FlatSVM(tree), 1_000), walks_path(FlatSVM(tree), 10**9)
    (True, False)
    """
    n_nodes = getattr(getattr(model, "taxonomy", None), "n_nodes", None)  # at least as many as labels
    return hasattr(model, "C_path") and n_nodes is not None and 4 * n_rows * n_nodes <= MOST_STATE_BYTES


def choose_in_stages(
    make: Callable[[dict[str, Any], int], Any],
    stages: Stages,
    X: Any,
    y: Any,
    *,
    score: Callable[[Any, Any], float],
    seed: int = 0,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the values chosen, one parameter after the other, and the score on rows held out of all that were tried.

    The first of several values that score best is kept: the default.

    Parameters
    ----------
    make : callable
        Parameters and number of rows → unfitted estimator.
    stages : dict
        Parameter → values, the first being the default; each is chosen with those chosen before it.
    X, y : training rows and their labels, in any form that has rows
    score : callable
        ``score(y_true, y_pred)``, the larger the better.
    seed : int
        Of the rows held out.
    """
    import numpy as np
    from sklearn.model_selection import train_test_split

    from cladist import progress
    from cladist.datasets.dataset import length, take_rows

    learnt, held_out = train_test_split(np.arange(length(y)), test_size=HELD_OUT, random_state=seed)
    chosen = {name: values[0] for name, values in stages.items()}
    known: dict[str, float] = {}
    tried: list[dict[str, Any]] = []
    with progress.task("Choosing", sum(len(values) for values in stages.values())) as running:
        for name, values in stages.items():
            scores = []
            for value in values:
                options = chosen | {name: value}
                if str(options) not in known:
                    with progress.hide():
                        model = make(options, len(learnt)).fit(take_rows(X, learnt), take_rows(y, learnt))
                        found = float(score(take_rows(y, held_out), model.predict(take_rows(X, held_out))))
                    known[str(options)] = found
                    tried.append({**options, "F1": round(found, 4)})
                scores.append(known[str(options)])
                running.advance()
            chosen[name] = values[int(np.argmax(scores))]
    return chosen, tried


def _path(make: Callable[[float], Any], X: Any, y: Any, rows: Any, Cs: list[float], folds: int) -> Iterator[Any]:
    """Yield the model fitted to some rows, for each C."""
    from cladist.datasets.dataset import take_rows

    if walks_path(make(Cs[0]), folds * len(rows)):
        path: Iterator[Any] = make(Cs[0]).C_path(take_rows(X, rows), take_rows(y, rows), Cs)
        return path
    return (make(C).fit(take_rows(X, rows), take_rows(y, rows)) for C in Cs)


def _share_right(y_true: Any, y_pred: Any) -> float:
    right = [true == pred for true, pred in zip(y_true, y_pred, strict=True)]
    return float(sum(right) / len(right))
