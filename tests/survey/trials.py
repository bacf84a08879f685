"""A small trial, drawn from round after round, with predictions from the arms seen so far."""

import numpy as np

from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.effects import effect_record

UNITS, ROUNDS, PER_ROUND = 60, 4, 10


class Trial:
    """Units with both outcomes, which only a simulation knows."""

    def __init__(self, chances: np.ndarray, seed: int = 3):
        rng = np.random.default_rng(seed)
        self.chances = chances
        self.x = rng.normal(size=UNITS)
        self.untreated = self.x + rng.normal(size=UNITS)
        self.treated = self.untreated + 0.5 + 0.5 * self.x
        self.mass = rng.uniform(0.5, 1.5, UNITS)
        self.weights = 0.2 + rng.uniform(size=UNITS)  # of being drawn

    @property
    def truth(self) -> float:
        return float(self.mass @ (self.treated - self.untreated) / self.mass.sum())

    def run(self, rng: np.random.Generator, initial: int = 0) -> DrawRecord:
        """Units 0 to `initial` are known beforehand; then four rounds of ten are drawn."""
        treatments = (rng.uniform(size=UNITS) < self.chances).astype(int)
        outcomes = np.where(treatments == 1, self.treated, self.untreated)
        known = np.arange(UNITS) < initial
        rounds = []
        for _ in range(ROUNDS):
            arms = self.predict(known, treatments, outcomes)
            rows, steps = self.draw(rng, known)
            rounds.append(RoundDraws(rows, steps, ~known, arms))
            known = known | np.isin(np.arange(UNITS), rows)
        nobody = np.zeros(UNITS, bool)
        return effect_record(
            self.mass,
            np.where(known, outcomes, np.nan),
            treatments,
            self.chances,
            tuple(rounds),
            nobody,
            nobody,
            before=np.zeros((2, UNITS)),
        )

    def predict(self, known, treatments, outcomes) -> np.ndarray:
        """The mean of each arm so far, and half of what x tells."""
        arms = []
        for arm in (0, 1):
            seen = known & (treatments == arm)
            arms.append(0.5 * self.x + (outcomes[seen].mean() if seen.any() else 0.0))
        return np.array(arms)

    def draw(self, rng, known) -> tuple[np.ndarray, np.ndarray]:
        """One unit after another, by weight among those left, by the largest Gumbel scores."""
        scores = np.log(self.weights) + rng.gumbel(size=UNITS)
        rows = np.argsort(np.where(known, np.inf, -scores))[:PER_ROUND]
        taken = np.cumsum(self.weights[rows]) - self.weights[rows]
        return rows, self.weights[rows] / (self.weights[~known].sum() - taken)
