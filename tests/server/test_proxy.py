"""The text for nginx in the docs, run by nginx in front of two servers; skipped where nginx is absent."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import AUTHORISED
from tests.server.processes import serving, wait_until_ready

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "deployment.md"
NAME = "diagnoses.example.org"
MOST = 4 << 20  # bytes of a body, in the text for nginx and in the server
ASK = {"texts": ["a net"], "paths": False}
pytestmark = pytest.mark.skipif(not (NGINX and shutil.which("openssl")), reason="needs nginx and openssl")
Client = Callable[[int], httpx.Client]


def configuration(folder: Path, port: int, backends: list[str]) -> Path:
    """Write the text of the docs, with the ports and the certificate of this test, and what surrounds it in nginx."""
    (text,) = re.findall(r"^```nginx\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    text = text.replace("server 127.0.0.1:8000;", " ".join(f"server {address};" for address in backends), 1)
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;", 1)
    for path in re.findall(r"^ *ssl_certificate\w* (.*);", text, re.M):
        text = text.replace(path, str(folder / Path(path).name), 1)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{place}_temp_path {folder}/{place};" for place in places)
    user = "user root;" if os.geteuid() == 0 else ""  # workers write to the folder of this test
    file = folder / "nginx.conf"
    file.write_text(
        f"{user} pid {folder}/pid; daemon off; events {{}}\nhttp {{ access_log off; {temporary}\n{text}}}\n"
    )
    key = ["-keyout", folder / "diagnoses.key", "-out", folder / "diagnoses.pem"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}", *key]
    subprocess.run(make, check=True, capture_output=True)
    return file


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory, online_folder: Path) -> Iterator[tuple[Client, list[str]]]:
    """Yield clients by a number, each with an address of its own, and the addresses of the servers behind nginx."""
    folder = tmp_path_factory.mktemp("nginx")
    (line,) = re.findall(r"^cladist serve icd (--host-name .*)$", PAGE.read_text(encoding="utf-8"), re.M)
    options = re.sub(r"--rate \S+", "--rate 0.01", line).split()  # one request of each client, then none for long
    with ExitStack() as stack:
        backends = []
        for name in ("a", "b"):
            shutil.copytree(online_folder, folder / name / "model")
            backends.append(stack.enter_context(serving(folder / name / "model", *options))[1])
            wait_until_ready(backends[-1])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        file = configuration(folder, port, [address.removeprefix("http://").rstrip("/") for address in backends])
        command = [str(NGINX), "-p", str(folder), "-e", str(folder / "log"), "-c", str(file)]
        tested = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert tested.returncode == 0, tested.stderr
        nginx = subprocess.Popen(command)
        stack.callback(nginx.wait)
        stack.callback(nginx.terminate)

        def client(number: int) -> httpx.Client:
            transport = httpx.HTTPTransport(verify=False, local_address=f"127.0.1.{number}", retries=5)
            address = f"https://127.0.0.1:{port}/"
            return stack.enter_context(httpx.Client(transport=transport, base_url=address, headers={"host": NAME}))

        yield client, backends


def answered(backend: str) -> int:
    """Return how many requests a server has answered with predictions; asked directly, not through nginx."""
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.1.99")) as client:
        text = client.get(f"{backend}metrics", timeout=600).text
    return sum(map(int, re.findall(r'requests_total\{route="/predict",status="200"\} (\d+)', text)))


def post(client: httpx.Client, path: str, **given: Any) -> httpx.Response:
    return client.post(path, timeout=600, **given)


def test_both_servers_answer_and_each_client_has_a_rate_of_its_own(proxied: tuple[Client, list[str]]) -> None:
    new_client, backends = proxied
    for number in range(1, 11):
        assert post(new_client(number), "/predict", json=ASK).json()["predictions"][0]["label"] == "tennis"
    counts = [answered(backend) for backend in backends]
    assert min(counts) > 0
    assert sum(counts) == 10
    client = new_client(20)
    refused = [post(client, "/predict", json=ASK) for _ in range(6)][-1]
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "too many requests" in refused.json()["detail"]


def test_the_token_passes(proxied: tuple[Client, list[str]]) -> None:
    new_client, _ = proxied
    correction = {"id": "1", "text": "a net", "labels": ["tennis"]}
    assert post(new_client(30), "/feedback", json=correction).status_code == 401
    accepted = post(new_client(31), "/feedback", json=correction, headers=AUTHORISED)
    assert accepted.json()["learnt"] is True


def test_bodies_pass_up_to_the_limit(proxied: tuple[Client, list[str]]) -> None:
    new_client, _ = proxied
    body = json.dumps(ASK).encode()
    kind = {"content-type": "application/json"}
    assert post(new_client(40), "/predict", content=body.ljust(MOST), headers=kind).status_code == 200
    assert post(new_client(41), "/predict", content=body.ljust(MOST + 1), headers=kind).status_code == 413


def test_another_name_is_refused_and_the_page_is_shown(proxied: tuple[Client, list[str]]) -> None:
    new_client, _ = proxied
    assert post(new_client(50), "/predict", json=ASK, headers={"host": "elsewhere.example"}).status_code == 421
    page = new_client(51).get("/", timeout=600)
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
