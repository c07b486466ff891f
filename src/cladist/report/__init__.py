"""Web pages and drawings of results, self-contained and without other libraries."""

from cladist.report.automation import automation_section, draw_automation, sample_paths
from cladist.report.error_sections import sample_rows
from cladist.report.errors import Errors, find_errors
from cladist.report.figure import Figure
from cladist.report.icicle import icicle
from cladist.report.page import Sample, Table, html_report, markdown_table, table_of_measures
from cladist.report.plots import (
    confusion_matrix,
    error_distance_histogram,
    learning_curves,
    level_scores,
    pareto,
    reliability_diagram,
    risk_coverage,
)

__all__ = [
    "Errors",
    "Figure",
    "Sample",
    "Table",
    "automation_section",
    "confusion_matrix",
    "draw_automation",
    "error_distance_histogram",
    "find_errors",
    "html_report",
    "icicle",
    "learning_curves",
    "level_scores",
    "markdown_table",
    "pareto",
    "reliability_diagram",
    "risk_coverage",
    "sample_paths",
    "sample_rows",
    "table_of_measures",
]
