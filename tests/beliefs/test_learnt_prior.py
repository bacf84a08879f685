"""The learnt prior: a line around the model's output, against regression in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

from labelwise.beliefs.fit import FitProblem, facings
from labelwise.beliefs.fit_mixture import fit_mixture
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.hyperparameters import FitOptions, ModelOutput
from labelwise.beliefs.kernels import RBF, WithLine
from labelwise.beliefs.learnt_prior import CLASSES, NUMBERS
from labelwise.beliefs.stored import build_belief, describe_fit

ROWS = 24
both_kinds = pytest.mark.parametrize("link", [None, "logit"])


def made_up(link):
    """Rows whose last column is a model's output, and labels that follow it."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(ROWS, 2))
    y = 0.4 + 0.9 * x[:, 1] + 0.3 * rng.normal(size=ROWS)
    return x, y if link is None else (y > 0.4).astype(float)


def problem_of(link, intercept=0.0, slope=1.0, column=None):
    x, y = made_up(link)
    x[:, 1] = x[:, 1] if column is None else column(x[:, 1])
    output = ModelOutput(intercept, slope, 0.1, link == "logit")
    options = FitOptions(mean="predictor", predictor_column=1, link=link, output=output)
    return FitProblem.of(x, y, options)


def test_a_kernel_with_a_line_adds_the_covariance_of_a_random_line():
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    kernel = WithLine(RBF(1.3, 0.7), 1, 0.2, 0.5, 2.0)
    line = 0.5 + 2.0 * np.outer(x[:, 1] - 0.2, other[:, 1] - 0.2)
    distance = ((x[:, None] - other[None]) ** 2).sum(axis=2) / 1.3**2
    expected = 0.7 * np.exp(-0.5 * distance) + line
    both = jax.jit(lambda x, other: (kernel(x, other), kernel(x, x), kernel.diagonal(x)))
    cross, own, diagonal = both(x, other)
    assert_allclose(cross, expected, rtol=1e-12)
    assert_allclose(diagonal, np.diagonal(own), rtol=1e-12)


def test_beside_a_line_that_is_not_known_labels_teach_as_in_bayesian_regression():
    """With next to no process left, the posterior is that of a regression's coefficients."""
    x, y = made_up(None)
    kernel = WithLine(RBF(1.0, 1e-12), 1, 0.2, 0.5, 2.0)

    def after():
        belief = GaussianProcess(kernel, 0.1).condition(x, y)
        return belief.mean(x), belief.variance(x)

    mean, variance = jax.jit(after)()
    design = np.column_stack([np.ones(ROWS), x[:, 1] - 0.2])
    precision = design.T @ design / 0.1 + np.diag([1 / 0.5, 1 / 2.0])
    coefficients = np.linalg.solve(precision, design.T @ y / 0.1)
    assert_allclose(mean, design @ coefficients, rtol=1e-6)
    spread = np.einsum("ij,jk,ik->i", design, np.linalg.inv(precision), design)
    assert_allclose(variance, spread, rtol=1e-6)


@both_kinds
def test_before_labels_the_function_is_the_models_output_give_or_take_its_line(link):
    problem = problem_of(link)
    prior = CLASSES if link else NUMBERS
    unit = 1.0 if link else np.std(made_up(link)[1])
    x = np.array([[0.3, -1.0], [0.0, 2.0]])
    away = x[:, 1] - 0.1

    def before(problem):
        belief = problem.build(jnp.zeros(problem.size))
        return belief.prior_mean(jnp.asarray(x)), belief.kernel.diagonal(jnp.asarray(x))

    mean, variance = jax.jit(before)(problem)
    assert_allclose(mean, 0.1 + prior.slope * away, rtol=1e-12)
    line = (unit * prior.level_spread) ** 2 + (prior.slope_spread * away) ** 2
    expected = prior.kinds[0].variance[0] * unit**2 + line
    assert_allclose(variance, expected, rtol=1e-12)


@both_kinds
def test_how_the_models_column_is_coded_makes_no_difference(link):
    plain = problem_of(link)
    coded = problem_of(link, intercept=0.5, slope=4.0, column=lambda z: (z - 0.5) / 4.0)
    at = jnp.asarray(np.random.default_rng(1).normal(size=plain.size))
    evidence = jax.jit(lambda problem, at: problem.log_posterior(at))
    assert_allclose(evidence(plain, at), evidence(coded, at), rtol=1e-9)


def log_density(prior, names, position):
    """Of two kinds of models, by SciPy, up to a constant."""
    usual = [getattr(prior.kinds[0], name)[0] for name in names]
    numbers = np.log(usual) + position[2:]
    kinds = []
    for kind in prior.kinds:
        laws = np.array([getattr(kind, name) for name in names])
        each = scipy.stats.norm.logpdf(numbers, np.log(laws[:, 0]), laws[:, 1])
        kinds.append(np.log(kind.share) + each.sum())
    scales = scipy.stats.norm.logpdf(position[:2], 0.0, prior.length_scale[1])
    return scipy.special.logsumexp(kinds) + scales.sum()


@jax.jit
def log_prior(problem, at):
    return problem.scales.log_prior(at)


@both_kinds
def test_the_log_prior_is_that_of_two_kinds_of_models(link):
    problem, prior = problem_of(link), CLASSES if link else NUMBERS
    names = ["variance", *([] if link else ["noise"]), "line"]
    at, zero = np.random.default_rng(2).normal(size=problem.size), np.zeros(problem.size)
    ours = [float(log_prior(problem, place)) for place in (at, zero)]
    theirs = [log_density(prior, names, place) for place in (at, zero)]
    assert ours[0] - ours[1] == pytest.approx(theirs[0] - theirs[1], rel=1e-9)


def test_a_fit_starts_from_either_kind_and_reads_back_from_its_description():
    x, y = made_up(None)
    output = ModelOutput(0.0, 1.0, 0.1)
    fit = fit_mixture(
        x, y, components=2, mean="predictor", predictor_column=1, output=output, kernel="rbf"
    )
    assert len(fit.best.starts) == 2
    again = build_belief(describe_fit(fit)).condition(x, y)
    rows = np.zeros((3, 2)) + np.arange(3)[:, None]
    assert_allclose(again.mean(rows), fit.posterior.mean(rows), rtol=1e-9)
    assert_allclose(again.variance(rows), fit.posterior.variance(rows), rtol=1e-9)


def made_up_model(slope, rows, features=1):
    """Labels that follow a model's log-odds times this, as a problem to fit."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(rows, features))
    y = (rng.uniform(size=rows) < scipy.special.expit(slope * x[:, 0])).astype(float)
    output = ModelOutput(0.0, 1.5, 0.0, log_odds=True)
    options = {"mean": "predictor", "predictor_column": 0, "output": output}
    return x, y, {"link": "logit", **options}


def test_a_model_turned_round_is_the_model_of_the_other_class():
    """Rows with the opposite output are as likely under it as these are under the usual one."""
    x, y, options = made_up_model(1.5, 12)
    usual = FitProblem.of(x, y, FitOptions(**options))
    mirrored = FitProblem.of(-x, y, FitOptions(**options))
    at = jnp.asarray(np.random.default_rng(1).normal(size=usual.size))
    evidence = jax.jit(lambda problem: problem.log_evidence(at))
    assert_allclose(evidence(usual.turned), evidence(mirrored), rtol=1e-9)
    odds = np.log((1.0 - CLASSES.turned) / CLASSES.turned)
    usual_log, turned_log = log_prior(usual, at), log_prior(usual.turned, at)
    assert_allclose(float(usual_log) - float(turned_log), odds, rtol=1e-9)
    assert_allclose(evidence(usual.turned.turned), evidence(usual), rtol=1e-12)


def test_what_labels_rule_out_is_not_looked_at():
    def slopes(slope, rows, features):
        x, y, options = made_up_model(slope, rows, features)
        found = facings(FitProblem.of(x, y, FitOptions(**options)))
        return [np.sign(float(each.scales.line.mean.slope)) for each in found]

    assert slopes(1.5, rows=4, features=8) == [1.0, -1.0]
    assert slopes(1.5, rows=300, features=8) == [1.0]
    assert slopes(-1.5, rows=60, features=8) == [-1.0, 1.0]
    assert len(facings(problem_of(None))) == 1  # of numbers nothing is turned


def test_components_face_either_way_as_often_as_labels_make_likely():
    """Against both evidences, summed over a grid of the three hyper-parameters."""
    x, y, options = made_up_model(-1.5, 7)
    fit = fit_mixture(x, y, components=300, starts=2, **options)
    share = np.mean(np.asarray(fit.prior.components.prior_mean.slope) < 0.0)
    problem = FitProblem.of(x, y, FitOptions(**options))
    axes = [np.linspace(-4.0, 4.0, 9), np.linspace(-4.0, 7.0, 23), np.linspace(-4.0, 4.0, 9)]
    grid = np.array(np.meshgrid(*axes, indexing="ij")).reshape(3, -1).T
    total = jax.jit(
        lambda problem: jax.scipy.special.logsumexp(jax.lax.map(problem.log_posterior, grid))
    )
    odds = float(total(problem.turned)) - float(total(problem))
    expected = scipy.special.expit(odds)
    assert 0.05 < expected < 0.95  # neither is ruled out
    spread = np.sqrt(expected * (1.0 - expected) * (1.0 / fit.effective + 1.0 / 300))
    assert abs(share - expected) < 4.0 * spread


def test_a_reversed_model_is_found_out():
    """Sixty labels that fall where the model rises: the belief falls with them."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 2))
    y = (rng.uniform(size=60) < scipy.special.expit(-1.5 * x[:, 1])).astype(float)
    output = ModelOutput(0.0, 1.5, 0.0, log_odds=True)
    belief = fit_mixture(
        x, y, components=2, link="logit", mean="predictor", predictor_column=1, output=output
    ).posterior
    low, high = np.asarray(belief.outcome(np.array([[0.0, -1.0], [0.0, 1.0]]))[0])
    assert low > 0.5 > high


@pytest.mark.parametrize(
    "changed",
    [{"mean": "constant"}, {"link": "probit"}, {"link": "logit"}],
    ids=["mean", "probit", "unit"],
)
def test_an_output_that_cannot_be_used_is_refused(changed, refused):
    x, y = made_up("logit")
    options = {"mean": "predictor", "predictor_column": 1, "output": ModelOutput(0.0, 1.0, 0.0)}
    with refused(where="output"):
        FitProblem.of(x, y, FitOptions(**{**options, **changed}))
