"""Single bits of a campaign's files, flipped one at a time: detected, or without effect.

A campaign with labels, skips, corrections and kept estimates is copied, one bit of its log, its
tables or its head is flipped, and it is used: opened, looked at, asked for its answer, told a
label, asked again. Either something says so in a sentence, or every answer is the same to the
last digit. Every fourth copy has its last commits in the write-ahead file alone, as a killed
process leaves them.

    python -m tests.campaign.flips --flips 500
"""

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from labelwise.errors import LabelwiseError
from tests.campaign import small


def prepare(folder: Path) -> None:
    """The campaign, closed, and beside it one whose end is in the write-ahead file."""
    campaign = small.make(folder / "closed")
    first = list(campaign.ask()["id"])
    campaign.tell(small.labels_of(first))
    campaign.correct({first[0]: 0.5}, "misread")
    second = list(campaign.ask()["id"])
    campaign.skip(second[0], "torn")
    campaign.estimate()
    log = sqlite3.connect(folder / "closed" / "campaign.db")
    with closing(log):
        log.execute("SELECT * FROM events").fetchall()
        campaign.fail(second[1], "blurred")
        campaign.estimate()
        shutil.copytree(folder / "closed", folder / "killed")
    assert (folder / "killed" / "campaign.db-wal").stat().st_size > 0


def use(folder: Path) -> list[Any]:
    """Every answer that the campaign gives, and gives after one more label."""
    from labelwise.campaign.campaign import Campaign

    campaign = Campaign.open(folder)
    status = campaign.status().to_dict()
    kept = status.pop("estimate")  # which may be lost, and is then made anew
    said = [status | {"path": ""}, campaign.estimate().to_dict()]
    said += [campaign.pending().to_csv(), [one[:3] for one in campaign.store.history()]]
    assert kept is None or kept["value"] == said[1]["value"]
    (out,) = campaign.pending()["id"]
    campaign.tell(small.labels_of([out]))
    after = campaign.estimate().to_dict() | {"head": ""}  # which knows the time
    return json.loads(json.dumps([*said, after], default=str))


def flip(folder: Path, rng: random.Random) -> str:
    """Flip one bit, of a file as likely as another; which it was."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    files = sorted(path for path in files if not path.name.endswith("-shm"))
    path = rng.choice([*files, folder / "campaign.db", folder / "campaign.db"])
    content = bytearray(path.read_bytes())
    place, bit = rng.randrange(len(content)), rng.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.name}, byte {place}, bit {bit}"


def flips(folder: Path, many: int, seed: int = 0, say=lambda text: None) -> Counter:
    """Flip so many bits; raise at the first that changes an answer without a word."""
    prepare(folder)
    expected = {}
    for kind in ("closed", "killed"):
        expected[kind] = use(Path(shutil.copytree(folder / kind, folder / f"whole {kind}")))
    found: Counter = Counter()
    for number in range(many):
        rng = random.Random(f"flip {seed} {number}")
        kind = "killed" if number % 4 == 3 else "closed"
        copy = Path(shutil.copytree(folder / kind, folder / "copy"))
        where = flip(copy, rng)
        try:
            assert use(copy) == expected[kind], f"{kind}, {where}: another answer, unseen"
            found["without effect"] += 1
        except LabelwiseError:
            found["detected"] += 1
        shutil.rmtree(copy)
        say(f"{number + 1} flips: {dict(found)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    say = lambda text: print(text, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        found = flips(Path(folder), chosen.flips, chosen.seed, say)
    print(json.dumps({"flips": chosen.flips, **found}))


if __name__ == "__main__":
    main()
