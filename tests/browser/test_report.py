"""The error report in a browser."""

from __future__ import annotations

import pytest

from cladist.metrics import report
from cladist.report import find_errors, html_report
from tests.browser.conftest import HOSTILE, TURNED

TRUE = ["tennis"] * 6 + ["golf"] * 3 + ["chess"] * 4 + ["tea"] * 5
PREDICTED = ["tennis"] * 3 + ["golf"] * 2 + ["tea"] + ["golf"] * 3 + ["go"] * 3 + ["chess"] + ["tea"] * 4 + ["soup"]


@pytest.fixture(scope="session")
def address(taxonomy, tmp_path_factory):
    texts = [f"row {k} {HOSTILE}{TURNED}" for k in range(len(TRUE))]
    words = {k: {"racket": 0.5, f"net{HOSTILE}": -0.25} for k in range(len(TRUE))}
    page = html_report(
        report(TRUE, PREDICTED, taxonomy), title=f"Errors {HOSTILE}", errors=find_errors(TRUE, PREDICTED, taxonomy),
        texts=texts.__getitem__, words=words,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def test_it_opens_with_words_and_a_picture(visit, address):
    page = visit(address)
    assert page.locator("h1").inner_text() == f"Errors {HOSTILE}"
    assert page.locator(".key-points li").first.inner_text().startswith("61.1% of 18 rows are right.")
    assert page.evaluate("performance.getEntriesByName('first-picture').length") == 1
    colours = page.evaluate(
        "(() => { const c = document.querySelector('canvas'), s = new Set();"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "for (let i = 0; i < d.length; i += 400) s.add(d.slice(i, i + 3).join()); return s.size })()"
    )
    assert colours > 3


def test_search_and_zoom(visit, address):
    page = visit(address)
    page.keyboard.press("/")
    page.keyboard.type("tennis")
    page.keyboard.press("Enter")
    panel = page.locator(".panel")
    assert panel.locator("h3").inner_text() == f"Tennis {HOSTILE}"
    assert "Taken for siblings" in panel.inner_text()
    assert "Taken for other branches" in panel.inner_text()
    page.keyboard.press("Enter")
    assert page.locator(".keyline .trail .link").count() == 3
    page.keyboard.press("Backspace")
    assert page.locator(".keyline .trail .link").count() == 2
    page.click("button[aria-label='Show the whole taxonomy']")
    assert page.locator(".keyline .trail .link").count() == 1


def test_confusions_expand_to_rows_and_words(visit, address):
    page = visit(address)
    confusion = page.locator(".groups details").first
    assert not confusion.locator("blockquote").first.is_visible()
    confusion.locator("summary").first.focus()
    page.keyboard.press("Enter")
    row = confusion.locator("blockquote").first
    assert row.is_visible()
    assert "\\u202e" in row.inner_text()
    assert "racket +0.50" in row.inner_text()
    confusion.locator("[data-node]").first.click()
    assert page.locator(".panel h3").is_visible()


def test_keyboard_alone(visit, address):
    page = visit(address)
    page.focus("#map")
    page.keyboard.press("ArrowDown")
    current = page.locator("[role=treeitem]")
    assert current.get_attribute("aria-level") == "1"
    page.keyboard.press("ArrowRight")
    assert current.get_attribute("aria-level") == "2"
    assert page.locator("#map").get_attribute("aria-activedescendant") == current.get_attribute("id")


def test_colours_and_heights(visit, address):
    page = visit(address)
    for measure, end in (("f1", "1"), ("rows", "all"), ("cost", "or more edges")):
        page.select_option(".tools .field:nth-of-type(1) select >> nth=0", measure)
        assert end in page.locator(".key").inner_text()
    page.select_option(".tools select >> nth=1", "alike")


@pytest.mark.parametrize("width", [390, 1280, 2000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_overflows(visit, address, width, scheme):
    page = visit(address, width, 844, scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 27)")
