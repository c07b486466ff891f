"""Models that turn texts into dense vectors: static token vectors, and those of packages imported when asked for.

Nothing is fetched unless that is allowed: a model that is not on this machine is an error that says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import DatasetError, ParameterError, quoted

Vectors = npt.NDArray[np.float32]
Encoder = Callable[[list[str]], Any]

BUNDLED = "wordllama"
WEIGHTS, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
PACKAGES = {"sentence-transformers": "sentence_transformers", "model2vec": "model2vec", "fastembed": "fastembed"}
SEPARATOR = ":"  # between the name of a package and that of its model
TEXTS_AT_ONCE = 4096


def load_encoder(name: str, *, allow_download: bool) -> Encoder:
    """Return what turns a list of texts into vectors, by the name of a model or a path."""
    if name == BUNDLED:
        return _bundled()
    package, _, model = name.partition(SEPARATOR)
    if package in PACKAGES and model:
        return _of_package(package, model, allow_download=allow_download)
    path = Path(name)
    if path.is_file():
        return Lookup.read(path)
    if path.is_dir():
        is_static = (path / "tokenizer.json").is_file() and not (path / "modules.json").is_file()
        return StaticVectors.read(path) if is_static else _of_package("sentence-transformers", name)
    raise ParameterError(
        f"Embedding: {quoted(name)} is neither {BUNDLED!r}, nor a file or folder here, nor the name of a package's "
        f"model, such as 'sentence-transformers:all-MiniLM-L6-v2'; the packages are {', '.join(PACKAGES)}."
    )


def _require(package: str, extra: str) -> Any:
    """Import a package, or raise a `ParameterError` that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise ParameterError(
            f"Embedding: this model needs the package {package}, which is not installed; install it with: "
            f"pip install 'cladist[{extra}]'."
        ) from None


# ---------------------------------------------------------------- static vectors of tokens


class StaticVectors:
    """The mean of the vectors of a text's tokens, which are looked up: fast, and without a neural network.

    Parameters
    ----------
    vectors : array (tokens × dimensions)
    tokenizer : tokenizers.Tokenizer
    """

    def __init__(self, vectors: Vectors, tokenizer: Any) -> None:
        self.vectors, self.tokenizer = vectors, tokenizer
        tokenizer.no_padding()
        tokenizer.no_truncation()

    @classmethod
    def read(cls, folder: Path) -> StaticVectors:
        """Read a folder with ``tokenizer.json`` and one ``.safetensors`` file, as model2vec writes it."""
        files = sorted(folder.glob("*.safetensors"))
        if len(files) != 1:
            raise DatasetError(f"{folder}: one file .safetensors, with vectors of tokens, is wanted; got {len(files)}.")
        return cls.of_files(files[0], folder / "tokenizer.json")

    @classmethod
    def of_files(cls, weights: Path, tokenizer: Path) -> StaticVectors:
        """Read the vectors of tokens and the tokenizer."""
        tensors = _require("safetensors.numpy", "static-embeddings").load_file(str(weights))
        matrices = [tensor for tensor in tensors.values() if tensor.ndim == 2]
        if len(matrices) != 1:
            raise DatasetError(f"{weights}: one matrix of the vectors of tokens is wanted; got {len(matrices)}.")
        make = _require("tokenizers", "static-embeddings").Tokenizer.from_file
        try:
            return cls(matrices[0].astype(np.float32), make(str(tokenizer)))
        except Exception as problem:  # the package raises a bare Exception
            raise DatasetError(f"{tokenizer} cannot be read as a tokenizer: {problem}") from None

    def __call__(self, texts: list[str]) -> Vectors:
        """Return the mean vector of each text; that of a text without a token is 0."""
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        lengths = np.array([len(one.ids) for one in encoded])
        ids = np.fromiter((token for one in encoded for token in one.ids), np.int64, int(lengths.sum()))
        ids = np.minimum(ids, len(self.vectors) - 1)
        weights = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return np.asarray(sparse.csr_array((weights, ids, ends), shape=(len(texts), len(self.vectors))) @ self.vectors)


def _bundled() -> StaticVectors:
    """Return the vectors inside the package wordllama, whose own loader looks for the tokenizer in another folder."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ParameterError(
            "Embedding: the model 'wordllama' is inside the package wordllama, which is not installed; install it "
            "with: pip install 'cladist[wordllama]'."
        )
    folder = Path(next(iter(spec.submodule_search_locations)))
    if not (folder / WEIGHTS).is_file() or not (folder / TOKENIZER).is_file():
        raise ParameterError(
            f"Embedding: the package wordllama has no {WEIGHTS} and {TOKENIZER}; install version 0.3 or newer."
        )
    return StaticVectors.of_files(folder / WEIGHTS, folder / TOKENIZER)


# ---------------------------------------------------------------- vectors computed before


class Lookup:
    """Vectors that were computed before, by the ids of rows, which take the place of texts.

    Parameters
    ----------
    ids : sequence of str
    vectors : array (ids × dimensions)
    """

    def __init__(self, ids: Sequence[Any], vectors: Any) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        self.row_of = {str(name): row for row, name in enumerate(ids)}
        if self.vectors.ndim != 2 or len(self.vectors) != len(ids) or len(self.row_of) != len(ids):
            raise DatasetError(
                f"Embedding: vectors computed before need one row for each of {len(ids):,} different ids; got "
                f"{len(self.row_of):,} different ids and an array of shape {self.vectors.shape}."
            )

    @classmethod
    def read(cls, path: Path) -> Lookup:
        """Read a file .npz with the arrays ``ids`` and ``vectors``."""
        try:
            with np.load(path, allow_pickle=False) as content:
                return cls(content["ids"].tolist(), content["vectors"])
        except (OSError, ValueError, KeyError) as problem:
            if isinstance(problem, DatasetError):
                raise
            raise DatasetError(
                f"{path}: vectors computed before are a file .npz with the arrays 'ids' and 'vectors'; this one is not "
                f"({problem}). Write it with numpy.savez(path, ids=…, vectors=…)."
            ) from None

    def __call__(self, texts: list[str]) -> Vectors:
        """Return the vector of each id."""
        missing = next((text for text in texts if text not in self.row_of), None)
        if missing is not None:
            raise DatasetError(
                f"Embedding: there is no vector with the id {quoted(missing)}; with vectors computed before, rows are "
                "ids, not texts."
            )
        return np.asarray(self.vectors[[self.row_of[text] for text in texts]])


# ---------------------------------------------------------------- models of other packages


def _of_package(package: str, model: str, *, allow_download: bool = False) -> Encoder:
    """Return the encoder of a package's model, which is on this machine or may be fetched."""
    module = _require(PACKAGES[package], package)
    makers = {
        "sentence-transformers": _sentence_transformer, "model2vec": _model2vec, "fastembed": _fastembed
    }  # fmt: skip
    try:
        return makers[package](module, model, allow_download)
    except ParameterError:
        raise
    except Exception as problem:  # each package has errors of its own
        if allow_download:
            raise ParameterError(f"Embedding: {package} cannot load the model {quoted(model)}: {problem}") from problem
        raise ParameterError(
            f"Embedding: the model {quoted(model)} of {package} is not on this machine. It would be fetched from the "
            "Hugging Face Hub, tens of megabytes up to gigabytes; allow that with allow_download=True, "
            f"or name a folder that holds it. ({type(problem).__name__})"
        ) from problem


def _sentence_transformer(module: Any, model: str, allow_download: bool) -> Encoder:
    loaded = module.SentenceTransformer(model, local_files_only=not allow_download, trust_remote_code=False)
    return lambda texts: loaded.encode(texts, show_progress_bar=False, convert_to_numpy=True)


def _model2vec(module: Any, model: str, allow_download: bool) -> Encoder:
    if not Path(model).is_dir():
        hub = _require("huggingface_hub", "model2vec")
        model = hub.snapshot_download(model, local_files_only=not allow_download)
    loaded = module.StaticModel.from_pretrained(model)
    return lambda texts: loaded.encode(texts)


def _fastembed(module: Any, model: str, allow_download: bool) -> Encoder:
    loaded = module.TextEmbedding(model_name=model, local_files_only=not allow_download)
    return lambda texts: np.array(list(loaded.embed(texts)))
