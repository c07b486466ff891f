"""Each kernel against its own Python source and against the dense definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cladist.kernels import label_comparison
from tests.kernels.matrices import ancestors, csr


@st.composite
def pairs(draw, *, closed=False):
    """Two 0/1 matrices over the nodes of one random DAG (parents before children), and its parent matrix."""
    n_nodes = draw(st.integers(1, 9))
    n_rows = draw(st.integers(1, 5))
    parents = np.tril(draw(hnp.arrays(bool, (n_nodes, n_nodes))), -1)
    above = ancestors(parents)
    sides = [draw(hnp.arrays(bool, (n_rows, n_nodes))) for _ in range(2)]
    if closed:
        sides = [side | (side @ above) for side in sides]
    return sides[0], sides[1], parents


def differing_without(different, above):
    """Where a row differs at a node and nowhere among the node's `above`."""
    return different & ~((different.astype(int) @ above.T.astype(int)) > 0)


def same(kernel, *arguments):
    compiled, plain = kernel(*arguments), kernel.py_func(*arguments)
    several = compiled if isinstance(compiled, tuple) else (compiled,)
    for one, other in zip(several, plain if isinstance(plain, tuple) else (plain,), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12)
    return compiled


@given(pairs())
def test_count_differences(case):
    a, b, _ = case
    np.testing.assert_array_equal(same(label_comparison.count_differences, *csr(a), *csr(b)), (a != b).sum(1))


@given(pairs(), st.booleans(), st.integers(0, 2**32 - 1))
def test_first_mistake_costs(case, only_parents, seed):
    a, b, parents = case
    cost = np.random.default_rng(seed).random(len(parents))
    found = same(label_comparison.first_mistake_costs, *csr(a), *csr(b), *csr(parents), cost, only_parents)
    above = parents if only_parents else ancestors(parents)
    np.testing.assert_allclose(found, differing_without(a != b, above) @ cost, rtol=1e-12)


@given(pairs(closed=True), st.integers(0, 2**32 - 1), st.integers(0, 1))
def test_tally(case, seed, first):
    true, pred, parents = case
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, len(true)) * 0.5
    costs = rng.random((len(parents), 3))
    tp, fp, fn, losses, samples = same(
        label_comparison.tally, *csr(true), *csr(pred), *csr(parents), weight, costs, first
    )
    np.testing.assert_allclose(tp, weight @ (true & pred))
    np.testing.assert_allclose(fp, weight @ (~true & pred))
    np.testing.assert_allclose(fn, weight @ (true & ~pred))
    different = true != pred
    # The kernel asks parents only; on closed rows that is the same as asking all ancestors.
    charged = differing_without(different, ancestors(parents)) @ costs
    expected = [weight @ different.any(1), weight @ different.sum(1), *(weight @ charged)]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    both, n_pred, n_true = ((m[:, first:]).sum(1) for m in (true & pred, pred, true))
    for total, undefined, size in ((samples[0], samples[1], n_pred), (samples[2], samples[3], n_true)):
        some = size > 0
        np.testing.assert_allclose(total, weight[some] @ (both[some] / size[some]), rtol=1e-12)
        np.testing.assert_allclose(undefined, weight[~some].sum())
