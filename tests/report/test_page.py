"""The page stands alone and shows what it was given."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.metrics import report
from cladist.metrics.summary import _SCORES as SCORE_PATTERNS
from cladist.report import Sample, Table, find_errors, html_report, markdown_table, table_of_measures
from cladist.report.automation import SCRIPT
from cladist.report.icicle import STOPS, colour, text_colour
from cladist.report.measures import MEANINGS, SCORES
from cladist.taxonomy import Taxonomy

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
REPORT = report(["chess", "art", "tennis"], ["tennis", "art", "tennis"], TAXONOMY)
ERRORS = find_errors(["chess", "art", "tennis"], ["tennis", "art", "tennis"], TAXONOMY)


class Reader(HTMLParser):
    """Checks that tags are closed, and keeps what is asked for."""

    EMPTY = ("meta",)

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "h1" in self.open:
            self.cells.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_stands_alone():
    page = html_report(REPORT, title="t", samples=[Sample("x", "chess", ["Sport", "Chess"])], errors=ERRORS)
    seen = set(read(page).seen)
    assert not seen & {"link", "img", "iframe", "object"}
    assert set(re.findall(r"https?://[^\"' )]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page
    assert ' style="' not in page  # the policy forbids it
    assert not re.search(r" on[a-z]+=", page)


def test_the_policy_allows_the_scripts_of_the_page_and_no_others():
    page = html_report(REPORT, title="t", errors=ERRORS, automation=f"<script>{SCRIPT}</script>")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        for text in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL):
            assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy


def test_it_opens_with_what_matters_and_lists_confusions():
    page = html_report(REPORT, title="t", errors=ERRORS, texts=lambda row: f"text {row}", words={0: {"ball": 0.5}})
    assert page.index("What matters") < page.index("Map of errors") < page.index("Confusions") < page.index("Measures")
    assert "66.7% of 3 rows are right." in page
    assert '<blockquote dir="auto">text 0' in page
    assert '<mark class="for">ball <small>+0.50</small></mark>' in page


def test_every_measure_is_there_once():
    cells = read(html_report(REPORT, title="t")).cells
    values = {key: f"{REPORT.metrics[key]:.4f}" for key in MEANINGS if key in REPORT.metrics}
    assert set(values.values()) <= set(cells)
    assert all(cells.count(title) == 1 for title, _ in MEANINGS.values() if title in cells)
    assert "zero-one loss" not in cells  # is 1 − accuracy
    assert not [name for name, *scores in REPORT.tables()[1][1] if scores[0] == values["accuracy"] and name in cells]
    for row in REPORT.tables()[2][1]:
        assert all(cell in cells for cell in row)


def test_all_measures_of_a_report_have_a_meaning():
    told = {key for pattern in SCORE_PATTERNS for key in (pattern.format(n) for n in ("precision", "recall", "f1"))}
    repeated = {"multiclass_error", "zero_one_loss", "hamming_loss"}
    assert set(REPORT.metrics) == set(MEANINGS) | told | repeated
    assert [row[0] for row in REPORT.tables()[1][1]] == list(SCORES)


def test_a_comparison_is_shown_first():
    table = Table(["method", "F1"], [["one", "0.1"], ["two", "0.2"]], frozenset({(1, 1)}))
    page = html_report(REPORT, title="t", comparison=table, verdict="Two wins.")
    assert "<strong>0.2</strong>" in page
    assert "<strong>0.1</strong>" not in page
    assert page.index("Two wins.") < page.index("Node by node")


@pytest.mark.parametrize("odd", ["<b>", "a & b", '"quoted"', "</style><script>"])
def test_texts_are_escaped(odd):
    titled = Taxonomy.from_parents({"x": None, "y": None}, titles={"x": odd})
    page = html_report(
        report(["x"], ["y"], titled),
        title=odd,
        subtitle=odd,
        comparison=Table([odd], [[odd]]),
        verdict=odd,
        samples=[Sample(odd, odd, [odd, odd])],
        errors=find_errors(["x"], ["y"], titled),
        texts=lambda _: odd,
        words={0: {odd: 1.0}},
    )
    reader = read(page)
    assert odd in reader.cells
    assert reader.seen.count("script") == 4  # two of numbers, one of names, and the page's own
    assert page.count("</style>") == 1
    assert "<script>alert" not in page


def test_control_characters_are_shown_as_escapes():
    titled = Taxonomy.from_parents({"x": None, "y": None}, titles={"x": "a\u202eb\ud800"})
    page = html_report(report(["x"], ["y"], titled), title="t\x07", errors=find_errors(["x"], ["y"], titled))
    page.encode("utf-8")
    assert "\x07" not in page
    body = page[: page.index('id="tree-texts"')]
    assert "\u202e" not in re.sub(r'id="tree-data">.*?</script>', "", body)


def test_a_label_that_is_its_title_is_not_said_twice():
    page = html_report(REPORT, title="t", samples=[Sample("x", "chess", ["sport", "chess"])])
    assert "<code>" not in page
    assert "<code>c1</code>" in html_report(REPORT, title="t", samples=[Sample("x", "c1", ["sport", "chess"])])


def test_markdown_has_a_line_a_row():
    table = Table(*REPORT.tables()[0])
    assert markdown_table(table).count("\n") == len(table.rows) + 1


def test_the_best_values_of_a_table_are_bold():
    columns = {"f1": ("F1", "{:.1f}", max), "loss": ("loss", "{:.0f}", min)}
    table = table_of_measures("method", columns, [("a", {"f1": 0.5, "loss": 1}), ("b", {"f1": 0.6, "loss": 1})])
    lines = ["| method | F1 | loss |", "|---|---:|---:|", "| a | 0.5 | **1** |", "| b | **0.6** | **1** |"]
    assert markdown_table(table).split("\n") == lines


def lightness(code: str) -> float:
    red, green, blue = (int(code[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_is_darker(a, b):
    low, high = sorted((a, b))
    assert lightness(colour(low)) >= lightness(colour(high)) - 1


def linear(code: str) -> float:
    parts = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    weights = (0.2126, 0.7152, 0.0722)
    return sum(
        w * (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4) for w, p in zip(weights, parts, strict=True)
    )


@given(st.floats(0, 1))
def test_labels_can_be_read_on_every_colour(value):
    background = colour(value)
    light, dark = sorted((linear(background), linear(text_colour(background))), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3.5


def test_the_ends_are_the_stops():
    assert (colour(-1), colour(0), colour(1)) == (f"#{STOPS[0]}", f"#{STOPS[0]}", f"#{STOPS[-1]}")


def test_sets_of_labels_have_a_report():
    true, pred = [["chess", "art"], ["tennis"], [], ["art"]], [["tennis", "art"], [], ["art"], ["art"]]
    page = html_report(report(true, pred, TAXONOMY), title="t", errors=find_errors(true, pred, TAXONOMY), texts=str)
    assert read(page).open == []
    assert "Missed and added labels" in page
    assert "<i>nothing</i>" in page


def test_a_report_without_errors_or_rows_of_a_class():
    true = ["chess", "chess"]
    page = html_report(report(true, true, TAXONOMY), title="t", errors=find_errors(true, true, TAXONOMY))
    assert "All 2 rows are right." in page
    assert "<h2>Confusions" not in page
    assert "Level by level" in page
