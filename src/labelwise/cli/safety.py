"""`labelwise backup` and `verify`: a copy to fall back on, and whether all is as it was."""

from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli.common import AsJson, CampaignPath, command, print_json, say, working
from labelwise.cli.memory import check_room


@command
def backup(
    path: CampaignPath,
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the copy.")],
    as_json: AsJson = False,
) -> None:
    """Copy the campaign to a new folder; others may go on writing meanwhile.

    Example: labelwise backup audit backups/audit-monday
    """
    from labelwise.campaign.campaign import Campaign

    made = Campaign.open(path).backup(out)
    head = Campaign.open(made).status().head
    if as_json:
        print_json({"folder": str(made), "head": head})
    else:
        say(f"{made} is a copy of {path}, head of the log {head}.")


@command
def verify(path: CampaignPath, as_json: AsJson = False) -> None:
    """Check every hash of log and tables, and compute the answer anew; exit 0 if all is well.

    Example: labelwise verify audit
    """
    from labelwise.campaign.verify import verify_folder

    check_room()
    with working("verifying"):
        found = verify_folder(path)
    if as_json:
        print_json(found.to_dict())
    else:
        for line in found.lines:
            say(line, style="red" if line.startswith("wrong") else None)
    if not found.sound:
        raise typer.Exit(1)
