"""Which five rows should be labelled next? The README's example."""

import jax
import numpy as np

import labelwise as lw

rng = np.random.default_rng(0)
x = rng.normal(0.0, 0.5, size=(60, 2))  # labelled rows: one corner of the population
y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=60)
pool = lw.Pool(rng.normal(0.0, 2.0, size=(500, 2)))  # rows one may send to be labelled
target = rng.normal(0.5, 1.5, size=(300, 2))  # the population one cares about
predict = lambda x: 0.8 * x[:, 0]  # the model under evaluation

belief = lw.fit(x, y, components=1)  # the best hyper-parameters alone
mse = lw.MeanSquaredError(target, predict)
batch = lw.Lookahead().propose(jax.random.key(0), belief, mse, pool, k=5)

now = lw.exact_moments(belief, mse)
after = lw.expected_variance(belief, mse, pool.x, batch.indices)
print(f"MSE {now.mean:.2f} ± {now.variance**0.5:.2f}; label rows {batch.indices.tolist()}")
print(f"and expect ± {after**0.5:.2f}")
