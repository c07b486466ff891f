"""``cladist pack``: the rows of a file, as numbers, in a folder whose rows are mapped: for data larger than memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cladist.cli import output
from cladist.cli.train import CHARACTERS_HELP, HASHING_HELP, TAXONOMY_HELP, new_features
from cladist.errors import DatasetError

if TYPE_CHECKING:
    from cladist.cli.input import DataSource

EXAMPLE = (
    "Examples: [bold]cladist pack train.svm.gz --taxonomy tree.csv --out packed[/bold]"
    "\n\n[bold]cladist pack train.csv --text title --label category --path-sep / --hashing --out packed[/bold]"
    "\n\nThen: [bold]cladist train packed --method svm --out model[/bold]"
)
JOBS_HELP = "Work in N threads or processes; -1: as many as there are cores."
PIECE_TEXTS = 8192
PACKED_KINDS = ("svmlight", "arff", "table")


def command(
    terminal: output.Terminal,
    data: output.DataFile,
    out: Annotated[Path, output.option("--out -o FOLDER", "The folder to write.")],
    taxonomy: Annotated[Path | None, output.option("--taxonomy FILE", TAXONOMY_HELP)] = None,
    hashing: Annotated[bool, output.option("--hashing", HASHING_HELP, output.DATA)] = False,
    characters: Annotated[
        bool, output.option("--characters/--no-characters", CHARACTERS_HELP, output.DATA, show_default="characters")
    ] = True,
    jobs: Annotated[int, output.option("--jobs -j N", JOBS_HELP)] = 1,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Pack a data set that is larger than memory, to train on it.

    DATA is read piece by piece. Texts become numbers on the way: with a
    vocabulary, for which they are read twice, or by hashing. The folder holds
    rows, labels, the taxonomy, and what a model needs to read texts like
    these. cladist train takes it in place of a file, and Dataset.open in
    Python. While it is written, it takes its room on the disk twice.
    """
    from cladist.cli.input import DataSource
    from cladist.execution import count_workers

    output.check_inputs(data, taxonomy)
    columns: dict[str, Any] = {"label": label, "label_sep": label_sep, "path_sep": path_sep, "query": query}
    kind = format and format.value
    source = DataSource(str(data), kind, tuple(text or ()), zero_based=zero_based, labelled=True, **columns)
    start = time.perf_counter()
    with terminal.bars():
        workers = count_workers(jobs)
        summary = pack(source, out, taxonomy=taxonomy, hashing=hashing, characters=characters, workers=workers)
    summary |= {"seconds": time.perf_counter() - start, "out": str(out)}
    terminal.answer(summary)
    if not terminal.quiet:
        terminal.plain(
            "Packed {rows:,} rows with {features:,} features and {values:,} values in {seconds:.1f} s.\nThe data set "
            "is in {out}".format(**summary)
        )


class Labels(NamedTuple):
    """The labels of all rows as `PackedWriter.finish` takes them, and what else the rows are written with."""

    names: list[str]
    ids: Any
    counts: Any
    taxonomy: Any
    feature_names: list[str] | None = None
    features: Any = None  # the vectorizer of texts


def pack(
    source: DataSource,
    out: Path,
    *,
    taxonomy: Path | None = None,
    hashing: bool = False,
    characters: bool = True,
    workers: int = 1,
) -> dict[str, Any]:
    """Pack the rows of a file, and return the sizes. The folder appears whole or not at all."""
    from cladist.cli.input import notes_of, read_tree, reworded
    from cladist.datasets import PackedWriter

    if source.kind not in PACKED_KINDS or source.path == "-":
        raise DatasetError(f"{source.name}: files of svmlight, ARFF and tables are packed, not {source.kind}.")
    source.check_extension()
    source.check_columns()
    tree = None if taxonomy is None else read_tree(taxonomy, source)
    features = new_features(text=not source.is_numeric, hashing=hashing, characters=characters)
    with PackedWriter(out) as writer:
        with reworded(source, None):
            if source.kind == "svmlight":
                labels = _add_svmlight(writer, source, tree, workers)
            elif source.kind == "arff":
                labels = _add_arff(writer, source, tree)
            else:
                labels = _add_texts(writer, source, tree, features, workers)
        beside: dict[str, Any] = {"notes": notes_of(source, labels.feature_names)}
        arrays: dict[str, Any] = {}
        if labels.features is not None:
            from sklearn.pipeline import Pipeline

            from cladist.persistence.transformers import encode_transformer

            beside["features"], arrays = encode_transformer(Pipeline([("features", labels.features)]))
        writer.finish(
            labels.names,
            labels.ids,
            labels.counts,
            taxonomy=labels.taxonomy,
            feature_names=labels.feature_names,
            source=source.name,
            content=beside,
            arrays=arrays,
        )
        sizes = {"rows": writer.n_rows, "features": writer.n_features or writer.widest}
        return {**sizes, "values": writer.indices.length, "labels": len(labels.names)}


def _add_svmlight(writer: Any, source: DataSource, tree: Any, workers: int) -> Labels:
    import numpy as np

    from cladist.datasets.formats.sparse_text import MOST_FEATURES, CsrRows, LabelNames, RowFormat, read_chunks

    zero_based = bool(source.zero_based)
    form = RowFormat(0 if zero_based else 1, MOST_FEATURES - zero_based, np.dtype(np.float32))
    labels = LabelNames(tree)
    for chunk in read_chunks(source.path, form, workers=workers):
        labels.add(chunk)
        rows = CsrRows()
        rows.add(chunk)
        if rows.n_rows:
            writer.add(rows.matrix(source.path, zero_based, None))
    counts = np.concatenate([np.zeros(0, np.int32), *labels.counts])
    ids = np.concatenate([np.zeros(0, np.int32), *labels.ids])
    several = bool((counts > 1).any())
    if not several:
        labels.check_all_labelled()
    return Labels(labels.names, ids, counts if several else None, tree)


def _add_arff(writer: Any, source: DataSource, tree: Any) -> Labels:
    import numpy as np

    from cladist.datasets.formats.arff import RowParser, as_y, read_parsed

    base: Any = "auto" if source.zero_based is None else source.zero_based
    rows: list[list[str]] = []
    places: list[Any] = []
    parser: RowParser | None = None
    for own, (X, labels, numbers) in read_parsed(source.path, tree, base):
        parser = own
        writer.add(X)
        rows += labels
        places += [(source.path, number, 1) for number in numbers]
    assert parser is not None
    y = as_y(rows, places, parser.taxonomy, "auto")
    several = isinstance(y, list)
    flat = [name for row in y for name in row] if several else y.tolist()
    names = sorted(set(flat))
    id_of = {name: k for k, name in enumerate(names)}
    counts = [len(row) for row in y] if several else None
    ids = np.array([id_of[name] for name in flat], np.int32)
    return Labels(names, ids, counts, parser.taxonomy, parser.feature_names)


def _add_texts(writer: Any, source: DataSource, tree: Any, features: Any, workers: int) -> Labels:
    import numpy as np

    from cladist.datasets.formats.tables.reader import LabelColumn
    from cladist.execution import processes
    from cladist.features.vocabulary import VocabularyCount, count_piece

    columns: list[Any] = []
    if not features.hashing:
        vocabulary = VocabularyCount(features)
        with processes(partial(partial, count_piece, features), workers) as count:
            for piece in count(_texts(source, columns)):
                vocabulary.add(piece)
        try:
            features = vocabulary.fitted()
        except ValueError:
            raise DatasetError(f"{source.name}: none of the texts has a word in it.") from None
    with processes(partial(_transformer, features), workers) as transform:
        for X in transform(_texts(source, columns)):
            writer.add(X)
    labels: LabelColumn = columns[-1]
    labels.finish()
    names, taxonomy = labels.resolve(source.path_sep, tree)
    ids, counts = np.frombuffer(labels.rows, np.int64), np.frombuffer(labels.counts, np.int64)
    return Labels(names, ids, counts if labels.is_multi else None, taxonomy, None, features)


def _transformer(features: Any) -> Callable[[Any], Any]:
    transform: Callable[[Any], Any] = features.transform
    return transform


def _texts(source: DataSource, columns: list[Any]) -> Iterator[list[str]]:
    """Yield the texts of a table some at a time; the last of `columns` collects the labels of this reading."""
    from cladist.datasets.formats.tables.reader import LabelColumn, join_cells
    from cladist.datasets.formats.tables.records import open_table

    options: dict[str, Any] = {"format": source.format, "query": source.query}
    with open_table(source.path, text=source.text, label=source.label, **options) as rows:
        labels = LabelColumn(source.path, rows.unit, source.label or "", source.label_sep)
        columns.append(labels)

        def texts() -> Iterator[str]:
            for number, (*cells, value) in rows:
                labels.add(number, value)
                yield join_cells(source.path, rows.unit, number, source.text, cells)

        stream = texts()
        while piece := list(islice(stream, PIECE_TEXTS)):
            yield piece
