"""The numbers of a server, as Prometheus reads them."""

from pathlib import Path
from typing import Any

import pytest

from cladist.server.counters import BATCHES, REQUESTS, WAITING, Share
from tests.server.conftest import Serve


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    parser = pytest.importorskip("prometheus_client.parser")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_and_batches_are_counted(serve: Serve, calibrated: Any) -> None:
    client = serve({'a "b"\\c': calibrated})
    for _ in range(3):
        client.post("/predict", json={"texts": ["a net", "rook"]})
    client.post("/predict", json={})
    client.get("/nodes/1")
    client.get("/nothing")
    client.get("/label-studio/health")
    samples = parsed(client.get("/metrics").text)
    assert samples["cladist_requests_total", (("route", "/predict"), ("status", "200"))] == 3
    assert samples["cladist_requests_total", (("route", "/predict"), ("status", "422"))] == 1
    assert samples["cladist_requests_total", (("route", "/nodes/{node}"), ("status", "200"))] == 1
    assert samples["cladist_requests_total", (("route", "/health"), ("status", "200"))] == 1
    assert samples["cladist_requests_total", (("route", "other"), ("status", "404"))] == 1
    assert samples["cladist_batch_rows_sum", (("model", 'a "b"\\c'),)] == 6
    assert samples["cladist_request_seconds_count", (("route", "/predict"),)] == 4
    assert samples["cladist_queue_rows", (("model", 'a "b"\\c'),)] == 0


def test_processes_count_in_one_file(tmp_path: Path) -> None:
    shares = [Share(tmp_path / "counters", k, 3).counters(["/predict"], ["m"]) for k in range(3)]
    for k, counters in enumerate(shares):
        for _ in range(k + 1):
            counters.add(REQUESTS, ("/predict", "200"))
            counters.observe(BATCHES, ("m",), 2 ** (4 * k))
        counters.set(WAITING, ("m",), k)
    texts = {counters.text() for counters in shares}
    assert len(texts) == 1
    samples = parsed(texts.pop())
    assert samples["cladist_requests_total", (("route", "/predict"), ("status", "200"))] == 6
    assert samples["cladist_queue_rows", (("model", "m"),)] == 3
    counts = {dict(key)["le"]: value for (name, key), value in samples.items() if name == "cladist_batch_rows_bucket"}
    assert (counts["1"], counts["8"], counts["16"], counts["128"], counts["256"], counts["+Inf"]) == (1, 1, 3, 3, 6, 6)
    assert samples["cladist_batch_rows_sum", (("model", "m"),)] == 1 + 2 * 16 + 3 * 256


def test_one_that_starts_again_goes_on_counting(tmp_path: Path) -> None:
    for _ in range(2):
        counters = Share(tmp_path / "counters", 1, 2).counters(["/predict"], ["m"])
        counters.add(REQUESTS, ("/predict", "299"))
    assert 'cladist_requests_total{route="/predict",status="other"} 2' in counters.text()
