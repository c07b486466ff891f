"""The tables in the guides are those that the script writes from the results."""

from benchmarks import probability_page


def test_the_guides_have_the_tables_of_the_results():
    for name, content in probability_page.contents().items():
        text = (probability_page.GUIDES / name).read_text(encoding="utf-8")
        assert text.count(probability_page.BEGIN) == text.count(probability_page.END) == 1
        assert probability_page.filled(text, content) == text


def test_every_result_is_shown():
    shown = "".join(probability_page.contents().values())
    for row in probability_page.read("decisions-guarantees"):
        assert f"| {probability_page.named(row)} | answers |" in shown
    for row in probability_page.read("calibration"):
        assert all(f"| {row['set']} | {learner} |" in shown for learner in row["learners"])
