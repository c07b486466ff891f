"""A browser for the tests of pages, and pages that may ask nobody but their own origin.

CLADIST_SCREENSHOTS=FOLDER keeps the pictures that the documentation shows; CLADIST_CHROMIUM names another browser.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cladist import Taxonomy, TextClassifier

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
TOKEN = "the-token-of-the-tests"
HOSTILE = "<img src=x onerror='window.pwned=1'> </script><script>window.pwned=1</script>"
TURNED = "left\u202eright\u0007"
TREE = {
    **{"sport": None, "food": None, "games": "sport", "outdoors": "sport"},
    **{"tennis": "outdoors", "golf": "outdoors", "chess": "games", "go": "games", "tea": "food", "soup": "food"},
}
TITLES = {"tennis": "Tennis " + HOSTILE, "golf": TURNED, "chess": "Chess"}
TEXTS = {
    "tennis": ["ball and net", "a net and a racket", "a racket hits the ball"],
    "golf": ["a club and a hole", "the ball rolls into the hole", "grass and a club"],
    "chess": ["king and rook", "pawn takes rook", "queen takes pawn"],
    "go": ["black and white stones", "stones on a board", "a board of wood"],
    "tea": ["hot water and leaves", "a cup with leaves", "a cup of hot water"],
    "soup": ["carrots in hot water", "a bowl of carrots", "a bowl with salt"],
}


def browser_path() -> str | None:
    """Return Chromium's program: that of the environment variable, of the system, or None for Playwright's own."""
    named = os.environ.get("CLADIST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")  # its event loop would be in the way of other modules
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    path = browser_path()
    with sync_api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        except sync_api.Error:
            if path is not None:
                raise
            pytest.skip("there is no Chromium: install it, or name it in CLADIST_CHROMIUM")
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page; at the end, it must have asked nobody else and logged no error."""
    problems: list[str] = []
    contexts = []

    def open_page(url: str, width: int = 1280, height: int = 800, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        origin = "/".join(url.split("/")[:3]) if url.startswith("http") else url

        def decide(route: Any) -> None:
            if route.request.url.startswith((origin, "data:")):
                route.continue_()
            else:
                problems.append(f"request to {route.request.url}")
                route.abort()

        context.route("**/*", decide)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    hostile = [page.evaluate("window.pwned") for context in contexts for page in context.pages]
    for context in contexts:
        context.close()
    assert problems == []
    assert hostile == [None] * len(hostile)


@pytest.fixture
def picture() -> Callable[[Any, str], None]:
    """Return a function that keeps a picture of a page for the documentation, if one asks for them."""

    def keep(page: Any, name: str) -> None:
        folder = os.environ.get("CLADIST_SCREENSHOTS")
        if folder:
            page.wait_for_timeout(400)  # the map glides
            page.screenshot(path=Path(folder) / f"{name}.png")

    return keep


def rows() -> tuple[list[str], list[str]]:
    pairs = [(text, label) for label, texts in TEXTS.items() for text in texts]
    return [text for text, _ in pairs], [label for _, label in pairs]


@pytest.fixture(scope="session")
def taxonomy() -> Taxonomy:
    return Taxonomy.from_parents(TREE, titles=TITLES)


@pytest.fixture(scope="session")
def calibrated(taxonomy: Taxonomy) -> Any:
    texts, labels = rows()
    return TextClassifier("top-down", taxonomy=taxonomy, calibrate=True).fit(texts * 4, labels * 4)


@pytest.fixture(scope="session")
def online() -> Any:
    """A model of an older tree, in which chess and go have other places, that learns row by row."""
    old = {**TREE, "chess": "sport", "cards": "games"}
    texts, labels = rows()
    model = TextClassifier("hieron", taxonomy=Taxonomy.from_parents(old, titles=TITLES))
    return model.partial_fit(texts, [label if label != "go" else "cards" for label in labels])


@pytest.fixture(scope="session")
def address(calibrated: Any, online: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of both models, with its token."""
    uvicorn = pytest.importorskip("uvicorn", reason="the server needs uvicorn: pip install 'cladist[web]'")
    pytest.importorskip("fastapi", reason="the server needs FastAPI: pip install 'cladist[web]'")
    from cladist.server import Finding, LabelledRows, Settings, create_app

    texts, labels = rows()
    labels = ["golf" if text == "a racket hits the ball" else label for text, label in zip(texts, labels, strict=True)]
    found = [Finding("siblings alike", ("tea", "soup"), 0.9, f"tea and soup share the word water {HOSTILE}")]
    app = create_app(
        {"new": calibrated, "old": online},
        Settings(token=TOKEN, feedback=tmp_path_factory.mktemp("feedback")),
        data=LabelledRows(texts, labels, texts),
        findings=found,
    )
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/#token={TOKEN}"
    server.should_exit = True
    thread.join()
    listener.close()
