"""The figures of the guides on capacity, memory, checkpoints and clusters are those of the results."""

from benchmarks import capacity_page


def test_the_guides_have_the_tables_of_the_results():
    for name, content in capacity_page.contents().items():
        text = (capacity_page.GUIDES / name).read_text(encoding="utf-8")
        assert text.count(capacity_page.BEGIN) == text.count(capacity_page.END) == 1
        assert capacity_page.filled(text, content) == text


def test_units():
    shown = [capacity_page.duration(seconds) for seconds in (2e-9, 0.5, 90, 7200, 1e6, 0)]
    assert shown == ["2 ns", "500 ms", "1.5 min", "2 h", "11.6 d", "0"]
    assert [capacity_page.size(n) for n in (12, 3e6, 2.5e12)] == ["12 B", "3 MB", "2.5 TB"]
