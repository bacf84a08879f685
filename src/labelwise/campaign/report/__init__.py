"""A campaign as one HTML file that can be sent to anybody: no network, no scripts."""

from labelwise.campaign.report.page import write_report as write_report
