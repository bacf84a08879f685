"""A randomised trial: four treatments of HIV infection and the immune cells 20 weeks later.

2,139 patients got zidovudine alone or one of three other therapies, by lot. Nobody knows a
patient's other outcome, so the truth is what the whole trial says. The data are ACTG 175
(CC BY 4.0); `data/ACTG175.md` has source, citation and changes, and
`experiments/make_trials.py` makes the table.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.readers.trials import (
    TrialDraw,
    difference_of_means,
    draw_trial,
    encode_covariates,
    read_shipped,
)

ARM, OUTCOME = "arms", "cd420"
CHANCE = 0.75  # of a therapy other than zidovudine alone: three of four equal arms


@dataclass(frozen=True, eq=False)
class Actg175:
    """Every patient: what was known at the start, the treatment and its outcome."""

    covariates: pd.DataFrame  # 15 columns, all from before randomisation
    x: np.ndarray  # the same, encoded: 2139 by 15
    z: np.ndarray  # 1 another therapy (two drugs, or didanosine), 0 zidovudine alone
    y: np.ndarray  # CD4 cells a mm³ after 20 ± 5 weeks, under the treatment received

    @property
    def effect(self) -> float:
        """The difference of means, 46.8 cells with a standard error of 6.8.

        An unbiased estimate of the average effect, not the effect itself.
        """
        return difference_of_means(self.y, self.z)

    @property
    def adjusted_effect(self) -> float:
        """The same by regression on the covariates: 49.4 cells, standard error 5.1.

        One linear regression an arm, averaged over all patients; chance differences of the
        arms before treatment are taken out. [1]

        [1] Lin (2013), Agnostic notes on regression adjustments to experimental data.
        """
        design = np.column_stack([np.ones(len(self.x)), self.x])
        means = [self._predict(design, arm).mean() for arm in (0, 1)]
        return float(means[1] - means[0])

    def _predict(self, design: np.ndarray, arm: int) -> np.ndarray:
        own = self.z == arm
        return design @ np.linalg.lstsq(design[own], self.y[own], rcond=None)[0]


@dataclass(frozen=True, eq=False)
class Actg175Draw(TrialDraw):
    """A study whose pool was treated by lot; the truth is the trial's answer."""

    z_pool: np.ndarray  # drawn by lot, and hidden until the unit is chosen ...
    y_pool: np.ndarray  # ... together with the outcome under that treatment


def load_actg175() -> Actg175:
    """The trial with its two sides: zidovudine alone, and any other therapy."""
    table = read_shipped("actg175.csv.gz")
    covariates = table.drop(columns=[ARM, OUTCOME])
    return Actg175(
        covariates=covariates,
        x=encode_covariates(covariates),
        z=(table[ARM] != 0).to_numpy(int),
        y=table[OUTCOME].to_numpy(float),
    )


def draw_actg175(
    seed: int, labelled: int = 100, pool: int = 1000, clusters: int = 10
) -> Actg175Draw:
    """`labelled` patients of one region out of `clusters`, and a pool drawn from all others."""
    data = load_actg175()
    parts = draw_trial("ACTG 175", data, seed, labelled, pool, clusters)
    others = parts["rows_pool"]
    return Actg175Draw(**parts, z_pool=data.z[others], y_pool=data.y[others])
