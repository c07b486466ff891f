"""The example of an executor of one's own: on a Dask cluster the model is the same. Needs the extra ``dask``."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.execution.learners import DATA, learners

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
PATH = Path(__file__).parents[2] / "examples" / "dask_executor.py"


@pytest.mark.filterwarnings("ignore")
def test_dask():
    spec = importlib.util.spec_from_file_location("dask_executor", PATH)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        for name, make in learners().items():
            here, there = (make(executor).fit(DATA.X, DATA.y) for executor in (None, example.Dask(client)))
            assert np.array_equal(here.decision_function(DATA.X), there.decision_function(DATA.X)), name
