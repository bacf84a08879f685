"""Treatment effects with a known truth: the data of a competition in 2016.

Covariates of 4,802 real pregnancies; treatments and both outcomes of every unit are simulated,
in ten settings. Who is treated depends on the covariates, so that comparing treated and
untreated misleads: in setting 1 by 1.45 where the effect is 2.13. The data are under
CDLA-Sharing-1.0; `data/ACIC2016.md` has source, citation and changes, and
`experiments/make_trials.py` makes the files.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.readers.trials import (
    TrialDraw,
    draw_trial,
    encode_covariates,
    read_shipped,
)
from labelwise.errors import InvalidInput

SETTINGS = 10


@dataclass(frozen=True, eq=False)
class Acic2016:
    """Every unit of one setting: covariates, treatment, both outcomes and their means."""

    covariates: pd.DataFrame  # 58 columns as in the source, three of them texts
    x: np.ndarray  # the same, encoded: 4802 by 82
    z: np.ndarray  # 1 treated, 0 not
    y0: np.ndarray  # outcome without treatment, noise included ...
    y1: np.ndarray  # ... and with it
    mu0: np.ndarray  # expected outcome given the covariates, without treatment ...
    mu1: np.ndarray  # ... and with it

    @property
    def y(self) -> np.ndarray:
        """The factual outcome: of the treatment that the unit had."""
        return np.where(self.z == 1, self.y1, self.y0)

    @property
    def effect(self) -> float:
        """The average effect mean(mu1 - mu0): over these units, free of outcome noise.

        mean(y1 - y0) is the effect on the outcomes that happened. Their noise has variance 1
        in either arm, so the two differ with standard deviation √(2 / 4802) = 0.02; in
        setting 1 they are 2.128 and 2.151. A method that learns the expected outcomes
        perfectly finds the first.
        """
        return float(np.mean(self.mu1 - self.mu0))


@dataclass(frozen=True, eq=False)
class Acic2016Draw(TrialDraw):
    """A study whose pool treatments can be tried on; those observed were not randomised."""

    y0_pool: np.ndarray  # what choosing a unit without treatment reveals ...
    y1_pool: np.ndarray  # ... and with it


def load_acic2016(setting: int = 1) -> Acic2016:
    """One of the ten settings; the covariates are the same in all."""
    if not 1 <= setting <= SETTINGS:
        raise InvalidInput.must("setting", f"lie between 1 and {SETTINGS}", f"it is {setting}")
    covariates = read_shipped("acic2016/x.csv.gz")
    outcomes = read_shipped(f"acic2016/setting_{setting}.csv.gz")
    return Acic2016(
        covariates=covariates,
        x=encode_covariates(covariates),
        **{str(name): outcomes[name].to_numpy() for name in outcomes},
    )


def draw_acic2016(
    seed: int, setting: int = 1, labelled: int = 100, pool: int = 1000, clusters: int = 10
) -> Acic2016Draw:
    """`labelled` units of one region out of `clusters`, and a pool drawn from all others.

    A region may hold few treated units; a small initial sample may have none at all.
    """
    data = load_acic2016(setting)
    parts = draw_trial("ACIC 2016", data, seed, labelled, pool, clusters)
    others = parts["rows_pool"]
    return Acic2016Draw(**parts, y0_pool=data.y0[others], y1_pool=data.y1[others])
