"""The explorer's files, its columns and findings, and the page that needs no server."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
from fastapi.testclient import TestClient

from cladist.errors import DatasetError
from cladist.report.static_files import joined_script, script_json
from cladist.server import LabelledRows, create_app
from cladist.server.findings import Finding, read_findings
from cladist.server.offline import chosen_rows, explorer_page, explorer_script
from cladist.server.served import ServedModel

TEXTS = ["a ball", "a rook", "hot water", "a bowl of carrots", "a net", "salt"]


@pytest.fixture
def labelled():
    return LabelledRows(np.array(TEXTS, dtype=object), ["tennis", "chess", "tea", "soup", "chess", "soup"], TEXTS)


def test_the_page_is_of_files_of_the_server(serve, calibrated):
    client = serve({"topics": calibrated})
    page = client.get("/")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page.text)
    for name, kind in (("all.js", "text/javascript"), ("all.css", "text/css"), ("icicle.js", "text/javascript")):
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert "http://" not in answer.text.replace("http://www.w3.org", "")
    assert client.get("/static/app.py").status_code == 404


def test_the_page_asks_at_once_only_where_it_may(serve, calibrated):
    assert 'rel="preload"' in serve({"topics": calibrated}).get("/").text
    closed = serve({"topics": calibrated}, is_open=False)
    assert closed.get("/").status_code == 200
    assert "preload" not in closed.get("/").text
    assert closed.get("/taxonomy/arrays").status_code == 401


def test_packed_columns_equal_the_lists(serve, calibrated, labelled):
    client = serve({"topics": calibrated}, data=labelled)
    listed = client.get("/taxonomy/arrays").json()["columns"]
    packed = client.get("/taxonomy/arrays?packed=true").json()["columns"]
    assert listed.keys() == packed.keys()
    for name, values in listed.items():
        if name in ("names", "titles"):
            assert packed[name] == values
            continue
        kind = "<i4" if name in ("parent", "n_leaves", "support") else "<f4"
        numbers = np.frombuffer(base64.b64decode(packed[name]), kind)
        wanted = [np.nan if value is None else value for value in values]
        np.testing.assert_allclose(numbers, wanted, rtol=1e-6)


def test_findings_of_nodes_that_the_model_has(calibrated, tmp_path):
    entries = [
        {"kind": "alike", "nodes": ["tea", "soup"], "sure": 0.5, "evidence": "<b>", "edits": []},
        {"kind": "alike", "nodes": ["nowhere"], "sure": 0.5, "evidence": "x"},
        {"kind": "duplicates", "nodes": [], "sure": 0.5, "evidence": "rows 1 and 2"},
    ]
    path = tmp_path / "findings.json"
    path.write_text(json.dumps({"findings": entries}))
    found = read_findings(path)
    assert [finding.nodes for finding in found] == [("tea", "soup"), ("nowhere",)]
    with TestClient(create_app({"topics": calibrated}, findings=found), base_url="http://localhost") as client:
        answer = client.get("/findings").json()["findings"]
    assert answer == [{"kind": "alike", "nodes": ["tea", "soup"], "sure": 0.5, "evidence": "<b>"}]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"findings": [1]}', '{"findings": [{"kind": 1}]}'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "findings.json"
    path.write_text(text)
    with pytest.raises(DatasetError, match="cladist doctor --json"):
        read_findings(path)


def test_the_file_stands_alone(calibrated, labelled):
    page = explorer_page(
        {"topics": ServedModel(calibrated)}, labelled, findings=[Finding("x", ("tea",), 1.0, "</script>")]
    )
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)[1]
    assert "connect-src" not in policy  # nothing: the default is none
    assert policy.startswith("default-src 'none'")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    data = json.loads(re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)[1])
    (model,) = data["models"]
    assert model["findings"][0]["evidence"] == "</script>"
    assert len(model["samples"]) == len(labelled.texts)
    sample = model["samples"][0]
    assert sample["prediction"]["candidates"][0]["path"][0]["probability"] <= 1
    assert sample["explanation"]["nodes"]
    assert page.count("<script") == 3


def test_a_model_alone_needs_no_rows(calibrated):
    page = explorer_page({"topics": ServedModel(calibrated)})
    model = json.loads(re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)[1])["models"][0]
    assert (model["samples"], model["pairs"], model["evaluation"]) == ([], None, None)


@pytest.mark.parametrize(
    ("n_wrong", "n_right", "n_rows", "expected"), [(50, 50, 20, 10), (3, 50, 20, 3), (50, 4, 20, 16)]
)
def test_rows_are_half_wrong_ones(n_wrong, n_right, n_rows, expected):
    class Stub:
        errors = np.array([1.0] * n_wrong + [0.0] * n_right)

    rows = chosen_rows(Stub(), n_rows)
    assert len(rows) == len(set(rows)) == 20 if n_wrong + n_right >= 20 else n_wrong + n_right
    assert sum(row < n_wrong for row in rows) == expected


def test_modules_are_joined_into_one_script():
    parts = 'import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\nexport const x = 1;\nexport class Y {}\n'
    joined = joined_script(parts, "export async function z() {}\n")
    assert "import" not in joined
    assert "export" not in joined
    assert "const x = 1;" in joined
    names = re.findall(r"^(?:const|let|class|(?:async )?function) (\w+)", explorer_script(), re.M)
    assert len(names) == len(set(names)) > 30


def test_json_cannot_end_its_element():
    text = script_json({"a": "</script><!--\u2028\ud800"})
    assert "<" not in text
    text.encode("utf-8")
    assert json.loads(text) == {"a": "</script><!--\u2028\ud800"}
