"""The figures of the guide on label text and embeddings are those of the results."""

from benchmarks import label_text_page


def test_the_section_is_what_the_results_say():
    text = label_text_page.GUIDE.read_text(encoding="utf-8")
    assert text.partition(label_text_page.HEADING)[2] == label_text_page.section()
