"""Who may ask, and how much; and the headers of every answer."""

import base64
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from cladist.server.guard import Rates, host_of
from tests.server.conftest import AUTHORISED, TOKEN, Serve

ASK = {"texts": ["a net"]}


def test_every_answer_forbids_foreign_content(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated})
    answers = [client.get(path) for path in ("/", "/static/page.css", "/nothing", "/model", "/static/../app.py")]
    answers += [client.post("/predict", json=ASK), client.post("/predict", content="{"), client.post("/feedback")]
    for answer in answers:
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_the_page_loads_nothing_from_elsewhere(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated})
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    static = Path(__file__).parents[2] / "src" / "cladist" / "server" / "static"
    for file in static.rglob("*"):
        if file.suffix in (".html", ".js", ".css"):
            text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert "http:" not in text
            assert "https:" not in text
    assert client.get("/docs").status_code == 404  # it would load scripts from elsewhere


@pytest.mark.parametrize("path", ["/model", "/taxonomy", "/nodes/0", "/metrics", "/openapi.json", "/annif/topics"])
def test_at_another_address_everything_needs_the_token(serve: Serve, calibrated: Any, path: str) -> None:
    client = serve({"topics": calibrated}, is_open=False, hosts=())
    assert client.get(path).status_code == 401
    assert client.get(path, headers=AUTHORISED).status_code == 200
    basic = base64.b64encode(f"label-studio:{TOKEN}".encode()).decode()
    assert client.get(path, headers={"authorization": f"Basic {basic}"}).status_code == 200
    assert client.post("/predict", json=ASK).status_code == 401
    for public in ("/", "/healthz", "/readyz", "/static/page.css"):
        assert client.get(public).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil:80"])
def test_a_name_of_somebody_else_does_not_reach_the_server(serve: Serve, calibrated: Any, host: str) -> None:
    client = serve({"topics": calibrated})
    assert client.get("/model", headers={"host": host}).status_code == 421
    for own in ("localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"):
        assert client.get("/model", headers={"host": own}).status_code == 200


def test_a_port_is_no_part_of_a_host() -> None:
    assert [host_of(h) for h in ("a:80", "A", "[::1]", "[::1]:80", "a:b")] == ["a", "a", "[::1]", "[::1]", "a:b"]


def test_other_sites_cannot_send_forms_as_json(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated})
    answer = client.post("/predict", content=json.dumps(ASK), headers={"content-type": "text/plain"})
    assert answer.status_code == 422


def test_a_large_request_is_refused_with_and_without_its_length(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated}, max_body=1000)
    assert client.post("/predict", json={"texts": ["a" * 2000]}).status_code == 413
    parts = (b"x" * 300 for _ in range(10))
    assert client.post("/predict", content=parts, headers={"content-type": "application/json"}).status_code == 413
    assert client.post("/predict", json={"texts": ["a" * 800]}).status_code == 200


def test_a_client_that_asks_too_often_has_to_wait(serve: Serve, calibrated: Any) -> None:
    client = serve({"topics": calibrated}, rate=3.0)
    statuses = [client.get("/model").status_code for _ in range(30)]
    assert statuses[:3] == [200] * 3
    assert 429 in statuses
    refused = next(answer for answer in (client.get("/model") for _ in range(100)) if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert client.get("/healthz").status_code == 200


def test_checks_of_health_do_not_count(serve: Serve, calibrated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.server.guard.time.monotonic", lambda: 0.0)
    client = serve({"topics": calibrated}, rate=2.0)
    for path in ("/healthz", "/readyz") * 5:
        assert client.get(path).status_code == 200
    assert [client.get("/model").status_code for _ in range(3)] == [200, 200, 429]


def test_rates_are_of_each_client_and_forget_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("cladist.server.guard.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("cladist.server.guard.MOST_CLIENTS", 3)
    rates = Rates(2.0)
    assert [rates.wait("a") for _ in range(3)] == [0, 0, 1]
    assert rates.wait("b") == 0
    clock[0] = 0.5
    assert [rates.wait("a") for _ in range(2)] == [0, 1]
    for name in "cdef":
        assert rates.wait(name) == 0
    assert len(rates.left) <= 3


def test_an_answer_that_takes_too_long_is_given_up(serve: Serve, calibrated: Any, monkeypatch: Any) -> None:
    client = serve({"topics": calibrated}, **{"timeout": 0.2})  # of the server: the answer waits for the gate
    batches = client.app.state.slots.default.batches  # type: ignore[attr-defined]
    gate = threading.Event()
    process = batches.process
    batches.process = lambda jobs: (gate.wait(600), process(jobs))
    answer = client.post("/predict", json=ASK)
    assert answer.status_code == 503
    assert "0.2 s" in answer.json()["detail"]
    gate.set()


def test_faults_are_told_without_details(serve: Serve, calibrated: Any, caplog: Any) -> None:
    client = serve({"topics": calibrated})
    batches = client.app.state.slots.default.batches  # type: ignore[attr-defined]

    def fail(jobs: Any) -> None:
        raise RuntimeError("a secret")

    batches.process = fail
    answer = client.post("/predict", json=ASK)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "a secret" in caplog.text
