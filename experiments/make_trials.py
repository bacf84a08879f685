"""`python -m experiments.make_trials FOLDER`: the treatment data that the package ships.

FOLDER holds `acic2016/` (x.csv and zymu_1.csv to zymu_10.csv, from causallib) and `actg175/`
(ACTG175.csv, from lifelines). See ACIC2016.md and ACTG175.md beside the files for sources and
licences. Every file begins with a line that says it was changed, as ACIC 2016's licence asks.
"""

import sys
from pathlib import Path

import pandas as pd

from experiments.make_support2 import write_table
from experiments.readers.acic2016 import SETTINGS
from experiments.readers.actg175 import ARM, OUTCOME

OUT = Path(__file__).parents[0] / "readers/data"
DECIMALS = 4  # of simulated outcomes, whose noise has standard deviation 1

# Known before randomisation. Left out: str2, which repeats strat; zprior, which is constant;
# and all that came later (offtrt, cd496, r, cd820, cens, days).
BASELINE = [
    *("age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30", "preanti", "race"),
    *("gender", "strat", "symptom", "cd40", "cd80"),
]

ACIC_X = (
    "ACIC 2016 covariates, changed by Labelwise (compressed); CDLA-Sharing-1.0: ACIC2016.md"
)
ACIC_Y = "ACIC 2016 outcomes, changed by Labelwise (rounded); CDLA-Sharing-1.0: ACIC2016.md"
ACTG = "ACTG 175, changed by Labelwise (columns left out); CC BY 4.0: ACTG175.md"


def read_covariates(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "acic2016/x.csv")


def make_setting(folder: Path, setting: int) -> pd.DataFrame:
    """Treatment, both outcomes and both expected outcomes of every unit."""
    return pd.read_csv(folder / f"acic2016/zymu_{setting}.csv").round(DECIMALS)


def make_actg175(folder: Path) -> pd.DataFrame:
    """What was known at the start, the arm, and CD4 after 20 weeks."""
    return pd.read_csv(folder / "actg175/ACTG175.csv")[[*BASELINE, ARM, OUTCOME]]


def write_all(folder: Path, out: Path) -> None:
    (out / "acic2016").mkdir(parents=True, exist_ok=True)
    write_table(read_covariates(folder), out / "acic2016/x.csv.gz", ACIC_X)
    for setting in range(1, SETTINGS + 1):
        path = out / f"acic2016/setting_{setting}.csv.gz"
        write_table(make_setting(folder, setting), path, ACIC_Y)
    write_table(make_actg175(folder), out / "actg175.csv.gz", ACTG)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), OUT)
    made = [*sorted(OUT.glob("acic2016/*.gz")), OUT / "actg175.csv.gz"]
    print(f"{len(made)} files, {sum(path.stat().st_size for path in made)} bytes in {OUT}")
