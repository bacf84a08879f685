"""What a pool larger than memory costs, as ratios to reading the same columns with pyarrow.

Memory is that of each command in a process of its own, as a user runs it: `new`, `ask`,
`estimate`, `refine`. Then steps are timed, each size in one process, every step with a bare
read before and after it, on two threads both: a busy machine slows them alike. The directory is
read once before, so that all find it in the same state. `growth_ratio` is of the processor's
seconds of the pass that draws the sample, by itself: what follows it in `new` depends on the
sample alone, and how well threads share files depends on their number.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES, FILE, GROUP, LABELLED, WORKERS, BATCH = 16, 1_000_000, 250_000, 200, 2, 10
SIZES = (1_000_000, 10_000_000)
# Times that a step is timed, by the files that it reads: a short one more often.
REPEATS = ((1, 15), (20, 5), (10**9, 1))
WHOLE = 200_000  # rows of a pool that is planned in whole
STEPS = ("new", "ask", "estimate", "refine")  # in this order
TOTAL = len(SIZES) + 1


def run(
    advance: Callable[[], None] = lambda: None,
    sizes: tuple[int, ...] = SIZES,
    asks: bool = True,
) -> dict[str, Any]:
    """Figures of every size, and the ratios that matter."""
    each = {}
    for rows in sizes:
        each[rows] = _of_size(rows, asks)
        advance()
    small, large = each[sizes[0]], each[sizes[-1]]
    found = {
        "rows": sizes[-1],
        "features": FEATURES,
        "workers": WORKERS,
        "new_over_read": large["new"]["over_read"],
        "refine_over_read": large["refine"]["over_read"],
        "pass_over_read": large["pass"]["over_read"],
        "growth_ratio": large["pass"]["cpu_seconds"] / small["pass"]["cpu_seconds"],
        "growth_of_clock": large["pass"]["seconds"] / small["pass"]["seconds"],
        "peak_memory_gb": max(large["memory_gb"].values()),
        "each": {str(rows): figures for rows, figures in each.items()},
    }
    if asks:
        whole = _of_size(WHOLE, asks)
        found["ask_over_ask_of_whole"] = large["ask_seconds"] / whole["ask_seconds"]
        found["each"][str(WHOLE)] = whole
        advance()
    return found


def _of_size(rows: int, asks: bool) -> dict[str, Any]:
    """Figures of one size; the pool is generated here, for memory that is not the user's."""
    folder = Path(tempfile.mkdtemp(prefix="labelwise-scale-"))
    try:
        generate(folder / "pool", rows)
        steps = [step for step in STEPS if rows > WHOLE or step != "refine"]
        memory = {step: _in_process(step, folder)["peak_memory_gb"] for step in steps}
        timed = _in_process("timed with asks" if asks else "timed", folder)
        return {"rows": rows} | timed | {"memory_gb": memory}
    finally:
        shutil.rmtree(folder)


def _in_process(step: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale", step, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def take_step(step: str, folder: Path) -> dict[str, float]:
    """One command, and the most memory that this process has had."""
    from benchmarks.timing import peak_memory_gb
    from labelwise.campaign.campaign import Campaign

    path = folder / "campaign"
    if step == "new":
        create(path, folder / "pool")
    elif step == "ask":
        Campaign.open(path).ask()
    elif step == "estimate":
        Campaign.open(path).estimate()
    else:
        refine(Campaign.open(path))
    return {"peak_memory_gb": peak_memory_gb()}


def measure(asks: bool, folder: Path) -> dict[str, Any]:
    """How long steps take, of the pool in this folder."""
    from labelwise.campaign.campaign import Campaign

    pool = folder / "pool"
    read(pool)
    rows = sum(pq.read_metadata(file).num_rows for file in pool.iterdir())
    found: dict[str, Any] = {
        "gigabytes": sum(file.stat().st_size for file in pool.iterdir()) / 1e9
    }
    places = iter(folder / f"campaign{number}" for number in range(99))
    found["new"] = beside_read(pool, lambda: create(next(places), pool))
    if rows > WHOLE:
        found["pass"] = beside_read(pool, lambda: take_pass(pool))
    campaign = Campaign.open(folder / "campaign0")
    found |= ask(campaign) if asks else {}
    if rows > WHOLE:
        campaign.estimate()
        found["refine"] = beside_read(pool, lambda: refine(campaign))
    return found


def beside_read(pool: Path, step: Callable[[], Any]) -> dict[str, float]:
    """Seconds of a step, and over those of a bare read before and after it; medians."""
    every = []
    files = len(list(pool.iterdir()))
    for _ in range(next(times for most, times in REPEATS if files <= most)):
        before = _timed(lambda: read(pool))
        seconds, cpu = _timed(step)
        after = _timed(lambda: read(pool))
        bare = (before[0] + after[0]) / 2.0
        every.append([seconds, cpu, bare, seconds / bare, 2.0 * cpu / (before[1] + after[1])])
    middle = np.median(every, axis=0).tolist()
    names = ("seconds", "cpu_seconds", "read_seconds", "over_read", "cpu_over_read")
    return dict(zip(names, middle, strict=True))


def refine(campaign: Any) -> None:
    """The pass of `labelwise refine`, without the estimate that follows."""
    from labelwise.campaign.refining import refine_campaign

    refine_campaign(campaign, None, WORKERS, lambda done, total: None)


def _timed(step: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    began, worked = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - began, time.process_time() - worked


def generate(folder: Path, rows: int) -> None:
    """Files of a million rows, of numbers in single precision."""
    folder.mkdir()
    for number, start in enumerate(range(0, rows, FILE)):
        table = _rows(np.random.default_rng(number), min(FILE, rows - start), start)
        pq.write_table(table, folder / f"part-{number:04d}.parquet", row_group_size=GROUP)


def _rows(rng: np.random.Generator, rows: int, start: int) -> pa.Table:
    x = rng.standard_normal((FEATURES, rows), dtype=np.float32)
    odds = 1.5 * x[0] + x[1] - 2.0
    columns: dict[str, Any] = {"id": np.arange(start, start + rows)}
    columns |= {f"x{place}": column for place, column in enumerate(x)}
    return pa.table(columns | {"score": (1.0 / (1.0 + np.exp(-odds))).astype(np.float32)})


def labels_of(frame: pd.DataFrame) -> np.ndarray:
    """Labels that anyone can work out from the row."""
    odds = 1.3 * frame["x0"] + 1.1 * frame["x1"] + 0.5 * frame["x2"] - 2.2
    noise = np.random.default_rng(0).random(len(frame))
    return (noise < 1.0 / (1.0 + np.exp(-odds))).astype(int).to_numpy()


def read(folder: Path) -> None:
    """The bare read: every column, batch by batch, on as many threads."""

    def one(path: Path) -> None:
        for _ in pq.ParquetFile(path).iter_batches(1 << 17, use_threads=False):
            pass

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, sorted(folder.iterdir())))
    pa.default_memory_pool().release_unused()  # which would count as what comes next needs


def take_pass(folder: Path) -> None:
    """The pass that draws the sample, alone."""
    from labelwise.evaluation.large import Asked, sample_tables
    from labelwise.evaluation.spec import Question, Sampling, Tables
    from labelwise.pools.engine import Threads
    from labelwise.pools.passes import Passing
    from labelwise.tables.columns import Columns

    columns = Columns(id="id", label="y", prediction="score")
    asked = Asked(columns, Question("accuracy"), Sampling(), 0)
    sample_tables(Tables(pool=folder), asked, Passing(Threads(WORKERS)))


def create(path: Path, pool: Path, **sampling: Any) -> None:
    """What `labelwise new` does, once Labelwise has started."""
    from labelwise.campaign.campaign import Campaign
    from labelwise.evaluation.spec import Sampling, Tables
    from labelwise.tables.columns import Columns

    labelled = _rows(np.random.default_rng(12345), LABELLED, 10**12).to_pandas()
    labelled["y"] = labels_of(labelled)
    Campaign.create(
        path,
        Tables(labelled=labelled, pool=str(pool)),
        Columns(id="id", label="y", prediction="score"),
        question="accuracy",
        sampling=Sampling(batch=BATCH, **sampling),
        workers=WORKERS,
    )


def ask(campaign: Any) -> dict[str, float]:
    """The first ask compiles; the second is what one waits for."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        batch = campaign.ask()
        seconds.append(time.perf_counter() - began)
        rows = campaign.tables["pool"].set_index("id").loc[batch["id"].astype(int)]
        campaign.tell(batch.assign(y=labels_of(rows.reset_index())))
    return {"first_ask_seconds": seconds[0], "ask_seconds": seconds[1]}


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from labelwise.evaluation import prepare  # noqa: F401  what is timed finds it loaded

    step, folder = sys.argv[1], Path(sys.argv[2])
    timed = step.startswith("timed")
    told = measure(step.endswith("asks"), folder) if timed else take_step(step, folder)
    print(json.dumps(told))
