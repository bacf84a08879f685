"""Mixtures against scipy and scikit-learn: weights, total moments, draws, and what is refused.

Where only one scale is unknown the mixture is a Student process, which has a closed form.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier as SklearnClassifier
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs import classifier, fitting
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF, Matern52
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture, pick, total_variance
from labelwise.errors import InvalidInput, NumericalError
from tests.beliefs.reference import covariance, make_data

DATA = make_data(0, 7, 2)
X, Y, AT = (jnp.asarray(part) for part in DATA)
BINARY = (Y > 0.0).astype(float)
# Length scale, variance, noise and mean of each component, and what it weighs before labels.
SETTINGS = [(0.7, 1.0, 0.05, 0.4), (1.5, 0.6, 0.3, -0.2), (1.0, 2.0, 1.5, 0.1)]
LOG_PRIOR = np.log([0.2, 0.5, 0.3])
DRAWS = 6000
WEIGHTINGS = ("paper", "precision")


def processes(weighting="paper"):
    return [
        GaussianProcess(RBF(scale, variance), noise, ConstantMean(mean), weighting)
        for scale, variance, noise, mean in SETTINGS
    ]


def classifiers():
    return [
        GaussianProcessClassifier(RBF(scale, 2.0 * variance), ConstantMean(mean))
        for scale, variance, _, mean in SETTINGS
    ]


PRIOR = Mixture.of(processes(), LOG_PRIOR)
POSTERIOR = PRIOR.condition(X, Y)
PRIORS = {"gp": (PRIOR, Y), "classifier": (Mixture.of(classifiers(), LOG_PRIOR), BINARY)}


def evidence_by_scipy(rows):
    """log p(labels of these rows) under each setting."""
    found = []
    for scale, variance, noise, mean in SETTINGS:
        spread = covariance("rbf", DATA.x[rows], DATA.x[rows], scale, variance)
        law = scipy.stats.multivariate_normal(
            np.full(len(rows), mean), spread + noise * np.eye(len(rows))
        )
        found.append(law.logpdf(DATA.y[rows]))
    return np.array(found)


def weight_by_hand(evidence):
    odds = np.exp(LOG_PRIOR + evidence - evidence.max())
    return odds / odds.sum()


@eqx.filter_jit
def moments(belief, x):
    return belief.mean(x), belief.variance(x), belief.covariance(x), belief.outcome(x)


@eqx.filter_jit
def draw(belief, key, x, draws):
    return belief.sample(key, x, draws), belief.sample_labels(key, x, draws)


# Evidence.


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_evidence_of_a_process_is_that_of_scipy(weighting):
    every = np.arange(7)
    for one, truth in zip(processes(weighting), evidence_by_scipy(every), strict=True):
        assert one.log_evidence == 0.0
        seen = one.condition(X, Y).log_evidence
        assert_allclose(seen, truth, rtol=1e-12)
        assert_allclose(seen, fitting.log_evidence(one, X, Y), rtol=1e-12)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_evidence_adds_up_over_batches_and_leaves_out_absent_rows(weighting):
    mask = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    present = np.flatnonzero(mask)
    absurd = jnp.where(jnp.asarray(mask) > 0, Y, 1e3)
    truths = evidence_by_scipy(present)
    for one, truth in zip(processes(weighting), truths, strict=True):
        in_turn = one.condition(X[:3], absurd[:3], mask[:3]).condition(
            X[3:], absurd[3:], mask[3:]
        )
        # Under precision weights an absent row has the root of 1e-30 in place of 0.
        assert_allclose(in_turn.log_evidence, truth, rtol=1e-9)
        assert_allclose(one.condition(X, absurd, jnp.asarray(mask)).log_evidence, truth, 1e-9)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_evidence_of_half_a_label_lies_between_none_and_all(weighting):
    one = processes(weighting)[0]
    at = lambda weight: float(one.condition(X[:1], Y[:1], [weight]).log_evidence)
    assert min(0.0, at(1.0)) < at(0.5) < max(0.0, at(1.0))


def test_the_evidence_of_a_classifier_is_that_of_scikit_learn():
    """It knows the logit link and no mean."""
    for scale, variance, _, _ in SETTINGS:
        kernel = sklearn_kernels.ConstantKernel(variance) * sklearn_kernels.RBF(scale)
        other = SklearnClassifier(kernel, optimizer=None, max_iter_predict=1000)
        other.fit(DATA.x, np.asarray(BINARY))
        mine = GaussianProcessClassifier(RBF(scale, variance))
        assert mine.log_evidence == 0.0
        seen = mine.condition(X, BINARY).log_evidence
        # It stops where a step gains less than 1e-10.
        assert_allclose(seen, other.log_marginal_likelihood_value_, atol=1e-8)
        assert_allclose(seen, classifier.log_evidence(mine, X, BINARY), rtol=1e-12)


def test_the_evidence_of_a_classifier_counts_present_labels_once():
    mask = jnp.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    present = np.flatnonzero(mask)
    one = classifiers()[0]
    truth = one.condition(X[present], BINARY[present]).log_evidence
    absent = jnp.where(mask > 0, BINARY, 1.0 - BINARY)
    assert_allclose(one.condition(X, absent, mask).log_evidence, truth, rtol=1e-10)
    in_turn = one.condition(X[:3], absent[:3], mask[:3]).condition(X[3:], absent[3:], mask[3:])
    assert_allclose(in_turn.log_evidence, truth, rtol=1e-10)


# Weights.


def test_before_labels_the_weights_are_those_given():
    assert_allclose(PRIOR.weight, np.exp(LOG_PRIOR), rtol=1e-12)
    assert_allclose(Mixture.of(processes()).weight, np.full(3, 1 / 3), rtol=1e-12)
    shifted = Mixture.of(processes(), LOG_PRIOR + 700.0)
    assert_allclose(shifted.weight, np.exp(LOG_PRIOR), rtol=1e-9)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_weights_of_processes_are_prior_times_evidence(weighting):
    mixture = Mixture.of(processes(weighting), LOG_PRIOR)
    every = weight_by_hand(evidence_by_scipy(np.arange(7)))
    assert every.min() > 0.01  # none of them is out of the question
    assert_allclose(mixture.condition(X, Y).weight, every, rtol=1e-9)
    in_turn = mixture.condition(X[:2], Y[:2]).condition(X[2:], Y[2:])
    assert_allclose(in_turn.weight, every, rtol=1e-9)
    mask = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    some = weight_by_hand(evidence_by_scipy(np.flatnonzero(mask)))
    padded = mixture.condition(X, jnp.where(jnp.asarray(mask) > 0, Y, 1e3), mask)
    assert_allclose(padded.weight, some, rtol=1e-8)


def test_the_weights_of_classifiers_are_prior_times_evidence():
    mixture = PRIORS["classifier"][0]
    evidence = lambda rows: np.array(
        [float(classifier.log_evidence(one, X[rows], BINARY[rows])) for one in classifiers()]
    )
    every = weight_by_hand(evidence(np.arange(7)))
    assert_allclose(mixture.condition(X, BINARY).weight, every, rtol=1e-9)
    in_turn = mixture.condition(X[:2], BINARY[:2]).condition(X[2:], BINARY[2:])
    assert_allclose(in_turn.weight, every, rtol=1e-9)
    mask = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    padded = mixture.condition(X, jnp.where(jnp.asarray(mask) > 0, BINARY, 0.0), mask)
    assert_allclose(padded.weight, weight_by_hand(evidence(np.flatnonzero(mask))), rtol=1e-9)


def test_an_unknown_scale_makes_a_student_process():
    """Kernel and noise over a precision τ ~ Gamma(a, b), by Gauss-Laguerre nodes in τ."""
    a, b, noise = 3.0, 1.5, 0.2
    nodes, weight = scipy.special.roots_genlaguerre(60, a - 1.0)
    kept = weight > 1e-250
    tau, weight = nodes[kept] / b, weight[kept] / weight.sum()
    mixture = Mixture.of([GaussianProcess(RBF(1.0, 1.0 / t), noise / t) for t in tau])
    mixture = eqx.tree_at(lambda one: one.log_prior, mixture, jnp.log(weight))
    # An even number of labels: what is integrated is then a polynomial times an exponential.
    data = DATA._replace(x=DATA.x[:6], y=DATA.y[:6])
    after = mixture.condition(X[:6], Y[:6])
    mean, variance, joint, _ = moments(after, AT)

    kernel = lambda one, other: covariance("rbf", one, other)
    spread = kernel(data.x, data.x) + noise * np.eye(6)
    square = data.y @ np.linalg.solve(spread, data.y)
    # Given the labels 1/τ is inverse gamma: this is its mean.
    scale = (b + square / 2.0) / (a + 6 / 2.0 - 1.0)
    to = kernel(data.x, data.test)
    left = kernel(data.test, data.test) - to.T @ np.linalg.solve(spread, to)
    assert_allclose(mean, to.T @ np.linalg.solve(spread, data.y), atol=1e-10)
    assert_allclose(joint, scale * left, atol=1e-8)
    assert_allclose(variance, scale * np.diag(left), atol=1e-8)
    assert_allclose(after.labels.variance(jnp.zeros(1)), [noise * scale], rtol=1e-8)
    evidence = jax.nn.logsumexp(
        mixture.log_prior + jax.vmap(lambda one: one.log_evidence)(after.components)
    )
    law = scipy.stats.multivariate_t(np.zeros(6), spread * b / a, df=2.0 * a)
    assert_allclose(evidence, law.logpdf(data.y), atol=1e-8)


# Moments and draws.


@pytest.mark.parametrize("kind", PRIORS)
def test_moments_are_by_the_laws_of_total_mean_and_covariance(kind):
    prior, y = PRIORS[kind]
    posterior = prior.condition(X, y)
    alone = {"gp": processes, "classifier": classifiers}[kind]()
    each = [moments(one.condition(X, y), AT) for one in alone]
    weight = np.asarray(posterior.weight)
    means = np.array([one[0] for one in each])
    mean = sum(w * m for w, m in zip(weight, means, strict=True))
    joint = sum(
        w * (np.asarray(one[2]) + np.outer(m - mean, m - mean))
        for w, one, m in zip(weight, each, means, strict=True)
    )
    chances = np.array([one[3] for one in each])
    outcome = weight @ chances[:, 0]
    spread = weight @ (chances[:, 1] + (chances[:, 0] - outcome[None, :]) ** 2)
    found = moments(posterior, AT)
    for mine, truth in zip(found, (mean, np.diag(joint), joint), strict=False):
        assert_allclose(mine, truth, atol=1e-12)
    assert_allclose(found[3], (outcome, spread), atol=1e-12)
    assert np.ptp(means, axis=0).max() > 0.1  # the components do disagree


def test_the_covariance_of_two_tables_is_a_block_of_that_of_both():
    whole = POSTERIOR.covariance(AT)
    assert_allclose(POSTERIOR.covariance(AT[:2], AT[2:]), whole[:2, 2:], atol=1e-13)


@pytest.mark.parametrize("kind", PRIORS)
def test_draws_have_the_moments_stated_jointly_over_rows(kind, getkey):
    prior, y = PRIORS[kind]
    posterior = prior.condition(X, y)
    functions, labels = (np.asarray(part) for part in draw(posterior, getkey(), AT, DRAWS))
    mean, _, joint, (outcome, _) = moments(posterior, AT)
    away = functions - functions.mean(axis=0)
    products = away[:, :, None] * away[:, None, :]
    assert (np.abs(functions.mean(axis=0) - mean) < 4 * away.std(axis=0) / DRAWS**0.5).all()
    error = 4 * products.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(products.mean(axis=0) - joint) < error).all()
    assert (np.abs(labels.mean(axis=0) - outcome) < 4 * labels.std(axis=0) / DRAWS**0.5).all()
    if kind == "classifier":
        assert set(np.unique(labels)) == {0.0, 1.0}


def test_labels_have_the_noise_of_the_component_that_draws_them(getkey):
    """Two components that agree on the function and not on the noise: a law with fat tails."""
    quiet, loud = (GaussianProcess(RBF(1.0, 0.1), noise) for noise in (0.01, 4.0))
    labels = np.asarray(draw(Mixture.of([quiet, loud]), getkey(), AT, DRAWS)[1])
    squares, fourths = labels**2, labels**4
    error = lambda values: 4 * values.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(squares.mean(axis=0) - (0.1 + (0.01 + 4.0) / 2)) < error(squares)).all()
    # 3 E[variance²], not 3 E[variance]² as one law with the noise of the mean would have it.
    fourth = 3.0 * (0.11**2 + 4.1**2) / 2
    assert (np.abs(fourths.mean(axis=0) - fourth) < error(fourths)).all()
    # Of one draw all labels have the same noise, so that their squares go together.
    assert np.corrcoef(squares[:, 0], squares[:, 1])[0, 1] > 0.1


@pytest.mark.parametrize("draws", [1, 2, 7, 100])
@pytest.mark.parametrize("weight", [[0.95, 0.05, 0.0], [0.34, 0.33, 0.33], [0.0, 0.0, 1.0]])
def test_every_component_has_as_many_draws_as_its_weight_says(draws, weight, getkey):
    weight = np.array(weight)
    mixture = Mixture.of(processes(), np.log(np.maximum(weight, 1e-30)))
    marked = lambda one, key, n: jnp.stack(
        [jnp.full(n, one.noise), jax.random.normal(key, (n,))], axis=1
    )
    found = jax.jit(lambda key: mixture.draw(key, draws, marked))
    shares = []
    for key in jax.random.split(getkey(), 40):
        noise, normal = np.asarray(found(key)).T
        counts = np.array([(noise == setting[2]).sum() for setting in SETTINGS])
        assert counts.sum() == draws
        assert (np.abs(counts - draws * weight) <= 1.0 + 1e-9).all()
        assert len(np.unique(normal)) == draws  # no draw stands in for another
        shares.append(noise[0] == SETTINGS[0][2])
    # Where a component's draws stand tells nothing: each place is as likely for it.
    error = 4 * np.sqrt(weight[0] * (1 - weight[0]) / 40)
    assert abs(np.mean(shares) - weight[0]) <= error


def test_the_same_key_gives_the_same_draw(getkey):
    key, other = getkey(), getkey()
    first, again = (draw(POSTERIOR, key, AT, 5) for _ in range(2))
    for mine, yours in zip(first, again, strict=True):
        assert (mine == yours).all()
    assert (draw(POSTERIOR, other, AT, 5)[0] != first[0]).all()


@pytest.mark.parametrize("kind", PRIORS)
def test_one_component_is_that_component(kind):
    one = {"gp": processes, "classifier": classifiers}[kind]()[1]
    y = PRIORS[kind][1]
    alone, mixed = one.condition(X, y), Mixture.of([one], [-3.0]).condition(X, y)
    assert mixed.size == 1
    assert mixed.weight == 1.0
    both = (moments(alone, AT), moments(mixed, AT))
    for mine, truth in zip(*map(jax.tree.leaves, both), strict=True):
        assert_allclose(mine, truth, rtol=1e-12, atol=1e-14)
    for mine, truth in zip(
        *map(jax.tree.leaves, (mixed.heaviest, alone)), strict=True
    ):  # all its numbers, those it learned included
        assert_allclose(mine, truth, rtol=1e-12, atol=1e-14)
    f = jnp.linspace(-2.0, 2.0, 5)
    assert_allclose(mixed.labels.variance(f), alone.labels.variance(f), rtol=1e-12)


# Parts of a mixture.


def test_the_heaviest_components_come_first():
    order = np.argsort(-np.asarray(POSTERIOR.weight))
    two = POSTERIOR.few(2)
    assert two.size == 2
    picked = [setting[2] for setting in np.array(SETTINGS)[order[:2]]]
    assert_allclose(two.components.noise, picked)
    kept = np.asarray(POSTERIOR.weight)[order[:2]]
    assert_allclose(two.weight, kept / kept.sum(), rtol=1e-12)
    assert POSTERIOR.heaviest.labels.variance(Y[:1])[0] == picked[0]
    assert POSTERIOR.few(3) is POSTERIOR
    assert POSTERIOR.few(9) is POSTERIOR


def test_a_hopeless_component_does_not_blur_the_others():
    """Their order is kept though a third lies so far behind that 32 bits tell no difference."""
    mixture = Mixture.of(processes(), [-50.0, 0.0, -1e10])
    assert_allclose(mixture.few(1).components.noise, [SETTINGS[1][2]])
    assert_allclose(mixture.few(2).components.noise, [SETTINGS[1][2], SETTINGS[0][2]])


def test_the_noise_of_a_mixture_is_the_mean_of_its_components():
    noises = np.array([setting[2] for setting in SETTINGS])
    assert_allclose(POSTERIOR.labels.variance(Y), np.full(7, POSTERIOR.weight @ noises), 1e-12)


def test_total_variance_is_that_of_a_table():
    values = (
        np.random.default_rng(3).normal(size=(4, 1000, 2)) * np.arange(1.0, 5)[:, None, None]
    )
    values += np.arange(4.0)[:, None, None]
    counts = np.array([1000, 300, 500, 200])
    table = np.concatenate([group[:count] for group, count in zip(values, counts, strict=True)])
    mean = np.stack(
        [group[:count].mean(0) for group, count in zip(values, counts, strict=True)]
    )
    var = np.stack([group[:count].var(0) for group, count in zip(values, counts, strict=True)])
    weight = jnp.asarray(counts / counts.sum())
    found = total_variance(weight, jnp.asarray(mean), jnp.asarray(var))
    assert_allclose(found, table.var(axis=0), rtol=1e-10)


def test_places_are_picked_in_proportion():
    weight = jnp.array([0.1, 0.0, 0.55, 0.35])
    for start in (0.01, 0.5, 0.99):
        counts = np.bincount(pick(weight, 20, start), minlength=4)
        assert counts[1] == 0
        assert (np.abs(counts - 20 * np.asarray(weight)) < 1.0).all()
    # Weights that sum to a little less than one still have a last place to give.
    assert pick(jnp.full(3, 0.333), 4, 0.999)[-1] == 2


# What is refused.

NEAR = GaussianProcess(RBF(1.0), 0.1)


@pytest.mark.parametrize(
    "components",
    [
        [],
        [NEAR, GaussianProcess(Matern52(1.0), 0.1)],
        [NEAR, GaussianProcess(RBF([1.0, 2.0]), 0.1)],
        [NEAR, GaussianProcess(RBF(1.0), 0.1, weighting="precision")],
        [NEAR, NEAR.condition(X, Y)],
        [NEAR.condition(X[:2], Y[:2]), NEAR.condition(X, Y)],
        [NEAR, GaussianProcessClassifier(RBF(1.0))],
    ],
    ids=["none", "kernel", "scales", "weighting", "seen", "other-labels", "kind"],
)
def test_beliefs_that_are_not_alike_are_refused(components):
    with pytest.raises(InvalidInput, match="one or more beliefs of the same kind"):
        Mixture.of(components)


def test_a_component_must_be_a_belief():
    with pytest.raises(
        InvalidInput, match="component must be a AbstractProcess; it is a float"
    ):
        Mixture.of([0.3])


@pytest.mark.parametrize(
    ("log_prior", "message"),
    [
        ([0.0, 1.0], "log_prior has 2 values but the list of beliefs has 3 rows"),
        ([0.0, np.nan, 0.0], "log_prior is NaN or infinite in row 1"),
    ],
)
def test_bad_weights_are_refused(log_prior, message):
    with pytest.raises(InvalidInput, match=message):
        Mixture.of(processes(), log_prior)


def test_classifiers_take_no_other_labels_than_0_and_1():
    with pytest.raises(InvalidInput, match=r"y must hold 0 or 1; row 2 holds 0\.5"):
        PRIORS["classifier"][0].condition(X, BINARY.at[2].set(0.5))


def test_labels_beyond_arithmetic_are_said_to_be():
    with pytest.raises(NumericalError, match="The mixture broke down: a component finds the"):
        PRIOR.condition(X, 1e160 * Y)
