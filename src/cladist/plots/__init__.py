"""Pictures of a `Report`: a page that stands alone, and the icicle in it; no other library is needed."""

from cladist.plots.icicle import icicle
from cladist.plots.page import Sample, html_report
from cladist.plots.tables import Table, markdown_table, report_tables

__all__ = ["Sample", "Table", "html_report", "icicle", "markdown_table", "report_tables"]
