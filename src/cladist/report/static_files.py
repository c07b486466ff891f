"""Scripts and styles of pages: modules joined to one script, hashed for the page's content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import [^;]*? from "\./[\w./-]+";\n', re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:async )?function|class|const)", re.MULTILINE)
# Inside a script element of a page: "<" could end it, and halves of characters cannot be written as UTF-8.
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")


@cache
def read_static(name: str) -> str:
    """Return a file of the folder of scripts and styles."""
    return (FOLDER / name).read_text(encoding="utf-8")


def joined_script(*texts: str) -> str:
    """Return modules, each after those that it imports, as one script with a scope of its own."""
    parts = (_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
    return '"use strict";\n{\n' + "\n".join(parts) + "\n}\n"


def script_json(value: Any) -> str:
    """Return JSON that can stand in a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def packed(values: Any, kind: str) -> str:
    """Return an array as base64 of little-endian numbers, such as "i4" or "f4"."""
    return base64.b64encode(np.ascontiguousarray(values, f"<{kind}").tobytes()).decode("ascii")


def content_policy(scripts: Sequence[str], style: str) -> str:
    """Return the content security policy of a page: these scripts and this style, and nothing from anywhere."""
    hashes = [f"'sha256-{_digest(text)}'" for text in scripts]
    run = " ".join(hashes) if hashes else "'none'"
    return (
        f"default-src 'none'; script-src {run}; style-src 'sha256-{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
