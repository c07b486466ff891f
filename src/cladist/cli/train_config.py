"""``--config``: the options of ``cladist train`` from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from cladist.cli.options import DataFormat
from cladist.errors import ParameterError

# Option → the types a config file may give it, and what messages call them.
TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("out", "taxonomy", "method", "label", "label_sep", "path_sep", "format"), ((str,), "a text")),
    "text": ((str, list), "a text or a list of texts"),
    "param": ((dict,), "a table"),
    **dict.fromkeys(("hashing", "zero_based"), ((bool,), "true or false")),
}


def merged(given: dict[str, Any], config: Path | None) -> dict[str, Any]:
    """Return the options of the command line, each that is missing taken from the config file.

    Parameters of the method are merged one by one.

    Examples
    --------
    >>> merged({"method": "hieron", "param": {"C": 1.0}}, None)
    {'method': 'hieron', 'param': {'C': 1.0}}
    """
    if config is None:
        return given
    read = read_config(config)
    chosen = {name: read.get(name) if value is None or value == [] else value for name, value in given.items()}
    return chosen | {"param": read.get("param", {}) | given["param"]}


def read_config(path: Path) -> dict[str, Any]:
    """Read and check a config file; its names are those of the options, with "-" or "_" inside them."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ParameterError(f"{path} is not a TOML file: {problem}.") from problem
    read = {name.replace("-", "_"): value for name, value in content.items()}
    for name, value in read.items():
        if name not in TYPES:
            names = ", ".join(known.replace("_", "-") for known in TYPES)
            raise ParameterError(f"{path}: there is no option {name!r}; the options are {names}.")
        types, wanted = TYPES[name]
        if not isinstance(value, types):
            raise ParameterError(f"{path}: {name} must be {wanted}; got {value!r}.")
    text = read.get("text", [])
    read["text"] = [text] if isinstance(text, str) else text
    if not all(isinstance(column, str) for column in read["text"]):
        raise ParameterError(f"{path}: text must be a text or a list of texts; got {text!r}.")
    if read.get("format") not in (None, *DataFormat):
        raise ParameterError(f"{path}: format must be one of {', '.join(DataFormat)}; got {read['format']!r}.")
    return read
