"""What a pool larger than memory costs, as ratios to reading the same columns with pyarrow.

Every size has a process of its own, so that memory is its own. In it every step is timed with a
bare read before and after it, on two threads both: a busy machine slows them alike. The
directory is read once before, so that all find it in the same state. `growth_ratio` is of the
pass that draws the sample, by itself: what follows it in `new` depends on the sample alone.
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
REPEATS, MANY = 3, 20  # of directories of so many files and more, one
WHOLE = 200_000  # rows of a pool that is planned in whole
TOTAL = len(SIZES) + 1


def run(
    advance: Callable[[], None] = lambda: None,
    sizes: tuple[int, ...] = SIZES,
    asks: bool = True,
) -> dict[str, Any]:
    """Figures of every size, and the ratios that matter."""
    each = {}
    for rows in sizes:
        each[rows] = _in_process(rows, "asks" if asks else "passes")
        advance()
    small, large = each[sizes[0]], each[sizes[-1]]
    found = {
        "rows": sizes[-1],
        "features": FEATURES,
        "workers": WORKERS,
        "new_over_read": large["new"]["over_read"],
        "refine_over_read": large["refine"]["over_read"],
        "pass_over_read": large["pass"]["over_read"],
        "growth_ratio": large["pass"]["seconds"] / small["pass"]["seconds"],
        "growth_of_cpu": large["pass"]["cpu_seconds"] / small["pass"]["cpu_seconds"],
        "peak_memory_gb": large["peak_memory_gb"],
        "each": {str(rows): figures for rows, figures in each.items()},
    }
    if asks:
        whole = _in_process(WHOLE, "asks")
        found["ask_over_ask_of_whole"] = large["ask_seconds"] / whole["ask_seconds"]
        found["each"][str(WHOLE)] = whole
        advance()
    return found


def _in_process(rows: int, steps: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale", str(rows), steps]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(rows: int, steps: str) -> dict[str, Any]:
    """All figures of one size."""
    from benchmarks.timing import peak_memory_gb
    from labelwise.campaign.campaign import Campaign

    folder = Path(tempfile.mkdtemp(prefix="labelwise-scale-"))
    try:
        pool = folder / "pool"
        generate(pool, rows)
        read(pool)
        found: dict[str, Any] = {"rows": rows}
        found["gigabytes"] = sum(file.stat().st_size for file in pool.iterdir()) / 1e9
        places = iter(folder / f"campaign{number}" for number in range(99))
        found["new"] = beside_read(pool, lambda: create(next(places), pool))
        if rows > WHOLE:
            found["pass"] = beside_read(pool, lambda: take_pass(pool))
        campaign = Campaign.open(folder / "campaign0")
        found |= ask(campaign) if steps == "asks" else {}
        if rows > WHOLE:
            campaign.estimate()
            found["refine"] = beside_read(pool, lambda: refine(campaign))
        return found | {"peak_memory_gb": peak_memory_gb()}
    finally:
        shutil.rmtree(folder)


def beside_read(pool: Path, step: Callable[[], Any]) -> dict[str, float]:
    """Seconds of a step, and over those of a bare read before and after it; medians."""
    every = []
    many = len(list(pool.iterdir())) > MANY
    for _ in range(1 if many else REPEATS):
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

    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2])))
