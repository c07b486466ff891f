"""Web pages and drawings of a `Report`, self-contained and without other libraries."""

from cladist.report.automation import automation_section, draw_automation, sample_paths
from cladist.report.icicle import icicle
from cladist.report.page import Sample, Table, html_report, markdown_table, table_of_measures

__all__ = [
    "Sample",
    "Table",
    "automation_section",
    "draw_automation",
    "html_report",
    "icicle",
    "markdown_table",
    "sample_paths",
    "table_of_measures",
]
