"""The command line: help without JAX, campaigns from files, JSON for programs, exit codes."""

import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import labelwise as lw
from labelwise import __version__
from labelwise.beliefs.fit_mixture import COMPONENTS
from labelwise.campaign.store.kept import bind_kept
from labelwise.cli.app import app

run = CliRunner().invoke
COMMANDS = [
    "new", "ask", "tell", "skip", "fail", "correct", "status", "plan", "estimate", "refine",
    "check",
    "forecast", "report", "export", "backup", "verify", "simulate", "demo", "metrics",
]  # fmt: skip


HEAD = ("--id", "id", "--label", "y", "--prediction", "guess")


def ok(*arguments, stdin=None):
    done = run(app, [str(one) for one in arguments], input=stdin)
    assert done.exit_code == 0, done.output
    return done


def ok_json(*arguments, stdin=None):
    return json.loads(ok(*arguments, "--json", stdin=stdin).stdout)


def make_rows(size, spread, start, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, spread, size=(size, 2))
    return pd.DataFrame(
        {
            "id": [f"r{start + row}" for row in range(size)],
            "a": x[:, 0],
            "b": x[:, 1],
            "site": rng.choice(["north", "south"], size),
            "guess": 0.8 * x[:, 0],
            "y": np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=size),
        }
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    make_rows(20, 0.4, 0, 0).to_csv(folder / "labelled.csv", index=False)
    pool = make_rows(60, 1.5, 100, 1)
    pool.drop(columns="y").to_csv(folder / "pool.csv", index=False)
    pool[["id", "y"]].to_csv(folder / "answers.csv", index=False)
    # As many as in the pool, so that campaigns with and without a target share programs.
    make_rows(60, 1.2, 500, 2).drop(columns=["y", "id"]).to_parquet(folder / "target.parquet")
    return folder


def new(tables, path, *more):
    return ok_json(
        "new", path, "--labelled", tables / "labelled.csv", "--pool", tables / "pool.csv",
        "--target", tables / "target.parquet", *HEAD, "--batch", 4, "--budget", 12,
        "--set", "belief.components=2", *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fresh(tables, tmp_path_factory):
    """Made once, and copied by every test that changes it."""
    path = tmp_path_factory.mktemp("fresh") / "audit"
    new(tables, path)
    return path


@pytest.fixture(scope="module")
def begun(fresh, tmp_path_factory):
    """The same with its first batch out."""
    path = shutil.copytree(fresh, tmp_path_factory.mktemp("begun") / "audit")
    ok("ask", path, "--out", "-")
    return path


@pytest.fixture
def campaign(fresh, tmp_path):
    return shutil.copytree(fresh, tmp_path / "audit")


@pytest.fixture
def asked(begun, tmp_path):
    return shutil.copytree(begun, tmp_path / "audit")


def filled(batch, tables):
    answers = pd.read_csv(tables / "answers.csv").set_index("id")["y"]
    return batch.assign(y=batch["id"].map(answers))


@pytest.mark.parametrize("arguments", [["--help"], ["status", "{campaign}"]])
def test_help_and_status_start_without_jax_or_pandas(arguments, campaign):
    given = [one.format(campaign=campaign) for one in arguments]
    code = (
        f"import sys; from labelwise.cli.app import app\n"
        f"try: app({given!r})\n"
        "except SystemExit as done: assert not done.code\n"
        "sys.exit('jax' in sys.modules or 'pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_command_has_help_and_an_example():
    names = [command.callback.__name__ for command in app.registered_commands]
    assert names == COMMANDS
    for command in app.registered_commands:
        assert f"Example: labelwise {command.callback.__name__}" in command.callback.__doc__
        assert "--json" in ok(command.callback.__name__, "--help").stdout


def test_the_version_is_printed():
    assert run(app, ["--version"]).stdout.strip() == f"labelwise {__version__}"


def test_a_campaign_from_files_to_an_answer(campaign, tables, tmp_path):
    status = ok_json("status", campaign)
    assert status["rows"] == {"labelled": 20, "pool": 60, "target": 60}
    assert status["shift"]["labelled_auc"] > 0.5
    file = tmp_path / "batch.csv"
    asked = ok_json("ask", campaign, "--out", file)
    assert asked == {"file": str(file), "rows": 4, "batch_ids": [1]}
    batch = pd.read_csv(file)
    assert list(batch.columns) == [
        "batch_id",
        "id",
        "a",
        "b",
        "site",
        "y",
    ]  # the guess is hidden
    assert batch["y"].isna().all()
    filled(batch, tables).to_csv(file, index=False)
    assert ok_json("tell", campaign, file)["new"] == 4
    assert ok_json("tell", campaign, file) == {
        "new": 0, "known": 4, "empty": 0, "late": 0, "ignored": 0, "pending": 0,
        "unusual": [], "cancelled": [],
    }  # fmt: skip
    found = ok_json("estimate", campaign, "--level", 0.5)
    assert found["headline"] == "combined"
    assert found["design"]["draws"] == 4
    assert found["labels"] == {"initial": 20, "bought": 4, "total": 24}
    assert found["interval"][0] < found["value"] < found["interval"][1]
    assert found["level"] == 0.5
    assert ok_json("status", campaign)["estimate"]["current"]


def test_tables_for_people_name_the_next_step(campaign, tables):
    done = ok("ask", campaign)
    assert "labelwise tell" in done.stdout
    assert (campaign / "batches" / "batch-0001.csv").exists()
    for command in ("status", "plan", "estimate"):
        assert ok(command, campaign).stdout.strip()
    assert "batch 1 is out" in ok("status", campaign).stdout


@pytest.fixture(scope="module")
def drawn(tables, tmp_path_factory):
    """Twelve rows of the pool, which is the target, drawn by chance and labelled."""
    path = tmp_path_factory.mktemp("drawn") / "audit"
    ok(
        "new", path, "--labelled", tables / "labelled.csv", "--pool", tables / "pool.csv",
        *HEAD, "--by", "site", "--set", "belief.components=2",
    )  # fmt: skip
    batch = filled(pd.DataFrame(ok_json("ask", path, "-n", 12)), tables)
    ok("tell", path, "-", stdin=batch.to_csv(index=False))
    return path


def test_every_answer_is_told_at_the_level_and_why(drawn):
    found = ok_json("estimate", drawn, "--level", 0.5, "--quantiles")
    assert found["headline"] == "combined"
    assert found["interval"] == found["combined"]["interval"]
    for answer in (found["credible"], found["design"], found["combined"]):
        low, high = answer["interval"]
        assert answer["level"] == 0.5
        assert low < answer["value"] < high
        middle = [answer["quantiles"][found["probabilities"].index(p)] for p in (0.25, 0.75)]
        assert [low, high] == pytest.approx(middle)
    lines = ok("estimate", drawn, "--level", 0.5).stdout.splitlines()
    assert lines[1].startswith("50 % interval")
    assert lines[2].startswith("right at every look: 90 % interval")
    assert "after every batch, and stop" in lines[2]
    assert lines[3] == found["why"]
    assert "12 rows drawn by chance" in lines[3]


def test_ingredients_are_told_on_demand(drawn):
    """Both, at the level asked for, below the answer; else none."""
    alone = ok("estimate", drawn, "--level", 0.5).stdout
    told = ok("estimate", drawn, "--level", 0.5, "--both").stdout
    assert "alone" not in alone
    more = [line for line in told.splitlines() if line not in alone.splitlines()]
    estimate = lw.Campaign.open(drawn).estimate()
    assert more == estimate.ingredients_at(0.5)
    assert more[0].startswith("by the belief alone:")
    assert more[1].startswith("by drawn rows alone:")
    assert all("50 % interval" in line for line in more)


def test_parts_say_what_they_rest_on(drawn):
    parts = ok_json("estimate", drawn)["parts"]
    assert {part["level"] for part in parts} == {0.9}
    assert all(part["credible"]["level"] == 0.9 for part in parts)
    assert [part["headline"] for part in parts] == ["combined"] * 2
    told = last_cells(ok("estimate", drawn).stdout)
    assert told == " ".join(["the belief and drawn rows together"] * 2)


def last_cells(table):
    """The last column's words, however its cells were broken into lines."""
    rows = (line.split("│") for line in table.splitlines() if line.startswith("│"))
    return " ".join(" ".join(row[-2] for row in rows).split())


def test_status_says_which_answer_it_shows(drawn, tmp_path):
    ok("estimate", drawn)
    assert ok_json("status", drawn)["estimate"]["headline"] == "combined"
    assert ", by the belief and drawn rows together" in last_cells(ok("status", drawn).stdout)
    shutil.copytree(drawn, tmp_path / "early")
    log = sqlite3.connect(tmp_path / "early" / "campaign.db")
    names = ("headline", "why", "credible", "design", "combined")
    for name in names:  # as versions before stored it
        log.execute(f"UPDATE estimates SET content = json_remove(content, '$.{name}')")
    bind_kept(log)
    log.commit()
    log.close()
    assert ok_json("status", tmp_path / "early")["estimate"]["headline"] == "belief"
    assert ", by the" in ok("status", tmp_path / "early").stdout


def test_a_template_is_a_file_that_makes_the_usual_campaign(tables, tmp_path):
    text = ok("new", "--template").stdout
    changes = {'label = "label"': 'label = "y"', "# labelled =": "labelled =", "# id =": "id ="}
    for old, new in (changes | {"# pool =": "pool ="}).items():
        assert old in text
        text = text.replace(old, new)
    (tables / "audit.toml").write_text(text)
    ok("new", tmp_path / "file", "--config", tables / "audit.toml", "--prediction", "guess")
    given = ("--labelled", tables / "labelled.csv", "--pool", tables / "pool.csv")
    ok("new", tmp_path / "flags", *given, *HEAD)
    first, second = (lw.Campaign.open(tmp_path / name).spec for name in ("file", "flags"))
    assert replace(first, name="", created="") == replace(second, name="", created="")


@pytest.mark.parametrize(
    ("change", "where", "hint"),
    [
        ("sampling.flor=0.2", "sampling.flor", "did you mean 'floor'?"),
        ("samplings.floor=0.2", "--set.samplings", "did you mean 'sampling'?"),
        ("floor", "--set", "write it like sampling.floor=0.2"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(change, where, hint, tmp_path):
    done = run(app, ["new", str(tmp_path / "odd"), "--set", change, "--json"])
    assert done.exit_code == 2
    error = json.loads(done.stderr)["error"]
    assert (error["where"], error["remedy"]) == (where, hint)


def test_how_chance_chooses_is_an_option(tables, tmp_path):
    from labelwise.campaign.campaign import Campaign

    more = (
        "--set",
        "sampling.by=loss",
        "--set",
        "sampling.floor=0.5",
        "--set",
        "question.scale=log",
        "--set",
        "belief.components=3",
    )
    new(tables, tmp_path / "own", *more, "--set", "sampling.batch=7")  # over --batch 4
    own = Campaign.open(tmp_path / "own").spec
    assert own.sampling.batch == 7
    assert (own.sampling.by, own.sampling.floor, own.question.scale) == ("loss", 0.5, "log")
    assert own.belief["components"] == 3
    given = ("--labelled", tables / "labelled.csv", "--pool", tables / "pool.csv")
    ok("new", tmp_path / "usual", *given, *HEAD)
    usual = Campaign.open(tmp_path / "usual").spec
    sampling = usual.sampling
    assert (sampling.by, sampling.floor, usual.question.scale) == ("policy", 0.3, "linear")
    assert usual.belief["components"] == COMPONENTS
    assert f"components ({COMPONENTS} fits" in ok("new", "--template").stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--set", "sampling.by=odd"), "sampling.by must be loss, policy, balance or none"),
        (("--set", "sampling.floor=0"), "floor must be above 0"),
        (("--set", "sampling.floor=2"), "floor must be a share from 0 to 1"),
        (("--set", "question.scale=cubic"), "scale must be linear or log"),
        (("--set", "belief.components=0"), "components must be at least 1"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(more, message, tables, tmp_path):
    given = ["--labelled", tables / "labelled.csv", "--pool", tables / "pool.csv"]
    given += [*HEAD, *more]
    done = run(app, ["new", str(tmp_path / "odd"), *map(str, given)])
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.slow
def test_plans_and_batches_say_whether_chance_drew_them(campaign, tables, tmp_path):
    by_chance = "These rows were drawn by chance from all rows left, as in a survey."
    assert by_chance in ok("plan", campaign).stdout
    assert by_chance in ok("ask", campaign).stdout
    assert by_chance in ok("ask", campaign, "--pending").stdout
    new(tables, tmp_path / "chosen", "--set", "sampling.by=none")
    for command in ("plan", "ask"):
        shown = ok(command, tmp_path / "chosen").stdout
        assert "These rows were chosen, not drawn by chance" in shown


@pytest.mark.slow
def test_a_plan_changes_nothing_and_is_what_would_be_asked(tables, tmp_path):
    campaign = tmp_path / "audit"
    new(tables, campaign, "--set", "sampling.by=none")
    before = ok_json("status", campaign)
    plan = ok_json("plan", campaign)
    after = ok_json("status", campaign)
    assert after["pool"] == before["pool"]
    assert after["rounds"] == 0
    assert plan["expected"] < plan["random"]
    assert [row["id"] for row in ok_json("ask", campaign)] == plan["ids"]


def test_batches_go_through_pipes(campaign, tables):
    text = ok("ask", campaign, "--out", "-").stdout
    from io import StringIO

    batch = filled(pd.read_csv(StringIO(text)), tables)
    told = ok_json("tell", campaign, "-", stdin=batch.iloc[:3].to_csv(index=False))
    assert told["new"] == 3
    told = ok_json("tell", campaign, "-", stdin=batch.to_json(orient="records"))
    assert (told["new"], told["known"]) == (1, 3)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "jsonl"])
def test_a_batch_comes_back_in_every_format(asked, tables, tmp_path, ending):
    from labelwise.tables.read import read_table
    from labelwise.tables.write import write_table

    file = tmp_path / f"batch.{ending}"
    ok("ask", asked, "--pending", "--out", file)
    write_table(filled(read_table(file, "batch", ("id",)), tables), file)
    assert ok_json("tell", asked, file)["new"] == 4


def test_label_studio_tasks_come_back_as_labels(asked, tables, tmp_path):
    file = tmp_path / "tasks.json"
    ok("ask", asked, "--pending", "--label-studio", "--out", file)
    tasks = json.loads(file.read_text())
    assert {"id", "batch_id"} <= set(tasks[0]["data"])
    assert "guess" not in tasks[0]["data"]
    answers = pd.read_csv(tables / "answers.csv").set_index("id")["y"]
    for task in tasks[:3]:
        value = {"number": answers[task["data"]["id"]]}
        result = {"from_name": "y", "type": "number", "value": value}
        task["annotations"] = [{"result": [result], "was_cancelled": False}]
    tasks[3]["annotations"] = [{"result": [], "was_cancelled": True}]
    file.write_text(json.dumps(tasks))
    told = ok_json("tell", asked, file)
    assert (told["new"], told["empty"]) == (3, 1)
    assert told["cancelled"] == [tasks[3]["data"]["id"]]


def test_rows_are_skipped_failed_and_corrected(asked, tables, tmp_path):
    batch = pd.DataFrame(ok_json("ask", asked, "--pending"))
    first, second, third, fourth = batch["id"]
    assert ok_json("skip", asked, first, "--reason", "lost")["skipped"] == 1
    assert ok_json("skip", asked, first)["unchanged"] == 1
    assert ok_json("fail", asked, second)["failed"] == 1
    told = filled(batch[batch["id"] == third], tables)
    told.to_csv(tmp_path / "told.csv", index=False)
    ok("tell", asked, tmp_path / "told.csv")
    told.assign(y=9.5).to_csv(tmp_path / "wrong.csv", index=False)
    assert run(app, ["tell", str(asked), str(tmp_path / "wrong.csv")]).exit_code == 2
    assert ok_json("correct", asked, tmp_path / "wrong.csv")["corrected"] == 1
    again = ok_json("ask", asked, "--pending")
    assert [row["id"] for row in again] == [fourth]
    ok("export", asked, tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv").set_index("id")
    assert rows.loc[[first, second, third, fourth], "state"].tolist() == [
        "skipped", "failed", "labelled", "pending",
    ]  # fmt: skip
    assert rows.loc[third, "y"] == 9.5
    ok("export", asked, tmp_path / "history.json", "--history")
    history = json.loads((tmp_path / "history.json").read_text())
    assert [event["kind"] for event in history][4:] == [
        "skipped", "failed", "labelled", "corrected",
    ]  # fmt: skip


def test_labels_in_a_file_are_never_overwritten(campaign, tables, tmp_path):
    ok("ask", campaign)
    file = campaign / "batches" / "batch-0001.csv"
    filled(pd.read_csv(file), tables).to_csv(file, index=False)
    before = file.read_text()
    again = ok_json("ask", campaign, "--pending", "--out", tmp_path / "again.csv")
    assert again["rows"] == 4
    ok("ask", campaign, "--pending")
    assert file.read_text() == before
    assert (campaign / "batches" / "batch-0001-2.csv").exists()
    done = run(app, ["ask", str(campaign), "--out", str(file)])
    assert done.exit_code == 2
    assert "may hold labels" in done.stderr


def test_json_of_a_batch_keeps_every_digit(campaign, tables):
    shown = {row["id"]: row["a"] for row in ok_json("ask", campaign)}
    pool = pd.read_csv(tables / "pool.csv").set_index("id")["a"]
    assert all(pool[one] == value for one, value in shown.items())
    again = json.loads(ok("ask", campaign, "--pending", "--out", "-", "--json").stdout)
    assert {row["id"]: row["a"] for row in again} == shown
    tasks = ok_json("ask", campaign, "--pending", "--label-studio")
    assert {task["data"]["id"] for task in tasks} == set(shown)


@pytest.mark.slow
def test_warnings_stand_beside_every_number(asked, tmp_path):
    batch = pd.DataFrame(ok_json("ask", asked, "--pending")).assign(y=50.0)
    batch.to_csv(tmp_path / "told.csv", index=False)
    assert "far beyond all others" in ok("tell", asked, tmp_path / "told.csv").stdout
    assert ok_json("estimate", asked)["warnings"]
    for command in ("estimate", "status", "plan", "forecast"):
        assert "warning: The labels of batch 1 contradict" in ok(command, asked).stdout
    assert ok_json("check", asked, "--batches")["batches"][0]["contradicted"]
    assert "contradicts it" in ok("check", asked, "--batches").stdout


def test_the_demo_does_not_touch_a_campaign_of_the_users(campaign, tmp_path):
    campaign.rename(tmp_path / "campaign")
    done = run(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "was not made by the demonstration" in done.stderr
    assert ok_json("status", tmp_path / "campaign")["rounds"] == 0


def test_a_forecast_has_a_table_a_figure_and_json(campaign, tmp_path):
    figure = tmp_path / "forecast.png"
    found = ok_json("forecast", campaign, "--rounds", 2, "--figure", figure)
    assert found["labels"] == [0, 4, 8]
    assert found["planned"][-1] < found["random"][-1]
    assert figure.stat().st_size > 5_000
    assert "further labels" in ok("forecast", campaign, "--rounds", 1).stdout


@pytest.mark.slow
def test_a_forecast_of_drawn_rows_says_whether_planning_helps(drawn):
    told = ok("forecast", drawn, "--rounds", 1).output
    assert "Expected width of the 90 % interval" in told
    assert "drawn uniformly" in told
    found = ok_json("forecast", drawn, "--rounds", 1)["draws"]
    assert " ".join(found["verdict"].split()[:3]) in " ".join(told.split())
    found = ok_json("forecast", drawn, "--rounds", 1, "--width", found["planned"][0])
    assert found["needed"]["labels"] == found["draws"]["labels"][0]
    told = ok("forecast", drawn, "--rounds", 1, "--width", 1e-3).output
    assert "wide should take every row that is left" in " ".join(told.split())


@pytest.mark.slow
def test_a_rule_ends_a_campaign_unless_told_to_go_on(tables, tmp_path):
    path = tmp_path / "campaign"
    new(
        tables,
        path,
        "--set",
        "limits.stop.width=1000",
        "--set",
        "limits.stop.gain=0.5",
        "--set",
        "sampling.by=none",
    )
    rule = "the 90 % interval is at most 1000 wide or a batch should lower"
    assert ok_json("status", path)["stop"].startswith(rule)
    assert "stops once" in ok("status", path).output
    refused = run(app, ["ask", str(path)])
    assert refused.exit_code == 2
    assert "Enough is known: the belief's 90 % interval is" in " ".join(refused.output.split())
    assert len(ok_json("ask", path, "--go-on")) == 4


@pytest.mark.parametrize(
    ("words", "inside"), [((), True), (("--set", "columns.predictor_in_belief=false"), False)]
)
def test_the_model_may_be_kept_out_of_the_belief(words, inside, tables, tmp_path):
    new(tables, tmp_path / "campaign", *words)
    found = lw.Campaign.open(tmp_path / "campaign").spec.columns
    assert found.predictor_in_belief == inside


@pytest.mark.slow
def test_the_budget_ends_a_campaign(tables, tmp_path):
    new(tables, tmp_path / "small", "--budget", 5)
    assert len(ok_json("ask", tmp_path / "small")) == 4
    assert len(ok_json("ask", tmp_path / "small")) == 1
    done = run(app, ["ask", str(tmp_path / "small")])
    assert done.exit_code == 2
    assert "budget of 5 labels is spent" in done.stderr


def test_a_report_is_written_where_one_says(campaign, tmp_path):
    out = tmp_path / "report.html"
    assert ok_json("report", campaign, "--out", out) == {"file": str(out)}
    assert out.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["status", "{empty}"], 2, "is not a Labelwise campaign"),
        (["ask", "{empty}"], 2, "is not a Labelwise campaign"),
        (["ask", "{campaign}", "-n", "0"], 2, "n must be at least 1"),
        (["ask", "{campaign}", "-n", "99"], 2, "12 labels left"),
        (["ask", "{campaign}", "--out", "{empty}/batch.doc"], 2, "has no known ending"),
        (["ask", "{campaign}", "--out", "{empty}/no/batch.csv"], 2, "Cannot write to"),
        (["ask", "{campaign}", "--label-studio", "--out", "{empty}/b.csv"], 2, "are JSON"),
        (["tell", "{campaign}", "{empty}/none.csv", "--unasked", "maybe"], 2, "no file"),
        (["tell", "{campaign}", "{empty}/none.csv"], 2, "There is no file"),
        (["skip", "{campaign}", "nobody"], 2, "no row with id nobody"),
        (["estimate", "{campaign}", "--level", "90"], 2, "level must lie between 0 and 0.99"),
        (["forecast", "{campaign}", "--rounds", "0"], 2, "rounds must be at least 1"),
        (["forecast", "{campaign}", "--width", "-1"], 2, "width must be a positive number"),
        (["report", "{campaign}", "--out", "{empty}"], 2, "is a folder"),
        (["export", "{campaign}", "{empty}/x.docx"], 2, "has no known ending"),
        (["new", "{campaign}", "--labelled", "x", "--pool", "y", "--id", "i"], 2, "--label"),
    ],
)  # fmt: skip
def test_a_users_mistake_is_one_sentence_and_exit_code_2(
    arguments, code, message, campaign, tmp_path
):
    (tmp_path / "empty").mkdir()
    before = ok_json("status", campaign)
    given = [one.format(campaign=campaign, empty=tmp_path / "empty") for one in arguments]
    done = run(app, given)
    assert done.exit_code == code, done.output
    assert message in done.stderr.replace("\n", " ")
    assert ok_json("status", campaign) == before


def test_with_json_an_error_is_json_too(campaign):
    done = run(app, ["skip", str(campaign), "nobody", "--json"])
    assert done.exit_code == 2
    assert done.stdout == ""
    error = json.loads(done.stderr)["error"]
    assert set(error) == {"what", "where", "remedy", "message"}
    assert error["where"] == "ids"
    assert error["message"] == f"{error['what']}; {error['remedy']}."
    (campaign / "campaign.db").write_bytes(b"no log" * 1024)
    done = run(app, ["status", str(campaign), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stderr)["error"]["where"] == str(campaign / "campaign.db")


def test_damage_is_ours_and_exit_code_1(campaign):
    log = campaign / "campaign.db"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    done = run(app, ["status", str(campaign)])
    assert done.exit_code == 1
    assert "is damaged" in done.stderr


def test_what_nobody_foresaw_is_one_sentence_too(campaign, monkeypatch):
    def explode(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("labelwise.campaign.campaign.read_status", explode)
    done = run(app, ["status", str(campaign)])
    assert done.exit_code == 1
    assert "RuntimeError: boom" in done.stderr
    assert "LABELWISE_DEBUG=1" in done.stderr
    monkeypatch.setenv("LABELWISE_DEBUG", "1")
    assert isinstance(run(app, ["status", str(campaign)]).exception, RuntimeError)


def test_labels_are_told_and_the_next_batch_is_asked_in_one_go(asked, tables, tmp_path):
    path, following = asked, tmp_path / "next.csv"
    answers = tables / "answers.csv"
    told = ok("tell", path, answers, "--unasked", "ignore", "--ask", "--out", following).stdout
    assert "4 new labels" in told
    assert f"4 rows in {following}" in " ".join(told.split())
    assert "So far, from 24 labels: mean squared error" in told
    assert list(pd.read_csv(following)["batch_id"]) == [2] * 4
    content = ok_json("tell", path, answers, "--unasked", "ignore", "--ask")
    assert content["new"] == 4
    assert content["batch"]["batch_ids"] == [3]
    assert (path / "batches" / "batch-0003.csv").is_file()


@pytest.mark.parametrize(
    ("options", "where"),
    [(("--out", "next.csv"), "--out"), (("--ask", "--out", "next.txt"), "next.txt")],
)
def test_a_file_for_the_next_batch_is_checked_before_labels_are_told(
    options, where, asked, tables
):
    answers = ("tell", asked, tables / "answers.csv", "--unasked", "ignore", "--json")
    done = run(app, [str(one) for one in (*answers, *options)])
    assert done.exit_code == 2
    assert json.loads(done.stderr)["error"]["where"] == where
    assert ok_json("status", asked)["pool"]["labelled"] == 0


def test_a_batch_that_was_asked_is_not_lost_with_its_file(campaign, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "labelwise.tables.write.os.replace",
        lambda *_: (_ for _ in ()).throw(OSError(28, "full")),
    )
    done = run(app, ["ask", str(campaign), "--out", str(tmp_path / "batch.csv")])
    assert done.exit_code == 1
    assert "The batch was asked, but not written" in done.stderr
    assert "--pending" in done.stderr
    assert not list(tmp_path.glob(".batch*"))
    assert len(ok_json("ask", campaign, "--pending")) == 4


@pytest.mark.slow
def test_simulate_tells_a_sceptic_what_planning_saves(tmp_path):
    make_rows(150, 1.2, 0, 4).to_csv(tmp_path / "all.csv", index=False)
    arguments = [
        "simulate", tmp_path / "all.csv", "--label", "y", "--prediction", "guess",
        "--ignore", "id", "--set", "design.initial=10", "--set", "design.pool=60",
        "--set", "design.rounds=1", "--set", "design.batch=4",
        "--seeds", 2, "--jobs", 1, "--out", tmp_path / "sim", "--policy", "random",
        "--policy", "lookahead",
    ]  # fmt: skip
    found = ok_json(*arguments)
    assert set(found["policies"]) == {"random", "lookahead"}
    assert found["policies"]["lookahead"]["labels"] == [0, 4]
    assert found["policies"]["lookahead"]["std"][0] == found["policies"]["random"]["std"][0]
    assert (tmp_path / "sim" / "simulation.png").stat().st_size > 10_000
    rows = set((tmp_path / "sim" / "rows.csv").read_text().splitlines())
    assert ok_json(*arguments) == found  # resumed: nothing is played twice
    assert set((tmp_path / "sim" / "rows.csv").read_text().splitlines()) == rows
    assert "random" in ok(*arguments).stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--bias", "odd"], "There is no bias 'odd'"),
        (["--set", "design.pool=500"], "need 560 rows; the table has 150"),
        (["--set", "design.rows=5"], "design has no key 'rows'"),
        (["--set", "sampling.by=luck"], "sampling.by must be loss, policy, balance or none"),
        (["--set", "belief.name=forrest"], "There is no belief 'forrest'"),
        (["--label", "z"], "The table has no column 'z' (the label)"),
        (["--policy", "oracle"], "There is no policy 'oracle'"),
        (["--estimand", "median"], "There is no estimand 'median'"),
        (["--ignore", "nothing"], "no column 'nothing' to ignore"),
    ],
)
def test_a_simulation_that_cannot_be_is_refused(more, message, tmp_path):
    make_rows(150, 1.2, 0, 4).to_csv(tmp_path / "all.csv", index=False)
    done = run(
        app,
        ["simulate", str(tmp_path / "all.csv"), "--label", "y", "--prediction", "guess", *more],
    )
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        ("sampling = 3", [], "sampling must hold keys and values"),
        ("tables = 3", [], "tables must hold keys and values"),
        ("belief = 3", [], "belief must hold keys and values"),
        ("", ["--set", "limits.stop=0.1", "--set", "limits.stop.gain=0.1"], "limits.stop must"),
        ("", ["--set", "question.groups=3"], "question has no key 'groups'"),
        ("", ["--set", "columns.predictor_in_belief=no"], "must be true or false; it is 'no'"),
    ],
)
def test_settings_of_the_wrong_shape_are_refused(content, more, message, tables, tmp_path):
    (tmp_path / "audit.toml").write_text(content)
    arguments = ["--labelled", "l.csv", "--pool", "p.csv", "--id", "id", "--label", "y"]
    where = ["new", str(tmp_path / "new"), *arguments, "--batch", "4"]
    done = run(app, [*where, "--config", str(tmp_path / "audit.toml"), *more])
    assert (done.exit_code, message in done.stderr.replace("\n", " ")) == (2, True), done.stderr


def test_a_campaign_without_a_folder_is_refused():
    done = run(app, ["new", "--id", "id"])
    assert done.exit_code == 2
    assert "No folder is named" in done.stderr


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(app, ["demo", "--out", str(tmp_path / "file" / "inside")])
    assert done.exit_code == 2
    assert "choose another --out" in done.stderr


@pytest.mark.parametrize("arguments", [["demo", "--rounds", "0"], ["demo", "--seed", "-1"]])
def test_options_out_of_range_are_refused(arguments):
    assert run(app, arguments).exit_code == 2
