"""Web pages and drawings of a `Report`, self-contained and without other libraries."""

from cladist.report.icicle import icicle
from cladist.report.page import Sample, Table, html_report, markdown_table, table_of_measures

__all__ = ["Sample", "Table", "html_report", "icicle", "markdown_table", "table_of_measures"]
