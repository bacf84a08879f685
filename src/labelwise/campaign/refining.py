"""`labelwise refine`: one more pass over the files that a campaign was made from."""

from collections.abc import Callable
from typing import Any

from labelwise.campaign.choosing import pool_table
from labelwise.campaign.create import forget, refused_leaves_nothing
from labelwise.campaign.mended import keep_mended
from labelwise.evaluation.refined import refine
from labelwise.inputs import as_count
from labelwise.pools.engine import make_engine
from labelwise.pools.passes import Passing
from labelwise.runtime import one_thread


def refine_campaign(
    campaign: Any,
    scheduler: str | None,
    workers: int,
    progress: Callable[[int, int], None],
) -> None:
    """Take the pass and keep what it finds; one that was cut off goes on where it was."""
    folder = campaign.path
    keep = folder.with_name(f".{folder.name}.refine")
    passing = Passing(make_engine(scheduler, as_count("workers", workers)), keep, progress)
    with one_thread(), refused_leaves_nothing(passing):
        evaluation, pool = campaign.evaluation(), pool_table(campaign)
        mended = refine(evaluation, campaign.encoder, passing, pool)
    campaign.store.bind_refined(keep_mended(folder, mended))
    forget(passing)
