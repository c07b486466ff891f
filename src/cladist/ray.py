"""Prediction of Ray Data's data sets: `map_batches`."""

from __future__ import annotations

from typing import Any

from cladist.errors import ParameterError

__all__ = ["map_batches"]


def map_batches(
    dataset: Any,
    model: Any,
    *,
    column: str,
    output: str = "label",
    concurrency: int | tuple[int, int] = 1,
    batch_size: int = 1024,
) -> Any:
    """Return a Ray data set with a column of predicted labels.

    Each machine maps the model's file into memory once; its workers share it.

    Parameters
    ----------
    dataset : ray.data.Dataset
        The rows.
    model : path
        The folder of a saved model, which every machine can read.
    column : str
        The column that the model reads: texts, or rows of numbers.
    output : str
        The name of the new column.
    concurrency : int or pair of int
        The number of workers, or the least and the most.
    batch_size : int
        Rows per call of `predict`.
    """
    if output == column:
        raise ParameterError(f"map_batches: output must be another column than {column!r}.")
    options = {"model": str(model), "column": column, "output": output}
    return dataset.map_batches(
        _Predictor, fn_constructor_kwargs=options, concurrency=concurrency, batch_size=batch_size, batch_format="numpy"
    )


class _Predictor:
    """A model in one worker."""

    def __init__(self, model: str, column: str, output: str) -> None:
        from cladist.persistence.models import load

        self.model, self.column, self.output = load(model, mmap=True), column, output

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return a batch with the predicted labels."""
        import numpy as np

        rows = batch[self.column]
        rows = np.stack(list(rows)) if rows.dtype == object and isinstance(rows[0], np.ndarray) else rows
        labels = self.model.predict(list(rows) if rows.dtype.kind in "OU" else rows)
        return {**batch, self.output: np.array([_plain(label) for label in labels], dtype=object)}


def _plain(label: Any) -> Any:
    """Return a label as Arrow takes it: a set as a sorted list."""
    return sorted(label) if isinstance(label, set | frozenset) else label
