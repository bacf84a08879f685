"""The whole page, in order of importance."""

from pathlib import Path

from labelwise import __version__
from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.belief_check import BeliefCheck
from labelwise.report.answer import answer_section
from labelwise.report.batch import last_batch
from labelwise.report.belief import belief_and_check
from labelwise.report.history import citation, settings_and_history
from labelwise.report.map import rows_map
from labelwise.report.markup import Markup, clip, raw, tag
from labelwise.report.numbers import capital
from labelwise.report.past_rounds import answers_chart
from labelwise.report.precision import precision
from labelwise.report.reliability import reliability
from labelwise.report.shift import first_look
from labelwise.report.snapshot import Facts, read_facts
from labelwise.report.widths import widths_chart
from labelwise.runtime import single_threaded
from labelwise.tables.write import check_writable, write_text

# Nothing is fetched and nothing runs, whatever the page should come to hold.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = Path(__file__).with_name("style.css")


def write_report(campaign: Campaign, path: Path, beliefs: BeliefCheck | None = None) -> Path:
    """Write the report, whole or not at all, and return its path."""
    check_writable(path)  # before the work, which may take a minute
    write_text(make_page(read_facts(campaign, beliefs)), path)
    return path


@single_threaded
def make_page(facts: Facts) -> str:
    """Make the report as HTML."""
    charts = answers_chart(facts), widths_chart(facts), precision(facts), reliability(facts)
    parts = [
        ("progress", "Progress", tag("div", *charts, class_="side")),
        ("map", "Where the labels are", rows_map(facts)),
        ("batch", "The last batch", last_batch(facts)),
        ("shift", "The first look at the tables", first_look(facts)),
        ("belief", "Belief and check", belief_and_check(facts)),
        ("history", "Settings and history", settings_and_history(facts)),
        ("cite", "How to cite", citation()),
    ]
    sections = [tag("section", tag("h2", title), body, id=name) for name, title, body in parts]
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in parts]
    nav = tag("nav", tag("ul", links), aria_label="Sections")
    body = tag("body", answer_section(facts), nav, tag("main", sections))
    return f"<!doctype html>\n{tag('html', _head(facts), body, lang='en')}\n"


def _head(facts: Facts) -> Markup:
    title = f"{capital(facts.estimate.title)}: {clip(facts.spec.name)} (Labelwise report)"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"Labelwise {__version__}"),
        tag("title", title),
        tag("style", raw(STYLE.read_text("utf-8"))),
    )
