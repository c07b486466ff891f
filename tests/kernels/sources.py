"""Kernels of lanes beside their Python source: lanes cannot leave compiled code, so all they call is Python too."""

from contextlib import contextmanager

import numpy as np
from numba.core.dispatcher import Dispatcher

from cladist.kernels import dense_rows


@contextmanager
def as_python(*modules):
    """Let every kernel of some modules, and of those on rows, be its Python source for a while."""
    modules = tuple(dict.fromkeys((*modules, dense_rows)))
    before = [{name: value for name, value in vars(m).items() if isinstance(value, Dispatcher)} for m in modules]
    try:
        for module, kernels in zip(modules, before, strict=True):
            vars(module).update({name: kernel.py_func for name, kernel in kernels.items()})
        yield
    finally:
        for module, kernels in zip(modules, before, strict=True):
            vars(module).update(kernels)


def copied(argument):
    if isinstance(argument, tuple):
        copies = map(copied, argument)
        return type(argument)(*copies) if hasattr(argument, "_fields") else tuple(copies)
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def close_to_python(module, kernel, *arguments, rtol=1e-6, atol=1e-6):
    """Run a kernel compiled and as Python, each on its own copies; what they return and change must be close.

    Returns what the compiled one returned, and its arguments as it left them.
    """
    ours, twins = copied(arguments), copied(arguments)
    compiled = kernel(*ours)
    with as_python(module), np.errstate(all="ignore"):
        plain = kernel.py_func(*twins)
    same = {"rtol": rtol, "atol": atol}
    for one, other in zip([compiled, *ours], [plain, *twins], strict=True):
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, **same)
        elif isinstance(one, (float, np.floating)):
            np.testing.assert_allclose(one, other, **same)
        elif not isinstance(one, tuple):
            assert one == other
    return compiled, ours


def assert_same(one, other):
    """Compare two arguments or results, tuples of them part by part, NaN being equal to NaN."""
    if isinstance(one, tuple):
        for ours, twin in zip(one, other, strict=True):
            assert_same(ours, twin)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other or (one != one and other != other)


def compared(kernel, *modules):
    """Return a function that runs a kernel, and compares what comes of it with its source's doing; kernels are Python's
    in all of the modules then.
    """

    def run(*arguments):
        ours, twins = copied(arguments), copied(arguments)
        compiled = kernel(*ours)
        with as_python(*modules), np.errstate(all="ignore"):
            plain = kernel.py_func(*twins)
        assert_same((compiled, *ours), (plain, *twins))
        return kernel(*arguments)

    return run
