"""Web pages and drawings of a `Report`, self-contained and without other libraries."""

from cladist.report.icicle import icicle
from cladist.report.page import Sample, html_report
from cladist.report.tables import Table, markdown_table, report_tables, table_of_measures

__all__ = ["Sample", "Table", "html_report", "icicle", "markdown_table", "report_tables", "table_of_measures"]
