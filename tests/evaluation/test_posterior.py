"""What a campaign computes, held to the library it is made of."""

from dataclasses import replace
from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF, Matern32
from labelwise.beliefs.means import ConstantMean, PredictorMean, ZeroMean
from labelwise.beliefs.stored import build_belief, describe_prior
from labelwise.errors import InvalidInput
from labelwise.estimands.catalogue import find_metric
from labelwise.estimands.moments import exact_moments
from labelwise.estimands.named import MeanSquaredError
from labelwise.evaluation import data as arrays_module
from labelwise.evaluation import fit as fits_module
from labelwise.evaluation import labels as known_module
from labelwise.evaluation import posterior as module
from labelwise.evaluation.answer import GRID, Answer, quantiles_of
from labelwise.evaluation.belief_options import check_belief
from labelwise.evaluation.caveats import caveats
from labelwise.evaluation.check import Check, check_round
from labelwise.evaluation.data import Arrays, thin_rows
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.labels import LabelSet
from labelwise.evaluation.plan import Planner
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.question import make_inquiry
from labelwise.evaluation.round import Round, verdict, who_chose
from labelwise.lookahead.expected import expected_variance
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.registry import POLICIES, describe_policy, make_policy

RNG = np.random.default_rng(5)
NOTHING = LabelSet((), (), (), ())


@cache
def own_prior():
    return GaussianProcess(RBF(0.8, 1.2), 0.1)


def make_arrays(target=40, thin=None, mass=None):
    rng = np.random.default_rng(1)
    return Arrays(
        pool=rng.normal(size=(25, 2)),
        target=rng.normal(size=(target, 2)),
        labelled=rng.normal(size=(6, 2)),
        labels=rng.normal(size=6),
        mass=mass,
        predictions={"psi": rng.normal(size=target)},
        predictor_column=None,
        thin=thin,
    )


def analyse(arrays=None, known=NOTHING, prior=None, estimand="mse"):
    inquiry = make_inquiry(estimand, prediction="psi")
    return Posterior.of(
        arrays or make_arrays(), known, inquiry, check_belief(prior or own_prior(), 2), seed=0
    )


@eqx.filter_jit
def without_padding(x, y, target, prediction):
    """The mean at the target, and the moments of the mean squared error."""
    belief = own_prior().condition(x, y)
    return belief.mean(target), exact_moments(belief, MeanSquaredError(target, prediction))


def test_padding_does_not_change_the_belief():
    arrays, known = make_arrays(), LabelSet((2, 9), (0.5, -1.0), (), (2, 9))
    padded = analyse(arrays, known)
    x = np.concatenate([arrays.labelled, arrays.pool[[2, 9]]])
    y = np.concatenate([arrays.labels, [0.5, -1.0]])
    mean, exact = without_padding(x, y, arrays.target, arrays.predictions["psi"])
    np.testing.assert_allclose(padded.belief.mean(arrays.target), mean, rtol=1e-9)
    assert padded.answer.mean == pytest.approx(float(exact.mean), rel=1e-9)
    assert padded.answer.std == pytest.approx(float(exact.variance) ** 0.5, rel=1e-9)


def test_a_feature_that_is_constant_but_for_rounding_sets_no_scale():
    """Its length scale would be of the size of rounding, and covariances nothing but noise."""
    arrays = make_arrays()
    rounding = arrays.target[:, 0] * 0.0 - 0.0389
    rounding[::2] = np.nextafter(rounding[::2], 0.0)
    arrays.target[:, 0] = rounding
    assert 0.0 < rounding.std() < 1e-15
    np.testing.assert_allclose(arrays.spread, [1.0, arrays.target[:, 1].std()], rtol=1e-12)


def test_a_thinned_target_keeps_the_mean_over_all_rows(monkeypatch):
    monkeypatch.setattr(arrays_module, "TARGET_ROWS", 15)
    mass = np.random.default_rng(2).uniform(size=40)
    thin = thin_rows(make_arrays().target, mass, seed=0)
    whole = analyse(make_arrays(mass=mass))
    part = analyse(make_arrays(mass=mass, thin=thin))
    assert part.estimand.x.shape[0] == 15
    assert part.answer.mean == pytest.approx(whole.answer.mean, rel=1e-9)
    assert part.answer.std != whole.answer.std
    draws = part.answer.draws
    assert draws.mean() == pytest.approx(
        whole.answer.mean, abs=4 * draws.std() / module.DRAWS**0.5
    )


def test_questions_asked_together_are_answered_as_alone(monkeypatch):
    """Some in closed form and one not, on a target that few rows stand for."""
    monkeypatch.setattr(arrays_module, "TARGET_ROWS", 15)
    names = ["mse", "r2", "bias"]
    arrays = make_arrays(thin=thin_rows(make_arrays().target, None, seed=0))
    together = analyse(arrays, estimand=names).answers
    for name, found in zip(names, together, strict=True):
        alone = analyse(arrays, estimand=name).answer
        assert found.mean == pytest.approx(alone.mean, rel=1e-9)
        assert found.std == pytest.approx(alone.std, rel=1e-9)
        np.testing.assert_allclose(found.draws, alone.draws, rtol=1e-9)


def test_rows_are_thinned_in_proportion_to_their_mass(monkeypatch):
    monkeypatch.setattr(arrays_module, "TARGET_ROWS", 10)
    mass = np.array([3.0] * 10 + [1.0] * 30)
    counts, rows = np.zeros(40), make_arrays().target
    for seed in range(400):
        np.add.at(counts, thin_rows(rows, mass, seed), 1)
    # Each of 10 places falls on a heavy row with chance 30/60: 2,000 of 4,000 expected.
    assert abs(counts[:10].sum() - 2000) < 5 * (4000 * 0.25) ** 0.5


def planner(found):
    return Planner(found, Lookahead(), "lookahead", seed=0, round_=1)


def test_a_plan_is_weighed_beside_its_rivals():
    known = LabelSet((1,), (0.3,), (4, 7), (1, 4, 7))
    found = analyse(known=known)
    mine = Planner(found, Lookahead(), "lookahead", seed=3, round_=2)
    plan = mine.plan(mine.propose(3))
    assert not set(plan.rows) & set(known.closed)
    after = expected_variance(
        found.belief, found.estimand, jnp.asarray(found.arrays.pool), [4, 7, *plan.rows]
    )
    assert plan.expected == pytest.approx(float(after) ** 0.5, rel=1e-8)
    assert plan.expected < min(plan.random, plan.uncertainty)
    assert sum(reason.gain for reason in plan.reasons) == pytest.approx(1.0)
    assert sum(reason.speaks_for for reason in plan.reasons) == pytest.approx(1.0)
    mean, covariance, *_ = found.predict(plan.rows)
    np.testing.assert_allclose(plan.covariance, covariance, rtol=1e-12)
    np.testing.assert_allclose([reason.mean for reason in plan.reasons], mean)
    assert covariance[0, 0] == pytest.approx(
        float(found.belief.variance(found.arrays.pool[[plan.rows[0]]])[0]) + 0.1, rel=1e-9
    )


@pytest.mark.slow
def test_a_forecast_starts_at_the_present_and_beats_chance():
    found = analyse(known=LabelSet((), (), (4, 7), (4, 7)))
    forecast = planner(found).forecast([3, 3, 2])
    assert forecast.labels == (0, 2, 5, 8, 10)
    assert forecast.planned[0] == pytest.approx(found.answer.std)
    assert forecast.planned[1] == pytest.approx(forecast.random[1])  # the same pending rows
    assert all(np.diff(forecast.planned) < 0)
    assert forecast.planned[-1] < forecast.random[-1]
    assert forecast.saved > 0


def test_a_forecasts_rows_are_those_that_asking_would_choose():
    found = analyse()
    forecast = planner(found).forecast([3])
    plan = planner(found).plan(planner(found).propose(3))
    assert forecast.planned[-1] == pytest.approx(plan.expected, rel=1e-9)


def test_a_plan_that_does_not_help_says_so():
    assert "does not help" in verdict("lookahead", 0.99, 1.0)
    assert "50 %" in verdict("lookahead", 0.5, 1.0)
    assert "nothing was planned" in verdict("random", 1.0, 1.0)
    assert "does not help" in verdict("lookahead", 0.0, 0.0)
    assert "these rows leave 90 %" in verdict("lookahead", 0.9, 1.0, drawn=True)


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        ([True, True], "were drawn by chance from all rows left"),
        ([False, False], "were chosen, not drawn"),
        ([True, False, True], "Of these 3 rows, 2 were drawn by chance"),
    ],
)
def test_who_chose_is_one_sentence(drawn, words):
    assert words in who_chose(drawn)


@pytest.mark.parametrize(
    "mean",
    [ZeroMean, lambda: ConstantMean(0.3), lambda: PredictorMean(1, 0.2, -0.7)],
    ids=["zero", "constant", "predictor"],
)
def test_a_prior_is_stored_to_the_last_bit(mean):
    prior = GaussianProcess(Matern32(jnp.asarray([0.1, 3.7]), 1.1), 0.05, mean(), "precision")
    again = build_belief(describe_prior(prior))
    x = RNG.normal(size=(5, 2))
    np.testing.assert_array_equal(again.mean(x), prior.mean(x))
    np.testing.assert_array_equal(again.covariance(x), prior.covariance(x))
    assert again.weighting == "precision"


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_stored_with_its_options(name):
    assert make_policy(describe_policy(name)) == make_policy(name)


def test_options_of_a_stored_policy_are_kept():
    policy = make_policy("reinforce", rollouts=7, floor=0.2, baseline=False)
    assert make_policy(describe_policy(policy)) == policy


def test_predicted_labels_that_come_true_are_no_surprise():
    """Labels drawn from the prediction give surprises that are uniform on (0, 1)."""
    found = analyse()
    plan = planner(found).plan(planner(found).propose(3))
    mean, covariance, *_ = found.predict(plan.rows)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(mean, covariance, size=400)
    round_ = Round(1, plan, estimate=None)
    checks = [
        check_round(round_, dict(zip(plan.rows, labels, strict=True))) for labels in draws
    ]
    surprises = np.sort([check.surprise for check in checks])
    # Kolmogorov: a gap above 1.95 / √n has chance 0.001.
    assert np.abs(surprises - (np.arange(400) + 0.5) / 400).max() < 1.95 / 20
    inside = np.mean([check.inside for check in checks])
    assert abs(inside - 0.9) < 4 * (0.09 / 400) ** 0.5  # labels of one batch go together


def test_labels_far_from_their_prediction_contradict_the_belief():
    found = analyse()
    plan = planner(found).plan(planner(found).propose(3))
    mean, covariance, *_ = found.predict(plan.rows)
    labels = dict(zip(plan.rows, mean + 6 * np.sqrt(np.diag(covariance)), strict=True))
    check = check_round(Round(1, plan, estimate=None), labels)
    assert check.contradicted
    assert check.inside == 0.0
    assert "contradict" in caveats(found, [check], ["a", "b"], 9.0)[0]
    agreeing = Check(2, 9, 1.0, 1.0, 0.5)
    assert "batch 1" in caveats(found, [check, agreeing], ["a", "b"], 9.0)[0]
    enough = Check(2, 10, 1.0, 1.0, 0.5)
    assert "contradict" not in " ".join(caveats(found, [check, enough], ["a", "b"], 9.0))
    few = check_round(Round(1, plan, estimate=None), {plan.rows[2]: mean[2]})
    assert few.labels == 1
    assert few.surprise == pytest.approx(1.0)
    assert check_round(Round(1, plan, estimate=None), {}) is None


def warnings_of(arrays, known=NOTHING, radius=1.0):
    return " ".join(caveats(analyse(arrays, known), [], ["a", "b"], radius))


def test_a_target_without_labelled_neighbours_is_warned_of():
    arrays = make_arrays()
    far = replace(arrays, target=arrays.target + 50.0)
    assert "100 % of the target has no labelled neighbour" in warnings_of(far)
    near = replace(arrays, target=arrays.labelled, predictions={"psi": np.zeros(6)})
    assert "neighbour" not in warnings_of(near)
    # A label bought there mends it: 5 of 10 target rows are where the pool's row 0 is.
    target = np.concatenate([arrays.labelled[:5], np.tile([[40.0, 40.0]], (5, 1))])
    pool = np.concatenate([[[40.0, 40.0]], arrays.pool[1:]])
    half = replace(arrays, target=target, pool=pool, predictions={"psi": np.zeros(10)})
    assert "50 % of the target has no labelled neighbour" in warnings_of(half)
    assert "neighbour" not in warnings_of(half, LabelSet((0,), (1.0,), (), (0,)))


def test_few_or_equal_labels_and_predictions_beyond_them_are_warned_of():
    arrays = make_arrays()
    assert "With 6 labels" in warnings_of(arrays)
    many = replace(arrays, labelled=np.tile(arrays.labelled, (2, 1)), labels=np.arange(12.0))
    assert "labels the belief" not in warnings_of(many)
    assert "All labels are the same" in warnings_of(replace(arrays, labels=np.ones(6)))
    line = replace(arrays, predictor_column=1, target=arrays.target + np.array([[0.0, 99.0]]))
    assert "100 % of the target has predictions beyond" in warnings_of(line)
    assert "predictions beyond" not in warnings_of(
        replace(line, target=arrays.labelled, predictions={"psi": np.zeros(6)})
    )


def test_hyper_parameters_at_a_bound_are_named_by_feature():
    found = analyse()
    found.prior["at_bound"] = ["length_scale[1]", "noise"]
    found.prior["length_scale"] = [1.0, 2.0]
    check = [Check(1, 3, 1.0, 1.0, 0.5)]
    assert "length scale of 'dose', the noise" in " ".join(
        caveats(found, check, ["age", "dose"], 9.0)
    )
    # One scale for all features belongs to none of them.
    found.prior.update(at_bound=["length_scale[0]"], length_scale=1.0)
    assert "pushed the length scale to" in " ".join(caveats(found, check, ["age", "dose"], 9.0))


@pytest.mark.slow
def test_answers_do_not_depend_on_the_order_of_rows(monkeypatch):
    monkeypatch.setattr(arrays_module, "TARGET_ROWS", 15)
    monkeypatch.setattr(known_module, "KNOWN_ROWS", 4)
    monkeypatch.setattr(fits_module, "FIT_ROWS", 4)
    arrays = make_arrays()
    turned = replace(
        arrays,
        target=arrays.target[::-1].copy(),
        predictions={"psi": arrays.predictions["psi"][::-1].copy()},
        labelled=arrays.labelled[::-1].copy(),
        labels=arrays.labels[::-1].copy(),
    )
    found = [
        Posterior.of(
            replace(one, thin=thin_rows(one.target, None, 0)),
            NOTHING,
            make_inquiry("mse", prediction="psi"),
            check_belief("gp", 2),
            0,
        ).answer
        for one in (arrays, turned)
    ]
    # A fit ends where it ends.
    assert found[0].mean == pytest.approx(found[1].mean, rel=1e-5)
    assert found[0].std == pytest.approx(found[1].std, rel=1e-5)


def log_posterior(x, y, prior, length_scale, expected):
    """Of length scales that a unit normal of their logarithms expects to be `expected`."""
    r = np.sqrt(5.0) * np.linalg.norm((x[:, None] - x[None]) / length_scale, axis=-1)
    matern = prior["variance"] * (1.0 + r + r**2 / 3.0) * np.exp(-r)
    covariance = matern + prior["noise"] * np.eye(len(y))
    level = np.full(len(y), prior["mean"]["level"])
    surprise = 0.5 * np.sum(np.log(length_scale / expected) ** 2)
    return multivariate_normal(level, covariance).logpdf(y) - surprise


def test_length_scales_are_expected_on_the_scale_of_the_target():
    """Labels of one corner: the fit is at the peak for the whole target's spread."""
    arrays, x = make_arrays(), make_arrays().labelled / 2.0
    y = np.sin(3.0 * x[:, 0]) - x[:, 1]  # both features tell, so that labels have their say
    corner = replace(arrays, target=arrays.target * [8.0, 3.0], labelled=x, labels=y)
    belief = check_belief({"name": "gp", "components": 1, "starts": 1}, 2)
    prior = fits_module.fit_prior(corner, NOTHING, belief, seed=0)
    expected = corner.target.std(axis=0) * np.sqrt(2.0)
    of = lambda logs: log_posterior(x, y, prior, np.exp(logs), expected)
    logs, steps = np.log(prior["length_scale"]), 1e-4 * np.eye(2)
    slopes = [(of(logs + step) - of(logs - step)) / 2e-4 for step in steps]
    # One log unit off in what is expected would tilt it by one.
    np.testing.assert_allclose(slopes, 0.0, atol=1e-3)


def test_an_estimand_stays_within_what_labels_allow():
    prediction, mass = np.array([0.0, 0.9]), np.array([1.0, 3.0])
    assert find_metric("mean").bounds(0.0, 1.0, None, None) == (0.0, 1.0)
    low, high = find_metric("mse").bounds(0.0, 1.0, prediction, mass)
    assert (low, high) == (0.0, pytest.approx((1.0 + 3 * 0.81) / 4))
    assert find_metric("mse").bounds(0.0, None, prediction, mass) == (0.0, None)


def make_estimate(values, low=None):
    quantiles = quantiles_of(values, low, None)
    return Estimate(
        estimand="mse",
        title="mean squared error",
        initial=10,
        bought=5,
        belief={},
        credible=Answer(float(np.mean(values)), float(np.std(values)), quantiles),
        warnings=("beware",),
    )


def test_an_interval_holds_its_share_of_the_draws():
    values = np.random.default_rng(0).normal(size=4000)
    found = make_estimate(values)
    for level in (0.5, 0.8, 0.9, 0.99):
        low, high = found.interval(level)
        assert np.mean((values >= low) & (values <= high)) == pytest.approx(level, abs=0.002)


def test_an_interval_stays_in_the_estimands_range():
    low, _ = make_estimate(np.random.default_rng(0).normal(size=500), low=0.0).interval()
    assert low == 0.0


def test_an_estimate_has_one_shape_and_survives_storage():
    found = make_estimate(np.arange(100.0))
    assert Estimate.from_dict(found.to_dict()) == found
    assert set(found.to_dict()) >= {
        "value",
        "std",
        "interval",
        "design",
        "headline",
        "warnings",
    }
    assert found.to_dict()["design"] is None
    assert "warning: beware" in str(found)
    assert len(GRID) == len(found.quantiles)


@pytest.mark.parametrize("level", [0.0, 1.0, 0.995, 90, "0.9", -0.1])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(InvalidInput, match=r"level must lie between 0 and 0\.99"):
        make_estimate(np.arange(5.0)).interval(level)


@pytest.mark.parametrize(
    ("belief", "message"),
    [
        ("forest", "There is no belief 'forest'"),
        ({"kernel": "cubic"}, "kernel must be one of"),
        ({"colour": 1}, "no option 'colour'"),
        ({"starts": 0}, "starts must be at least 1"),
        (
            lambda: GaussianProcess(RBF(np.ones(3)), 0.1),
            "3 length scales but the tables give 2",
        ),
        (lambda: own_prior().condition([[0.0, 0.0]], [1.0]), "has seen labels already"),
    ],
)
def test_an_unusable_belief_is_refused(belief, message):
    with pytest.raises(InvalidInput, match=message):
        check_belief(belief() if callable(belief) else belief, 2)
