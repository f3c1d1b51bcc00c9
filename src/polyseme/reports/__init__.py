"""What a training came to, as one HTML file: `write_report(model, "report.html")`."""

from __future__ import annotations

from polyseme.reports.page import check_report_path, write_report

__all__ = ["check_report_path", "write_report"]
