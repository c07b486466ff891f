"""What every test needs before it starts: a fair share of the cores, and the documents' examples as tests."""

import doctest
import os
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

collect_ignore_glob = ["docs/conf.py", "docs/_build/*", "docs/api/generated/*"]
if find_spec("river") is None:  # an extra, without which its adapter cannot be imported
    collect_ignore_glob.append("src/cladist/learners/online/river_adapter.py")

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def _share_cores() -> None:
    """Give each parallel test process its part of the cores; the pools read this when numpy is imported."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0"))
    if workers:
        for pool in _POOLS:
            os.environ.setdefault(pool, str(max(1, (os.cpu_count() or 1) // workers)))


def _enter_scratch(namespace: dict[str, Any]) -> None:
    """Let a document write its files into a folder of its own that goes away with it."""
    stack = namespace["_scratch"] = ExitStack()
    folder = stack.enter_context(TemporaryDirectory(prefix="cladist-docs-"))
    stack.enter_context(chdir(folder))


def _leave_scratch(namespace: dict[str, Any]) -> None:
    namespace["_scratch"].close()


@pytest.fixture(autouse=True)
def _forget_registered_methods() -> Iterator[None]:
    """Undo what a test or an example adds to the registry of methods."""
    yield
    from cladist import registry

    registry._registered.clear()


_share_cores()

# Every ```python block of a document runs, in order and in one namespace; one that starts with >>> is
# checked against the output it shows. <!-- skip: next --> leaves a block out.
pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md"],
    setup=_enter_scratch,
    teardown=_leave_scratch,
).pytest()
