"""Mixtures against scipy and scikit-learn: weights, total moments, draws, and what is refused.

Where only one scale is unknown the mixture is a Student process, which has a closed form.
"""

import functools

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

from labelwise.beliefs import classifier
from labelwise.beliefs import fit as fitting
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF, Matern52
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture, pick, total_variance
from labelwise.errors import InvalidInput, NumericalError
from tests.beliefs.reference import covariance, make_data
from tests.marks import but_slow

DATA = make_data(0, 7, 2)
X, Y, AT = DATA
BINARY = (Y > 0.0).astype(float)
EVERY = np.ones(7)
MASK = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
PARTS = np.array([0.3, 1.0, 0.6, 0.1, 0.8, 0.45, 0.2])
PRESENT = np.flatnonzero(MASK)
# Length scale, variance, noise and mean of each component, and what it weighs before labels.
SETTINGS = [(0.7, 1.0, 0.05, 0.4), (1.5, 0.6, 0.3, -0.2), (1.0, 2.0, 1.5, 0.1)]
LOG_PRIOR = np.log([0.2, 0.5, 0.3])
DRAWS = 6000
WEIGHTINGS = ("paper", "precision")
LABELS = {"gp": Y, "classifier": BINARY}
each_weighting = pytest.mark.parametrize("weighting", but_slow(WEIGHTINGS, {"precision"}))
each_kind = pytest.mark.parametrize("kind", but_slow(LABELS, {"classifier"}))


@functools.cache
def processes(weighting="paper"):
    return [
        GaussianProcess(RBF(scale, variance), noise, ConstantMean(mean), weighting)
        for scale, variance, noise, mean in SETTINGS
    ]


@functools.cache
def classifiers():
    return [
        GaussianProcessClassifier(RBF(scale, 2.0 * variance), ConstantMean(mean))
        for scale, variance, _, mean in SETTINGS
    ]


def alone(kind):
    return processes() if kind == "gp" else classifiers()


@functools.cache
def prior(kind="gp"):
    return Mixture.of(alone(kind), LOG_PRIOR)


@functools.cache
def posterior(kind="gp"):
    return prior(kind).condition(X, LABELS[kind])


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


def evidence_of_parts(weighting, part):
    """Σ part · log p(reading | those before): by how much each makes their law's log grow."""
    gain = part if weighting == "paper" else np.sqrt(part)
    found = []
    for scale, variance, noise, mean in SETTINGS:
        own = noise + ((1.0 - part**2) * variance if weighting == "paper" else 0.0 * part)
        spread = np.outer(gain, gain) * covariance("rbf", X, X, scale, variance) + np.diag(own)
        reading = (Y - mean) * (1.0 if weighting == "paper" else gain)
        law = lambda n, spread=spread: scipy.stats.multivariate_normal(cov=spread[:n, :n])
        logs = [0.0, *(law(n).logpdf(reading[:n]) for n in range(1, 8))]
        found.append(part @ np.diff(logs))
    return np.array(found)


def weight_by_hand(evidence):
    odds = np.exp(LOG_PRIOR + evidence - evidence.max())
    return odds / odds.sum()


@eqx.filter_jit
def learn(belief, x, y, weight):
    """At once, and the first three labels before the others."""
    in_turn = belief.condition(x[:3], y[:3], weight[:3])
    return belief.condition(x, y, weight), in_turn.condition(x[3:], y[3:], weight[3:])


@eqx.filter_jit
def evidences(belief, x, y, weight):
    return [after.log_evidence for after in learn(belief, x, y, weight)]


@eqx.filter_jit
def weights(mixture, x, y, weight):
    return [after.weight for after in learn(mixture, x, y, weight)]


@eqx.filter_jit
def evidence_for_fitting(belief, x, y):
    of = classifier if isinstance(belief, GaussianProcessClassifier) else fitting
    return of.log_evidence(belief, x, y)


@eqx.filter_jit
def moments(belief, x):
    return belief.mean(x), belief.variance(x), belief.covariance(x), belief.outcome(x)


@eqx.filter_jit
def after_labels(belief, y):
    """The belief given the labels, and its moments."""
    after = belief.condition(X, y)
    return after, moments(after, AT)


@eqx.filter_jit
def draw(belief, key, x, draws):
    return belief.sample(key, x, draws), belief.sample_labels(key, x, draws)


# Evidence.


@each_weighting
def test_the_evidence_of_a_process_is_that_of_scipy(weighting):
    for one, truth in zip(processes(weighting), evidence_by_scipy(np.arange(7)), strict=True):
        assert one.log_evidence == 0.0
        seen, _ = evidences(one, X, Y, EVERY)
        assert_allclose(seen, truth, rtol=1e-12)
        assert_allclose(seen, evidence_for_fitting(one, X, Y), rtol=1e-12)


@each_weighting
def test_evidence_adds_up_over_batches_and_leaves_out_absent_rows(weighting):
    absurd = np.where(MASK > 0, Y, 1e3)
    truths = evidence_by_scipy(PRESENT)
    for one, truth in zip(processes(weighting), truths, strict=True):
        # Under precision weights an absent row has the root of 1e-30 in place of 0.
        for found in evidences(one, X, absurd, MASK):
            assert_allclose(found, truth, rtol=1e-9)


@each_weighting
def test_the_evidence_of_half_a_label_lies_between_none_and_all(weighting):
    one = processes(weighting)[0]
    at = lambda weight: float(evidences(one, X, Y, weight * np.eye(7)[0])[0])
    assert min(0.0, at(1.0)) < at(0.5) < max(0.0, at(1.0))


def test_the_evidence_of_a_classifier_is_that_of_scikit_learn():
    """It knows the logit link and no mean."""
    for scale, variance, _, _ in SETTINGS:
        kernel = sklearn_kernels.ConstantKernel(variance) * sklearn_kernels.RBF(scale)
        other = SklearnClassifier(kernel, optimizer=None, max_iter_predict=1000)
        other.fit(DATA.x, BINARY)
        mine = GaussianProcessClassifier(RBF(scale, variance), ConstantMean(0.0))
        assert mine.log_evidence == 0.0
        seen, _ = evidences(mine, X, BINARY, EVERY)
        # It stops where a step gains less than 1e-10.
        assert_allclose(seen, other.log_marginal_likelihood_value_, atol=1e-8)
        assert_allclose(seen, evidence_for_fitting(mine, X, BINARY), rtol=1e-12)


def test_the_evidence_of_a_classifier_counts_present_labels_once():
    one = classifiers()[0]
    truth = evidence_for_fitting(one, X[PRESENT], BINARY[PRESENT])
    absent = np.where(MASK > 0, BINARY, 1.0 - BINARY)
    for found in evidences(one, X, absent, MASK):
        assert_allclose(found, truth, rtol=1e-10)


# Weights.


def test_before_labels_the_weights_are_those_given():
    assert_allclose(prior().weight, np.exp(LOG_PRIOR), rtol=1e-12)
    assert_allclose(Mixture.of(processes()).weight, np.full(3, 1 / 3), rtol=1e-12)
    shifted = Mixture.of(processes(), LOG_PRIOR + 700.0)
    assert_allclose(shifted.weight, np.exp(LOG_PRIOR), rtol=1e-9)


@each_weighting
def test_the_weights_of_processes_are_prior_times_evidence(weighting):
    mixture = Mixture.of(processes(weighting), LOG_PRIOR)
    every = weight_by_hand(evidence_by_scipy(np.arange(7)))
    assert every.min() > 0.01  # none of them is out of the question
    for found in weights(mixture, X, Y, EVERY):
        assert_allclose(found, every, rtol=1e-9)
    some = weight_by_hand(evidence_by_scipy(PRESENT))
    for found in weights(mixture, X, np.where(MASK > 0, Y, 1e3), MASK):
        assert_allclose(found, some, rtol=1e-8)


@each_weighting
def test_parts_of_labels_tell_components_apart_in_the_share_of_their_weights(weighting):
    truth = weight_by_hand(evidence_of_parts(weighting, PARTS))
    assert np.abs(truth - np.exp(LOG_PRIOR)).max() > 0.05  # they do tell
    for found in weights(Mixture.of(processes(weighting), LOG_PRIOR), X, Y, PARTS):
        assert_allclose(found, truth, rtol=1e-9)


def test_the_weights_of_classifiers_are_prior_times_evidence():
    evidence = lambda rows: np.array(
        [evidence_for_fitting(one, X[rows], BINARY[rows]) for one in classifiers()]
    )
    every = weight_by_hand(evidence(np.arange(7)))
    for found in weights(prior("classifier"), X, BINARY, EVERY):
        assert_allclose(found, every, rtol=1e-9)
    some = weight_by_hand(evidence(PRESENT))
    for found in weights(prior("classifier"), X, np.where(MASK > 0, BINARY, 0.0), MASK):
        assert_allclose(found, some, rtol=1e-9)


@eqx.filter_jit
def of_unknown_scale(tau, log_prior, noise, x, y, at):
    """Moments, noise and evidence of a mixture over precisions, given labels."""
    scaled = jax.vmap(lambda one: GaussianProcess(RBF(1.0, 1.0 / one), noise / one))(tau)
    after = Mixture(scaled, log_prior).condition(x, y)
    each = jax.vmap(lambda one: one.log_evidence)(after.components)
    evidence = jax.nn.logsumexp(log_prior + each)
    return moments(after, at), after.likelihood.variance(jnp.zeros(1)), evidence


def test_an_unknown_scale_makes_a_student_process():
    """Kernel and noise over a precision τ ~ Gamma(a, b), by Gauss-Laguerre nodes in τ."""
    a, b, noise = 3.0, 1.5, 0.2
    nodes, weight = scipy.special.roots_genlaguerre(60, a - 1.0)
    kept = weight > 1e-250
    tau, weight = nodes[kept] / b, weight[kept] / weight.sum()
    # An even number of labels: what is integrated is then a polynomial times an exponential.
    data = DATA._replace(x=DATA.x[:6], y=DATA.y[:6])
    (mean, variance, joint, _), spread_of_label, evidence = of_unknown_scale(
        tau, np.log(weight), noise, *data
    )

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
    assert_allclose(spread_of_label, [noise * scale], rtol=1e-8)
    law = scipy.stats.multivariate_t(np.zeros(6), spread * b / a, df=2.0 * a)
    assert_allclose(evidence, law.logpdf(data.y), atol=1e-8)


# Moments and draws.


@each_kind
def test_moments_are_by_the_laws_of_total_mean_and_covariance(kind):
    each = [after_labels(one, LABELS[kind])[1] for one in alone(kind)]
    weight = np.asarray(posterior(kind).weight)
    means = np.array([one[0] for one in each])
    mean = sum(w * m for w, m in zip(weight, means, strict=True))
    joint = sum(
        w * (np.asarray(one[2]) + np.outer(m - mean, m - mean))
        for w, one, m in zip(weight, each, means, strict=True)
    )
    chances = np.array([one[3] for one in each])
    outcome = weight @ chances[:, 0]
    spread = weight @ (chances[:, 1] + (chances[:, 0] - outcome[None, :]) ** 2)
    found = moments(posterior(kind), AT)
    for mine, truth in zip(found, (mean, np.diag(joint), joint), strict=False):
        assert_allclose(mine, truth, atol=1e-12)
    assert_allclose(found[3], (outcome, spread), atol=1e-12)
    assert np.ptp(means, axis=0).max() > 0.1  # the components do disagree


def test_the_covariance_of_two_tables_is_a_block_of_that_of_both():
    whole = np.asarray(moments(posterior(), AT)[2])
    block = eqx.filter_jit(lambda belief: belief.covariance(AT[:2], AT[2:]))(posterior())
    assert_allclose(block, whole[:2, 2:], atol=1e-13)


@each_kind
def test_draws_have_the_moments_stated_jointly_over_rows(kind, getkey):
    after = posterior(kind)
    functions, labels = (np.asarray(part) for part in draw(after, getkey(), AT, DRAWS))
    mean, _, joint, (outcome, _) = moments(after, AT)
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


@eqx.filter_jit
def draw_marked(mixture, key, draws):
    """Many times over: the noise of the component that each draw is from, and a number."""
    mark = lambda one, key, n: jnp.stack(
        [jnp.full(n, one.noise), jax.random.normal(key, (n,))], axis=1
    )
    return jax.lax.map(lambda key: mixture.draw(key, draws, mark), jax.random.split(key, 40))


@pytest.mark.parametrize("draws", [1, 2, 7, 100])
@pytest.mark.parametrize("weight", [[0.95, 0.05, 0.0], [0.34, 0.33, 0.33], [0.0, 0.0, 1.0]])
def test_every_component_has_as_many_draws_as_its_weight_says(draws, weight, getkey):
    weight = np.array(weight)
    mixture = Mixture.of(processes(), np.log(np.maximum(weight, 1e-30)))
    shares = []
    for noise, normal in np.asarray(draw_marked(mixture, getkey(), draws)).swapaxes(1, 2):
        counts = np.array([(noise == setting[2]).sum() for setting in SETTINGS])
        assert counts.sum() == draws
        assert (np.abs(counts - draws * weight) <= 1.0 + 1e-9).all()
        assert len(np.unique(normal)) == draws  # no draw stands in for another
        shares.append(noise[0] == SETTINGS[0][2])
    # Where a component's draws stand tells nothing: each place is as likely for it.
    error = 4 * np.sqrt(weight[0] * (1 - weight[0]) / 40)
    assert abs(np.mean(shares) - weight[0]) <= error


def test_the_same_key_gives_the_same_draw(getkey):
    of = lambda key: map(np.asarray, draw(posterior(), key, AT, DRAWS))
    key = getkey()
    (functions, labels), again = of(key), of(key)
    for mine, yours in zip((functions, labels), again, strict=True):
        assert (mine == yours).all()
    assert (next(of(getkey())) != functions).all()


@each_kind
def test_one_component_is_that_component(kind):
    one = alone(kind)[1]
    single, of_single = after_labels(one, LABELS[kind])
    mixed, of_mixed = after_labels(Mixture.of([one], [-3.0]), LABELS[kind])
    assert mixed.size == 1
    assert mixed.weight == 1.0
    # All its numbers, those it learned included.
    alike = eqx.filter_jit(lambda mixed: (mixed.heaviest, mixed.likelihood))(mixed)
    both = ((single, of_single, single.likelihood), (alike[0], of_mixed, alike[1]))
    for mine, truth in zip(*map(jax.tree.leaves, both), strict=True):
        assert_allclose(mine, truth, rtol=1e-12, atol=1e-14)


# Parts of a mixture.


@eqx.filter_jit
def heaviest(mixture, count):
    """Noise and weights of the first few components."""
    some = mixture.few(count)
    return some.components.noise, some.weight


def test_the_heaviest_components_come_first():
    mixture, weight = posterior(), np.asarray(posterior().weight)
    order = np.argsort(-weight)
    noise, shares = heaviest(mixture, 2)
    picked = [setting[2] for setting in np.array(SETTINGS)[order[:2]]]
    assert_allclose(noise, picked)
    kept = weight[order[:2]]
    assert_allclose(shares, kept / kept.sum(), rtol=1e-12)
    assert mixture.heaviest.noise == picked[0]
    assert mixture.few(3) is mixture
    assert mixture.few(9) is mixture


def test_a_hopeless_component_does_not_blur_the_others():
    """Their order is kept though a third lies so far behind that 32 bits tell no difference."""
    mixture = Mixture.of(processes(), [-50.0, 0.0, -1e10])
    assert_allclose(heaviest(mixture, 1)[0], [SETTINGS[1][2]])
    assert_allclose(heaviest(mixture, 2)[0], [SETTINGS[1][2], SETTINGS[0][2]])


def test_the_noise_of_a_mixture_is_the_mean_of_its_components():
    noises = np.array([setting[2] for setting in SETTINGS])
    mean = np.asarray(posterior().weight) @ noises
    assert_allclose(posterior().likelihood.variance(jnp.asarray(Y)), np.full(7, mean), 1e-12)


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
    found = jax.jit(total_variance)(weight, jnp.asarray(mean), jnp.asarray(var))
    assert_allclose(found, table.var(axis=0), rtol=1e-10)


def test_places_are_picked_in_proportion():
    picked = eqx.filter_jit(pick)
    weight = np.array([0.1, 0.0, 0.55, 0.35])
    for start in (0.01, 0.5, 0.99):
        counts = np.bincount(picked(jnp.asarray(weight), 20, jnp.asarray(start)), minlength=4)
        assert counts[1] == 0
        assert (np.abs(counts - 20 * weight) < 1.0).all()
    # Weights that sum to a little less than one still have a last place to give.
    short = jnp.array([0.333, 0.333, 0.0, 0.333])
    assert np.asarray(picked(short, 20, jnp.asarray(0.999)))[-1] == 3


# What is refused.


def near(**options):
    return GaussianProcess(RBF(1.0), 0.1, **options)


@eqx.filter_jit
def informed(count):
    """Given the first labels."""
    return near().condition(X[:count], Y[:count])


@pytest.mark.parametrize(
    "components",
    [
        lambda: [],
        lambda: [near(), GaussianProcess(Matern52(1.0), 0.1)],
        lambda: [near(), GaussianProcess(RBF([1.0, 2.0]), 0.1)],
        lambda: [near(), near(weighting="precision")],
        lambda: [near(), informed(7)],
        lambda: [informed(2), informed(7)],
        lambda: [near(), GaussianProcessClassifier(RBF(1.0))],
    ],
    ids=["none", "kernel", "scales", "weighting", "seen", "other-labels", "kind"],
)
def test_beliefs_that_are_not_alike_are_refused(components):
    with pytest.raises(InvalidInput, match="one or more beliefs of the same kind"):
        Mixture.of(components())


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
        prior("classifier").condition(X, np.where(np.arange(7) == 2, 0.5, BINARY))


def test_labels_beyond_arithmetic_are_said_to_be():
    with pytest.raises(NumericalError, match="The mixture broke down: a component finds the"):
        prior().condition(X, 1e160 * Y)
