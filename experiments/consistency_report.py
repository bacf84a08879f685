"""What the posterior-consistency benchmark found: summaries and tables; figures are beside."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

LOSSES = ["joint", "distinct", "marginal", "joint_fresh", "sd"]
# Of each study, what a figure of its table is about, and what is set side by side.
KEYS: dict[str, list[str]] = {
    "ood": ["data", "bias", "agent", "strength"],
    "dynamic": ["data", "option", "agent", "value"],
    "tradeoff": ["data", "option", "agent", "value"],
    "sensitivity": ["data", "agent", "steps"],
    "hyperparameters": [
        "data",
        "option",
        "agent",
        "decay",
        "rate",
        "prior_scale",
        "learning_rate",
    ],
}
AGENTS: tuple[str, ...] = (
    "mlp", "dropout", "ensemble", "ensemble-plus", "hypermodel", "epinet", "last-layer",
    "gp-mixture", "gp-oracle",
)  # fmt: skip


def summarise(study: str, rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Means over seeds, a record for each cell; of `dynamic` with the improvement."""
    keys = [key for key in KEYS[study] if key in rows]
    losses = [name for name in LOSSES if name in rows]
    sides = ["where", "time"] if study == "dynamic" else ["where"]
    found = rows.groupby([*keys, *sides], dropna=False, sort=False)[losses].mean()
    wide = pd.DataFrame(found.unstack(sides))  # type: ignore[arg-type]
    wide.columns = ["_".join(map(str, names)) for names in wide.columns]
    if study == "dynamic":
        for name in [name for name in ("joint", "distinct") if name in rows]:
            wide[f"{name}_gain"] = wide[f"{name}_outside_0"] - wide[f"{name}_outside_1"]
    table = wide.reset_index().dropna(axis=1, how="all")
    return {
        "study": study,
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "label_rates": _label_rates(rows),
        "table": [_plain(record) for record in table.to_dict("records")],
    }


def _label_rates(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """How many labels are 1 in the test sets, by which a loss is to be read."""
    if "mean_label" not in rows:
        return {}
    rates = rows.groupby(["data", "where"])["mean_label"].agg(["min", "max"])
    return {
        f"{data} {where}": {"least": round(low, 3), "most": round(high, 3)}
        for (data, where), low, high in zip(
            rates.index, rates["min"], rates["max"], strict=True
        )
    }


def _plain(record: dict[Any, Any]) -> dict[str, Any]:
    round_ = lambda value: round(value, 4) if isinstance(value, float) else value
    return {str(key): round_(value) for key, value in record.items() if not _is_nan(value)}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def columns_of(study: str) -> list[tuple[str, str]]:
    """What a table shows of a study, with headings."""
    if study == "dynamic":
        return [
            ("joint_inside_0", "inside, T=0"),
            ("joint_outside_0", "outside, T=0"),
            ("joint_outside_1", "outside, T=1"),
            ("joint_gain", "improvement"),
            ("distinct_gain", "of different rows"),
        ]
    if study == "sensitivity":
        return [
            ("joint_inside", "inside"),
            ("sd_inside", "sd over seeds"),
            ("joint_outside", "outside"),
            ("sd_outside", "sd over seeds"),
        ]
    return [
        ("joint_inside", "inside"),
        ("joint_outside", "outside"),
        ("distinct_outside", "outside, different rows"),
    ]


def shown_rows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Of `ood` the weakest and the strongest bias; of all others every row; agents in order."""
    rows = summary["table"]
    if summary["study"] == "ood":
        ends: dict[tuple, list[float]] = {}
        for row in rows:
            ends.setdefault((row["data"], row["bias"]), []).append(row["strength"])
        rows = [
            row
            for row in rows
            if row["strength"]
            in (min(ends[row["data"], row["bias"]]), max(ends[row["data"], row["bias"]]))
        ]
    return sorted(rows, key=lambda row: _order(row, KEYS[summary["study"]]))


def _order(row: dict[str, Any], keys: Sequence[str]) -> tuple:
    agent = AGENTS.index(row["agent"])
    rest = [row.get(key, 0) for key in keys if key not in ("data", "agent", "bias", "option")]
    return row["data"], str(row.get("bias", row.get("option", ""))), *rest[:1], agent, *rest[1:]


def tabulate(summary: dict[str, Any]) -> Table:
    """For the terminal."""
    study, rows = summary["study"], shown_rows(summary)
    keys = [key for key in KEYS[study] if any(key in row for row in rows)]
    table = Table(title=f"Joint log-loss, mean of {summary['seeds']} seeds", box=SIMPLE)
    columns = _present(study, rows)
    for heading in (*keys, *(heading for _, heading in columns)):
        table.add_column(heading, justify="left" if heading in keys else "right")
    for row in rows:
        table.add_row(*_cells(row, keys, columns))
    return table


def as_markdown(summary: dict[str, Any], without: Sequence[str] = ()) -> str:
    """For a page; some keys may be left out."""
    study, rows = summary["study"], shown_rows(summary)
    keys = [
        key for key in KEYS[study] if key not in without and any(key in row for row in rows)
    ]
    columns = _present(study, rows)
    head = [*keys, *(heading for _, heading in columns)]
    lines = [_line(head), _line(["---"] * len(keys) + ["---:"] * len(columns))]
    return "\n".join([*lines, *(_line(_cells(row, keys, columns)) for row in rows)])


def as_grid(summary: dict[str, Any], column: str) -> str:
    """Of `ood`, a line a bias and a column an agent: the mean over strengths."""
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in summary["table"]:
        if column in row:
            by_agent = cells.setdefault((row["data"], row["bias"]), {})
            by_agent.setdefault(row["agent"], []).append(row[column])
    agents = [agent for agent in AGENTS if any(agent in row for row in cells.values())]
    lines = [_line(["data", "bias", *agents]), _line(["---"] * 2 + ["---:"] * len(agents))]
    for (data, bias), found in cells.items():
        means = {agent: sum(losses) / len(losses) for agent, losses in found.items()}
        best = min(means.values())
        told = [_bold(means[agent], best) if agent in means else "" for agent in agents]
        lines.append(_line([data, bias, *told]))
    return "\n".join(lines)


def as_columns(summary: dict[str, Any], column: str) -> str:
    """Of `dynamic`, a line a data set and a column an agent."""
    tables = list(dict.fromkeys(row["data"] for row in summary["table"]))
    agents = [one for one in AGENTS if any(row["agent"] == one for row in summary["table"])]
    lines = [_line(["data", *agents]), _line(["---"] + ["---:"] * len(agents))]
    for data in tables:
        mine = {row["agent"]: row for row in summary["table"] if row["data"] == data}
        lines.append(_line([data, *(f"{mine[agent][column]:.2f}" for agent in agents)]))
    return "\n".join(lines)


def as_strengths(summary: dict[str, Any], column: str) -> str:
    """Of `ood` on one data set and bias, a line an agent and a column a strength."""
    rows = [row for row in summary["table"] if column in row]
    strengths = sorted({row["strength"] for row in rows})
    heads = ["agent", *(f"{strength:g}" for strength in strengths)]
    lines = [_line(heads), _line(["---"] + ["---:"] * len(strengths))]
    best = {
        one: min(row[column] for row in rows if row["strength"] == one) for one in strengths
    }
    for agent in [agent for agent in AGENTS if any(row["agent"] == agent for row in rows)]:
        mine = {row["strength"]: row[column] for row in rows if row["agent"] == agent}
        lines.append(_line([agent, *(_bold(mine[one], best[one]) for one in strengths)]))
    return "\n".join(lines)


def as_best(summary: dict[str, Any], inside: str, outside: str) -> str:
    """Of a sweep, the value of least loss inside and outside: a line an option and agent."""
    cells: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in summary["table"]:
        by_data = cells.setdefault((row["option"], row["agent"]), {})
        by_data.setdefault(row["data"], []).append(row)
    tables = list(dict.fromkeys(row["data"] for row in summary["table"]))
    lines = [_line(["option", "agent", *tables]), _line(["---"] * 2 + ["---"] * len(tables))]
    for (option, agent), found in cells.items():
        told = [
            f"{_best(found[data], inside):g}, {_best(found[data], outside):g}"
            for data in tables
        ]
        lines.append(_line([option.replace("_", " "), agent, *told]))
    return "\n".join(lines)


def _best(rows: Sequence[dict[str, Any]], column: str) -> float:
    """The value of least loss."""
    return min(rows, key=lambda row: row[column])["value"]


def as_stops(summary: dict[str, Any], usual: int) -> str:
    """Of `sensitivity`: loss outside and its scatter at the usual steps, and where it is least.

    A line an agent and a column a table.
    """
    cells: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in summary["table"]:
        cells.setdefault(row["agent"], {}).setdefault(row["data"], []).append(row)
    tables = list(dict.fromkeys(row["data"] for row in summary["table"]))
    lines = [_line(["agent", *tables]), _line(["---"] * (1 + len(tables)))]
    for agent, by_data in cells.items():
        told = [_of_stops(by_data[data], usual) for data in tables]
        lines.append(_line([agent, *told]))
    return "\n".join(lines)


def _of_stops(rows: Sequence[dict[str, Any]], usual: int) -> str:
    now = next(row for row in rows if row["steps"] == usual)
    best = min(rows, key=lambda row: row["joint_outside"])
    told = f"{now['joint_outside']:.2f} ± {now['sd_outside']:.2f}"
    return f"{told}; {best['joint_outside']:.2f} at {best['steps']}"


def _bold(loss: float, best: float) -> str:
    return f"**{loss:.2f}**" if loss == best else f"{loss:.2f}"


def _present(study: str, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [column for column in columns_of(study) if any(column[0] in row for row in rows)]


def _cells(row: dict[str, Any], keys: Sequence[str], columns: Sequence[tuple[str, str]]):
    told = lambda value: f"{value:g}" if isinstance(value, float) else str(value)
    numbers = (f"{row[name]:.2f}" if name in row else "" for name, _ in columns)
    return [*(told(row.get(key, "")) for key in keys), *numbers]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def draw(study: str, rows: pd.DataFrame, out: Path) -> None:
    """The figures of a study, one a data set."""
    from experiments import consistency_figures as figures

    for data in rows["data"].unique():
        figures.DRAWN[study](rows[rows["data"] == data], data, out / f"{data}.png")
