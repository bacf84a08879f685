"""How good is a classifier, from 200 labels and the scores of all rows: one call."""

import numpy as np

rng = np.random.default_rng(0)
score = rng.beta(1.0, 3.0, size=20_000)  # what the classifier says of every row
truth = (rng.uniform(size=20_000) < score**1.2).astype(int)  # nobody knows, but labellers

import labelwise as lw  # noqa: E402

rows = rng.choice(len(score), 200)  # rows that chance drew, and that were labelled
y = truth[rows]
print(lw.measure(y, score[rows], score, metric="accuracy"))
print(lw.measure(y, score[rows], score, metric="auc"))
print(lw.measure(y, score[rows], score, metric="ece"))
