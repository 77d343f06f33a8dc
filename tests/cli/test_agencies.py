"""``tablecloak agencies``: keys, and what an agency brings into a study."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.agencies import _agency
from tablecloak.cli.main import app
from tablecloak.microdata.agencies import read_study

RUN = CliRunner()

STUDY = """\
kind = "{kind}"
{response}
predictors = ["age", "sex"]
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    for name in ("north", "east", "south"):
        done = RUN.invoke(app, ["agencies", "certificate", name, "--out", str(folder)])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def study(keys):
    def written(kind: str, response: str = ""):
        text = STUDY.format(kind=kind, response=response)
        for port, name in enumerate(("north", "east", "south"), start=5001):
            text += f'[[agency]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n'
            text += f'certificate = "{name}.crt"\n'
        (keys / "study.toml").write_text(text)
        return keys / "study.toml"

    return written


def test_a_key_stays_and_a_certificate_goes_to_the_others(keys):
    assert is_private(keys / "north.key")
    assert (keys / "north.crt").read_text().startswith("-----BEGIN CERTIFICATE-----")


def test_a_key_is_never_replaced(keys):
    before = (keys / "north.key").read_bytes()
    done = RUN.invoke(app, ["agencies", "certificate", "north", "--out", str(keys)])
    assert done.exit_code == 2
    assert "exists already" in " ".join(done.output.split())
    assert (keys / "north.key").read_bytes() == before


@pytest.fixture
def staff(tmp_path):
    frame = pd.DataFrame({"age": [20, 30, 60], "sex": [0, 1, 1], "wage": [1.5, 2.0, 4.0]})
    frame.to_csv(tmp_path / "staff.csv", index=False)
    return tmp_path / "staff.csv"


def test_for_a_sum_an_agency_brings_the_sums_of_its_columns(study, staff):
    agency = _agency("north", read_study(study("sum")), staff)
    assert agency.name == "north"
    assert np.array_equal(agency.values("sum", None), [110, 2])


def test_a_column_that_the_study_needs_must_be_there(study, staff):
    agreed = read_study(study("regression", 'response = "income"'))
    with pytest.raises(tc.InputError, match="income"):
        _agency("north", agreed, staff)


def test_join_says_what_all_agreed_on(study, staff, tmp_path, monkeypatch):
    taken = {}

    def take_part(agreed, agency, key, *, notify):
        taken.update(kind=agreed.kind, name=agency.name, key=key)
        notify("connected to east")
        return {"age": 110.0, "sex": 2.0}

    monkeypatch.setattr("tablecloak.microdata.agencies.take_part", take_part)
    out = tmp_path / "sums.csv"
    words = ["agencies", "join", str(study("sum")), str(staff), "--as", "north"]
    done = RUN.invoke(app, [*words, "--key", str(tmp_path / "north.key"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert taken == {"kind": "sum", "name": "north", "key": tmp_path / "north.key"}
    assert "connected to east" in done.stderr
    assert pd.read_csv(out).to_dict("list") == {"column": ["age", "sex"], "sum": [110.0, 2.0]}
