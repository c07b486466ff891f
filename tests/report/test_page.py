"""The page stands alone and shows what it was given."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.metrics import report
from cladist.report import Sample, Table, html_report, markdown_table, table_of_measures
from cladist.report.icicle import STOPS, colour, text_colour
from cladist.taxonomy import Taxonomy

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
REPORT = report(["chess", "art", "tennis"], ["tennis", "art", "tennis"], TAXONOMY)


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
        if "td" in self.open:
            self.cells.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_stands_alone():
    page = html_report(REPORT, title="t", samples=[Sample("x", "chess", ["Sport", "Chess"])])
    seen = set(read(page).seen)
    assert not seen & {"script", "link", "img", "iframe", "object"}
    assert re.findall(r"https?://[^\"' )]+", page) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in page
    assert "@import" not in page


def test_all_numbers_of_the_report_are_there():
    cells = read(html_report(REPORT, title="t")).cells
    for _, rows in REPORT.tables():
        for row in rows:
            assert all(cell in cells for cell in row)
    assert len(REPORT.per_level) == len(REPORT.tables()[2][1])


def test_a_comparison_takes_the_place_of_the_measures():
    table = Table(["method", "F1"], [["one", "0.1"], ["two", "0.2"]], frozenset({(1, 1)}))
    page = html_report(REPORT, title="t", comparison=table, verdict="Two wins.")
    assert "<strong>0.2</strong>" in page
    assert "<strong>0.1</strong>" not in page
    assert "Two wins." in page
    assert "H-loss" not in page


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
    )
    reader = read(page)
    assert odd in reader.cells
    assert "script" not in reader.seen
    assert page.count("</style>") == 1


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
