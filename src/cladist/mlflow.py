"""Models in MLflow: saved, logged and loaded as a pyfunc model, in cladist's own folder format.

The extra ``mlflow`` installs what is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cladist._version import __version__
from cladist.errors import ModelFormatError, ParameterError

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR, FOLDER = "cladist", "cladist-model"


def save_model(
    model: Any, path: Any, *, mlflow_model: Any = None, signature: Any = None, input_example: Any = None, **others: Any
) -> None:
    """Write a model to a folder that MLflow loads.

    Parameters
    ----------
    model : learner or Pipeline
        What `cladist.save` takes.
    path : path
        A new folder.
    mlflow_model : mlflow.models.Model, optional
        What MLflow itself knows of the model; given by `log_model`.
    signature : mlflow.models.ModelSignature, optional
        The types of input and output.
    input_example : optional
        An input that MLflow stores beside the model.
    **others
        ``metadata``, as MLflow has it; other options of MLflow are refused.
    """
    from mlflow import pyfunc
    from mlflow.models import Model

    from cladist.persistence.models import save

    metadata = others.pop("metadata", None)
    if unknown := sorted(name for name, value in others.items() if value is not None):
        raise ParameterError(f"save_model: {unknown[0]} is not supported; signature, input_example and metadata are.")
    target = Path(path)
    if target.exists() and any(target.iterdir()):
        raise ModelFormatError(f"{target} is not empty; MLflow models are written to a new folder.")
    target.mkdir(parents=True, exist_ok=True)
    save(model, target / FOLDER)
    mlflow_model = Model() if mlflow_model is None else mlflow_model
    mlflow_model.signature = signature if signature is not None else mlflow_model.signature
    if input_example is not None:
        from mlflow.models.utils import _save_example

        _save_example(mlflow_model, input_example, str(target))
    if metadata is not None:
        mlflow_model.metadata = metadata
    requirements = target / "requirements.txt"
    requirements.write_text(f"cladist=={__version__}\nmlflow\npandas\n", encoding="utf-8")
    (target / "python_env.yaml").write_text("dependencies:\n- -r requirements.txt\n", encoding="utf-8")
    pyfunc.add_to_model(mlflow_model, loader_module=__name__, data=FOLDER, python_env={"virtualenv": "python_env.yaml"})
    mlflow_model.add_flavor(FLAVOR, cladist_version=__version__, data=FOLDER)
    mlflow_model.save(str(target / "MLmodel"))


def log_model(model: Any, name: str, **options: Any) -> Any:
    """Log a model to the active run of MLflow, and return MLflow's information about it.

    Parameters
    ----------
    model : learner or Pipeline
        What `cladist.save` takes.
    name : str
        Its name in the run.
    **options
        Those of `save_model`, and of ``mlflow.models.Model.log``, such as ``registered_model_name``.
    """
    import sys

    from mlflow.models import Model

    return Model.log(name=name, flavor=sys.modules[__name__], model=model, **options)


def load_model(model_uri: str) -> Any:
    """Return the learner or Pipeline of a model in MLflow; ``mlflow.pyfunc.load_model`` returns a pyfunc model instead.

    Parameters
    ----------
    model_uri : str
        As MLflow names models: a path, ``runs:/…`` or ``models:/…``.
    """
    from mlflow.artifacts import download_artifacts

    from cladist.persistence.models import load

    return load(Path(download_artifacts(artifact_uri=model_uri)) / FOLDER)


def _load_pyfunc(path: str, model_config: dict[str, Any] | None = None) -> PyfuncModel:
    """Return what MLflow calls for predictions; MLflow calls this function."""
    from cladist.persistence.models import load_noted

    return PyfuncModel(*load_noted(path)[:2])


class PyfuncModel:
    """A model as MLflow calls it: rows in, a data frame of labels, paths and scores out."""

    def __init__(self, model: Any, notes: dict[str, Any]) -> None:
        self.model, self.notes = model, notes

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the predictions for some rows as a data frame.

        Parameters
        ----------
        model_input : data frame, array, or list of str
            Rows; for a model of texts, their columns are joined, those of training if they are there.
        params : dict, optional
            ``top_k``: the number of labels of each row, each a row of the result; 1 without.
        """
        import pandas as pd

        from cladist.learners.predictions import batch_predictor

        top_k = int((params or {}).get("top_k", 0)) or None
        found, _ = batch_predictor(self.model, top_k=top_k)(self._rows(model_input))
        rows = [
            (k, prediction.label, " > ".join(prediction.path), prediction.score)
            for k, predictions in enumerate(found)
            for prediction in predictions
        ]
        return pd.DataFrame(rows, columns=["row", "label", "path", "score"])

    def _rows(self, given: Any) -> Any:
        import numpy as np

        if hasattr(self.model, "n_features_in_"):
            return given
        if hasattr(given, "columns"):
            columns = [name for name in self.notes.get("text") or () if name in given.columns] or list(given.columns)
            return given[columns].fillna("").astype(str).agg(" ".join, axis=1).to_numpy(dtype=object)
        return np.array([str(text) for text in given], dtype=object)
