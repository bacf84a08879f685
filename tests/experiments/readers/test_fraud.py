"""Loaders of the Fraud Dataset Benchmark, on small files in the official layouts."""

import pandas as pd
import pytest

from experiments.readers.fraud import (
    CARD,
    ECOMMERCE_TEXTS,
    IEEE_NUMBERS,
    IEEE_TEXTS,
    LOAN_CODES,
    OUTCOME,
    load_ccfraud,
    load_fraudecom,
    load_ieeecis,
    load_vehicleloan,
)
from tests.experiments.readers.intensive_care import ABSENT, SHARED


def test_transactions_are_joined_with_what_is_known_of_their_makers(tmp_path):
    mine = [name for name in IEEE_NUMBERS if not name.startswith("id_")]
    columns = ["TransactionID", "isFraud", "TransactionDT", "card4"]
    columns += [name.upper() if name[0] in "cv" else name for name in mine]
    columns += ["ProductCD", "card6", "P_emaildomain", "R_emaildomain"]
    bought = pd.DataFrame(1, index=range(2), columns=columns)
    bought["TransactionID"], bought["isFraud"] = [7, 8], [0, 1]
    bought.to_csv(tmp_path / "train_transaction.csv", index=False)
    ids = [name.replace("_", "-") for name in IEEE_NUMBERS if name.startswith("id_")]
    known = pd.DataFrame(2, index=range(1), columns=["TransactionID", *ids])
    known["TransactionID"] = [8]
    known.assign(DeviceType="mobile", DeviceInfo="x").to_csv(
        tmp_path / "train_identity.csv", index=False
    )
    table = load_ieeecis(tmp_path)
    assert table.shape == (2, 68)
    assert set(table) == {*IEEE_NUMBERS, *IEEE_TEXTS, OUTCOME}
    assert table[OUTCOME].tolist() == [0, 1]
    assert table["devicetype"].tolist() == ["none", "mobile"]
    assert table["id_01"].isna().tolist() == [True, False]


def test_payments_have_components_and_an_amount_and_no_time(tmp_path):
    names = ["Time", *(name.upper() for name in CARD[:-1]), "Amount", "Class"]
    pd.DataFrame([range(31)], columns=names).assign(Class=1).to_csv(
        tmp_path / "creditcard.csv", index=False
    )
    table = load_ccfraud(tmp_path)
    assert list(table) == [*CARD, OUTCOME]
    assert table.iloc[0].tolist() == [*range(1, 30), 1]


def test_purchases_have_the_seconds_of_the_day_since_signup(tmp_path):
    (tmp_path / "Fraud_Data.csv").write_text(
        "user_id,signup_time,purchase_time,purchase_value,device_id,source,browser,sex,age,"
        "ip_address,class\n"
        "1,2015-02-24 22:55:49,2015-02-24 22:55:50,34,Q,SEO,Chrome,M,39,732758368.8,1\n"
        "2,2015-06-07 20:39:50,2015-06-09 20:40:50,16,E,Ads,Safari,F,53,350311387.9,0\n"
    )
    table = load_fraudecom(tmp_path)
    assert table["time_since_signup"].tolist() == [1.0, 60.0]  # days are left out
    assert set(table) >= {*ECOMMERCE_TEXTS, "age"}
    assert not set(table) & {"sex", "user_id", "device_id"}
    assert len(table.columns) == 7
    assert table[OUTCOME].tolist() == [1, 0]


@pytest.mark.parametrize("parting", [".", "_"])
def test_loans_have_spans_in_months_and_codes_as_texts(tmp_path, parting):
    names = ["UniqueID", "ltv", *LOAN_CODES, "Date.of.Birth", "DisbursalDate"]
    names += ["AVERAGE.ACCT.AGE", "CREDIT.HISTORY.LENGTH", "Employment.Type", "loan_default"]
    rows = [
        [1, 89.5, *range(6), "01-01-84", "03-08-18", "1yrs 11mon", "0yrs 3mon", None, 0],
        [2, 73.2, *range(6), "31-07-2001", "26-09-18", "0yrs 0mon", "2yrs 0mon", "Salaried", 1],
    ]
    frame = pd.DataFrame(rows, columns=[name.replace(".", parting) for name in names])
    frame.to_csv(tmp_path / "train.csv", index=False)
    table = load_vehicleloan(tmp_path)
    assert table["average_acct_age"].tolist() == [23.0, 0.0]
    assert table["date_of_birth"].tolist() == [1984.0, 2001.0]
    assert table["employment_type"].tolist() == ["none", "Salaried"]
    assert table["state_id"].tolist() == ["4", "4"]
    assert not set(table) & {"uniqueid", "disbursal_date"}
    assert table[OUTCOME].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_ccfraud, "creditcard.csv"),
        (load_fraudecom, "Fraud_Data.csv"),
        (load_vehicleloan, "train.csv"),
    ],
)
def test_a_file_of_another_layout_is_refused(load, file, tmp_path, refused):
    (tmp_path / file).write_text("a,b\n1,2\n")
    with refused(where=f"<tmp>/{file}"):
        load(tmp_path)


@pytest.mark.skipif(not (SHARED / "ulb_creditcard_fraud").is_dir(), reason=ABSENT)
def test_the_case_control_cut_has_all_frauds():
    table = load_ccfraud(SHARED / "ulb_creditcard_fraud")
    assert table.shape == (5412, 30)
    assert table[OUTCOME].sum() == 492
