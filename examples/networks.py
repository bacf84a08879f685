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
    "ensemble+": lw.fit(
        x, y, "ensemble-plus", noise=0.01, members=20, steps=300, learning_rate=0.005
    ),
    "last layer": lw.fit(x, y, "last-layer", steps=300, components=1),
    "Gaussian process": lw.fit(x, y, components=1),
}
for name, belief in beliefs.items():
    now = lw.estimands.moments_of(jax.random.key(0), belief, mse, draws=1000)
    batch = lw.Lookahead().propose(jax.random.key(0), belief, mse, pool, k=5)
    rows = batch.indices.tolist()
    print(f"{name}: MSE {now.mean:.2f} ± {now.variance**0.5:.2f}; label rows {rows}")
