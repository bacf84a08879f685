"""One of several processes that work on the same campaign: asks, fails one row, tells the rest.

It gets ready, says so, waits for a line on its input so that all begin at once, and says at
the end which labels were acknowledged.
"""

import json
import sys
from pathlib import Path

from tests.campaign.small import labels_of

TIMES = 3  # batches of one row that each worker asks and tells


def main(folder: Path) -> None:
    from labelwise.campaign.campaign import Campaign

    campaign = Campaign.open(folder)
    campaign.plan(1)  # so that everything is compiled before the race
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(work(campaign)), flush=True)


def work(campaign) -> list[str]:
    """Ask and tell; the first row fails, so that it may go to somebody else."""
    campaign.fail(list(campaign.ask(1)["id"]))
    told: list[str] = []
    for _ in range(TIMES):
        ids = list(campaign.ask(1)["id"])
        assert campaign.tell(labels_of(ids)).new == 1
        told += ids
    return told


if __name__ == "__main__":
    main(Path(sys.argv[1]))
