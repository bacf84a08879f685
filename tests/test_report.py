"""The report: whole at every stage, safe whatever the data hold, and true."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from html.parser import HTMLParser

import jax.numpy as jnp
import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import KERNELS, RBF
from labelwise.beliefs.neural.registry import NAMES
from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import FolderStore
from labelwise.errors import InvalidInput
from labelwise.evaluation.estimate import Estimate
from labelwise.report import belief as report_belief
from labelwise.report.answer import answer_section
from labelwise.report.belief import NETWORKS, belief_and_check, name_belief
from labelwise.report.map import find_plane
from labelwise.report.markup import join, tag
from labelwise.report.numbers import alike, fixed, number, percent, plural, signed
from labelwise.report.past_rounds import read_past
from labelwise.report.precision import read_paths
from labelwise.report.snapshot import read_facts
from tests.campaign.small import bind_again
from tests.flat import create


@cache
def belief():
    return GaussianProcess(RBF(jnp.array(1.0), 1.0), 0.1)


EVIL = "<script>alert(1)</script>&\"'"
EMPTY = {"meta", "img", "br", "hr"}
MOST_BYTES = 1_500_000


class Page(HTMLParser):
    """What a browser would make of a report."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.html, self.tags, self.open, self.parts = html, [], [], []
        self.feed(html)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs), tuple(self.open)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "elements are nested"

    def handle_data(self, data):
        if "style" not in self.open:
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())

    def all(self, name):
        return [attributes for tag, attributes, _ in self.tags if tag == name]


# Of the pool and of the target: with and without a target of their own, campaigns share
# programs.
ROWS = 16


def make_tables(features=2, seed=0):
    rng = np.random.default_rng(seed)

    def make(size, start):
        table = pd.DataFrame(rng.normal(size=(size, features)))
        table.columns = [f"x{place}" for place in range(features)]
        label = np.sin(table["x0"]) + 0.1 * rng.normal(size=size)
        ids = [f"r{start + place}" for place in range(size)]
        return table.assign(site=rng.choice(["n", "s"], size), y=label, psi=0.5, id=ids)

    return make(8, 0), make(ROWS, 100), make(ROWS, 500)


def make_campaign(path, *, labels=0, out=False, tables=None, **changes):
    """A campaign with so many batches labelled and, if `out`, one more asked."""
    labelled, pool, target = tables or make_tables()
    parts = {
        "labelled": labelled,
        "pool": pool.drop(columns="y"),
        "target": target.drop(columns="y"),
    }
    options = {
        "id": "id",
        "label": "y",
        "prediction": "psi",
        "belief": belief(),
        "policy": "random",
    }
    campaign = create(path, **{**parts, **options, "batch": 4, **changes})
    truth = pool.set_index("id")["y"]
    for _ in range(labels):
        batch = campaign.ask()
        campaign.tell({one: float(truth[one]) for one in batch["id"]})
    if out:
        campaign.ask()
    return campaign


def read(campaign, path) -> Page:
    return Page(campaign.report(path / "report.html").read_text("utf-8"))


@pytest.fixture
def blank_charts(monkeypatch):
    """Where a test is about words: drawing takes half of a report's time."""
    stub = lambda self, file, **_: file.write("<svg></svg>")
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", stub)


STAGES = {
    "fresh": {},
    "first batch out": {"out": True},
    "some labels": {"labels": 1},
    "some labels, a batch out": {"labels": 2, "out": True},
    "all labelled": {"labels": 4},
}
OTHERS = {
    "lookahead": {"labels": 1, "policy": "lookahead"},
    "mean, no prediction": {"labels": 1, "estimand": "mean", "prediction": None},
    "target is the pool": {"labels": 1, "out": True, "target": None},
    "one feature": {"labels": 1, "features": ["x0"], "predictor_in_belief": False},
    "budget": {"labels": 1, "budget": 4},
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A campaign at a stage and its report, made once; tests only look at them."""

    @cache
    def make(name):
        path = tmp_path_factory.mktemp("stage")
        campaign = make_campaign(path / "camp", **(STAGES | OTHERS)[name])
        return campaign, read(campaign, path)

    return make


@pytest.fixture(
    scope="module",
    params=[*STAGES, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)],
)
def staged(request, stage):
    return stage(request.param)[1]


def test_every_stage_gives_an_accessible_page(staged):
    assert staged.all("html") == [{"lang": "en"}]
    assert len(staged.all("h1")) == len(staged.all("title")) == len(staged.all("main")) == 1
    assert len(staged.all("caption")) == len(staged.all("table")) > 0
    assert all(head["scope"] in ("row", "col") for head in staged.all("th"))
    for image in staged.all("img"):
        assert len(image["alt"]) > 40, "an alternative text tells what is to be seen"
        assert any(letter.isdigit() for letter in image["alt"])
    levels = [int(tag[1]) for tag, _, _ in staged.tags if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1


def test_every_stage_stands_alone(staged):
    assert not staged.all("script")
    assert not staged.all("link")
    policy = [one["content"] for one in staged.all("meta") if "http-equiv" in one]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    for _, attributes, _ in staged.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
        assert attributes.get("src", "data:").startswith("data:")
    assert "http:" not in staged.html
    assert "https:" not in staged.html
    assert len(staged.html.encode()) < MOST_BYTES


def test_every_link_leads_to_a_section(staged):
    names = {attributes["id"] for attributes in staged.all("section")}
    assert {link["href"][1:] for link in staged.all("a")} <= names


def test_the_answer_comes_first_in_a_sentence(staged):
    assert " labels, the mean " in staged.text
    by_draws = "the 90 % interval is " in staged.text
    assert by_draws != ("probability, if the belief is right.Why this" in staged.text)
    assert by_draws == ("which put it right where it is wrong" in staged.text)
    role = "rows drawn by chance check it" if by_draws else "the interval is its own"
    assert staged.text.index(role) < staged.text.index("Progress")
    assert "nan" not in staged.text.split()


def test_a_report_tells_the_numbers_of_its_estimate(stage):
    campaign, page = stage("some labels, a batch out")
    estimate = campaign.estimate()
    value, low, high = alike([estimate.value, *estimate.interval()], estimate.std)
    assert f"With 16 labels, the {estimate.title} of the model" in page.text
    assert f"is {value}; the 90 % interval is {low} to {high}.Why this" in page.text
    assert "8 from the start, 8 bought" in page.text
    past = page.all("img")[0]["alt"]
    assert f"{value} ({low} to {high}) with 8 labels bought" in past


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Twelve rows of the pool, which is the target, drawn by chance and labelled."""
    path = tmp_path_factory.mktemp("drawn") / "camp"
    return make_campaign(path, labels=3, target=None)


@pytest.mark.usefixtures("blank_charts")
def test_the_answer_stands_above_its_ingredients(drawn, tmp_path):
    estimate, page = drawn.estimate(), read(drawn, tmp_path)
    words = read_words(page)
    assert estimate.headline == "combined"
    places = [words.index("The answer and its ingredients")]
    every = {
        "the belief and drawn rows together": estimate.combined,
        "the belief": estimate.credible,
        "drawn rows": estimate.design,
    }
    for name, answer in every.items():
        figures = [answer.value, answer.std, *answer.interval()]
        value, std, low, high = alike(figures, answer.std)
        places.append(words.index(f"by {name} {value} ± {std} {low} to {high}"))
    low, high = alike(estimate.anytime, estimate.std)
    value = alike([estimate.value], estimate.std)[0]
    places.append(words.index(f"at every look {value} {low} to {high}"))
    assert places == sorted(places)
    assert f"Why this answer: {estimate.why}." in page.text
    assert "used to decide when to stop" in page.text


def test_a_few_draws_are_enough_to_be_part_of_the_answer(stage):
    words = read_words(stage("target is the pool")[1])
    table = words[words.index("The answer and its ingredients") :]
    names = ("by the belief and drawn rows together", "by the belief 0", "by drawn rows 0")
    places = [table.index(name) for name in names]
    assert places == sorted(places)
    assert "rests on the belief and on 4 rows drawn by chance" in words


@pytest.mark.usefixtures("blank_charts")
def test_without_draws_there_is_one_answer(tmp_path):
    options = {"labels": 1, "policy": "lookahead", "draw": None}
    page = read(make_campaign(tmp_path / "camp", **options), tmp_path)
    assert "ingredients" not in page.text
    assert "no rows were drawn by chance" in page.text


def test_the_past_has_every_answer_the_headline_on_top(drawn):
    past = read_past(read_facts(drawn))
    assert list(past.lines) == ["design", "belief", "combined"]
    assert past.headline == "combined"
    assert past.lines["belief"].bought == [0, 4, 8, 12]
    assert past.lines["design"].bought == [4, 8, 12]
    assert past.lines["combined"].bought == [4, 8, 12]
    assert not past.lines["combined"].few.any()
    assert past.lines["design"].few.tolist() == [True, True, False]
    low, high = past.shown
    firm = past.lines["design"]
    assert low <= firm.low[-1] < firm.high[-1] <= high
    whole = past.lines["combined"]
    assert low <= whole.low.min() < whole.high.max() <= high
    assert past.is_cut == (min(firm.low) < low or max(firm.high) > high)


def test_a_past_from_before_there_were_two_answers_is_the_beliefs(drawn):
    facts = read_facts(drawn)
    early = [replace(one, estimate=from_before(one.estimate)) for one in facts.rounds]
    by_belief = [one.estimate.credible.value for one in facts.rounds]
    past = read_past(replace(facts, rounds=early))
    assert past.lines["belief"].value[:-1].tolist() == by_belief
    assert past.lines["design"].bought == past.lines["combined"].bought == [12]


def from_before(estimate):
    """As it was stored when the belief's answer was the only one."""
    stored, own = estimate.to_dict(), estimate.credible.to_dict()
    new = ("headline", "why", "credible", "design", "combined")
    kept = {key: value for key, value in stored.items() if key not in new}
    return Estimate.from_dict(kept | own)


@pytest.mark.usefixtures("blank_charts")
def test_the_batch_tells_draws_and_their_probabilities(drawn, tmp_path):
    words = read_words(read(drawn, tmp_path))
    stored = json.loads(_rounds(drawn)[-1])
    plan, left = stored["plan"], drawn.state().size - len(stored["design"]["closed"])
    ids = drawn.tables["pool"]["id"].iloc[plan["rows"]]
    for place, one in enumerate(ids):
        times = plan["probabilities"][place] * (left - place)  # of a uniform draw's
        assert f"{one} drawn {number(times, 2)}× " in words
    assert "These rows were drawn by chance from all rows left" in words


def test_the_batch_tells_what_was_chosen_or_not_recorded(tmp_path):
    from labelwise.report.batch import last_batch

    campaign = make_campaign(tmp_path / "camp", out=True, policy="lookahead", draw=None)
    facts = read_facts(campaign)
    words = read_words(Page(join(last_batch(facts))))
    assert words.count("chosen –") == 4
    assert "only the belief can answer by them" in words
    last = facts.rounds[-1]
    facts.rounds[-1] = replace(last, plan=replace(last.plan, drawn=None))  # as long ago
    words = read_words(Page(join(last_batch(facts))))
    assert "These rows were" not in words
    assert words.count("– –") == 4


@pytest.mark.parametrize(
    ("by", "words"), [("policy", "by the policy “"), ("loss", "by chance")]
)
def test_the_batch_tells_what_chance_went_by(tmp_path, by, words):
    from labelwise.report.batch import last_batch

    campaign = make_campaign(tmp_path / "camp", out=True, policy="lookahead", draw=by)
    told = read_words(Page(join(last_batch(read_facts(campaign)))))
    assert f"the rows asked {words}" in told


@pytest.mark.usefixtures("blank_charts")
def test_settings_tell_how_chance_chooses(tmp_path):
    options = {"policy": "lookahead", "draw": "balance", "floor": 0.25, "scale": "log"}
    words = read_words(read(make_campaign(tmp_path / "camp", **options), tmp_path))
    assert "rows drawn by chance by how far each row’s loss may be off and by the" in words
    assert "floor 25\u202f% of every draw" in words
    assert "scale of intervals log" in words
    assert "mixture components none: hyper-parameters were given" in words


def test_a_mixture_tells_its_range(drawn):
    facts = read_facts(drawn)
    one = {"variance": 1.0, "noise": 0.01, "length_scale": [1.0, 2.0, 3.0]}
    other = {"variance": 4.0, "noise": 0.09, "length_scale": [2.0, 1.0, 3.5]}
    best = {**one, "noise": 0.04, "fitted": True, "fit_rows": 20, "components": [one, other]}
    estimate = replace(facts.estimate, belief=facts.estimate.belief | best)
    shown = belief_and_check(replace(facts, estimate=estimate))
    words = read_words(Page(join(shown)))
    assert (
        "fitted to 20 labels; as labels leave them open, the belief is a mixture of 2" in words
    )
    assert "0.200, over the mixture 0.100 to 0.300 (standard deviation" in words
    assert "1.00, over the mixture 1.00 to 2.00" in words
    assert "x1 2.00 1.00 to 2.00 50" in words


ONE = {"kernel": "rbf", "length_scale": 1.0, "variance": 1.0, "noise": 0.1}
NETWORK = {"options": {"members": 30}, "labels": "regression"}
BELIEFS = {
    "a Gaussian process": ONE,
    "a Gaussian process classifier": {**ONE, "link": "logit"},
    "a mixture of 2 Gaussian processes with different": {**ONE, "components": [ONE, ONE]},
    "a mixture of 2 Bayesian logistic models with different hyper-parameters on the last": {
        **ONE,
        "kernel": "linear",
        "link": "logit",
        "last_layer": {},
        "components": [ONE, ONE],
    },
    "a single neural network": {"neural": "mlp", "options": {}},
    "an ensemble of 30 neural networks": {**NETWORK, "neural": "ensemble"},
    "an ensemble of 30 neural networks with prior functions": {
        **NETWORK,
        "neural": "ensemble-plus",
    },
    "a neural network with an epinet": {**NETWORK, "neural": "epinet"},
}


@pytest.mark.parametrize("words", BELIEFS)
def test_a_belief_is_named_as_what_it_is(words):
    assert name_belief(BELIEFS[words]).startswith(words)


def test_every_network_and_kernel_has_a_name():
    assert set(NETWORKS) == set(NAMES)
    assert set(report_belief.KERNELS) == set(KERNELS)


def test_a_report_of_a_network_tells_of_no_gaussian_process(drawn):
    facts = read_facts(drawn)
    network = {
        "neural": "ensemble-plus",
        "options": {"members": 30},
        "mean": {"name": "constant", "level": 0.5},
        "spread": 2.0,
        "noise": 0.04,
        "labels": "regression",
        "fit_rows": 20,
    }
    facts = replace(facts, estimate=replace(facts.estimate, belief=network))
    words = read_words(Page(join([answer_section(facts), *belief_and_check(facts)])))
    assert "Gaussian process" not in words
    assert words.count("an ensemble of 30 neural networks with prior functions") == 2
    assert "noise 0.200 (standard deviation of a repeated label)" in words
    binary = replace(facts.estimate, belief=network | {"labels": "binary"})
    words = read_words(Page(join(belief_and_check(replace(facts, estimate=binary)))))
    assert "labels 0 or 1, with the logit of the probability of a 1 as function" in words


def test_charts_hold_their_own_pictures(stage):
    _, page = stage("some labels")
    assert len(page.all("img")) == 4
    assert "wide," in next(one["alt"] for one in page.all("img") if "uniform" in one["alt"])
    for image in page.all("img"):
        svg = base64.b64decode(image["src"].split(",", 1)[1]).decode()
        assert "<svg" in svg
        assert "system-ui" in svg
        assert "DejaVu" not in svg


def test_data_cannot_become_elements(tmp_path):
    labelled, pool, target = make_tables()
    rename = {"id": f"id{EVIL}", "y": f"y{EVIL}", "x0": f"x{EVIL}", "site": f"site{EVIL}"}
    tables = [table.rename(columns=rename) for table in (labelled, pool, target)]
    for table in tables:
        table[rename["id"]] = table[rename["id"]] + EVIL
        table[rename["site"]] = table[rename["site"]] + EVIL
        table.loc[0, rename["x0"]] = np.nan  # so that a note names the column
    folder = "<script>alert(1)<b>&\"'"  # a folder cannot hold a slash
    campaign = create(
        tmp_path / folder,
        labelled=tables[0],
        pool=tables[1].drop(columns=rename["y"]),
        target=tables[2].drop(columns=rename["y"]),
        id=rename["id"],
        label=rename["y"],
        prediction="psi",
        # With the sign of a gap as many columns as campaigns here have.
        features=[rename["x0"], rename["site"]],
        belief=belief(),
        policy="random",
        batch=4,
    )
    ids = campaign.ask()[rename["id"]].tolist()
    campaign.tell({ids[0]: 0.5})
    campaign.correct({ids[0]: 0.6}, f"reason{EVIL}")
    campaign.fail(ids[1], f"why{EVIL}")
    page = read(campaign, tmp_path)
    assert not page.all("script")
    assert {attributes["class"] for attributes in page.all("b") if attributes} == set()
    assert "<script" not in page.html
    for text in (folder, ids[0], rename["y"], f"site{EVIL} = ", f"reason{EVIL}", f"why{EVIL}"):
        assert text in page.text
    assert f"x{EVIL}" in page.text


@pytest.mark.usefixtures("blank_charts")
def test_an_id_column_may_have_the_name_of_a_column_of_the_log(tmp_path):
    tables = [table.rename(columns={"id": "reason"}) for table in make_tables()]
    labelled, pool, target = tables
    campaign = create(
        tmp_path / "camp",
        labelled=labelled,
        pool=pool.drop(columns="y"),
        target=target,
        id="reason",
        label="y",
        estimand="mean",
        belief=belief(),
        policy="random",
    )
    campaign.skip("r100", "torn")
    assert "r100 – – torn" in read_words(read(campaign, tmp_path))


def read_words(page: Page) -> str:
    """Text with a space between cells."""
    return " ".join(part.strip() for part in page.parts if part.strip())


@pytest.mark.usefixtures("blank_charts")
def test_warnings_stand_before_everything_but_the_answer(tmp_path):
    campaign = make_campaign(tmp_path / "camp")
    campaign.tell({one: 50.0 for one in campaign.ask()["id"]})
    page = read(campaign, tmp_path)
    assert "warnings" in {attributes.get("id") for attributes in page.all("section")}
    assert page.text.index("contradict the belief") < page.text.index("Progress")


@pytest.mark.usefixtures("blank_charts")
def test_an_earlier_contradiction_is_not_hushed_up(tmp_path):
    campaign = make_campaign(tmp_path / "camp")
    campaign.tell(dict.fromkeys(campaign.ask()["id"], 50.0))
    second = campaign.ask()["id"]
    plan = json.loads(_rounds(campaign)[-1])["plan"]
    expected = [reason["mean"] for reason in plan["reasons"]]
    campaign.tell(dict(zip(second, expected, strict=True)))
    assert [check.contradicted for check in campaign.checks()] == [True, False]
    assert "Labels of batch 1 contradicted the belief" in read(campaign, tmp_path).text


def _rounds(campaign):
    with campaign.store.read() as log:
        return [row[0] for row in log.execute("SELECT content FROM rounds ORDER BY round")]


@pytest.mark.slow
def test_hundreds_of_rounds_and_thousands_of_events_stay_small(tmp_path):
    campaign = make_campaign(tmp_path / "camp", labels=1)
    content = json.loads(_rounds(campaign)[0])
    now = campaign.store.now()
    with campaign.store.write() as log:
        for place in range(2, 402):
            content["estimate"]["labels"]["bought"] = place
            log.execute(
                "INSERT INTO rounds VALUES (?, ?, ?)", (place, now, json.dumps(content))
            )
        log.executemany(
            "INSERT INTO events (at, kind, item, reason) VALUES (?, 'skipped', ?, ?)",
            [(now, 1 + place % ROWS, "because <& " * 1000) for place in range(2500)],
        )
    bind_again(campaign.path)  # which looks like another campaign to who has it open
    page = read(Campaign.open(campaign.path), tmp_path)
    assert (
        "expired rows and labels that were not asked for (the last 1000 of 2500)" in page.text
    )
    assert "Every event, in order (the last 1000 of 2508)" in page.text
    assert len(page.html.encode()) < MOST_BYTES


@pytest.mark.slow
def test_a_hundred_features_are_all_told(tmp_path):
    campaign = make_campaign(
        tmp_path / "camp",
        labels=1,
        tables=make_tables(features=100),
        features=[f"x{place}" for place in range(100)],
        predictor_in_belief=False,
        belief=GaussianProcess(RBF(jnp.arange(100.0) + 1.0, 1.0), 0.1),
    )
    page = read(campaign, tmp_path)
    words = read_words(page)
    assert words.index("x0 1.00 100") < words.index("x50 51.0 2") < words.index("x99 100 1")
    assert "the 10 largest of 100" in page.text


def test_the_same_campaign_gives_the_same_bytes_but_for_the_time(stage, tmp_path):
    path = stage("some labels, a batch out")[0].path
    start = datetime.now(UTC)

    def report(name, hours):
        clock = lambda: start + timedelta(hours=hours)
        campaign = Campaign(FolderStore.open(path, clock))
        return campaign.report(tmp_path / name).read_text("utf-8")

    one = report("one.html", 0)
    assert one == report("two.html", 0)
    first, later = one.splitlines(), report("three.html", 24).splitlines()
    assert len(first) == len(later)
    assert Page("\n".join(first)).text != Page("\n".join(later)).text
    times = [
        _without_time(line, start, hours) for line, hours in ((first[-1], 0), (later[-1], 24))
    ]
    assert times[0] == times[1]


def _without_time(html, start, hours):
    made = start + timedelta(hours=hours)
    exact = made.isoformat(timespec="microseconds")
    return html.replace(exact, "").replace(f">{made:%Y-%m-%d %H:%M} UTC</time>.", "")


def test_rows_bought_leave_what_the_estimate_says(tmp_path):
    """For a mean, the variance left depends on where labels are, not on what they say."""
    campaign = make_campaign(tmp_path / "camp", estimand="mean", labels=2)
    facts = read_facts(campaign)
    paths = read_paths(facts)
    assert len(paths.own) == 9
    assert paths.own[-1] == pytest.approx(campaign.estimate().credible.std, rel=1e-6)
    first = make_campaign(tmp_path / "same", estimand="mean").estimate().std
    assert paths.own[0] == pytest.approx(first, rel=1e-6)
    assert paths.random[0] == pytest.approx(first, rel=1e-6)
    assert (paths.low <= paths.random + 1e-12).all()


def test_when_all_is_labelled_random_rows_leave_as_much(stage):
    paths = read_paths(read_facts(stage("all labelled")[0]))
    assert paths.random[-1] == pytest.approx(paths.own[-1], rel=1e-6)


def test_the_map_shows_principal_components():
    from sklearn.decomposition import PCA

    rows = np.random.default_rng(3).normal(size=(50, 4)) * [3.0, 1.0, 2.0, 0.5]
    plane, known = find_plane(rows), PCA(2).fit(rows)
    assert plane.shares == pytest.approx(known.explained_variance_ratio_)
    assert np.abs(plane.project(rows)) == pytest.approx(np.abs(known.transform(rows)))


def test_a_place_that_cannot_be_written_is_refused(stage, tmp_path):
    campaign, _ = stage("fresh")
    with pytest.raises(InvalidInput, match="choose another place"):
        campaign.report(tmp_path / "absent" / "report.html")
    with pytest.raises(InvalidInput, match="is a folder"):
        campaign.report(tmp_path)


@pytest.mark.usefixtures("blank_charts")
def test_a_report_goes_into_the_campaigns_folder_unless_told(tmp_path):
    campaign = make_campaign(tmp_path / "camp")
    assert campaign.report() == tmp_path / "camp" / "report.html"


def test_elements_escape_whatever_is_not_an_element():
    made = tag("td", EVIL, tag("b", "&"), None, ["<", tag("br")], class_=EVIL, aria_label="x")
    assert made == (
        '<td class="&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;" aria-label="x">'
        "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;<b>&amp;</b>&lt;<br></td>"
    )
    assert join(["a\x00b\x1b\ud800"]) == "a\ufffdb\ufffd\ufffd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "−0.500"),
        (0.012345, "0.0123"),
        (9.999, "10.0"),
        (12345.6, "12\u202f346"),
        (1.234e9, "1.23 × 10⁹"),
        (-1.2e-7, "−1.20 × 10⁻⁷"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_numbers_have_few_digits(value, text):
    assert number(value) == text


def test_numbers_that_belong_together_have_the_same_decimals():
    assert alike([0.93123, 0.85, 1.0199], 0.0512) == ["0.931", "0.850", "1.020"]
    assert alike([123.4, 100.0], 12.0) == ["123", "100"]
    assert alike([1.5, 2.0], 0.0) == ["1.500", "2.000"]
    assert fixed(-0.0001, 2) == "0.00"
    assert [signed(value) for value in (-0.5, 0.001, 0.5)] == ["−0.50", "0.00", "+0.50"]
    assert [percent(share) for share in (0.0, 0.001, 0.5)] == [
        "0\u202f%",
        "<\u202f1\u202f%",
        "50\u202f%",
    ]
    assert [plural(many, "label") for many in (1, 2)] == ["1 label", "2 labels"]
