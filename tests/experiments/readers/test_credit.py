"""The loader of credit-card clients, on made-up ones and on the real ones."""

import pandas as pd
import pytest

from experiments.readers.credit import CODES, NUMBERS, OUTCOME, load_credit
from tests.experiments.readers.intensive_care import ABSENT, SHARED


@pytest.fixture
def clients():
    table = pd.DataFrame(0.0, index=range(3), columns=["ID", *NUMBERS])
    codes = pd.DataFrame(2, index=range(3), columns=CODES)
    return pd.concat([table, codes], axis=1).assign(outcome=[0, 1, 0])


@pytest.mark.parametrize("parting", ["-", ".", " ", "_"])
def test_the_outcome_is_found_however_its_name_is_written(clients, tmp_path, parting):
    name = OUTCOME.replace("_", parting)
    clients.rename(columns={"outcome": name}).to_csv(tmp_path / "UCI_Credit_Card.csv")
    table = load_credit(tmp_path)
    assert list(table) == [*NUMBERS, *CODES, OUTCOME]  # no id
    assert table[OUTCOME].tolist() == [0, 1, 0]
    assert table["MARRIAGE"].tolist() == ["2", "2", "2"]


def test_a_table_without_the_outcome_is_refused(clients, tmp_path, refused):
    clients.to_csv(tmp_path / "credit_default_uci.csv")
    with refused(where="<tmp>/credit_default_uci.csv"):
        load_credit(tmp_path)


def test_an_empty_folder_is_refused(tmp_path, refused):
    with refused(where="<tmp>"):
        load_credit(tmp_path)


@pytest.mark.skipif(not (SHARED / "credit_default_uci").is_dir(), reason=ABSENT)
def test_the_real_table_has_its_clients():
    table = load_credit(SHARED / "credit_default_uci")
    assert table.shape == (30000, 24)
    assert table[OUTCOME].mean() == pytest.approx(0.2212)
    assert table.notna().all(axis=None)
