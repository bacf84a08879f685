"""A campaign as one HTML file that can be sent to anybody: no network, no scripts."""

from labelwise.report.page import write_report as write_report
