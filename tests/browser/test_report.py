"""The error report in a browser."""

from __future__ import annotations

import pytest

from cladist.metrics import report
from cladist.report import find_errors, html_report
from cladist.taxonomy import Taxonomy
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


@pytest.fixture(scope="session")
def wide(tmp_path_factory):
    """The report of a tree with 3,000 leaves, some without rows."""
    paths = [f"{a}/{a}.{b}/{a}.{b}.{c}" for a in range(10) for b in range(15) for c in range(20)]
    tree = Taxonomy.from_paths(paths)
    leaves = [tree.names[v] for v in tree.leaves]
    true = leaves[::2] + leaves[:50] * 40
    predicted = leaves[:1] * len(true)
    errors = find_errors(true, predicted, tree)
    page = html_report(report(true, predicted, tree), title="wide", errors=errors)
    path = tmp_path_factory.mktemp("wide") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


CHECK = """() => {
  const { tree, top, size } = document.querySelector("#map").icicle;
  const problems = [], below = new Float64Array(tree.n + 1);
  for (let v = 0; v < tree.n; v++) {
    const p = tree.parent[v], [from, to] = p < 0 ? [0, 1] : [top[p], top[p] + size[p]];
    if (!(size[v] > 0) || top[v] < from - 1e-9 || top[v] + size[v] > to + 1e-9) problems.push([v, top[v], size[v]]);
    below[p + 1] += size[v];
  }
  for (let level = 0; level < tree.nLevels; level++) {
    for (let i = tree.levelStart[level] + 1; i < tree.levelStart[level + 1]; i++) {
      const [u, v] = [tree.order[i - 1], tree.order[i]];
      if (top[u] + size[u] > top[v] + 1e-9) problems.push([u, v]);
    }
  }
  return [problems, below[0]];
}"""


def test_blocks_lie_inside_their_parents_folded_opened_or_not(visit, wide):
    page = visit(wide)

    def check():
        problems, whole = page.evaluate(CHECK)
        assert problems == []
        assert whole == pytest.approx(1)

    check()
    before = page.evaluate("[...document.querySelector('#map').icicle.size]")
    leaf, path = page.evaluate("(() => { const { tree } = document.querySelector('#map').icicle; const v = tree.n - 1;"
                               "return [v, tree.path(v)]; })()")  # fmt: skip
    page.evaluate("path => document.querySelector('#map').icicle.show(new Map(path.map((v) => [v, 'here'])))", path)
    check()
    after = page.evaluate("[...document.querySelector('#map').icicle.size]")
    assert before[leaf] < 0.001
    assert after[leaf] > 0.2  # three levels, each with more than half of the one above
    page.evaluate("document.querySelector('#map').icicle.show(null)")
    assert page.evaluate("[...document.querySelector('#map').icicle.size]") == before
    page.evaluate("document.querySelector('#map').icicle.fold(0)")
    folded = page.evaluate("[...document.querySelector('#map').icicle.size]")
    assert folded[0] < before[0]
    assert folded[1] > before[1]
    check()


def test_points_hit_the_nodes_drawn_there(visit, wide):
    page = visit(wide)
    wrong = page.evaluate("""() => {
      const icicle = document.querySelector("#map").icicle, { tree } = icicle, wrong = [];
      icicle.zoomBy(7, 100);
      for (let v = 0; v < tree.n; v++) {
        const x = (tree.depth[v] - icicle.view.x + 0.5) * icicle.column;
        const y = (icicle.top[v] + icicle.size[v] / 2 - icicle.view.y) / icicle.view.h * icicle.height;
        if (x > 0 && x < icicle.width && y > 0 && y < icicle.height && icicle.at(x, y) !== v) wrong.push(v);
      }
      return wrong;
    }""")
    assert wrong == []


@pytest.mark.parametrize("width", [390, 1280, 2000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_overflows(visit, address, width, scheme):
    page = visit(address, width, 844, scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 27)")
