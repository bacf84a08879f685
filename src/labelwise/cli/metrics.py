"""`labelwise metrics`: all that may be asked for, and what it needs."""

from labelwise.cli.common import AsJson, command, print_json, say
from labelwise.metric_words import LEGEND, METRICS, MORE

EVERY = METRICS | MORE


@command
def metrics(as_json: AsJson = False) -> None:
    """Every metric in a line, with what it needs; your own is module:function.

    Example: labelwise metrics
    """
    if as_json:
        print_json([{"name": name, **_told(name)} for name in EVERY])
        return
    width = max(map(len, EVERY))
    for name, words in EVERY.items():
        say(f"{name:{width}}  {words.about} Needs {words.needs}.")
    say("")
    for line in LEGEND:
        say(line)


def _told(name: str) -> dict[str, str]:
    words = EVERY[name]
    return {**words._asdict(), "needs": words.needs}
