"""Fitting hyper-parameters: the evidence against scikit-learn, the optimum against truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs import fit as fitting
from labelwise.beliefs.fit import Fit, fit_gaussian_process, log_evidence
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import KERNELS
from labelwise.beliefs.means import ConstantMean, PredictorMean, ZeroMean
from labelwise.errors import InvalidInput
from tests.beliefs.reference import covariance, make_data
from tests.marks import but_slow

SKLEARN = {
    "rbf": lambda scale: sklearn_kernels.RBF(scale),
    "matern32": lambda scale: sklearn_kernels.Matern(scale, nu=1.5),
    "matern52": lambda scale: sklearn_kernels.Matern(scale, nu=2.5),
}

each_kernel = pytest.mark.parametrize("name", but_slow(SKLEARN, SKLEARN.keys() - {"rbf"}))
evidence = eqx.filter_jit(log_evidence)


def sklearn_evidence(name, x, residual, length_scale, variance, noise) -> float:
    kernel = sklearn_kernels.ConstantKernel(variance) * SKLEARN[name](length_scale)
    regressor = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    return regressor.fit(x, residual).log_marginal_likelihood_value_


def numpy_evidence(name, x, residual, length_scale, variance, noise) -> float:
    matrix = covariance(name, x, x, length_scale, variance) + noise * np.eye(len(x))
    volume = np.linalg.slogdet(matrix)[1] + len(x) * np.log(2 * np.pi)
    return -0.5 * (residual @ np.linalg.solve(matrix, residual) + volume)


def objective(name, x, y, length_scale, variance, noise, level=None) -> float:
    """Evidence times prior, as the module's docstring states it, for a constant mean."""
    level = y.mean() if level is None else level
    median = x.std(axis=0) * np.sqrt(x.shape[1])
    away = np.concatenate(
        [
            np.log(length_scale / median),  # spread 1
            [np.log(variance / y.var())],  # spread 1
            [np.log(noise / (0.1 * y.var())) / 1.5],
            [(level - y.mean()) / y.std()],
        ]
    )
    return numpy_evidence(name, x, y - level, length_scale, variance, noise) - away @ away / 2


def parameters(fit: Fit):
    """Length scales, variance, noise and level, as numbers."""
    kernel, mean = fit.prior.kernel, fit.prior.prior_mean
    assert isinstance(mean, ConstantMean)
    scale = np.asarray(kernel.length_scale)
    return scale, float(kernel.variance), float(fit.prior.noise), float(mean.level)


def every_number(fit: Fit) -> np.ndarray:
    leaves = [np.ravel(leaf) for leaf in jax.tree_util.tree_leaves(fit.prior)]
    return np.concatenate([*leaves, [fit.log_evidence], fit.starts])


def smooth(count=30, noise=0.2, seed=60):
    """A smooth function of two features, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2))
    return x, np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + noise * rng.normal(size=count)


# The evidence.


@each_kernel
@pytest.mark.parametrize("dim", [2, 9])
@pytest.mark.parametrize(
    ("mean", "formula"),
    [
        (ZeroMean, lambda x: np.zeros(len(x))),
        (lambda: PredictorMean(1, 0.4, -1.3), lambda x: 0.4 - 1.3 * x[:, 1]),
    ],
    ids=["zero", "predictor"],
)
def test_the_evidence_agrees_with_scikit_learn(name, dim, mean, formula):
    data = make_data(61, 12, dim)
    scale = np.sqrt(dim) * np.linspace(0.6, 1.7, dim)
    belief = GaussianProcess(KERNELS[name](scale, 1.7), 0.05, mean())
    mine = evidence(belief, data.x, data.y)
    true = sklearn_evidence(name, data.x, data.y - formula(data.x), scale, 1.7, 0.05)
    # Condition number below 12 · 1.7 / 0.05 = 400, and squares of size 100: some 1e-11.
    assert_allclose(mine, true, rtol=0, atol=1e-9)


@each_kernel
def test_masked_rows_are_absent_from_the_evidence(name):
    data = make_data(62, 12, 2)
    mask = np.arange(12) % 3 > 0
    y = np.where(mask, data.y, 1e6)
    x = np.where(mask[:, None], data.x, data.x[1])  # equal to a row that counts
    belief = GaussianProcess(KERNELS[name](1.3, 1.7), 0.05, ConstantMean(0.3))
    mine = evidence(belief, x, y, mask)
    true = sklearn_evidence(name, data.x[mask], data.y[mask] - 0.3, 1.3, 1.7, 0.05)
    assert_allclose(mine, true, rtol=0, atol=1e-9)


@jax.jit
@jax.jacrev
def slopes(logs, x, y, mask):
    """Of every kernel's evidence in the logs of its parameters."""
    dim, numbers = x.shape[1], jnp.exp(logs)
    of = lambda kernel: GaussianProcess(kernel(numbers[:dim], numbers[dim]), numbers[-1])
    return {name: log_evidence(of(KERNELS[name]), x, y, mask) for name in SKLEARN}


@each_kernel
@pytest.mark.parametrize("dim", [1, 2, 9])
def test_gradients_of_the_evidence_are_right_where_rows_coincide(name, dim):
    data = make_data(63, 20, dim)
    x = np.vstack([data.x, np.repeat(data.x[:4], 3, axis=0)])  # as padding repeats them
    y, mask = np.resize(data.y, 32), np.arange(32) < 28
    scale = np.sqrt(dim) * np.linspace(0.6, 1.7, dim)

    def true(logs):
        numbers = np.exp(logs)
        return numpy_evidence(name, x[:28], y[:28], numbers[:dim], numbers[dim], numbers[-1])

    logs, step = np.log(np.concatenate([scale, [1.7, 0.1]])), 1e-4
    rise = [true(logs + step * unit) - true(logs - step * unit) for unit in np.eye(dim + 2)]
    # h² times a third derivative of order 1e3 is 1e-5; rounding of 1e-11 / h is 1e-7.
    found = slopes(logs, x, y, mask)[name]
    assert_allclose(found, np.array(rise) / (2 * step), rtol=0, atol=1e-4)


# The optimum.


@each_kernel
def test_the_fit_of_150_rows_of_a_known_process_beats_and_finds_the_truth(name):
    scale, variance, noise, level = np.array([0.6, 1.2]), 2.0, 0.1, 1.5
    rng = np.random.default_rng(64)
    x = rng.normal(size=(150, 2))
    root = np.linalg.cholesky(covariance(name, x, x, scale, variance) + noise * np.eye(150))
    y = level + root @ rng.normal(size=150)
    fit = fit_gaussian_process(x, y, kernel=name, starts=2)
    truth = objective(name, x, y, scale, variance, noise, level)
    assert fit.starts[0] >= truth
    # Twice the gain over the truth is a chi-square of five parameters: above 25 once in 1e4.
    assert fit.starts[0] <= truth + 12.5
    found, _, found_noise, _ = parameters(fit)
    # The curvature at the optimum gives standard errors of 0.10 to 0.22 to the logs of the
    # length scales and 0.14 to 0.20 to that of the noise.
    assert_allclose(np.log(found), np.log(scale), rtol=0, atol=0.45)
    assert_allclose(np.log(found_noise), np.log(noise), rtol=0, atol=0.6)
    assert fit.at_bound == ()


@each_kernel
def test_the_objective_reached_is_evidence_times_prior_and_a_maximum(name):
    x, y = smooth()
    fit = fit_gaussian_process(x, y, kernel=name)
    scale, variance, noise, level = parameters(fit)
    true = sklearn_evidence(name, x, y - level, scale, variance, noise)
    assert_allclose(fit.log_evidence, true, rtol=0, atol=1e-9)
    best = objective(name, x, y, scale, variance, noise, level)
    assert_allclose(fit.starts[0], best, rtol=0, atol=1e-9)
    for factor in (0.9, 1.1):
        first, second = np.array([factor, 1.0]), np.array([1.0, factor])
        around = [
            objective(name, x, y, scale * first, variance, noise, level),
            objective(name, x, y, scale * second, variance, noise, level),
            objective(name, x, y, scale, variance * factor, noise, level),
            objective(name, x, y, scale, variance, noise * factor, level),
            objective(name, x, y, scale, variance, noise, level + (factor - 1.0) * y.std()),
        ]
        assert max(around) < best


@each_kernel
@pytest.mark.parametrize("twins", [False, True])
def test_every_start_reaches_a_finite_objective(name, twins):
    x, y = smooth()
    if twins:
        x = np.repeat(x[:15], 2, axis=0)
    fit = fit_gaussian_process(x, y, kernel=name, starts=6)
    assert len(fit.starts) == 6
    assert np.isfinite(every_number(fit)).all()
    assert list(fit.starts) == sorted(fit.starts, reverse=True)
    # Every one climbed: above where the first began, at the prior medians.
    median = objective(name, x, y, x.std(axis=0) * np.sqrt(2), y.var(), 0.1 * y.var())
    assert min(fit.starts) > median


@each_kernel
@pytest.mark.parametrize("count", [2, 5, 20])
def test_a_few_rows_of_pure_noise_give_a_sensible_fit(name, count):
    rng = np.random.default_rng(65)
    x, y = rng.normal(size=(count, 2)), 3.0 + 2.0 * rng.normal(size=count)
    fit = fit_gaussian_process(x, y, kernel=name)
    assert np.isfinite(every_number(fit)).all()
    scale, variance, noise, level = parameters(fit)
    # Weak priors of spread 1 to 1.5 in log units: three of them away would be a runaway.
    assert np.abs(np.log(scale / (x.std(axis=0) * np.sqrt(2)))).max() < 3.0
    assert abs(np.log((variance + noise) / y.var())) < np.log(3.0)
    assert abs(level - y.mean()) < y.std()
    assert fit.at_bound == ()
    # Better than calling it all noise, which is one of the candidates.
    all_noise = objective(name, x, y, scale, np.exp(-3.0) * y.var(), y.var())
    assert fit.starts[0] >= all_noise


def test_constant_labels_are_predicted_everywhere_and_reported_as_noiseless():
    x, _ = smooth()
    fit = fit_gaussian_process(x, np.full(30, 3.0))
    assert np.isfinite(every_number(fit)).all()
    assert "noise" in fit.at_bound
    posterior = eqx.filter_jit(lambda belief, x, y, at: belief.condition(x, y).mean(at))
    at = np.random.default_rng(66).normal(size=(5, 2))
    predicted = posterior(fit.prior, x, np.full(30, 3.0), at)
    # The level is found to the optimiser's tolerance.
    assert_allclose(predicted, np.full(5, 3.0), rtol=0, atol=1e-3)


def test_a_constant_feature_is_no_obstacle():
    x, y = smooth()
    fit = fit_gaussian_process(np.column_stack([x, np.full(30, 7.0)]), y)
    assert np.isfinite(every_number(fit)).all()
    # It tells nothing, so its length scale stays at the prior median, √3 for want of a spread.
    assert_allclose(parameters(fit)[0][2], np.sqrt(3.0), rtol=1e-3)


def test_several_starts_are_never_worse_than_one_and_can_be_better():
    better = []
    for seed in (0, 4, 5):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
        one, four = (fit_gaussian_process(x, y, kernel="rbf", starts=n) for n in (1, 4))
        assert one.starts[0] in four.starts  # the first start is the same
        assert four.starts[0] >= one.starts[0]
        assert four.starts[0] == max(four.starts)
        better.append(four.starts[0] > one.starts[0] + 0.1)
    assert any(better)  # noise has several explanations


def test_the_same_seed_gives_the_same_fit_and_one_start_needs_none():
    x, y = smooth()
    first, again, other = (fit_gaussian_process(x, y, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(every_number(first), every_number(again))
    assert first.starts != other.starts  # other places, hence other last digits
    one, same = (fit_gaussian_process(x, y, starts=1, seed=seed) for seed in (5, 6))
    np.testing.assert_array_equal(every_number(one), every_number(same))


@each_kernel
def test_units_of_labels_and_features_carry_over_to_the_hyper_parameters(name):
    x, y = smooth()
    scale, variance, noise, level = parameters(fit_gaussian_process(x, y, kernel=name))
    other = fit_gaussian_process(10 * x, 1000 * y, kernel=name)
    scaled = parameters(other)
    # L-BFGS stops within 1e-9 of the objective, hence some √1e-9 from the optimum.
    assert_allclose(scaled[0], 10 * scale, rtol=1e-3)
    assert_allclose(scaled[1], 1e6 * variance, rtol=1e-3)
    assert_allclose(scaled[2], 1e6 * noise, rtol=1e-3)
    assert_allclose(scaled[3], 1000 * level, rtol=0, atol=1e-3 * 1000 * y.std())


def test_shifting_labels_and_features_shifts_the_mean_only():
    x, y = smooth()
    scale, variance, noise, level = parameters(fit_gaussian_process(x, y))
    shifted = parameters(fit_gaussian_process(x + 100.0, y - 50.0))
    assert_allclose(shifted[0], scale, rtol=1e-3)
    assert_allclose(shifted[1:3], (variance, noise), rtol=1e-3)
    assert_allclose(shifted[3], level - 50.0, rtol=0, atol=1e-3 * y.std())


def test_one_length_scale_for_all_features_is_the_best_single_one():
    x, y = smooth()
    fit = fit_gaussian_process(x, y, kernel="rbf", per_feature=False)
    scale, variance, noise, level = parameters(fit)
    assert scale.shape == ()
    true = sklearn_evidence("rbf", x, y - level, scale, variance, noise)
    assert_allclose(fit.log_evidence, true, rtol=0, atol=1e-9)
    median = np.sqrt(2 * x.std(axis=0).prod())  # geometric mean of the spreads, times √2
    logs = [np.log(scale / median), np.log(variance / y.var())]
    logs += [np.log(noise / (0.1 * y.var())) / 1.5, (level - y.mean()) / y.std()]
    assert_allclose(fit.starts[0], true - np.square(logs).sum() / 2, rtol=0, atol=1e-9)


def test_a_mean_linear_in_the_predictor_recovers_the_line():
    rng = np.random.default_rng(67)
    x = rng.normal(size=(30, 2))
    y = 0.7 + 2.0 * x[:, 1] + 0.1 * rng.normal(size=30)
    for column in (1, -1):
        fit = fit_gaussian_process(x, y, mean="predictor", predictor_column=column)
        mean = fit.prior.prior_mean
        assert isinstance(mean, PredictorMean)
        # The kernel, of variance at most that of the labels, can tilt the line a little.
        assert_allclose(float(mean.slope), 2.0, rtol=0, atol=0.1)
        assert_allclose(float(mean.intercept), 0.7, rtol=0, atol=0.5)
        assert float(fit.prior.noise) < 0.1**2 * 2


def test_a_zero_mean_is_zero_and_the_weighting_is_passed_on():
    x, y = smooth()
    fit = fit_gaussian_process(x, y, mean="zero", weighting="precision")
    assert isinstance(fit.prior.prior_mean, ZeroMean)
    assert fit.prior.weighting == "precision"
    assert fit.prior.seen is None


def test_units_of_labels_carry_over_to_the_slope():
    rng = np.random.default_rng(67)
    x = rng.normal(size=(30, 2))
    y = 0.7 + 2.0 * x[:, 1] + 0.1 * rng.normal(size=30)
    fit = fit_gaussian_process(x, 1000 * y, mean="predictor", predictor_column=1)
    mean = fit.prior.prior_mean
    assert isinstance(mean, PredictorMean)
    assert_allclose(float(mean.slope), 2000.0, rtol=0.05)


def test_noiseless_labels_push_the_noise_to_its_bound_and_it_is_named():
    x, _ = smooth()
    y = np.sin(x[:, 0])
    fit = fit_gaussian_process(x, y, kernel="rbf")
    assert fit.at_bound == ("noise",)
    assert_allclose(float(fit.prior.noise), 0.1 * y.var() * np.exp(-6.0), rtol=2e-3)


def test_every_hyper_parameter_at_a_bound_is_named_and_no_other(monkeypatch):
    monkeypatch.setattr(fitting, "BOUND", 0.5)
    x, _ = smooth()
    y = np.sin(3 * x[:, 0])  # short in the first feature, flat in the second, no noise
    fit = fit_gaussian_process(x, y, kernel="rbf")
    scale, variance, noise, _ = parameters(fit)
    median = x.std(axis=0) * np.sqrt(2)
    away = np.log([*(scale / median), variance / y.var(), noise / (0.1 * y.var())])
    assert (np.abs(away) <= 0.5 + 1e-9).all()
    names = ["length_scale[0]", "length_scale[1]", "variance", "noise"]
    assert fit.at_bound == tuple(np.array(names)[np.abs(away) > 0.499])
    assert {"length_scale[0]", "length_scale[1]"} <= set(fit.at_bound)
    assert away[0] < 0.0 < away[1]


# What is refused.


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cubic"}, r"^kernel must be one of rbf, .*, linear; it is 'cubic'\.$"),
        ({"mean": "linear"}, r"^mean must be zero, constant or predictor; it is 'linear'\.$"),
        (
            {"mean": "predictor"},
            r"^A mean linear in the predictor needs predictor_column, the column of x with "
            r"its output \(0 to 1\); it is None\.$",
        ),
        ({"mean": "predictor", "predictor_column": 2}, r"\(0 to 1\); it is 2\.$"),
        ({"mean": "predictor", "predictor_column": -3}, r"\(0 to 1\); it is -3\.$"),
        ({"starts": 0}, r"^starts must be at least 1; it is 0\.$"),
        ({"weighting": "linear"}, r"^weighting must be 'paper' or 'precision'; it is 'linear'"),
    ],
)
def test_an_unknown_choice_is_refused(options, message):
    x, y = smooth(8)
    with pytest.raises(InvalidInput, match=message):
        fit_gaussian_process(x, y, **options)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_rows_are_refused(count):
    message = (
        rf"^Fitting needs at least 2 labelled rows; there are {count}: "
        r"give hyper-parameters instead\.$"
    )
    with pytest.raises(InvalidInput, match=message):
        fit_gaussian_process(np.ones((count, 2)), np.ones(count))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x, y: (x[:, 0], y), r"^x must have two axes"),
        (lambda x, y: (x, y[:5]), r"^y has 5 values but x has 8 rows; give one value a row"),
        (lambda x, y: (x, np.where(y == y[3], np.nan, y)), r"^y is NaN or infinite in row 3;"),
    ],
)
def test_bad_labels_are_refused_before_fitting(spoil, message):
    with pytest.raises(InvalidInput, match=message):
        fit_gaussian_process(*spoil(*smooth(8)))


def test_length_scales_are_expected_on_the_populations_scale():
    """Labels that say nothing of a feature leave its length scale where the prior puts it."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=40), np.zeros(40)])  # the second feature never varies
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=40)
    fit = fit_gaussian_process(x, y, spread=[1.0, 7.0])
    assert parameters(fit)[0][1] == pytest.approx(7.0 * np.sqrt(2.0), rel=1e-3)
    same = fit_gaussian_process(x, y, spread=[x[:, 0].std(), 1.0])
    plain = fit_gaussian_process(x, y)
    np.testing.assert_allclose(
        same.prior.kernel.length_scale, plain.prior.kernel.length_scale, rtol=1e-9
    )


@pytest.mark.parametrize("spread", [[1.0], [1.0, -2.0], [1.0, np.nan]])
def test_a_spread_that_cannot_be_is_refused(spread):
    with pytest.raises(InvalidInput, match="spread"):
        fit_gaussian_process(np.eye(4)[:, :2], np.arange(4.0), spread=spread)
