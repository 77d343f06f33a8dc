"""What another authority is sent: each value, why it is confidential, in the order asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from random_tables import random_problem
from tablecloak.cli.main import app
from tablecloak.publish.leaks import find_leaks
from tablecloak.publish.publication import write_release
from tablecloak.publish.released_cells import read_release

AGENCY = {"TIME_PERIOD": "2022", "INDICATOR": "SAL"}


def cells(contributions: dict[str, list[float]], **extra: object) -> tc.Table:
    """One dimension, each code with the contributions that make it up; a large one beside them."""
    rows = [(code, value) for code, values in contributions.items() for value in values]
    rows += [("safe", 1000.0)] * 20
    frame = pd.DataFrame(rows, columns=["region", "turnover"]).assign(**extra)
    roles = {"request": "ask"} if "ask" in extra else {}
    return tc.tabulate(frame, ["region"], "turnover", **roles)


@pytest.fixture(scope="module")
def shares() -> tc.Table:
    return cells(
        {
            "single": [50],
            "one": [90, 4, 3, 3],
            "two": [50, 48, 1, 1],
            "three": [34, 33, 32, 1],
            "even": [25, 25, 25, 25],
        }
    )


def hidden_by(table: tc.Table, *rules: object) -> dict[str, str]:
    """Flags of all cells that the rules make sensitive, nothing else hidden."""
    problem = table.protect(*rules)
    found = tc.Transmission(problem, problem.sensitive, rules=rules)
    letters = dict(zip(table.keys.region, found.confidentiality().tolist(), strict=True))
    return {region: letter for region, letter in letters.items() if letter != "F"}


@pytest.mark.parametrize(
    ("rule", "flags"),
    [
        (tc.MinimumFrequency(3), {"single": "A"}),
        (tc.MinimumFrequency(5), dict.fromkeys(["single", "one", "two", "three", "even"], "A")),
        (tc.Dominance(1, 80), {"single": "O", "one": "O"}),
        (tc.Dominance(2, 80), {"single": "O", "one": "O", "two": "T"}),
        (tc.Dominance(3, 80), {"single": "O", "one": "O", "two": "T", "three": "M"}),
        (tc.PPercent(10), {"single": "O", "one": "T", "two": "T"}),
        (tc.PPercent(20), {"single": "O", "one": "O", "two": "T"}),
        (tc.PPercent(10, coalition=2), {"single": "O", "one": "T", "two": "T", "three": "M"}),
        (tc.PriorPosterior(20, 50), {"single": "O", "one": "O", "two": "T"}),
        (tc.Manual([{"region": "even"}]), {"even": "C"}),
    ],
    ids=repr,
)
def test_the_flag_tells_how_few_contributors_dominate(shares, rule, flags):
    assert hidden_by(shares, rule) == flags


def test_a_request_and_a_zero_are_confidential_without_a_further_reason():
    asked = cells({"asks": [30, 30, 30, 30]}, ask=0)
    problem = asked.protect(tc.Manual([0], range=1))
    assert tc.Transmission(problem, problem.sensitive).confidentiality()[0] == "C"
    assert hidden_by(cells({"zero": [0, 0, 0]}), tc.ZeroUnsafe(1)) == {"zero": "C"}
    assert tc.Request.confidentiality is tc.ZeroUnsafe.confidentiality
    assert tc.Request.confidentiality is tc.Confidentiality.CONFIDENTIAL


def test_without_contributors_or_numbers_of_a_rule_the_flag_says_what_is_known(shares):
    rule = tc.Dominance(2, 80)
    problem = shares.protect(rule)
    named = tc.Transmission(problem, problem.sensitive).confidentiality()
    by_region = dict(zip(shares.keys.region, named, strict=True))
    assert (by_region["single"], by_region["one"], by_region["two"]) == ("O", "G", "G")
    bare = tc.Table(shares.keys, shares.values, shares.relations, shares.right_hand_side)
    for rule, letter in ((tc.Dominance(1, 80), "O"), (tc.Dominance(2, 80), "G"),
                         (tc.Dominance(3, 80), "M"), (tc.PPercent(10), "G")):  # fmt: skip
        assert set(rule.confidentiality_of(bare)) == {letter}


def test_of_two_rules_of_a_kind_the_first_that_finds_a_cell_unsafe_is_the_reason(shares):
    three, one = tc.Dominance(3, 95), tc.Dominance(1, 80)
    rest = {"single": "O", "two": "T", "three": "M"}
    assert hidden_by(shares, three, one) == {**rest, "one": "M"}
    assert hidden_by(shares, one, three) == {**rest, "one": "O"}


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(random_problem(4), time_limit=1000)


def test_secondaries_are_of_the_sender_or_the_receiver_and_the_rest_is_free(pattern):
    secondary, hidden = pattern.secondary, pattern.suppressed
    for letter in "DS":
        flags = tc.Transmission.of(pattern, secondary=letter).confidentiality()
        assert set(flags[secondary]) == {letter}
        assert set(flags[pattern.problem.sensitive]) == {"C"}
        assert set(flags[~hidden]) == {"F"}


def test_under_embargo_free_cells_are_internal_until_its_date(pattern):
    frame = tc.Transmission.of(pattern, embargo="2026-12-01").frame()
    free = frame.CONF_STATUS == "E"
    assert int((~free).sum()) == pattern.n_suppressed
    assert set(frame.EMBARGO_DATE[free]) == {"2026-12-01"}
    assert set(frame.EMBARGO_DATE[~free]) == {""}


def test_a_person_may_give_other_flags_but_none_that_frees_a_hidden_cell(pattern):
    code = pattern.problem.table.keys.d0[np.flatnonzero(pattern.suppressed)[0]]
    given = tc.Transmission.of(pattern, flags={"unknown": "A"}, cells=[({"d0": code}, "X")])
    flags, there = given.confidentiality(), (pattern.problem.table.keys.d0 == code).to_numpy()
    assert set(flags[there]) == {"X"}
    assert set(flags[pattern.problem.sensitive & ~there]) <= {"A"}
    with pytest.raises(tc.InputError, match="is hidden in the release, and flagged as free"):
        tc.Transmission.of(pattern, cells=[({"d0": code}, "F")]).confidentiality()
    with pytest.raises(tc.InputError, match="`cells`: no cell has the codes"):
        tc.Transmission.of(pattern, cells=[({"d0": "none"}, "X")]).confidentiality()


@pytest.mark.filterwarnings("ignore:.* rows say suppressed but show a value")
def test_every_value_is_sent_and_the_flags_are_those_of_the_release(pattern, tmp_path):
    sent = tc.write_transmission(
        pattern, tmp_path / "sent.csv", constants=AGENCY, redistribution="ESTAT"
    )
    frame = pd.read_csv(sent.path, keep_default_na=False)
    assert list(frame.columns) == [
        "TIME_PERIOD", "INDICATOR", "D0", "D1", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS",
        "CONF_REDIST",
    ]  # fmt: skip
    release = pattern.release()
    assert frame.D0.tolist() == release.d0.tolist()
    hidden = (release.status == "suppressed").to_numpy()
    assert (frame.OBS_VALUE[~hidden] == release["v"][~hidden]).all()
    assert frame.OBS_VALUE.sum() == pattern.problem.table.values.sum()
    assert ((frame.CONF_STATUS != "F") == hidden).all()
    assert ((frame.CONF_REDIST == "ESTAT") == hidden).all()
    assert (sent.n_rows, sent.n_confidential) == (len(release), pattern.n_suppressed)
    assert is_private(sent.path)
    renamed = tmp_path / "sent.sdmx.csv"
    frame.to_csv(renamed, index=False)
    suppressed, _ = read_release(pattern.problem, renamed)
    assert np.array_equal(suppressed, pattern.suppressed)


def asked_of(pattern: tc.SuppressionPattern, path, **constants: str) -> pd.DataFrame:
    """A template for some cells of a table, in no order of ours, with totals called _T."""
    keys = pattern.problem.table.keys.sample(9, random_state=3).replace("Total", "_T")
    template = keys.rename(columns={"d0": "Activity", "d1": "LEGAL_FORM"})
    template = template.assign(**constants)[[*constants, "LEGAL_FORM", "Activity"]]
    template.to_csv(path, index=False)
    return template


OPTIONS = {
    "names": {"d0": "Activity", "d1": "LEGAL_FORM"},
    "codes": {"d0": {"Total": "_T"}, "d1": {"Total": "_T"}},
    "constants": AGENCY,
}


def test_a_template_decides_on_rows_order_and_columns(pattern, tmp_path):
    template = asked_of(pattern, tmp_path / "asked.csv.gz", **AGENCY)
    sent = tc.write_transmission(
        pattern, tmp_path / "sent.csv", template=tmp_path / "asked.csv.gz", **OPTIONS
    )
    written = pd.read_csv(sent.path, dtype=str)
    assert list(written.columns[:4]) == ["TIME_PERIOD", "INDICATOR", "LEGAL_FORM", "Activity"]
    assert written[template.columns].equals(template.reset_index(drop=True))
    table = pattern.problem.table
    for row in written.itertuples():
        cell = table.cell(
            d0=row.Activity.replace("_T", "Total"), d1=row.LEGAL_FORM.replace("_T", "Total")
        )
        assert float(row.OBS_VALUE) == table.values[cell]
        assert (row.CONF_STATUS == "F") == (not pattern.suppressed[cell])


def test_a_cell_that_the_table_lacks_is_named_with_its_line_and_codes(pattern, tmp_path):
    path = tmp_path / "asked.csv"
    asked_of(pattern, path, **AGENCY)
    with path.open("a") as file:
        file.write("2022,SAL,LL,_T\n")
    with pytest.raises(tc.InputError) as error:
        tc.write_transmission(pattern, tmp_path / "sent.csv", template=path, **OPTIONS)
    assert f"{path}, line 11: the table has no cell TIME_PERIOD 2022" in str(error.value)
    assert "In LEGAL_FORM it has no code 'LL'" in str(error.value)
    assert not (tmp_path / "sent.csv").exists()


def test_rows_of_other_tables_are_filled_by_them_or_left_out_on_request(pattern, tmp_path):
    path, years = tmp_path / "asked.csv", ["2022", "2021"]
    asked = [asked_of(pattern, path, **{**AGENCY, "TIME_PERIOD": year}) for year in years]
    pd.concat(asked).sample(frac=1, random_state=1).to_csv(path, index=False)
    one = {**OPTIONS, "template": path}
    with pytest.raises(tc.InputError, match="TIME_PERIOD 2021, INDICATOR SAL is of none of the"):
        tc.write_transmission(pattern, tmp_path / "one.csv", **one)
    sent = tc.write_transmission(pattern, tmp_path / "one.csv", complete=False, **one)
    assert (sent.n_rows, sent.n_left_out) == (9, 9)
    parts = [
        tc.Transmission.of(pattern, **{**OPTIONS, "constants": {**AGENCY, "TIME_PERIOD": year}})
        for year in years
    ]
    both = tc.write_transmission(parts, tmp_path / "both.csv", template=path)
    order = pd.read_csv(both.path, dtype=str).TIME_PERIOD.tolist()
    assert order == pd.read_csv(path, dtype=str).TIME_PERIOD.tolist()
    assert (both.n_rows, both.n_left_out) == (18, 0)


TEMPLATE = Path(__file__).parents[1] / "data" / "rtauargus" / "enterprise_template.csv.gz"


def test_a_template_of_an_office_is_filled_by_its_three_clusters(tmp_path):
    asked = pd.read_csv(TEMPLATE, dtype=str)
    random = np.random.default_rng(1)
    parts, values = [], {}
    for (year, indicator), rows in asked.groupby(["TIME_PERIOD", "INDICATOR"]):
        keys = rows[["LEGAL_FORM", "ACTIVITY", "NUMBER_EMPL"]].rename(columns=str.lower)
        keys = keys.sample(frac=1, random_state=2).reset_index(drop=True)
        amounts = random.integers(10, 9000, len(keys)).astype(float)
        nothing = np.zeros((0, len(keys)))
        table = tc.Table(keys, amounts, csr_array(nothing), np.zeros(0))
        problem = table.protect(tc.Manual([0, 5]))
        fixed = {"TIME_PERIOD": year, "INDICATOR": indicator}
        parts.append(tc.Transmission(problem, problem.sensitive, constants=fixed))
        cells = keys.itertuples(index=False, name=None)
        values |= {(year, indicator, *cell): v for cell, v in zip(cells, amounts, strict=True)}
    sent = tc.write_transmission(parts, tmp_path / "sent.csv", template=TEMPLATE)
    written = pd.read_csv(sent.path, dtype=str)
    assert (sent.n_rows, sent.n_confidential, sent.n_left_out) == (3168, 6, 0)
    assert written[asked.columns].equals(asked)
    codes = written[["TIME_PERIOD", "INDICATOR", "LEGAL_FORM", "ACTIVITY", "NUMBER_EMPL"]]
    found = written.OBS_VALUE.astype(float).tolist()
    assert dict(zip(codes.itertuples(index=False, name=None), found, strict=True)) == values


def test_a_dimension_without_a_column_stands_at_its_total(tmp_path):
    firms = pd.DataFrame({"region": list("NNSS"), "size": list("abab"), "v": [10, 20, 30, 40]})
    problem = tc.tabulate(firms, ["region", "size"], "v").protect(tc.MinimumFrequency(1))
    (tmp_path / "asked.csv").write_text("REGION\nS\nTotal\n")
    table = tc.Transmission(problem, problem.sensitive)
    sent = tc.write_transmission(table, tmp_path / "sent.csv", template=tmp_path / "asked.csv")
    assert pd.read_csv(sent.path).OBS_VALUE.tolist() == [70, 100]


def test_a_sensitive_cell_that_is_published_is_never_sent_as_free(pattern):
    with pytest.raises(tc.InputError, match="sensitive cells are published"):
        tc.Transmission(pattern.problem, np.zeros_like(pattern.suppressed))


def test_no_transmission_is_written_into_a_folder_of_releases(pattern, tmp_path):
    for path in (tmp_path / "release" / "sent.csv", tmp_path / "Release" / "x" / "sent.csv"):
        with pytest.raises(tc.InputError, match="lies in a folder of releases"):
            tc.write_transmission(pattern, path)
        assert not path.parent.exists()


def test_the_search_for_leaks_reports_a_transmission_of_the_smallest_values(tmp_path):
    problem = random_problem(4)
    pattern = tc.suppress(problem, time_limit=1000)
    sent = tc.write_transmission(pattern, tmp_path / "sent.csv").path
    assert problem.table.values[pattern.suppressed].max() < 1000
    assert len(find_leaks([sent], hidden=[])) == pattern.n_suppressed
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text(sent.read_text().replace(",", ";"))
    assert len(find_leaks([semicolons], hidden=[])) == pattern.n_suppressed
    release = write_release(pattern, tmp_path / "release", formats=["csv", "sdmx-csv"])
    assert not find_leaks(release, hidden=[])


@pytest.mark.parametrize("name", ["sent.csv", "sent.csv.gz"])
def test_no_release_is_left_beside_a_transmission(pattern, tmp_path, name):
    tc.write_transmission(pattern, tmp_path / name)
    (tmp_path / "notes.txt").write_bytes(bytes(range(256)))
    with pytest.raises(tc.VerificationError, match=f"{name} lies in the folder of the release"):
        write_release(pattern, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", name]


def test_the_command_sends_what_the_interface_sends(pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tc.write_problem(pattern.problem, "p.csv")
    pattern.problem.table.keys.assign(status=pattern.statuses()).to_csv("found.csv", index=False)
    asked_of(pattern, "asked.csv", **AGENCY)
    words = ["transmit", "p.csv", "found.csv", "-o", "sent.csv", "--template", "asked.csv"]
    for name, column in OPTIONS["names"].items():
        words += ["--name", f"{name}={column}", "--code", f"{name}:Total=_T"]
    words += ["--constant", "TIME_PERIOD=2022", "--constant", "INDICATOR=SAL"]
    words += ["--redistribution", "ESTAT", "--flag", "unknown=A"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "9 rows" in done.output
    tc.write_transmission(
        pattern, "ours.csv", template="asked.csv", redistribution="ESTAT",
        flags={"unknown": "A"}, **OPTIONS,
    )  # fmt: skip
    assert (tmp_path / "sent.csv").read_text() == (tmp_path / "ours.csv").read_text()
    assert is_private(tmp_path / "sent.csv")
