"""The pictures of the documentation: CLADIST_SCREENSHOTS=docs/_static/screens python -m pytest tests/browser."""

from __future__ import annotations

import os
import socket
import threading

import numpy as np
import pytest

from cladist import TextClassifier
from cladist.datasets import load_icd10cm
from cladist.labels import encode
from cladist.metrics import report
from cladist.report import find_errors, html_report

pytestmark = pytest.mark.skipif(
    "CLADIST_SCREENSHOTS" not in os.environ, reason="pictures are taken where CLADIST_SCREENSHOTS names a folder"
)
N_TRAINED, N_EVALUATED = 20_000, 3000


@pytest.fixture(scope="module")
def icd():
    """A calibrated model of diagnoses, and rows to evaluate it on."""
    data = load_icd10cm(level="category")
    chosen = np.random.default_rng(0).choice(len(data.texts_train), N_TRAINED, replace=False)
    texts, labels = ([values[k] for k in chosen] for values in (data.texts_train, data.y_train))
    model = TextClassifier("top-down", taxonomy=data.taxonomy, calibrate=True).fit(texts, labels)
    rows = np.random.default_rng(1).choice(len(data.texts_test), N_EVALUATED, replace=False)
    return model, [str(data.texts_test[k]) for k in rows], [str(data.y_test[k]) for k in rows]


@pytest.mark.filterwarnings("ignore")
def test_pictures_of_the_report(icd, visit, picture, tmp_path):
    model, texts, labels = icd
    taxonomy = model.taxonomy_
    predicted = encode(model.predict(texts), taxonomy).labels
    errors = find_errors(labels, predicted, taxonomy)
    page = html_report(report(labels, predicted, taxonomy), title="Diagnoses", errors=errors, texts=texts.__getitem__)
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    opened = visit(path.as_uri(), 1280, 1240)
    opened.locator("[data-node]").first.dispatch_event("click")
    opened.evaluate("scrollTo(0, 0)")
    picture(opened, "report")
    picture(visit(path.as_uri(), 1280, 1240, "dark"), "report-dark")


@pytest.mark.filterwarnings("ignore")
def test_pictures_of_the_explorer(icd, visit, picture):
    uvicorn = pytest.importorskip("uvicorn")
    from cladist.server import LabelledRows, Settings, create_app

    model, texts, labels = icd
    data = LabelledRows(np.array(texts, dtype=object), labels, texts)
    app = create_app({"diagnoses": model}, Settings(token="a-token-of-the-pictures"), data=data)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            views = [("explorer", 1280, 860, "light"), ("explorer-dark", 1280, 860, "dark")]
            for name, width, height, scheme in [*views, ("explorer-phone", 390, 1100, "light")]:
                page = visit(address, width, height, scheme)
                page.fill("#text", "broken left wrist")
                page.keyboard.press("Enter")
                page.wait_for_selector(".path .words")
                page.evaluate("document.activeElement.blur()")
                picture(page, name)
            page = visit(address)
            page.select_option(".tools select >> nth=0", "cost")
            page.fill("#search", "other coagulation")
            page.keyboard.press("Enter")
            page.wait_for_selector("#panel-node h3")
            picture(page, "explorer-node")
        finally:
            server.should_exit = True
            thread.join()
