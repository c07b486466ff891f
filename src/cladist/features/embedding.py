"""`Embedding`: dense vectors of texts from a model of another package, a function, or arrays computed before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cladist.errors import DatasetError, ParameterError, is_count
from cladist.features.embedding_cache import EmbeddingCache, user_cache
from cladist.features.embedding_models import BUNDLED, PACKAGES, SEPARATOR, Encoder, Lookup, load_encoder

Vectors = npt.NDArray[np.float32]


class Embedding(TransformerMixin, BaseEstimator):
    """Dense vectors of texts, of unit length.

    Similar texts have similar vectors even where they share no word. Nothing is downloaded unless `allow_download` is
    set: "wordllama" needs no network, since the vectors are inside the package of that name.

    Parameters
    ----------
    model : str, callable or pair of arrays
        - "wordllama": static vectors of 256 numbers, inside the package wordllama
          (``pip install 'cladist[wordllama]'``);
        - the path of a folder with static vectors of tokens (``tokenizer.json`` and one ``.safetensors`` file), or with
          a model of sentence-transformers;
        - the path of a file ``.npz`` with the arrays ``ids`` and ``vectors``, computed before; rows are then ids;
        - "sentence-transformers:NAME", "model2vec:NAME" or "fastembed:NAME": a model of one of these packages;
        - a function from a list of texts to an array (texts × dimensions); such an embedding cannot be saved;
        - ids and an array (ids × dimensions), as a pair.
    batch_size : int
        How many texts the model is given at once.
    cache : None, True or path
        A folder in which vectors are kept by the hash of their text, so that no text is embedded twice; True: that of
        this user's caches. It holds at most 2 GiB.
    allow_download : bool
        Whether a model that is not on this machine may be fetched. Saved models do not remember it.

    Attributes
    ----------
    n_columns_ : int
        The length of the vectors.

    Examples
    --------
    >>> def lengths(texts):
    ...     return [[len(text), 1.0] for text in texts]
    >>> Embedding(lengths).fit_transform(["", "abcd"]).shape
    (2, 2)
    """

    def __init__(
        self,
        model: Any = BUNDLED,
        *,
        batch_size: int = 1024,
        cache: Any = None,
        allow_download: bool = False,
    ) -> None:
        self.model = model
        self.batch_size = batch_size
        self.cache = cache
        self.allow_download = allow_download

    def fit(self, texts: Iterable[str], y: Any = None) -> Embedding:
        """Load the model, and learn how long its vectors are; nothing else is learnt from texts."""
        first = list(texts)[:1]
        self.n_columns_ = self._encode(first or [""]).shape[1]
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> Vectors:
        """Return the vectors of texts, and remember how long they are."""
        vectors = self._embed(_as_list(texts))
        self.n_columns_ = vectors.shape[1]
        return vectors

    def transform(self, texts: Iterable[str]) -> Vectors:
        """Return the vectors of texts, one per row, of unit length, or 0 if the model has none for a text."""
        check_is_fitted(self)
        texts = _as_list(texts)
        if not texts:
            return np.zeros((0, self.n_columns_), np.float32)
        vectors = self._embed(texts)
        if vectors.shape[1] != self.n_columns_:
            raise DatasetError(
                f"Embedding: the model returns vectors of {vectors.shape[1]} numbers, and returned {self.n_columns_} "
                "when it was fitted; is it another version?"
            )
        return vectors

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, "(embedding 0)" and so on."""
        check_is_fitted(self)
        return np.array([f"(embedding {k})" for k in range(self.n_columns_)], dtype=object)

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        is_pair = isinstance(self.model, tuple) and len(self.model) == 2
        if not (isinstance(self.model, (str, os.PathLike)) or callable(self.model) or is_pair) or self.model == "":
            raise ParameterError(
                "Embedding: model must be a name, a path, a function, or a pair of ids and vectors; got "
                f"{type(self.model).__name__}."
            )
        if not is_count(self.batch_size) or self.batch_size < 1:
            raise ParameterError(f"Embedding: batch_size must be a whole number from 1; got {self.batch_size!r}.")
        if not (self.cache is None or self.cache is True or isinstance(self.cache, (str, os.PathLike))):
            raise ParameterError(f"Embedding: cache must be None, True or a folder; got {self.cache!r}.")
        if self.cache is not None and not isinstance(self.model, (str, os.PathLike)):
            raise ParameterError(
                "Embedding: cache needs a model with a name, since a function may change; write cache=None."
            )

    # ---------------------------------------------------------------- vectors

    def _embed(self, texts: list[str]) -> Vectors:
        """Return the vectors of texts; those in the cache are not computed."""
        if self.cache is None or not texts:
            return self._encode(texts)
        cache = EmbeddingCache(user_cache() if self.cache is True else self.cache, _identity(self.model))
        found = cache.find(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            vectors = self._encode(missing)
            cache.add(missing, vectors)
            found.update(zip(missing, vectors, strict=True))
        lengths = {len(found[text]) for text in texts}
        if len(lengths) > 1:
            raise DatasetError("Embedding: the cache has vectors of different lengths; delete its folder.")
        return np.array([found[text] for text in texts], np.float32)

    def _encode(self, texts: list[str]) -> Vectors:
        """Return the vectors that the model computes, of unit length."""
        encode, parts = self._encoder(), []
        for first in range(0, max(1, len(texts)), self.batch_size):
            batch = texts[first : first + self.batch_size]
            part = np.asarray(encode(batch), np.float32)
            if part.ndim != 2 or len(part) != len(batch) or not np.all(np.isfinite(part)):
                raise DatasetError(
                    f"Embedding: the model must return one row of finite numbers for each of {len(batch):,} texts; got "
                    f"an array of shape {part.shape}."
                )
            parts.append(part)
        vectors = np.concatenate(parts)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)

    def _encoder(self) -> Encoder:
        """Return the model, loaded once."""
        asked = (self.model if isinstance(self.model, (str, os.PathLike)) else id(self.model), self.allow_download)
        loaded: tuple[Any, Encoder] | None = self.__dict__.get("_loaded")
        if loaded is None or loaded[0] != asked:
            self.check_parameters()
            loaded = asked, _make_encoder(self.model, allow_download=self.allow_download)
            self.__dict__["_loaded"] = loaded
        return loaded[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_loaded"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _make_encoder(model: Any, *, allow_download: bool) -> Callable[[list[str]], Any]:
    if isinstance(model, (str, os.PathLike)):
        return load_encoder(str(model), allow_download=allow_download)
    return Lookup(*model) if isinstance(model, tuple) else model


def _identity(model: Any) -> str:
    """Return what tells a model from others: its name, with the version of its package or the time of its files."""
    from importlib.metadata import PackageNotFoundError, version

    name = str(model)
    package = BUNDLED if name == BUNDLED else name.partition(SEPARATOR)[0]
    if package == BUNDLED or package in PACKAGES:
        try:
            return f"{name} {version(package)}"
        except PackageNotFoundError:
            return name
    path = Path(name)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return f"{path.resolve()} {stats}"


def _as_list(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ParameterError("Embedding: wanted a list of texts, got one text; write [text].")
    return [str(text) for text in texts]


def as_embedding(value: Any) -> Embedding:
    """Return an `Embedding`, unfitted, from one, or from what names a model."""
    if isinstance(value, Embedding):
        return Embedding(**value.get_params(deep=False))
    return Embedding(value)
