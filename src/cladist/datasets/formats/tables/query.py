"""The answer of a query to a database, SQLite or DuckDB, as rows of a table; the database is only read."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from cladist.datasets.formats.tables.records import Row, find_columns
from cladist.errors import DatasetError, ParameterError, quoted, shorten

ADDRESS = re.compile(r"(sqlite|duckdb)://(?:/(.*))?", re.DOTALL)
BATCH_ROWS = 4096
TABLES_SHOWN = 12  # in a message


def is_database(source: Any) -> bool:
    """Tell whether a source is the address of a database, as sqlite:///shop.db."""
    return isinstance(source, str) and ADDRESS.fullmatch(source) is not None


def check_query(source: Any, query: str | None) -> None:
    """Raise a `ParameterError` unless there is a query exactly where the source is a database."""
    if is_database(source) and not query:
        raise ParameterError(
            f"{source} is a database: say which rows to read, with a query (--query 'SELECT …'){_tables(source)}."
        )
    if query is not None and not is_database(source):
        raise ParameterError(
            f"A query is for databases, as sqlite:///shop.db or duckdb:///shop.duckdb; the data is {shorten(source)}."
        )


def path_of(address: str) -> Path:
    """Return the file of a database; sqlite:///shop.db is in the current folder, sqlite:////data/shop.db is not."""
    match = ADDRESS.fullmatch(address)
    assert match is not None
    if not match[2]:
        raise DatasetError(f"{address} names no file; write {match[1]}:///shop.db for the file shop.db.")
    return Path(match[2])


def read_query(address: str, query: str, columns: Sequence[str]) -> tuple[Sequence[str], Iterator[Row]]:
    """Return the columns of the rows, and the rows with their numbers; without `columns`, all."""
    path = path_of(address)
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file.")
    connection = _connect(address)
    rows = _rows(connection, address, query, columns)
    names: Any = next(rows)
    return names, rows


def _tables(address: str) -> str:
    """Return the end of an error that names the tables of a database; "" if there are none to be seen."""
    listing = "SELECT table_name FROM information_schema.tables ORDER BY 1"
    if not address.startswith("duckdb"):
        listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
    try:
        if not path_of(address).is_file():
            return ""
        with closing(_connect(address)) as connection:
            names = [str(name) for (name,) in connection.execute(listing).fetchmany(TABLES_SHOWN)]
    except Exception:  # the error to report is another one
        return ""
    return f"; its tables are {', '.join(map(quoted, names))}" if names else ""


def _connect(address: str) -> Any:
    path = path_of(address)
    return _connect_duckdb(address, path) if address.startswith("duckdb") else _connect_sqlite(path)


def _connect_sqlite(path: Path) -> Any:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _connect_duckdb(address: str, path: Path) -> Any:
    try:
        duckdb = import_module("duckdb")
    except ImportError as problem:
        raise DatasetError(
            f"{address} needs duckdb, which is not installed; pip install 'cladist[duckdb]'."
        ) from problem
    try:
        return duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"})
    except duckdb.Error as problem:
        raise DatasetError(f"{address}: cannot be opened ({shorten(str(problem), 200)}).") from problem


def _rows(connection: Any, address: str, query: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the names of the columns, then rows."""
    with closing(connection):
        try:
            cursor = connection.execute(query)
            names = [column[0] for column in cursor.description or ()]
        except Exception as problem:
            failed = f"the query failed ({shorten(str(problem), 200)})"
            raise DatasetError(f"{address}: {failed}{_tables(address)}.") from problem
        if not names:
            raise DatasetError(f"{address}: the query gives no rows; write one that begins with SELECT.")
        wanted = list(columns) or names
        places = find_columns(address, names, wanted)
        yield wanted
        number = 0
        while True:
            try:
                batch = cursor.fetchmany(BATCH_ROWS)
            except Exception as problem:
                raise DatasetError(f"{address}: the query failed ({shorten(str(problem), 200)}).") from problem
            if not batch:
                return
            for row in batch:
                number += 1
                yield number, [row[place] for place in places]
