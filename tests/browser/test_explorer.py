"""The explorer in a browser: served, and as one file."""

from __future__ import annotations

import numpy as np
import pytest

from cladist.server.evaluation import LabelledRows
from cladist.server.findings import Finding
from cladist.server.offline import explorer_page
from cladist.server.served import ServedModel
from tests.browser.conftest import HOSTILE, rows

KEYS = "[role=treeitem]"


def classify(page, text="a racket and a net"):
    page.fill("#text", text)
    page.keyboard.press("Enter")
    page.wait_for_selector(".path .words")


def test_open(visit, address):
    page = visit(address)
    assert page.locator("h1").inner_text() == "new"
    assert "10 nodes" in page.locator(".facts-line").inner_text()
    assert "token" not in page.url
    assert page.evaluate("performance.getEntriesByName('first-picture').length") == 1
    asked = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert len([name for name in asked if "columns=parent" in name]) == 1  # the request that the page began
    assert page.locator("#map").get_attribute("role") == "tree"
    assert [tab.inner_text() for tab in page.locator("[role=tab]").all()] == [
        "Classify",
        "Node",
        "Findings (1)",
        "Compare",
    ]


def test_search_finds_titles_and_shows_them_as_text(visit, address):
    page = visit(address)
    page.keyboard.press("/")
    page.keyboard.type("onerror img")
    option = page.locator("[role=option]")
    assert HOSTILE in option.inner_text()
    page.keyboard.press("Enter")
    assert page.locator("#panel-node h2").inner_text() == f"Tennis {HOSTILE}"
    assert page.locator("#panel-node").is_visible()
    page.fill("#search", "nothing of the kind")
    assert page.locator(".nothing").inner_text() == "No node has these words."


def test_control_characters_are_shown_as_escapes(visit, address):
    page = visit(address)
    page.fill("#search", "golf")
    page.keyboard.press("Enter")
    assert page.locator("#panel-node h2").inner_text() == "left\\u202eright\\u0007"


def test_classify_and_explain(visit, address):
    page = visit(address)
    classify(page)
    best = page.locator(".candidate").first
    assert best.inner_text().startswith("Tennis")
    assert "%" in best.inner_text()
    steps = [step.inner_text() for step in page.locator(".path li .link").all()]
    assert steps == ["sport", "outdoors", f"Tennis {HOSTILE}"]
    words = page.locator(".path li").nth(2).locator("mark").all_inner_texts()
    assert any("racket" in word for word in words)
    assert "Against" in page.locator(".lead").inner_text()
    page.locator(".candidate").nth(1).click()
    assert page.locator(".candidate").nth(1).get_attribute("aria-pressed") == "true"


def test_the_level_of_confidence_moves_the_stop(visit, address):
    page = visit(address)
    classify(page)
    page.wait_for_selector(".shares")

    def slide(share):
        page.evaluate("share => { const s = document.querySelector('#level'); s.value = Math.round(share * s.max);"
                      " s.dispatchEvent(new Event('input')); }", share)  # fmt: skip
        shares = [float(text.rstrip("%")) for text in page.locator(".shares b").all_inner_texts()]
        assert sum(shares) == pytest.approx(100, abs=0.3)
        return shares, page.locator(".path li.stop").inner_text(), page.locator(".path li.beyond").count()

    low, stop_low, beyond_low = slide(0.0)
    assert stop_low.startswith("Tennis")
    assert beyond_low == 0
    high, stop_high, beyond_high = slide(1.0)
    assert "a person decides" in stop_high
    assert beyond_high == 3
    assert high[0] <= low[0]
    assert page.locator("#level").get_attribute("aria-valuetext") == "100%"


def test_node_with_words_confusions_and_wrong_rows(visit, address):
    page = visit(address)
    page.fill("#search", "golf")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-node blockquote")
    panel = page.locator("#panel-node")
    assert "Taken for siblings" in panel.inner_text()
    assert "Taken for other branches" not in panel.inner_text()
    assert "a racket hits the ball" in panel.locator("blockquote").first.inner_text()
    panel.locator(".confusions .link").first.click()
    assert page.locator("#panel-node h2").inner_text().startswith("Tennis")


def test_findings_in_place(visit, address):
    page = visit(address)
    page.click("#tab-findings")
    panel = page.locator("#panel-findings")
    panel.locator(".link").first.wait_for()
    assert HOSTILE in panel.inner_text()
    panel.locator(".link").first.click()
    assert "Doctor's findings" in page.locator("#panel-node").inner_text()


def test_correct_a_prediction(visit, address):
    page = visit(address)
    page.select_option(".model select", "old")
    page.wait_for_selector("html[data-ready=old]", state="attached")
    assert page.locator("h1").inner_text() == "old"
    page.fill("#text", "a wooden racket")
    page.click("button.primary")
    page.click("text=Wrong? Correct it")
    page.keyboard.type("golf")
    page.keyboard.press("Enter")
    kept = page.locator(".correction .status", has_text="Kept as correction")
    kept.wait_for()
    assert "The model has learnt it." in kept.inner_text()


def test_compare_two_trees(visit, address):
    page = visit(address)
    classify(page)
    page.click("#tab-compare")
    page.select_option("#panel-compare select", "old")
    page.wait_for_selector("#panel-compare table")
    panel = page.locator("#panel-compare").inner_text()
    assert "only in this model 0" not in panel
    assert "Moved (1)" in panel
    assert "Chess (chess) was below sport" in panel
    assert "Only in the other (1)" in panel
    assert "cards" in panel


def test_keyboard_alone(visit, address):
    page = visit(address)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "map":
            break
    current = page.locator(KEYS)
    assert current.get_attribute("aria-level") == "1"
    first = current.inner_text()
    page.keyboard.press("ArrowDown")
    assert current.inner_text() != first
    page.keyboard.press("ArrowUp")
    assert current.inner_text() == first
    page.keyboard.press("ArrowRight")
    assert current.get_attribute("aria-level") == "2"
    assert current.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Space")
    assert current.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert page.locator(".stage .trail .link").count() == 3
    page.keyboard.press("Backspace")
    assert page.locator(".stage .trail .link").count() == 2
    page.keyboard.press("Escape")
    assert page.locator(".stage .trail .link").count() == 1
    assert page.evaluate("document.activeElement.id") == "map"
    assert page.locator("#map").get_attribute("aria-activedescendant") == current.get_attribute("id")
    page.focus("#tab-node")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-findings").get_attribute("aria-selected") == "true"


@pytest.mark.parametrize("width", [390, 768, 2000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_overflows(visit, address, width, scheme):
    page = visit(address, width, 844, scheme)
    classify(page)
    for tab in ("classify", "node", "findings", "compare"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_click_zooms_and_a_drag_moves(visit, address):
    page = visit(address)
    box = page.locator("#map").bounding_box()
    page.mouse.click(box["x"] + 40, box["y"] + 30)
    page.wait_for_timeout(400)
    assert page.locator(".stage .trail .link").count() == 2
    name = page.locator("#panel-node h2").inner_text()
    page.mouse.move(box["x"] + 40, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 100, steps=3)
    page.mouse.up()
    assert page.locator("#panel-node h2").inner_text() == name
    assert page.locator(KEYS).get_attribute("aria-expanded") == "true"
    page.click("button[aria-label^=Fold]")
    assert page.locator(KEYS).get_attribute("aria-expanded") == "false"
    page.click("button[aria-label^=Fold]")
    page.mouse.wheel(0, -400)
    page.mouse.wheel(0, 900)
    page.click("button[aria-label='Show the whole taxonomy']")
    assert page.locator(".stage .trail .link").count() == 1


@pytest.fixture(scope="session")
def offline(calibrated, tmp_path_factory):
    texts, labels = rows()
    texts[0] += HOSTILE
    labels[2] = "golf"
    data = LabelledRows(np.array(texts, dtype=object), labels, texts)
    found = [Finding("siblings alike", ("tea", "soup"), 0.9, HOSTILE)]
    models = {"new": ServedModel(calibrated), "old": ServedModel(calibrated)}
    path = tmp_path_factory.mktemp("offline") / "explorer.html"
    path.write_text(explorer_page(models, data, findings=found, n_rows=10), encoding="utf-8")
    return path.as_uri()


def test_one_file(visit, offline):
    page = visit(offline)
    assert page.locator(".samples li").count() == 10
    assert "cannot classify new texts" in page.locator(".try").inner_text()
    assert "cladist serve MODEL" in page.locator(".try code").inner_text()
    page.fill("#sample-filter", "onerror")
    page.locator(".samples li").first.click()
    assert "Right: " in page.locator(".truth").inner_text()
    assert page.locator(".path .words").count() > 0
    page.fill("#sample-filter", "racket hits")
    page.locator(".samples li").first.click()
    assert "Wrong; the label is" in page.locator(".truth.wrong").inner_text()
    page.fill("#search", "golf")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-node .confusions")
    assert "Taken for siblings" in page.locator("#panel-node").inner_text()
    page.click("#tab-compare")
    page.select_option("#panel-compare select", "old")
    page.wait_for_selector("#panel-compare table")
    assert "Both have the same taxonomy." in page.locator("#panel-compare").inner_text()
