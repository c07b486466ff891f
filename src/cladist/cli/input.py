"""How a data file becomes rows that a model takes: as the options say, and otherwise as the model's notes say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

import cladist.cli.lean_sklearn  # noqa: F401 - before the imports below, which import scikit-learn
from cladist import progress
from cladist.cli.output import join_names, join_path
from cladist.datasets import Dataset, read_arff_hmc, read_lshtc, read_svmlight, read_table
from cladist.datasets.dataset import take_rows
from cladist.datasets.formats.arff import read_arff_rows
from cladist.datasets.formats.sparse_text import MOST_FEATURES, RowFormat
from cladist.datasets.formats.svmlight import read_matrices, read_svmlight_rows
from cladist.datasets.formats.tables.query import check_query
from cladist.datasets.formats.tables.records import check_ending, format_of_ending
from cladist.datasets.packed import is_packed, open_packed
from cladist.errors import DatasetError, ModelFormatError, ParameterError, TaxonomyError
from cladist.files import Source, data_suffix, display_name, iterate_byte_lines, open_for_reading
from cladist.persistence.models import load_noted
from cladist.taxonomy import Taxonomy

BATCH_ROWS = 4096  # rows in memory at once while predicting
KIND_OF_SUFFIX = {".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".arff": "arff"}
NUMERIC = ("svmlight", "lshtc", "arff", "packed")
# Notes in a model about its data: their types, and descriptions of these in messages.
NOTES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("text", "features"), (list, "a list of column names")),
    **dict.fromkeys(("label", "label_sep", "path_sep", "format"), (str, "a text")),
    "zero_based": (bool, "true or false"),
}
# Problems for which a reader recommends a parameter in Python, in the words of the command line.
SENTENCES = {
    "no-label": "the row has no label.",
    "index-base": "no row tells whether indices begin at 0 or at 1; add --zero-based or --one-based.",
    "no-document-id": (
        "wanted the document's number as 0:number, as in the first row; if 0 is a feature like others, read with "
        "--format svmlight --zero-based."
    ),
}
LSHTC_ROWS = RowFormat(0, MOST_FEATURES - 1, np.dtype(np.float32), several=True, loose=True, document_id="auto")

Notify = Callable[[str], None]


@dataclass(frozen=True)
class DataSource:
    """A data file and how to read it; the path "-" is standard input.

    `labelled` says whether labels are read. `trained_columns` are the text columns of a model that is given every line
    as a text; `features` are the names of the numeric columns that a model was trained on.
    """

    path: str
    format: str | None = None
    text: tuple[str, ...] = ()
    label: str | None = None
    label_sep: str | None = None
    path_sep: str | None = None
    zero_based: bool | None = None
    labelled: bool = False
    trained_columns: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    query: str | None = None

    @property
    def stream(self) -> Source:
        """The path, or standard input as bytes."""
        return sys.stdin.buffer if self.path == "-" else self.path

    @property
    def name(self) -> str:
        """The name of the data in messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def kind(self) -> str:
        """The kind of data: "svmlight", "arff", "lshtc", "packed", "lines" or "table"."""
        if is_packed(self.path):
            return "packed"
        if self.format is not None:
            return self.format if self.format in (*NUMERIC, "lines") else "table"
        if self.query is not None:
            return "table"
        if self.path == "-":
            return "table" if self.text or self.labelled else "lines"
        return KIND_OF_SUFFIX.get(data_suffix(self.path), "table")

    @property
    def is_numeric(self) -> bool:
        """Whether the rows are numbers, not texts."""
        return self.kind in NUMERIC

    def check_extension(self) -> None:
        """Raise a `DatasetError` if the file extension is of a format that cannot be read."""
        check_query(self.path, self.query)
        if self.kind == "table" and self.format is None and self.path != "-":
            check_ending(self.path)

    def check_columns(self, *, text: bool = True) -> None:
        """Raise a `ParameterError` unless exactly the columns that the data has are named; `text`: texts are read."""
        columns: dict[str, Any] = ({"--text": self.text} if text else {}) | (
            {"--label": self.label} if self.labelled else {}
        )
        if self.kind == "table":
            missing = [f"{option} COLUMN" for option, value in columns.items() if not value]
            hint = "" if self.labelled else ", or --format lines if every line is a text"
            if missing:
                raise ParameterError(f"{self.name} is a table: name its columns with {' and '.join(missing)}{hint}.")
            return
        named_options = [option for option, value in columns.items() if value]
        if named_options:
            kind = f"read as {self.kind}, in which no columns are named"
            raise ParameterError(f"{self.name} is {kind}; leave out {' and '.join(named_options)}.")

    def progress(self) -> Any:
        """Return a context that shows that standard input is being read; files report their progress themselves."""
        return progress.task("Reading standard input") if self.path == "-" else nullcontext()


def learner_of(model: Any) -> Any:
    """Return the learner of a model: its last step, if it is a Pipeline."""
    return model[-1] if hasattr(model, "steps") else model


def features_of(model: Any) -> int | None:
    """Return the number of features of a model trained on numbers; None for one trained on texts."""
    n_features = getattr(model, "n_features_in_", None)  # a Pipeline has that of its first step, a vectoriser none
    return None if n_features is None else int(n_features)


def notes_of(source: DataSource, features: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the notes for a model trained on this data, whose numeric columns are called `features`."""
    if source.kind == "svmlight":
        return {"zero_based": bool(source.zero_based)}
    columns = {"features": [] if features is None else [str(name) for name in features]}
    if source.kind == "arff":
        return {"zero_based": source.zero_based} | columns
    if source.kind == "lshtc":  # not inferable from the file extension, so it is noted
        return {"format": "lshtc"} | columns
    return {"text": list(source.text)} | {name: getattr(source, name) for name in ("label", "label_sep", "path_sep")}


def check_notes(notes: dict[str, Any], folder: Path) -> None:
    """Raise a `ModelFormatError` if notes have another form than this version of cladist writes."""
    for name, (kind, description) in NOTES.items():
        value: Any = notes.get(name)
        is_valid = value is None or isinstance(value, kind)
        if not is_valid or (kind is list and not all(isinstance(column, str) for column in value or ())):
            raise ModelFormatError(f"{folder}: this model's note {name!r} must be {description}; got {value!r}.")
    if notes.get("format") == "lshtc":
        names = notes.get("features") or ()
        numbers = [int(name) for name in names if name.isascii() and name.isdigit() and len(name) <= 10]
        if not 0 < len(numbers) == len(names) or any(a >= b for a, b in pairwise(numbers)):
            raise ModelFormatError(f"{folder}: this model's note 'features' must be rising numbers, as in LSHTC rows.")


def open_model(folder: Path, *, mmap: bool = False, verify: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return a model and its notes; a model saved from Python may have none, or some of its own."""
    model, notes, _ = load_noted(folder, mmap=mmap, verify=verify)  # one call, so that both are of the same save
    check_notes(notes, folder)
    return model, notes


def resolve(source: DataSource, model: Any, notes: dict[str, Any], folder: Path) -> DataSource:
    """Return the source completed by a model's notes; data that does not suit the model is refused.

    LSHTC rows only suit a model trained on such rows, as their features are counted in another way.
    """
    source.check_extension()
    source = _complete(source, notes)
    numbers = {True: "LSHTC rows", False: "numbers"}
    trained = "texts" if features_of(model) is None else numbers[notes.get("format") == "lshtc"]
    data_kind = numbers[source.kind == "lshtc"] if source.is_numeric else "texts"
    if trained != data_kind:
        raise DatasetError(f"{folder} was trained on {trained}, and {source.name} holds {data_kind}.")
    source.check_columns()
    return source


def _complete(source: DataSource, notes: dict[str, Any]) -> DataSource:
    """Return the source with everything that options did not give taken from a model's notes.

    An empty separator means none, even if the notes have one.
    """
    if source.format is None and not source.text and notes.get("format") == "lshtc":
        is_known = data_suffix(source.path) in KIND_OF_SUFFIX or format_of_ending(source.path) is not None
        if source.path == "-" or not is_known:
            source = replace(source, format="lshtc")
    if source.is_numeric:
        zero_based = notes.get("zero_based") if source.zero_based is None else source.zero_based
        return replace(source, zero_based=zero_based, features=tuple(notes.get("features") or ()))
    text = tuple(notes.get("text") or ())
    if source.kind == "lines":
        return replace(source, trained_columns=text if source.format is None else ())
    source = replace(source, text=source.text or text)
    if not source.labelled:
        return source
    options = {name: getattr(source, name) for name in ("label", "label_sep", "path_sep")}
    label, label_sep, path_sep = (notes.get(name) if value is None else value for name, value in options.items())
    return replace(source, label=label, label_sep=label_sep or None, path_sep=path_sep or None)


def read_labelled(
    source: DataSource, *, taxonomy: Taxonomy | None, model: Any = None, notify: Notify = lambda _: None
) -> Dataset:
    """Read rows with their labels, all of which must be in the taxonomy.

    Numbers have the columns of the model, or without one those of the file. `notify` is called with notes about
    features that are left out.
    """
    if source.kind == "packed":
        return Dataset.open(source.path)
    with source.progress(), reworded(source, model):
        if source.kind == "svmlight":
            zero_based, n_features = bool(source.zero_based), features_of(model)
            return read_svmlight(source.stream, taxonomy=taxonomy, zero_based=zero_based, n_features=n_features)
        base: Any = "auto" if source.zero_based is None else source.zero_based
        if source.kind == "arff":
            data = read_arff_hmc(source.stream, taxonomy=taxonomy, zero_based=base)
            _check_columns(source, data.X, list(() if data.feature_names is None else data.feature_names), model)
            return data
        if source.kind == "lshtc":
            return _read_lshtc(source, taxonomy, model, notify)
        return read_table(
            source.stream,
            text=source.text,
            label=source.label or "",
            label_sep=source.label_sep,
            path_sep=source.path_sep,
            taxonomy=taxonomy,
            format=source.format,
            query=source.query,
        )


def read_packed(source: DataSource) -> tuple[Dataset, dict[str, Any], Any]:
    """Return a packed data set, the notes for a model trained on it, and the fitted steps that read texts, or None."""
    data, beside, arrays = open_packed(source.path)
    if "features" not in beside:
        return data, beside["notes"], None
    from cladist.persistence.transformers import decode_transformer

    return data, beside["notes"], decode_transformer(beside["features"], arrays)


def _read_lshtc(source: DataSource, taxonomy: Taxonomy | None, model: Any, notify: Notify) -> Dataset:
    if taxonomy is None:
        raise ParameterError(
            f"{source.name} is an LSHTC file, whose hierarchy is a file of its own; name that with --taxonomy FILE."
        )
    data = read_lshtc(source.stream, taxonomy, compact=model is None)
    if model is None:
        return data
    (X,) = _select_known([data.X], source, notify)
    return Dataset(X, data.y, data.taxonomy, source=data.source)


def read_numbers(source: DataSource, *, model: Any, notify: Notify) -> Iterator[Any]:
    """Yield rows of numbers without their labels, as they are read."""
    with reworded(source, model):
        if source.kind == "packed":
            for X in slices(Dataset.open(source.path).X):
                _check_columns(source, X, (), model)
                yield X
        elif source.kind == "svmlight":
            n_features = features_of(model)
            assert n_features is not None
            yield from read_svmlight_rows(source.stream, n_features=n_features, zero_based=bool(source.zero_based))
        elif source.kind == "lshtc":
            yield from _select_known(read_matrices(source.stream, LSHTC_ROWS, True, None), source, notify)
        else:
            base: Any = "auto" if source.zero_based is None else source.zero_based
            n_rows = 0
            for X, names in read_arff_rows(source.stream, zero_based=base):
                _check_columns(source, X, names, model, n_before=n_rows)
                n_rows += X.shape[0]
                yield X


def slices(rows: Any) -> Iterator[Any]:
    """Yield rows, or labels, in batches."""
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    for start in range(0, n_rows, BATCH_ROWS):
        yield take_rows(rows, slice(start, start + BATCH_ROWS))


@contextmanager
def reworded(source: DataSource, model: Any) -> Iterator[None]:
    """Put the advice of readers into the words of the command line; add the likely reason of a wrong index."""
    try:
        yield
    except DatasetError as problem:
        kind, n_features = problem.kind, features_of(model)
        if source.is_numeric and kind in SENTENCES and problem.file is not None:
            sentence = SENTENCES[kind]
            raise DatasetError.at(problem.file, problem.line, problem.column, sentence, kind=kind) from problem
        if source.kind == "svmlight" and kind == "index-zero":
            problem.add_note("If the file counts its features from 0, add --zero-based.")
        elif kind == "unknown-label" and model is not None:
            problem.add_note("--unknown wrong counts such rows as wrong, --unknown skip leaves them out.")
        elif source.kind == "svmlight" and kind == "index-range" and n_features is not None:
            problem.add_note(
                f"The model was trained on indices up to {n_features - bool(source.zero_based)} and has no weights for "
                "others: leave out the features that are new, or train again on rows that have them."
            )
        raise


def _check_columns(source: DataSource, X: Any, features: Sequence[str], model: Any, *, n_before: int = 0) -> None:
    """Refuse columns other than those that a model was trained on, and missing values if it has no imputer.

    `n_before` rows of the file came before these.
    """
    if model is None:
        return
    for k, (trained, name) in enumerate(zip(source.features, features, strict=False)):
        if trained != name:
            problem = (
                f"feature {k + 1} is {name!r}, and the model was trained on {trained!r} in its place; give it the "
                "attributes it was trained on, in their order."
            )
            raise DatasetError.at(source.name, None, None, problem, kind="feature-names")
    if X.shape[1] != features_of(model):
        problem = f"there are {X.shape[1]:,} features, and the model was trained on {features_of(model):,}."
        raise DatasetError.at(source.name, None, None, problem, kind="column-count")
    is_missing = missing(X)
    if not is_missing.any():
        return
    from sklearn.impute import SimpleImputer

    if any(isinstance(step, SimpleImputer) for _, step in getattr(model, "steps", ())):
        return
    entry = int(np.argmax(is_missing))
    if sparse.issparse(X):
        row, column = X.tocoo().row[entry], X.tocoo().col[entry]
    else:
        row, column = np.unravel_index(entry, X.shape)
    problem = (
        f"row {n_before + row + 1} has no value for {features[column]!r}, and the model has seen no missing value in "
        "training, so it has nothing to put in its place; fill it in, or train on rows that miss some too."
    )
    raise DatasetError.at(source.name, None, None, problem, kind="missing-value")


def missing(X: Any) -> npt.NDArray[np.bool_]:
    """Tell of each value of an array, or of each entry of a CSR matrix, whether it is missing."""
    return np.isnan(X.data if sparse.issparse(X) else X)


def _select_known(matrices: Iterable[Any], source: DataSource, notify: Notify) -> Iterator[Any]:
    """Yield LSHTC rows with the columns that a model was trained on; a feature that is new to it has no weight."""
    numbers = np.array(source.features, np.int64)
    new = every = np.zeros(0, np.int64)
    for X in matrices:
        place = np.searchsorted(numbers, X.indices)
        is_known = numbers[np.minimum(place, len(numbers) - 1)] == X.indices
        every, new = np.union1d(every, X.indices), np.union1d(new, X.indices[~is_known])
        ends = np.concatenate([[0], np.cumsum(is_known)])
        arrays = X.data[is_known], place[is_known].astype(np.int32), ends[X.indptr]
        yield sparse.csr_matrix(arrays, shape=(X.shape[0], len(numbers)))
    if len(new):
        counts = f"{len(new):,} of the {len(every):,} features"
        notify(f"{counts} in {source.name} were in no row of training; they are left out.")


def read_taxonomy(
    path: Source,
    *,
    advice: str,
    format: str | None = None,  # noqa: A002
    sep: str = "/",
    drop_cycles: bool = False,
) -> Taxonomy:
    """Read a taxonomy in a format of `Taxonomy.read`, from the header of an ARFF file, or a hierarchy of LSHTC.

    Cycles are refused with the edges that close them and `advice`, in which {} stands for these edges, or dropped.
    """
    if format == "arff" or (format is None and data_suffix(path) == ".arff"):
        from cladist.datasets.formats import arff_header

        with open_for_reading(path) as stream:
            attributes = arff_header.read_header(path, iterate_byte_lines(path, stream))
            taxonomy = arff_header.read_hierarchy(path, attributes, on_cycle="drop")
    elif format == "lshtc":
        from cladist.datasets.formats.lshtc import read_hierarchy

        taxonomy = read_hierarchy(path, "drop")
    else:
        taxonomy = Taxonomy.read(path, format=format, sep=sep, on_cycle="drop")
    if taxonomy.dropped_edges and not drop_cycles:
        them = "it" if len(taxonomy.dropped_edges) == 1 else "them"
        description = f"{display_name(path)}: {_describe_cycles(taxonomy)}"
        raise TaxonomyError(f"{description}; remove {them}, or {advice.format(them)}.")
    return taxonomy


def read_tree(path: Path, source: DataSource) -> Taxonomy:
    """Read the taxonomy of labelled data, whose paths have the separator of the labels."""
    # The paths in an LSHTC hierarchy consist of node numbers: the same number is the same node.
    kind = "lshtc" if source.kind == "lshtc" else None
    advice = "write the file without {} by `cladist taxonomy FILE --drop-cycles --convert OUT`"
    tree = read_taxonomy(path, format=kind, sep=source.path_sep or "/", advice=advice)
    return tree if source.path_sep is None else tree.with_separator(source.path_sep)


def with_sets(data: Dataset) -> Dataset:
    """Return the data with sets for lists of labels, which would leave open whether they are paths."""
    if isinstance(data.y, list) and isinstance(data.y[0], list):
        return replace(data, y=[set(row) for row in data.y])
    return data


def find_node(taxonomy: Taxonomy, label: str, path_sep: str | None) -> int:
    """Return the node of a label, by its path if labels are paths; −1 if there is none."""
    parts = [part.strip() for part in label.split(path_sep)] if path_sep else []
    node = taxonomy.find_path(parts) if path_sep else taxonomy.find(label)
    return -1 if node is None else node


def _describe_cycles(taxonomy: Taxonomy) -> str:
    """Return the dropped edges that close cycles, and the first of these cycles."""
    from cladist.taxonomy.inspection import restore_cycle

    edges = taxonomy.dropped_edges
    shown = join_names([f"{parent} → {child}" for parent, child in edges])
    first = join_path(restore_cycle(taxonomy, edges[0]))
    if len(edges) == 1:
        return f"1 edge closes a cycle ({shown}): {first}"
    return f"{len(edges):,} edges close cycles ({shown}), the first of them {first}"
