"""Tables of every format, spoilt in every way that a seed thinks of, given to `new` and `tell`.

Whatever comes, a command succeeds, or it refuses in one line with exit code 2 and has changed
nothing: no traceback, and never "Labelwise failed".

    python -m tests.campaign.fuzz --inputs 1000
"""

import argparse
import gzip
import io
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign import small

FORMATS = (".csv", ".tsv", ".csv.gz", ".json", ".jsonl", ".parquet", "-")
# What stands in cells that nobody expected.
CELLS = ["", " ", "NaN", "inf", "-inf", "1e400", "9" * 400, "9" * 5000, "0x10", "1_000", "1,5"]
CELLS += ["=1+1", "'", '"', "\t", "\r", "\n", "\x00", "\x1b[31m", "\u2028", "é", "٣", "🙂"]
CELLS += ["x" * 3000, "2024-01-31", "1 days", "true", "None", "[1]", '{"a": 1}', "-0", "1e-400"]
JSON = ['"\\ud800"', "1" * 400, "[]", "{}", "null", "true", '"a":1,"a":2', "[" * 2000, "1e999"]
TYPES = [pa.duration("us"), pa.date32(), pa.time32("s"), pa.timestamp("ns"), pa.float16()]
TYPES += [pa.bool_(), pa.int8(), pa.uint64(), pa.string(), pa.binary(), pa.list_(pa.int64())]
TYPES += [pa.struct([("a", pa.int64())]), pa.null(), pa.decimal128(30, 2)]


def spoil(table: pd.DataFrame, ending: str, rng: random.Random) -> bytes:
    """A table as a file of this ending, with one to three things wrong with it."""
    table = table.astype(object)
    if rng.random() < 0.4:
        table = _spoil_cells(table, rng)
    content = _as_parquet(table, rng) if ending == ".parquet" else _as_text(table, ending, rng)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        content = rng.choice(BY_BYTES)(content, rng)
    return gzip.compress(content) if ending == ".csv.gz" and rng.random() < 0.8 else content


def _spoil_cells(table: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    table = table.copy()
    for _ in range(rng.randint(1, 3)):
        row, column = rng.randrange(len(table)), rng.randrange(table.shape[1])
        table.iat[row, column] = rng.choice(CELLS)
    if rng.random() < 0.2:
        named = rng.choice(CELLS)
        table = table.rename(columns={rng.choice(list(table.columns)): named})
    if rng.random() < 0.15:
        table = pd.concat([table, table.iloc[: rng.randint(1, 3)]])
    return table.drop(columns=rng.choice(list(table))) if rng.random() < 0.1 else table


def _as_text(table: pd.DataFrame, ending: str, rng: random.Random) -> bytes:
    if ending in (".json", ".jsonl") or (ending == "-" and rng.random() < 0.5):
        lines = [json.dumps(row, default=str) for row in table.to_dict("records")]
        text = "\n".join(lines) if ending == ".jsonl" else f"[{','.join(lines)}]"
        if rng.random() < 0.3:
            place = rng.choice([at for at, sign in enumerate(text) if sign in ":,["]) + 1
            text = text[:place] + rng.choice(JSON) + text[place:]
    else:
        text = table.to_csv(index=False, sep="\t" if ending == ".tsv" else ",")
    return text.encode(rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16"]), "replace")


def _as_parquet(table: pd.DataFrame, rng: random.Random) -> bytes:
    columns = {str(name): pa.array(list(map(str, cells))) for name, cells in table.items()}
    for name, cells in table.items():
        if not isinstance(cells.iloc[0], str):
            numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float)
            columns[str(name)] = pa.array(numbers)
    if rng.random() < 0.5:
        columns[rng.choice(list(columns))] = _of_type(rng.choice(TYPES), len(table))
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def _of_type(kind: pa.DataType, size: int) -> pa.Array:
    values: list = [None if row == 1 else row % 100 for row in range(size)]
    if pa.types.is_list(kind):
        values = [[row] for row in range(size)]
    elif pa.types.is_struct(kind):
        values = [{"a": row} for row in range(size)]
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        values = [str(row).encode() for row in range(size)]
    elif pa.types.is_boolean(kind):
        values = [row % 2 == 0 for row in range(size)]
    elif pa.types.is_null(kind):
        values = [None] * size
    elif kind == pa.float16():
        values = list(np.arange(size, dtype=np.float16))
    return pa.array(values, kind)


def _flip(content: bytes, rng: random.Random) -> bytes:
    spoilt = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


def _cut(content: bytes, rng: random.Random) -> bytes:
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return (content[:start] + content[end:]) or b" "


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[start:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice(CELLS).encode() + content[place:]


def _end_early(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(1, len(content) + 1)]


def _noise(content: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(1, 200))


BY_BYTES = [_flip, _flip, _cut, _repeat, _insert, _insert, _end_early, _noise]


class Fuzzer:
    """A campaign to tell, tables to make one of, and what became of each input."""

    def __init__(self, folder: Path, seed: int = 0):
        from typer.testing import CliRunner

        from labelwise.cli.app import app

        self.invoke = lambda words, **more: CliRunner().invoke(app, words, **more)
        self.folder, self.seed = folder, seed
        self.found: Counter = Counter()
        small.make(folder / "blank", label_range=None)
        self.batch = _open(folder / "blank").ask(8)
        self.pristine = small.dump(folder / "blank")
        self.tables = small.make_tables()

    def tell(self, number: int) -> None:
        """One spoilt batch to a campaign."""
        rng = random.Random(f"tell {self.seed} {number}")
        ending, target = rng.choice(FORMATS), self.folder / "campaign"
        labels = self.batch[["batch_id", "id"]].assign(y=[0.1 * one for one in range(8)])
        content = spoil(labels, ending, rng)
        if not target.exists():
            shutil.copytree(self.folder / "blank", target)
        file = self._written(content, ending)
        given = {"input": content} if ending == "-" else {}
        verb = rng.choice(["tell"] * 9 + ["correct"])
        self._judge(self.invoke([verb, str(target), file], **given), f"{verb} {number}")
        if small.dump(target) != self.pristine:
            assert self.code == 0, f"{verb} {number} changed the campaign and failed"
            shutil.rmtree(target)

    def new(self, number: int) -> None:
        """A campaign of tables, one of them spoilt."""
        rng = random.Random(f"new {self.seed} {number}")
        ending, which = rng.choice(FORMATS[:-1]), rng.choice(list(self.tables))
        target = self.folder / "made" / "campaign"
        words = ["new", str(target), "--id", "id", "--label", "y", "--prediction", "psi"]
        for name, table in self.tables.items():
            file = self.folder / f"{name}.csv"
            table.to_csv(file, index=False)
            if name == which:
                file = self._written(spoil(table, ending, rng), ending)
            words += [f"--{name}", str(file)]
        self._judge(self.invoke(words), f"new {number}")
        made = [path.name for path in target.parent.iterdir()] if target.parent.exists() else []
        assert made == (["campaign"] if self.code == 0 else []), f"new {number} left {made}"
        shutil.rmtree(target.parent, ignore_errors=True)

    def _written(self, content: bytes, ending: str) -> str:
        if ending == "-":
            return ending
        file = self.folder / f"spoilt{ending}"
        file.write_bytes(content)
        return str(file)

    def _judge(self, done, what: str) -> None:
        self.code = done.exit_code
        broken = done.exception is not None and not isinstance(done.exception, SystemExit)
        assert not broken, f"{what}: {done.exception!r}"
        assert done.exit_code in (0, 2), f"{what}: exit {done.exit_code}, {done.stderr}"
        if done.exit_code == 2:
            told = done.stderr.strip().splitlines()
            assert len(told) == 1, f"{what}: {told}"
            assert "failed" not in told[0].split("(")[0], f"{what}: {told}"
        self.found["accepted" if done.exit_code == 0 else "refused"] += 1


def _open(folder: Path):
    from labelwise.campaign.campaign import Campaign

    return Campaign.open(folder)


def fuzz(folder: Path, verb: str, inputs: int, seed: int = 0, start: int = 0) -> Counter:
    """Give so many inputs to a verb; raise at the first that it does not take as it should."""
    fuzzer = Fuzzer(folder, seed)
    for number in range(start, start + inputs):
        getattr(fuzzer, verb)(number)
    return fuzzer.found


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1000, help="to each of new and tell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    chosen = parser.parse_args()
    for verb in ("tell", "new"):
        with tempfile.TemporaryDirectory() as folder:
            found = fuzz(Path(folder), verb, chosen.inputs, chosen.seed, chosen.start)
        print(json.dumps({"verb": verb, "inputs": chosen.inputs, **found}), flush=True)
        print(f"{verb} is done", file=sys.stderr)


if __name__ == "__main__":
    main()
