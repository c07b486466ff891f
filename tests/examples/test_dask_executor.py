"""The example of an executor of one's own: on a Dask cluster the model is the same. Needs the extra ``dask``."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import cladist
from cladist.datasets import make_topics

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
PATH = Path(__file__).parents[2] / "examples" / "dask_executor.py"


@pytest.mark.filterwarnings("ignore")
def test_dask():
    spec = importlib.util.spec_from_file_location("dask_executor", PATH)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    data = make_topics(n_samples=250, n_features=150, branching=(4, 4, 4), random_state=0)
    settings = {"sharing": 1, "relations": cladist.Relations(blocks_per_round=2)}
    learners = [(cladist.RecursiveSVM, settings), (cladist.FlatSVM, {}), (cladist.NodewiseSVM, {})]
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        for learner, parameters in learners:
            here, there = (
                learner(data.taxonomy, executor=executor, **parameters).fit(data.X, data.y)
                for executor in (None, example.Dask(client))
            )
            assert np.array_equal(here.decision_function(data.X), there.decision_function(data.X))
