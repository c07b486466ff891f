"""A kernel and its own Python source, run side by side."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher


def same_as_python(kernel: Any, *arguments: Any) -> Any:
    """Run a kernel compiled and as Python, each on its own copies; what they return and change must be equal.

    Returns what the compiled one returned or, where that is nothing, its arguments as it left them.
    """
    copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2)]
    with np.errstate(invalid="ignore"):  # inf − inf, which compiled code does not tell of
        compiled, plain = kernel(*copies[0]), kernel.py_func(*copies[1])
    pairs = list(zip(*copies, strict=True))
    pairs += zip(compiled, plain, strict=True) if isinstance(compiled, tuple) else [(compiled, plain)]
    for one, other in pairs:
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other
    return compiled if compiled is not None else copies[0]


def kernels_not_named_in(test_file: str, module: ModuleType) -> list[str]:
    """Return the kernels of a module that a test file never mentions."""
    text = Path(test_file).read_text(encoding="utf-8")
    kernels = [name for name, value in vars(module).items() if isinstance(value, Dispatcher)]
    here = [name for name in kernels if inspect.getmodule(getattr(module, name).py_func) is module]
    assert here
    return [name for name in here if f"{module.__name__.rpartition('.')[2]}.{name}" not in text]
