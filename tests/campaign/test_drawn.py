"""The answer from drawn rows in campaigns: recorded, recomputed by hand, and its rules."""

import json
import sqlite3
from dataclasses import replace
from functools import cache

import equinox as eqx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.errors import InvalidInput
from labelwise.evaluation.answer import GRID
from labelwise.evaluation.combined import combine
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.round import Draws, Plan, Round
from labelwise.evaluation.state import State
from labelwise.evaluation.survey_answer import About, History, answer_by_draws
from labelwise.policies.lookahead import Lookahead
from labelwise.survey.aipw import estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.multipliers import anytime_multiplier
from tests.flat import create

SIZE = 40


@cache
def own_belief():
    return GaussianProcess(RBF(1.0, 1.0), 0.1)


def table(seed, size, prefix, shift=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1.0, size)
    y = np.sin(2.0 * x) + 0.2 * rng.normal(size=size)
    ids = [f"{prefix}{index}" for index in range(size)]
    return pd.DataFrame({"id": ids, "x": x, "guess": 0.5 * x, "y": y})


FIRST, POOL = table(0, 8, "l", -1.0), table(1, SIZE, "p")
LABELS = dict(zip(POOL["id"], POOL["y"], strict=True))
LOSS = (POOL["y"] - POOL["guess"]).to_numpy() ** 2


def make(path, **options):
    usual = {
        "belief": own_belief(),
        "batch": 6,
        "prediction": "guess",
        "id": "id",
        "label": "y",
    }
    tables = {"labelled": FIRST, "pool": POOL.drop(columns="y")}
    return create(path, **{**tables, **usual, **options})


def answer(campaign, rounds=1, **options):
    for _ in range(rounds):
        batch = campaign.ask(**options)
        campaign.tell({one: LABELS[one] for one in batch["id"]})
    return campaign


def by_hand(campaign, loss=LOSS):
    """The estimates of all draws, from nothing but the log."""
    log = sqlite3.connect(campaign.path / "campaign.db")
    known, nobody = np.full(SIZE, np.nan), np.zeros(SIZE, bool)
    came = log.execute(
        "SELECT position FROM events JOIN items USING (item) WHERE kind = 'labelled'"
    )
    for (position,) in came:
        known[position] = loss[position]
    rounds = _rounds(campaign)
    return estimates(DrawRecord(np.ones(SIZE), known[None, :], rounds, nobody, nobody))


def _rounds(campaign):
    log = sqlite3.connect(campaign.path / "campaign.db")
    asked = log.execute(
        "SELECT events.round, position, probability FROM events JOIN items USING (item) "
        "WHERE kind = 'asked' ORDER BY event"
    ).fetchall()
    rounds = []
    for number, content in log.execute("SELECT round, content FROM rounds ORDER BY round"):
        blob = log.execute("SELECT content FROM predictions WHERE round = ?", (number,))
        design = json.loads(content)["design"]
        mine = [(row, chance) for round_, row, chance in asked if round_ == number]
        is_open = np.ones(SIZE, bool)
        is_open[[row for round_, row, _ in asked if round_ < number]] = False
        terms = Draws.from_dict(design, blob.fetchone()[0]).predictions
        rows, chances = (np.array(column) for column in zip(*mine, strict=True))
        rounds.append(RoundDraws(rows, chances, is_open, terms.astype(float)))
    return tuple(rounds)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Two batches drawn and labelled."""
    return answer(make(tmp_path_factory.mktemp("drawn") / "campaign"), 2)


def test_the_answer_is_the_mean_of_the_draws_estimates(drawn):
    found, expected = drawn.estimate(), by_hand(drawn)
    assert found.design is not None
    assert found.design.draws == 12
    assert_allclose(found.design.value, expected.values.mean(), rtol=1e-12)


def test_the_interval_is_at_least_students(drawn):
    values = by_hand(drawn).values[:, 0]
    reach = t.ppf(0.95, 11) * values.std(ddof=1) / np.sqrt(12)
    low, high = drawn.estimate().design.interval(0.9)
    assert high - low >= 2.0 * reach * (1.0 - 1e-9)
    low, high = drawn.estimate().design.anytime
    assert high - low > 2.0 * reach


def test_both_answers_are_carried_and_their_combination_leads(drawn):
    found = drawn.estimate()
    assert found.headline == "combined"
    assert found.lead is found.combined
    assert found.ingredients == (found.credible, found.design)
    bounds = (0.0, np.inf)  # of a squared error
    more = (found.initial + 12) / found.initial
    both = found.credible, found.design
    assert found.combined == combine(*both, bounds, numbers=True, more=more)
    # The whole law moves from the belief's towards the rows', and not beyond.
    middle = lambda answer: np.mean(answer.quantiles)
    moved = middle(found.combined) - middle(found.credible)
    assert 0.0 < moved / (found.design.value - found.credible.value) < 1.0
    assert found.anytime == found.combined.anytime
    assert "12 rows drawn by chance" in found.why
    assert "alone" not in str(found)
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found


@eqx.filter_jit
def _moments(x, y, at):
    belief = own_belief().condition(x, y)
    return belief.mean(at), belief.covariance(at)


def predict():
    """Mean and covariance of the function at the pool, after the first labels."""
    encoded = _encoded()
    moments = _moments(encoded["labelled"], FIRST["y"].to_numpy(), encoded["pool"])
    return (np.asarray(values) for values in moments)


def check_law(campaign, scores):
    """The first batch: 0.7 by these scores, over the rows left, and 0.3 uniform."""
    log = sqlite3.connect(campaign.path / "campaign.db")
    first = log.execute(
        "SELECT position, probability FROM events JOIN items USING (item) "
        "WHERE kind = 'asked' AND events.round = 1 ORDER BY event"
    ).fetchall()
    assert len(first) == 6
    left = np.ones(SIZE, bool)
    for row, chance in first:
        law = 0.7 * np.where(left, scores, 0.0) / scores[left].sum() + 0.3 / left.sum()
        assert_allclose(chance, law[row], rtol=1e-5)
        left[row] = False


def test_recorded_chances_are_those_of_the_policys_scores(drawn):
    """By default: what a row alone would teach of the mean squared error, in closed form.

    Besides, what any label would teach of the noise (held to a truth of its own in
    tests/evaluation/test_belief_answer.py). 2 (q/s)² + 4 t²/s: s is the variance of the row's
    label, q the mean of its squared covariances with the target's values, t that of covariance
    times expected error.
    """
    mean, covariance = predict()
    s = np.diag(covariance) + 0.1
    q = (covariance**2).mean(axis=1)
    t = (covariance * (mean - POOL["guess"].to_numpy())).mean(axis=1)
    start = replace(drawn.evaluation(), state=State(size=SIZE), rounds=(), fitted=None)
    check_law(drawn, 2.0 * (q / s) ** 2 + 4.0 * t**2 / s + start.by_belief.noise_gain)


def test_recorded_chances_are_those_of_the_loss(tmp_path):
    """By the spread of the loss, in closed form."""
    campaign = make(tmp_path / "campaign", draw="loss")
    campaign.ask()
    mean, covariance = predict()
    centre, variance = mean - POOL["guess"].to_numpy(), np.diag(covariance) + 0.1
    # Var of (y - g)² for y normal: 2 v² + 4 v c².
    check_law(campaign, np.sqrt(2.0 * variance**2 + 4.0 * variance * centre**2))


def _encoded():
    """Features as the campaign codes them: x and the prediction, standardised together."""
    whole = pd.concat([FIRST, POOL, POOL])  # the pool is the target too
    code = lambda frame: np.column_stack(
        [
            (frame[name] - whole[name].mean()) / whole[name].std(ddof=0)
            for name in ("x", "guess")
        ]
    )
    return {"labelled": code(FIRST), "pool": code(POOL)}


def test_loss_may_be_said_with_the_usual_policy_however_it_is_given(tmp_path):
    for place, policy in enumerate(("lookahead", {"name": "lookahead"}, Lookahead())):
        campaign = make(tmp_path / str(place), draw="loss", policy=policy)
        assert campaign.spec.sampling.by == "loss"


def test_rows_the_policy_chose_give_no_answer_of_their_own(tmp_path):
    found = answer(make(tmp_path / "campaign", draw=None)).estimate()
    assert found.headline == "belief"
    assert found.design is None
    assert "no rows were drawn by chance" in found.why


def test_random_rows_are_drawn_uniformly(tmp_path):
    campaign = answer(make(tmp_path / "campaign", policy="random"), 2)
    found = campaign.estimate()
    assert found.headline == "combined"
    assert found.design is not None
    assert_allclose(found.design.value, by_hand(campaign).values.mean(), rtol=1e-12)
    chances = [one.probabilities for one in campaign.rounds()]
    assert_allclose(np.concatenate(chances), 1.0 / (SIZE - np.arange(12.0)), rtol=1e-12)


def test_the_belief_leads_until_two_draws_have_come(tmp_path):
    campaign = make(tmp_path / "campaign", batch=1)
    found = campaign.estimate()
    assert (found.headline, found.design, found.combined) == ("belief", None, None)
    assert "no drawn label has come yet" in found.why
    assert answer(campaign).estimate().headline == "belief"
    found = answer(campaign).estimate()
    assert found.headline == "combined"
    assert found.design is not None
    assert found.design.draws == 2


def test_draws_wait_for_earlier_labels(tmp_path):
    campaign = make(tmp_path / "campaign")
    first = list(campaign.ask()["id"])
    campaign.tell({one: LABELS[one] for one in first if one != first[3]})
    answer(campaign)
    found = campaign.estimate()
    assert found.design is not None
    assert (found.design.draws, found.design.waiting) == (3, 8)
    assert any("8 labels that came are not in the answer" in one for one in found.warnings)
    campaign.tell({first[3]: LABELS[first[3]]})
    found = campaign.estimate()
    assert found.design is not None
    assert found.design.draws == 12
    assert found.design.waiting == 0


def test_failed_draws_are_left_out_with_a_warning(drawn, tmp_path):
    campaign = answer(make(tmp_path / "campaign"))
    batch = list(campaign.ask()["id"])
    campaign.tell({one: LABELS[one] for one in batch[1:]})
    campaign.fail(batch[0])
    found = campaign.estimate()
    assert found.design is not None
    assert (found.design.draws, found.design.dropped) == (11, 1)
    assert any("of 1 row are missing (1 failed)" in one for one in found.warnings)


def test_skipped_rows_leave_the_population_with_a_warning(tmp_path):
    campaign = answer(make(tmp_path / "campaign"))
    batch = list(campaign.ask()["id"])
    campaign.tell({one: LABELS[one] for one in batch[1:]})
    campaign.skip(batch[0])
    found = campaign.estimate()
    assert found.design is not None
    assert found.design.skipped == 1
    assert any("of 1 row are missing (1 skipped)" in one for one in found.warnings)


@pytest.mark.slow
def test_every_label_known_is_the_truth_itself(tmp_path):
    """The last draws leave nothing open: each estimate is the mean of all losses."""
    campaign = answer(make(tmp_path / "campaign", batch=20), 2)
    values = by_hand(campaign).values[:, 0]
    assert_allclose(values[-1], LOSS.mean(), rtol=1e-6)


@pytest.mark.slow
def test_a_recall_has_an_answer_from_drawn_rows(tmp_path):
    said = (POOL["y"] > 0).astype(float)
    frame = POOL.assign(y=said, guess=1.0 / (1.0 + np.exp(-POOL["x"])))
    first = FIRST.assign(y=(FIRST["y"] > 0) * 1.0, guess=1.0 / (1.0 + np.exp(-FIRST["x"])))
    campaign = make(
        tmp_path / "campaign",
        labelled=first,
        pool=frame.drop(columns="y"),
        estimand=["recall", "accuracy"],
        belief={"name": "auto", "components": 2},
        batch=SIZE,
    )
    batch = campaign.ask()
    campaign.tell(batch.assign(y=batch["id"].map(dict(zip(frame["id"], said, strict=True)))))
    found = campaign.estimate()
    called = frame["guess"] >= 0.5
    assert found.headline == "combined"
    assert found.design is not None
    low, high = found.design.interval(0.9)
    assert 0.0 <= low <= called[said == 1].mean() <= high <= 1.0
    accuracy = found.parts[0]
    assert accuracy.headline == "combined"
    assert accuracy.design is not None
    low, high = accuracy.design.interval(0.9)
    assert low <= (called == (said == 1)).mean() <= high


def test_the_pool_answers_for_a_target_it_cannot_be_told_from(tmp_path):
    target = table(5, SIZE, "t").drop(columns="y")
    found = answer(make(tmp_path / "campaign", target=target), 2).estimate()
    assert found.headline == "combined"
    assert any("about the pool" in one for one in found.warnings)


def test_a_target_beyond_the_pool_is_refused_with_the_reason(tmp_path):
    target = table(5, SIZE, "t", shift=6.0).drop(columns="y")
    found = answer(make(tmp_path / "campaign", target=target), 2).estimate()
    assert found.headline == "belief"
    assert found.design is None
    assert "No weights make the pool look like the target" in found.why


def test_a_part_of_the_pool_as_target_is_not_taken_for_all_of_it(tmp_path):
    """Its rows are all in the pool, so that no classifier could tell them from it."""
    large = table(7, 400, "q").drop(columns="y")
    target = large[large["x"] > 0.3]
    campaign = make(tmp_path / "campaign", pool=large, target=target)
    found = campaign.evaluation().survey.population
    assert found.weight is None or np.average(large["x"], weights=found.weight) > 0.6


def test_a_treatment_column_of_the_target_does_not_matter_to_weights(tmp_path):
    first = FIRST.drop(columns="guess").assign(z=[0.0, 1.0] * 4)
    target = table(5, 200, "t", 0.4).drop(columns=["y", "guess"]).assign(z=[0.0, 1.0] * 100)
    campaign = make(
        tmp_path / "campaign",
        labelled=first,
        pool=POOL.drop(columns=["y", "guess"]),
        target=target,
        prediction=None,
        estimand="ate",
        treatment="z",
        assign=0.5,
    )
    assert "'z'" not in str(campaign.evaluation().survey.population.reason)


def test_a_feature_that_is_constant_in_the_target_is_named_in_ordinary_units(tmp_path):
    sites = ["a", "b"] * (SIZE // 2)
    campaign = make(
        tmp_path / "campaign",
        labelled=FIRST.assign(site=["a", "b"] * 4),
        pool=POOL.drop(columns="y").assign(site=sites),
        target=table(5, 200, "t").drop(columns="y").assign(site="a"),
    )
    found = campaign.evaluation().survey.population
    assert found.weight is not None or "000" not in str(found.reason)


@pytest.mark.slow
def test_a_group_needs_draws_of_its_own(tmp_path):
    """Twelve draws are enough for the whole; of a group of two rows they say too little."""
    group = np.where(np.arange(SIZE) < 2, "few", "many")
    campaign = make(
        tmp_path / "campaign",
        labelled=FIRST.assign(kind="many"),
        pool=POOL.drop(columns="y").assign(kind=group),
        by="kind",
    )
    found = answer(campaign, 2).estimate()
    headlines = {part.title: part.headline for part in found.parts}
    assert found.headline == "combined"
    assert headlines["mean squared error, kind = few"] == "belief"
    many = next(part for part in found.parts if part.title.endswith("many"))
    assert many.design is not None
    assert many.design.draws <= 12


def twenty_draws():
    """Uniform, of which five fall into a group: the question, masses, the record, chances."""
    drawn = np.random.default_rng(3).permutation(SIZE)[:20]
    mass = np.ones(SIZE)
    mass[np.delete(drawn, [2, 5, 9, 14, 17])] = 0.0
    chances = 1.0 / (SIZE - np.arange(20.0))
    question = Quantity("mse", "guess", group=("kind", "few"))
    rows = tuple(drawn.tolist())
    draws = Draws((True,) * 20, (), {question.title: (0, 0)}, (0.0,), np.zeros((1, SIZE)))
    plan = Plan(rows, tuple(chances), "random", 1.0, 1.0, 1.0, 1.0, (), None)
    asked = Round(1, plan, estimate=None, draws=draws)
    state = State(size=SIZE, labels={int(row): float(POOL["y"][row]) for row in drawn})
    return question, mass, History([asked], state, "linear", planned=50), (drawn, chances)


def test_an_interval_for_a_group_has_the_freedom_of_its_own_draws():
    """Of twenty uniform draws five fall into the group: Student's t with four degrees."""
    question, mass, history, (drawn, chances) = twenty_draws()
    found = answer_by_draws(arrays_of_pool(), About(question, mass, (None, None)), history)
    assert found is not None
    assert found.draws == 5
    losses = (mass * LOSS)[drawn]
    values = (np.cumsum(losses) - losses + losses / chances) / mass.sum()
    error = values.std(ddof=1) / np.sqrt(20)
    ends = np.interp([0.05, 0.95], GRID, found.quantiles)
    assert_allclose(ends, values.mean() + error * t.ppf([0.05, 0.95], 4), rtol=1e-9)
    always = anytime_multiplier(5, 0.9, 50) * error
    assert_allclose(
        found.anytime_at["0.9"], values.mean() + np.array([-always, always]), rtol=1e-9
    )


def test_a_range_cuts_the_number_and_the_interval_but_not_the_error():
    question, mass, history, _ = twenty_draws()
    answer = lambda most: answer_by_draws(
        arrays_of_pool(), About(question, mass, (0.0, most)), history
    )
    free = answer(None)
    cut = answer(free.value - free.std / 2)
    assert (cut.value, cut.quantiles[-1]) == (free.value - free.std / 2,) * 2
    assert cut.std == free.std
    assert cut.value + cut.beyond == pytest.approx(free.value, rel=1e-12)


def arrays_of_pool():
    """As much of a campaign's tables as answers from drawn rows look at."""
    none = np.zeros((0, 1))
    guess = {"guess": POOL["guess"].to_numpy()}
    x = POOL[["x"]].to_numpy()
    return Arrays(x, x, none, np.zeros(0), None, guess, None, None, pool_predictions=guess)


def test_one_label_ahead_forecasts_no_width(tmp_path):
    assert make(tmp_path / "campaign", batch=1).forecast(1).to_dict()["draws"] is None


def test_draws_survive_storing():
    predictions = np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32)
    draws = Draws((True, False), (2, 5), {"recall": [0, 0]}, (0.25,), predictions)
    found = Draws.from_dict(draws.to_dict(), draws.packed())
    assert_array_equal(found.predictions, predictions)
    assert found.to_dict() == draws.to_dict()


def test_quantiles_rise(drawn):
    assert (np.diff(drawn.estimate().quantiles) >= 0.0).all()
    assert len(drawn.estimate().quantiles) == len(GRID)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"draw": "gain"}, "sampling.by must be loss, policy, balance or none"),
        ({"floor": 0.0}, "floor must be above 0"),
        ({"floor": 1.5}, "floor must be a share from 0 to 1"),
        ({"scale": "cubic"}, "scale must be linear or log"),
    ],
)
def test_strange_draws_are_refused(tmp_path, options, words):
    with pytest.raises(InvalidInput, match=words):
        make(tmp_path / "campaign", **options)
    assert not (tmp_path / "campaign").exists()


@pytest.mark.parametrize("by", ["loss", "balance"])
def test_chances_may_go_by_the_loss(tmp_path, by):
    campaign = answer(make(tmp_path / "campaign", draw=by), 2)
    found = campaign.estimate().design
    assert_allclose(found.value, by_hand(campaign).values.mean(), rtol=1e-12)


def test_a_forecast_says_how_wide_the_interval_will_be(drawn):
    found = drawn.forecast(2)
    assert found.draws is not None
    assert found.draws.labels == (6, 12)
    assert found.draws.planned[0] > found.draws.planned[1] > 0.0
    assert found.draws.uniform[0] > found.draws.uniform[1] > 0.0
    assert json.loads(json.dumps(found.to_dict()))["draws"]["verdict"] == found.draws.verdict


def test_an_effect_has_an_answer_from_drawn_units(tmp_path):
    """By hand from the log: each unit's own contrast, noise charged to its draw."""
    from labelwise.survey.effects import effect_record

    outcome = lambda row, arm: float(np.sin(2.0 * row["x"]) + 0.7 * arm)
    first = FIRST.drop(columns="guess").assign(z=[0.0, 1.0] * 4)
    first["y"] = [outcome(row, row["z"]) for _, row in first.iterrows()]
    pool = POOL.drop(columns=["y", "guess"])
    campaign = make(
        tmp_path / "campaign",
        labelled=first,
        pool=pool,
        prediction=None,
        estimand="ate",
        treatment="z",
        assign=0.5,
    )
    told = {}
    for _ in range(2):
        batch = campaign.ask()
        rows = pool.set_index("id").loc[batch["id"]].reset_index()
        labels = [
            outcome(row, arm) for (_, row), arm in zip(rows.iterrows(), batch["z"], strict=True)
        ]
        campaign.tell(batch.assign(y=labels))
        told |= {one: pair for one, *pair in zip(batch["id"], batch["z"], labels, strict=True)}
    outcomes, treatments = np.full(SIZE, np.nan), np.zeros(SIZE)
    for place, one in enumerate(pool["id"]):
        if one in told:
            treatments[place], outcomes[place] = told[one]
    rounds, nobody = _rounds(campaign), np.zeros(SIZE, bool)
    half = np.full(SIZE, 0.5)
    record = effect_record(np.ones(SIZE), outcomes, treatments, half, rounds, nobody, nobody)
    expected = estimates(record, noisy=True)
    found = campaign.estimate()
    assert found.headline == "combined"
    assert found.design is not None
    assert_allclose(found.design.value, expected.values.mean(), rtol=1e-9)
    spread = expected.charged[:, 0].std(ddof=1) / np.sqrt(12)
    assert found.design.std >= spread
