"""Training on a Ray cluster of one and of three nodes; one of them is killed. Needs the extra ``ray``."""

import os
import signal

import numpy as np
import pytest

import cladist
from cladist.errors import ExecutionError
from cladist.execution import Ray
from cladist.execution.worker_group import WorkerGroup
from tests.execution.learners import DATA, learners

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("ResourceWarning", "FutureWarning", "DeprecationWarning", "pytest.PytestUnraisableExceptionWarning")
]

LEARNERS = learners()
STORE = 100 * 2**20  # bytes of each object store


@pytest.fixture(scope="module")
def cluster():
    """A cluster with one node, which tests add others to."""
    from ray.cluster_utils import Cluster

    # A lost node is noticed after two seconds rather than half a minute.
    checks = {"health_check_period_ms": 1000, "health_check_timeout_ms": 10_000, "health_check_failure_threshold": 2}
    head = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False, "_system_config": checks}
    started = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture(scope="module")
def three_nodes(cluster):
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
    cluster.wait_for_nodes()
    return nodes


def compare(name, executor):
    here, there = (LEARNERS[name](where).fit(DATA.X, DATA.y) for where in (None, executor))
    assert np.array_equal(here.decision_function(DATA.X), there.decision_function(DATA.X))


def test_one_node(cluster):
    compare("hr-svm", Ray(workers=2))


def test_errors_come_out_as_they_are_and_results_in_order(cluster):
    assert list(Ray().map(lambda task: -task, range(9))) == [-task for task in range(9)]
    with pytest.raises(ZeroDivisionError):
        list(Ray().map(lambda task: 1 / task, [1, 0]))


def test_tasks_are_taken_as_they_can_be_given_out(cluster):
    taken = []

    def tasks():
        for k in range(50):
            taken.append(k)
            yield k

    results = Ray(workers=2).map(lambda task: -task, tasks())
    assert next(results) == 0
    assert len(taken) < 10
    results.close()


def test_a_worker_that_is_killed_in_a_task(cluster, tmp_path):
    def fragile(task):
        mark = tmp_path / str(task)
        if task == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return -task

    assert list(Ray().map(fragile, range(5))) == [0, -1, -2, -3, -4]
    assert (tmp_path / "2").exists()


def test_more_than_the_object_store_takes(cluster):
    """What does not fit into it is spilled to the disk."""
    n = STORE // 4 // 8
    rows = np.arange(n, dtype=float)
    parts = list(Ray().map(lambda k: rows + k, range(6)))
    assert all(np.array_equal(part, rows + k) for k, part in enumerate(parts))


def test_batches_of_ray_data(cluster, tmp_path):
    pytest.importorskip("pyarrow", reason="Ray Data needs pyarrow")
    from cladist.ray import map_batches

    model = cladist.TopDown(DATA.taxonomy).fit(DATA.X, DATA.y)
    model.save(tmp_path / "model")
    rows = DATA.X[:20].toarray()
    data = ray.data.from_items([{"number": k, "row": row} for k, row in enumerate(rows)])
    answers = map_batches(data, tmp_path / "model", column="row", batch_size=8).take_all()
    answers.sort(key=lambda row: row["number"])
    assert [row["label"] for row in answers] == model.predict(rows).tolist()


def test_a_predictor_of_ray_data(cluster, tmp_path):
    from cladist.ray import _Predictor

    model = cladist.TopDown(DATA.taxonomy).fit(DATA.X, DATA.y)
    model.save(tmp_path / "model")
    rows = DATA.X[:5].toarray()
    answers = _Predictor(str(tmp_path / "model"), "row", "label")({"row": rows})
    assert answers["label"].tolist() == model.predict(rows).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_three_nodes(three_nodes, name):
    compare(name, "ray")


def test_a_node_that_is_killed(cluster, three_nodes, monkeypatch):
    call, n_calls = WorkerGroup.call, 0

    def killing(group, *arguments, **options):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 9:
            cluster.remove_node(three_nodes.pop(), allow_graceful=False)
        return call(group, *arguments, **options)

    monkeypatch.setattr(WorkerGroup, "call", killing)
    compare("hr-svm", Ray(workers=3))
    assert n_calls > 9


def test_no_cluster_at_an_address(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def refuse(**_):
        raise ConnectionError("nobody answers")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ExecutionError, match=r"There is no Ray cluster at 10\.0\.0\.1:6379 \(nobody answers\)"):
        Ray("10.0.0.1:6379").connect()
