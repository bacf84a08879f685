"""The same question to three beliefs: ensemble+, a Bayesian last layer, a Gaussian process."""

import jax
import numpy as np

import labelwise as lw

rng = np.random.default_rng(0)
x = rng.normal(0.0, 0.5, size=(60, 2))  # labelled rows: one corner of the population
y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=60)
pool = lw.Pool(rng.normal(0.0, 2.0, size=(500, 2)))
mse = lw.MeanSquaredError(rng.normal(0.5, 1.5, size=(300, 2)), lambda x: 0.8 * x[:, 0])

beliefs = {
    "ensemble+": lw.beliefs.neural_belief(
        "ensemble-plus", features=2, noise=0.01, members=20, steps=300, learning_rate=0.005
    ),
    "last layer": lw.beliefs.fit_last_layer(x, y, steps=300, components=1).belief,
    "Gaussian process": lw.fit_gaussian_process(x, y).belief,
}
for name, prior in beliefs.items():
    belief = prior.condition(x, y)
    now = lw.estimands.moments_of(jax.random.key(0), belief, mse, draws=1000)
    batch = lw.Lookahead().propose(jax.random.key(0), belief, mse, pool, k=5)
    rows = batch.indices.tolist()
    print(f"{name}: MSE {now.mean:.2f} ± {now.variance**0.5:.2f}; label rows {rows}")
