"""`migrate`: a fitted model on a revised taxonomy."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cladist.errors import ParameterError, TaxonomyError
from cladist.labels import LabelForm
from cladist.learners.base import HierarchicalClassifier
from cladist.learners.linear_classifier import LinearClassifier
from cladist.learners.local.top_down import TopDown
from cladist.learners.migration.linear import migrate_linear
from cladist.learners.migration.node_map import NodeMap
from cladist.learners.migration.online import migrate_online
from cladist.learners.migration.top_down import migrate_top_down
from cladist.learners.online.hieron import Hieron
from cladist.learners.online.perceptron import HierarchicalPerceptron
from cladist.learners.online.rls import HierarchicalRLS
from cladist.taxonomy import Crosswalk, Taxonomy, as_taxonomy

CARRIED = (
    *("n_features_in_", "feature_names_in_", "history_", "n_iter_", "converged_"),
    *("C_", "cv_results_", "sharing_", "gamma_"),
)


def migrate(model: Any, crosswalk: Crosswalk, *, taxonomy: Any = None, texts: Any = None) -> Any:
    """Return a fitted model for a revised taxonomy; the one given does not change.

    Labels that are unchanged, renamed or moved keep their weights bit for bit. The parts of a split label begin with
    its weights, and have its score until they see rows. A label that several were merged into has the sum of their
    weights and the mean of their intercepts. A new label has the mean weights of the labels below its parent, turned
    so that its text, if it has one, scores 1. Retired labels go.

    Parameters
    ----------
    model : FlatSVM, FlatLogistic, RecursiveSVM, RecursiveLogistic, TopDown, Hieron, HierarchicalPerceptron or RLS
        A fitted learner, or a Pipeline or TextClassifier that ends with one.
    crosswalk : Crosswalk
        From the taxonomy of the model to the new one. Nodes that it does not name keep their names.
    taxonomy : Taxonomy, mapping, edges or path of a file, optional
        The new taxonomy; by default that of the crosswalk.
    texts : mapping of label to text, or to a row of features, optional
        What new labels are about. Rows of features, or texts for a pipeline, whose steps turn them into features. By
        default, a pipeline takes the titles and descriptions of the new taxonomy.

    Returns
    -------
    model
        Of the same class. `partial_fit` goes on from it. With ``warm_start=True``, `fit` begins from it, on whatever
        rows, and ends at the optimum of the new problem.

    Notes
    -----
    `TopDown` has the weights of a node among its siblings: families with the same children are unchanged, and where a
    node moved to another branch, the choices above it do not know it yet. `Hieron` keeps prototypes: that of an
    unchanged label is the same wherever it is; merged ones are averaged.

    A fit starts from migrated weights where labels share nothing and the loss is a hinge: `FlatSVM`, and `RecursiveSVM`
    with ``sharing=0``. Others start as usual, and only their parameters are those of before.

    Examples
    --------
    >>> from cladist import Crosswalk, FlatSVM, Taxonomy, migrate
    >>> old = Taxonomy.from_paths(["sport/tennis", "sport/chess", "film"])
    >>> new = Taxonomy.from_paths(["sport/tennis", "games/chess", "film/drama", "film/comedy"])
    >>> X, y = [[2, 0, 0], [0, 2, 0], [0, 0, 2]], ["tennis", "chess", "film"]
    >>> model = FlatSVM(old, warm_start=True).fit(X, y)
    >>> moved = migrate(model, Crosswalk({"film": ["drama", "comedy"]}, old=old, new=new))
    >>> moved.predict_paths([[0, 3, 0]])
    [['games', 'chess']]
    >>> moved.fit([*X, [0, 1, 2]], ["tennis", "chess", "drama", "comedy"]).predict([[0, 1, 3]]).tolist()
    ['comedy']
    """
    if isinstance(model, Pipeline):
        return _migrate_pipeline(model, crosswalk, taxonomy, texts)
    check_is_fitted(model)
    if not isinstance(crosswalk, Crosswalk):
        raise ParameterError(f"migrate: crosswalk must be a Crosswalk; got {type(crosswalk).__name__}.")
    _require_migrant(model)
    new = _new_taxonomy(model, crosswalk, taxonomy)
    nodes = NodeMap.of(model.taxonomy_, crosswalk, new)
    fitted = clone(model).set_params(taxonomy=new)
    vars(fitted).update({name: vars(model)[name] for name in CARRIED if name in vars(model)})
    fitted.taxonomy_, fitted.label_form_ = new, _form_for(model.label_form_, new)
    if isinstance(model, LinearClassifier):
        if hasattr(model, "relations_"):
            fitted.relations_ = None
        return migrate_linear(model, fitted, nodes, _rows_of(texts, new, model.n_features_in_))
    if isinstance(model, TopDown):
        return migrate_top_down(model, fitted, nodes, _rows_of(texts, new, model.n_features_in_))
    return migrate_online(model, fitted, nodes)


def _migrate_pipeline(model: Pipeline, crosswalk: Crosswalk, taxonomy: Any, texts: Any) -> Pipeline:
    """Migrate the last step; texts of labels go through the others."""
    *steps, (name, last) = model.steps
    if not isinstance(last, HierarchicalClassifier):
        raise ParameterError(f"migrate: the pipeline must end with a learner of cladist; it ends with {last!r}.")
    new = crosswalk.new if taxonomy is None else as_taxonomy(taxonomy)
    if texts is None and new is not None and _reads_texts(model):
        texts = {label: _text_of(new, label) for label in new.names if _text_of(new, label)}
    rows: Any = texts
    if isinstance(texts, Mapping) and texts and all(isinstance(text, str) for text in texts.values()):
        features = model[:-1].transform(list(texts.values()))
        rows = {label: features[[k]] for k, label in enumerate(texts)}
    moved = copy(model)
    moved.steps = [*steps, (name, migrate(last, crosswalk, taxonomy=new, texts=rows))]
    if "taxonomy" in model.get_params(deep=False):  # of a TextClassifier
        moved.taxonomy = moved.steps[-1][1].taxonomy
    return moved


def _reads_texts(model: Pipeline) -> bool:
    """Tell whether the steps before the learner take texts."""
    try:
        model[:-1].transform(["text"])
    except (ValueError, TypeError, AttributeError, LookupError):
        return False
    return True


def _text_of(taxonomy: Taxonomy, label: str) -> str:
    parts = [taxonomy.titles.get(label, ""), taxonomy.descriptions.get(label, "")]
    return " ".join(part for part in parts if part)


def _require_migrant(model: Any) -> None:
    """Refuse models whose weights do not belong to nodes one by one."""
    who = type(model).__name__
    if not isinstance(model, (LinearClassifier, TopDown, Hieron, HierarchicalPerceptron, HierarchicalRLS)):
        raise ParameterError(
            f"migrate: what a {who} has learnt cannot be taken apart by nodes; train it again on relabelled rows. "
            "Linear classifiers, TopDown, Hieron, HierarchicalPerceptron and HierarchicalRLS can be migrated."
        )
    if getattr(model, "relations_", None) is not None:
        raise ParameterError("migrate: labels related by a graph have no place in a crosswalk; train again.")
    if isinstance(model, TopDown) and model.estimator is not None:
        raise ParameterError(
            "migrate: of TopDown, only classifiers of its own can be migrated, not those of `estimator`."
        )
    if isinstance(model, TopDown) and model.walked_ is not model.taxonomy_ and model.walked_.stop_leaves:
        raise ParameterError("migrate: a TopDown with stop=True has classifiers that end above leaves; train it again.")


def _new_taxonomy(model: Any, crosswalk: Crosswalk, taxonomy: Any) -> Taxonomy:
    new = crosswalk.new if taxonomy is None else as_taxonomy(taxonomy)
    if new is None:
        raise TaxonomyError("migrate needs the new taxonomy; give it as taxonomy=…, or as Crosswalk(…, new=…).")
    if not model.takes_dags:
        new.require_tree(f"migrate of {type(model).__name__}")
    return new


def _form_for(form: LabelForm, taxonomy: Taxonomy) -> LabelForm:
    """Return the form of labels; paths may have become longer."""
    width = int(np.max(taxonomy.depth, initial=0)) + 1 - int(form.below_root)
    return replace(form, width=max(form.width, width)) if form.width else form


def _rows_of(texts: Any, taxonomy: Taxonomy, n_features: int) -> dict[int, Any]:
    """Return the features of labels by node id."""
    from scipy import sparse

    rows: dict[int, Any] = {}
    for label, text in (texts or {}).items():
        if isinstance(text, str):
            raise ParameterError(
                "migrate: texts need a pipeline that turns them into features; give rows of features for this model."
            )
        row = sparse.csr_array(text if sparse.issparse(text) else np.atleast_2d(np.asarray(text, np.float32)))
        if row.shape != (1, n_features):
            raise ParameterError(
                f"migrate: the text of {label!r} has shape {row.shape}; (1, {n_features}) is expected."
            )
        rows[taxonomy.index(label)] = row
    return rows
