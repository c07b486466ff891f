"""The data of a command as rows that a model takes, read as the model's notes say unless options differ."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from sklearn.pipeline import Pipeline

from cladist import progress
from cladist.datasets import Dataset, read_table
from cladist.datasets.formats.tables.records import check_ending, format_of_ending
from cladist.errors import DatasetError, ModelFormatError, ParameterError, TaxonomyError
from cladist.files import Source, data_suffix, display_name, open_for_reading
from cladist.persistence.models import load_noted
from cladist.taxonomy import Taxonomy

BATCH_ROWS = 4096  # rows in memory at once while predicting
MAX_EDGES, MAX_NODES = 10, 12  # in the message about cycles
KIND_OF_SUFFIX = {".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".arff": "arff"}
# Kinds of data without named columns, and their descriptions in messages.
WITHOUT_COLUMNS = {
    "svmlight": "an svmlight file, which has no columns",
    "lshtc": "an LSHTC file, which has no columns",
    "arff": "an ARFF file, which says itself where its labels are",
    "lines": "one text per line, which has no columns",
}
# Notes in a model about its data: their types, and descriptions of these in messages.
NOTES: dict[str, tuple[type, str]] = {
    "text": (list, "a list of column names"),
    "features": (list, "a list of column names"),
    **dict.fromkeys(("label", "label_sep", "path_sep", "format"), (str, "a text")),
    "zero_based": (bool, "true or false"),
}

Notify = Callable[[str], None]


def ignore(_: str) -> None:
    """Drop a note."""


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

    @property
    def stream(self) -> Source:
        """The path, or standard input as bytes."""
        standard_input: IO[bytes] = sys.stdin.buffer
        return standard_input if self.path == "-" else self.path

    @property
    def name(self) -> str:
        """The name of the data in messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def has_format(self) -> bool:
        """Whether an option or the file extension gives the format."""
        if self.format is not None or self.path == "-":
            return self.format is not None
        return data_suffix(self.path) in KIND_OF_SUFFIX or format_of_ending(self.path) is not None

    @property
    def kind(self) -> str:
        """The kind of data: "svmlight", "arff", "lshtc", "lines" or "table"."""
        if self.format is not None:
            return self.format if self.format in WITHOUT_COLUMNS else "table"
        if self.path == "-":
            return "table" if self.text or self.labelled else "lines"
        return KIND_OF_SUFFIX.get(data_suffix(self.path), "table")

    @property
    def is_numeric(self) -> bool:
        """Whether the rows are numbers, not texts."""
        return self.kind in ("svmlight", "arff", "lshtc")

    def check_extension(self) -> None:
        """Raise a `DatasetError` if the file extension is of a format that cannot be read."""
        if self.kind == "table" and self.format is None and self.path != "-":
            check_ending(self.path)

    def check_columns(self, *, text: bool = True) -> None:
        """Raise a `ParameterError` unless exactly the columns that the data has are named.

        `text` says whether texts are read.
        """
        columns: dict[str, Any] = {"--text": self.text} if text else {}
        if self.labelled:
            columns["--label"] = self.label
        if self.kind == "table":
            missing = [f"{option} COLUMN" for option, value in columns.items() if not value]
            hint = "" if self.labelled else ", or --format lines if every line is a text"
            if missing:
                raise ParameterError(f"{self.name} is a table: name its columns with {' and '.join(missing)}{hint}.")
            return
        given = [option for option, value in columns.items() if value]
        if given:
            raise ParameterError(f"{self.name} is {WITHOUT_COLUMNS[self.kind]}; leave out {' and '.join(given)}.")

    def progress(self) -> AbstractContextManager[Any]:
        """Return a context that shows that standard input is being read; files report their progress themselves."""
        return progress.task("Reading standard input") if self.path == "-" else nullcontext()


# ------------------------------------------------------------------ models and their notes


def learner_of(model: Any) -> Any:
    """Return the learner of a model: its last step, if it is a Pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def features_of(model: Any) -> int | None:
    """Return the number of features of a model trained on numbers; None for one trained on texts."""
    n_features = getattr(model, "n_features_in_", None)  # a Pipeline has that of its first step, a vectoriser none
    return None if n_features is None else int(n_features)


def notes_of(source: DataSource, features: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the notes for a model trained on this data, whose numeric columns are called `features`.

    Examples
    --------
    >>> notes_of(DataSource("train.csv", text=("title",), label="category"))
    {'text': ['title'], 'label': 'category', 'label_sep': None, 'path_sep': None}
    >>> notes_of(DataSource("train.svm", zero_based=True))
    {'zero_based': True}
    >>> notes_of(DataSource("train.txt", "lshtc"), ["3", "17"])
    {'format': 'lshtc', 'features': ['3', '17']}
    """
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
    if notes.get("format") == "lshtc" and not _are_rising_numbers(notes.get("features") or ()):
        raise ModelFormatError(f"{folder}: this model's note 'features' must be rising numbers, as in LSHTC rows.")


def _are_rising_numbers(names: Sequence[str]) -> bool:
    numbers = [int(name) for name in names if name.isascii() and name.isdigit() and len(name) <= 10]
    return 0 < len(numbers) == len(names) and all(a < b for a, b in pairwise(numbers))


def open_model(folder: Path, *, mmap: bool = False, verify: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return a model and its notes; a model saved from Python may have none, or some of its own."""
    model, notes, _ = load_noted(folder, mmap=mmap, verify=verify)  # one call, so that both are of the same save
    check_notes(notes, folder)
    return model, notes


def resolve(source: DataSource, model: Any, notes: dict[str, Any], folder: Path) -> DataSource:
    """Return the source completed by a model's notes; data that does not suit the model is refused."""
    source.check_extension()
    source = complete(source, notes)
    check_suits(source, model, notes, folder)
    source.check_columns()
    return source


def complete(source: DataSource, notes: dict[str, Any]) -> DataSource:
    """Return the source with everything that options did not give taken from a model's notes.

    An empty separator means none, even if the notes have one.

    Examples
    --------
    >>> complete(DataSource("new.csv", labelled=True, label="kind"), {"text": ["title"], "label": "category"})
    DataSource(path='new.csv', ..., text=('title',), label='kind', ...)
    """
    if notes.get("format") == "lshtc" and not source.has_format and not source.text:
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
    values = {name: getattr(source, name) for name in ("label", "label_sep", "path_sep")}
    values = {name: notes.get(name) if value is None else value for name, value in values.items()}
    return replace(
        source, label=values["label"], label_sep=values["label_sep"] or None, path_sep=values["path_sep"] or None
    )


def check_suits(source: DataSource, model: Any, notes: dict[str, Any], folder: Path) -> None:
    """Raise a `DatasetError` if the model was trained on texts and the data is numbers, or the other way round.

    LSHTC rows only suit a model trained on such rows, as their features are counted in another way.
    """
    on_texts, on_lshtc = features_of(model) is None, notes.get("format") == "lshtc"
    if on_texts == source.is_numeric:
        trained, given = ("texts", "numbers") if on_texts else ("numbers", "texts")
    elif source.is_numeric and on_lshtc != (source.kind == "lshtc"):
        trained, given = ("LSHTC rows", "other rows") if on_lshtc else ("other rows", "LSHTC rows")
    else:
        return
    raise DatasetError(f"{folder} was trained on {trained}, and {source.name} holds {given}.")


# ------------------------------------------------------------------ rows


def read_labelled(
    source: DataSource, *, taxonomy: Taxonomy | None, model: Any = None, notify: Notify = ignore
) -> Dataset:
    """Read rows with their labels, all of which must be in the taxonomy; numbers must suit the model, if given.

    `notify` is called with notes about features that are left out.
    """
    with source.progress():
        if source.is_numeric:
            from cladist.cli.numeric_input import read_numbers

            return read_numbers(source, taxonomy=taxonomy, model=model, notify=notify)
        return read_table(
            source.stream,
            text=source.text,
            label=source.label or "",
            label_sep=source.label_sep,
            path_sep=source.path_sep,
            taxonomy=taxonomy,
            format=source.format,
        )


def slices(rows: Any) -> Iterator[Any]:
    """Yield rows, or labels, in batches."""
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    for start in range(0, n_rows, BATCH_ROWS):
        yield rows[start : start + BATCH_ROWS]


# ------------------------------------------------------------------ taxonomies


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
        taxonomy = _read_arff_taxonomy(path)
    elif format == "lshtc":
        from cladist.datasets.formats.lshtc import read_hierarchy

        taxonomy = read_hierarchy(path, "drop")
    else:
        taxonomy = Taxonomy.read(path, format=format, sep=sep, on_cycle="drop")
    if taxonomy.dropped_edges and not drop_cycles:
        them = "it" if len(taxonomy.dropped_edges) == 1 else "them"
        description = f"{display_name(path)}: {describe_cycles(taxonomy)}"
        raise TaxonomyError(f"{description}; remove {them}, or {advice.format(them)}.")
    return taxonomy


def _read_arff_taxonomy(path: Source) -> Taxonomy:
    from cladist.datasets.formats.arff_header import read_header, read_hierarchy

    with open_for_reading(path) as stream:
        header = read_header(path, stream)
    return read_hierarchy(path, header, on_cycle="drop")


def describe_cycles(taxonomy: Taxonomy) -> str:
    """Return the dropped edges that close cycles, and the first of these cycles."""
    from cladist.taxonomy.inspection import restore_cycle

    edges = taxonomy.dropped_edges
    shown = ", ".join(f"{parent} → {child}" for parent, child in edges[:MAX_EDGES])
    more = f" and {len(edges) - MAX_EDGES:,} more" if len(edges) > MAX_EDGES else ""
    cycle = restore_cycle(taxonomy, edges[0])
    first = " → ".join(cycle if len(cycle) <= MAX_NODES else (*cycle[: MAX_NODES - 2], "…", cycle[-1]))
    if len(edges) == 1:
        return f"1 edge closes a cycle ({shown}): {first}"
    return f"{len(edges):,} edges close cycles ({shown}{more}), the first of them {first}"
