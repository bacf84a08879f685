"""Recall under a classifier, an estimand of one's own, two models, and a treatment effect."""

import jax
import numpy as np

import labelwise as lw

rng = np.random.default_rng(0)
x = rng.normal(-1.0, 0.7, size=(60, 2))  # patients seen so far: one corner
died = (rng.uniform(size=60) < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(float)
pool = lw.Pool(rng.normal(size=(300, 2)))
target = rng.normal(size=(200, 2))
risk = lambda x: 1 / (1 + np.exp(-1.5 * x[:, 0]))  # the model under evaluation

belief = lw.fit(x, died, components=1)  # labels are 0 or 1: a classifier
recall = lw.estimands.Recall(target, risk, threshold=0.3)
batch = lw.Lookahead().propose(0, belief, recall, pool, k=5)
print("for recall, label", batch.indices.tolist())


def calibration_in_the_large(outcome, mass):
    """Deaths observed over deaths expected."""
    return (mass @ outcome) / (mass @ risk(target))


own = lw.estimands.FunctionEstimand(target, calibration_in_the_large)
batch = lw.Lookahead().propose(0, belief, own, pool, k=5)
print("for calibration, label", batch.indices.tolist())

several = lw.estimands.Several([recall, own], combine="worst")
batch = lw.Lookahead().propose(0, belief, several, pool, k=5)
print("for both, label", batch.indices.tolist())

other = lambda x: 1 / (1 + np.exp(-x[:, 1]))
brier = lambda model: lw.estimands.BrierScore(target, model)
which = lw.estimands.difference(brier(risk), brier(other))
mean, variance = lw.estimands.moments_of(jax.random.key(0), belief, which, draws=2000)
print(f"Brier score of the first model minus the second's: {mean:.3f} ± {variance**0.5:.3f}")

z = rng.integers(0, 2, size=60)  # who was treated
y = x[:, 0] + z * (1 + 0.5 * x[:, 1]) + 0.2 * rng.normal(size=60)
xz = np.column_stack([x, z])
units = np.column_stack([pool.x, np.zeros(300)])
trial = lw.Pool(units, assignment=lw.Assignment(column=2, chance=0.5, size=300))
effect = lw.estimands.AverageTreatmentEffect(np.column_stack([target, np.zeros(200)]), column=2)
belief = lw.fit(xz, y, components=1)
batch = lw.Lookahead().propose(0, belief, effect, trial, k=5)
treated = dict(zip(batch.indices.tolist(), np.asarray(batch.treatment).tolist(), strict=True))
print("for the effect, treat as drawn:", treated)
