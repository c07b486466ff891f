"""Pictures of a `Report`: a page that stands alone, and the icicle in it; no other library is needed."""

from cladist.report.icicle import icicle
from cladist.report.page import Sample, html_report
from cladist.report.tables import Table, markdown_table, report_tables

__all__ = ["Sample", "Table", "html_report", "icicle", "markdown_table", "report_tables"]
