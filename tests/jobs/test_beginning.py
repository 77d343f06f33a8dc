"""A first job out of the columns of a file."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.jobs.beginning import guess
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem

RUN = CliRunner()


def test_init_tells_roles_levels_and_signs_and_its_job_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    firms = tc.examples.firms(600)
    firms = firms.assign(turnover=firms.turnover / 8, name=firms.region + " é", day="31.12.2020")
    firms.loc[5, "day"] = "1.1.2021"
    firms.to_csv("firms.csv", sep=";", decimal=",", index=False, encoding="cp1252")
    done = RUN.invoke(app, ["init", "firms.csv"])
    assert done.exit_code == 0, done.output
    job = read_job(tmp_path / "job.toml")
    assert (job.data.decimal, job.data.encoding) == (",", "cp1252")
    assert (job.data.value, job.data.contributor, job.data.holding) == ("turnover", "firm", "group")
    assert {name: spec.levels for name, spec in job.dimensions.items()} == {
        "region": ["part", "region"], "industry": [], "size": [],
    }  # fmt: skip
    assert '#   "name": says the same as region' in (tmp_path / "job.toml").read_text()
    assert load_problem(job).table.values.max() == firms.turnover.sum()
    again = RUN.invoke(app, ["init", "firms.csv"])
    assert again.exit_code == 2
    assert "exists already" in again.output


def test_a_comma_before_three_digits_is_not_taken_for_a_decimal_sign(tmp_path):
    """1,234 may be more than a thousand."""
    (tmp_path / "a.csv").write_text("r;v\n" + "N;1,234\nS;2,500\n" * 9)
    assert guess(tc.DataFile(tmp_path / "a.csv")).file.decimal == "."
    (tmp_path / "a.csv").write_text("r;v\n" + "N;1,23\nS;2,500\n" * 9)
    assert guess(tc.DataFile(tmp_path / "a.csv")).file.decimal == ","


def test_registers_and_classes_of_digits_are_no_values_and_sizes_come_after_turnover(tmp_path):
    rows = [f"{437_032_930 + 7 * n};{1010 + n % 60};{n / 4};{n % 83};" for n in range(600)]
    (tmp_path / "a.csv").write_text("\n".join(["siren;nace;ca;effectif;groupe", *rows, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.value, list(told.dimensions)) == ("siren", "ca", ["nace"])
    assert list(told.others) == ["groupe", "effectif"]


def test_a_register_of_firms_with_several_records_each_is_a_contributor(tmp_path):
    rows = [f"{437_032_930 + 7 * (n % 1200)};r{n % 9};{n / 4}" for n in range(2400)]
    (tmp_path / "a.csv").write_text("\n".join(["siren;region;ca", *rows, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.value, list(told.dimensions)) == ("siren", "ca", ["region"])
    # Amounts of 4 digits are none.
    rows = [f"{1000 + 7 * (n % 1200)};r{n % 9}" for n in range(2400)]
    (tmp_path / "a.csv").write_text("\n".join(["income_tax;region", *rows, ""]))
    assert guess(tc.DataFile(tmp_path / "a.csv")).value == "income_tax"


def firms_in_holdings(name: str, share: float, n: int = 240) -> str:
    """Firms with regions and branches, of which a share is in one of 12 holdings."""
    inside = int(share * n)
    holding = [f"H{i % 12}" if i < inside else "" for i in range(n)]
    rows = [f"f{i};{holding[i]};r{i % 3};b{i // 3 % 4};{i}.5" for i in range(n)]
    return "\n".join([f"firm;{name};region;branch;turnover", *rows, ""])


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("group", 0.3),
        ("Holding", 1.0),
        ("Konzern", 0.8),
        ("enterprise_group", 1.0),
        ("Mutter", 0.3),
    ],
)
def test_a_column_that_many_firms_leave_blank_is_a_holding_and_no_dimension(tmp_path, name, share):
    (tmp_path / "a.csv").write_text(firms_in_holdings(name, share))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.holding, told.value) == ("firm", name, "turnover")
    assert list(told.dimensions) == ["region", "branch"]
    (tmp_path / "job.toml").write_text(told.job(tmp_path))
    assert load_problem(read_job(tmp_path / "job.toml")).table.holdings is not None


@pytest.mark.parametrize(("name", "share"), [("age_group", 1.0), ("district", 0.8)])
def test_classes_of_firms_are_no_holdings(tmp_path, name, share):
    (tmp_path / "a.csv").write_text(firms_in_holdings(name, share))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert told.holding == "" and name in str(told.dimensions)


def test_holdings_may_have_numbers_and_no_firm_is_in_two_of_them(tmp_path):
    text = firms_in_holdings("Konzern", 0.3).replace(";H", ";1")
    (tmp_path / "a.csv").write_text(text)
    assert guess(tc.DataFile(tmp_path / "a.csv")).holding == "Konzern"
    # A firm in several holdings is grouped by none of them.
    (tmp_path / "a.csv").write_text(text.replace("\nf1;11;", "\nf0;11;"))
    assert guess(tc.DataFile(tmp_path / "a.csv")).holding == ""


def test_no_dimension_is_dropped_because_few_holdings_have_the_same_codes(tmp_path):
    """All firms of a holding lie in one region, as they may where there are few records."""
    rows = [f"f{i};{'' if i % 2 else f'H{i % 3}'};r{i % 3};b{i // 3 % 4};{i}.5" for i in range(48)]
    text = "\n".join(["firm;Holding;region;branch;turnover", *rows, ""])
    (tmp_path / "a.csv").write_text(text)
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert told.holding == "Holding" and list(told.dimensions) == ["region", "branch"]
    assert told.others == {}


@pytest.mark.parametrize("engine", ["duckdb", "pandas"])
@pytest.mark.parametrize(
    ("name", "share", "is_holding"),
    [("group", 0.9, True), ("mother", 0.3, True), ("size", 0.9, False)],
)
def test_nobody_is_advised_to_make_all_firms_without_a_holding_one(
    tmp_path, engine, name, share, is_holding
):
    (tmp_path / "a.csv").write_text(firms_in_holdings(name, share))
    with pytest.raises(tc.InputError, match="is missing, as in") as error:
        tc.tabulate(tmp_path / "a.csv", [name], "turnover", engine=engine)
    assert ("give it as `holding`" in str(error.value)) == is_holding
    assert ("one for unknown" in str(error.value)) != is_holding


def test_init_refuses_a_file_without_codes(tmp_path):
    (tmp_path / "a.csv").write_text("v,w\n" + "".join(f"{n}.5,{n}.25\n" for n in range(40)))
    done = RUN.invoke(app, ["init", str(tmp_path / "a.csv"), "-o", str(tmp_path / "job.toml")])
    assert done.exit_code == 2
    assert "no column has codes" in " ".join(done.output.split())
    assert not (tmp_path / "job.toml").exists()


@pytest.mark.parametrize("option", ["sep", "decimal", "encoding", "sheet"])
def test_commands_for_records_say_how_a_file_is_read(option):
    shown = RUN.invoke(app, ["records", "swap", "--help"], env={"COLUMNS": "200"}).output
    assert f"--{option} " in shown


@pytest.mark.parametrize(("example", "name"), [("table", "table.xlsx")])
def test_a_finished_table_is_not_taken_for_records(tmp_path, example, name):
    tc.examples.write(example, tmp_path)
    file = tmp_path / name
    done = RUN.invoke(app, ["init", str(file), "-o", str(tmp_path / "job.toml")])
    assert done.exit_code == 2 and "finished table" in " ".join(done.output.split())
    assert not (tmp_path / "job.toml").exists()


@pytest.mark.parametrize("name", ["cells.csv", "cells.relations.csv", "cells.contributions.csv"])
def test_files_of_a_problem_are_neither_records_nor_sheets(tmp_path, name):
    """Their sums and levels stand already, so that the message names who reads them."""
    tc.examples.write("cells", tmp_path)
    with pytest.raises(tc.InputError, match="of a problem.*tablecloak suppress"):
        guess(tc.DataFile(tmp_path / name))
    with pytest.raises(tc.InputError, match="of a problem.*tablecloak suppress"):
        tc.propose(tmp_path / name)
    with pytest.raises(tc.InputError, match="holds a problem.*tablecloak suppress"):
        guess(tc.DataFile(tmp_path / "table.jj"))


def test_help_of_init_names_all_files_of_records():
    shown = RUN.invoke(app, ["init", "--help"], env={"COLUMNS": "200"}).output
    assert all(ending in shown for ending in (".csv", ".xlsx", ".dta", ".sas7bdat", ".parquet"))


def test_numbers_with_a_point_that_many_records_share_may_be_codes(tmp_path):
    """47.11 is a branch as well as an amount: it comes last as a value, and the job says so."""
    codes = ["10.11", "47.11", "47.19", "62.01"]
    rows = [f"f{n};{codes[n % 4]};r{n % 3};{n / 8}" for n in range(600)]
    (tmp_path / "a.csv").write_text("\n".join(["firm;act;region;sold", *rows, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.value, list(told.dimensions)) == ("sold", ["region"])
    assert "[dimensions.act]" in told.others["act"]


def test_a_running_number_is_a_contributor_where_nothing_else_names_one(tmp_path):
    rows = [f"{n};r{n % 3};{n / 8};s{n // 2}" for n in range(600)]
    (tmp_path / "a.csv").write_text("\n".join(["firm;region;sold;owner", *rows, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.others) == ("owner", {"firm": "running number"})
    rows = [row.rpartition(";")[0] for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(["firm;region;sold", *rows, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.value, told.others) == ("firm", "sold", {})


def panel(n_firms: int, periods: list[str], firm: str = "f{}", name: str = "enterprise_id") -> str:
    """Firms with a record in each period."""
    rows = [
        f"{firm.format(n)};{period};{'NSW'[n % 3]};{n % 97}.{n % 7}5"
        for n in range(1, n_firms + 1)
        for period in periods
    ]
    return "\n".join([f"{name};period;region;turnover", *rows, ""])


@pytest.mark.parametrize("firm", ["f{}", "{}", "{:06}"])
@pytest.mark.parametrize("name", ["enterprise_id", "firm", "Unternehmen", "id", "company_no"])
def test_what_is_called_a_firm_is_a_contributor_however_many_records_it_has(tmp_path, firm, name):
    months = [f"2023M{month:02}" for month in range(1, 13)]
    (tmp_path / "a.csv").write_text(panel(80, months, firm, name))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.value, list(told.dimensions)) == (
        name, "turnover", ["period", "region"],
    )  # fmt: skip


def test_numbers_of_a_register_of_something_else_are_no_amounts(tmp_path):
    (tmp_path / "a.csv").write_text(panel(400, ["a", "b"], "{}", "household_id"))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.value) == ("household_id", "turnover")
    # Identifiers of regions are codes of them.
    rows = [f"{n % 16};{n / 8}" for n in range(800)]
    (tmp_path / "a.csv").write_text("\n".join(["region_id;turnover", *rows, ""]))
    assert list(guess(tc.DataFile(tmp_path / "a.csv")).dimensions) == ["region_id"]


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".parquet"])
def test_each_year_is_a_variable_since_a_dimension_would_have_a_total(tmp_path, ending):
    (tmp_path / "a.csv").write_text(panel(60, ["2022", "2023"]).replace("period", "Jahr"))
    frame = pd.read_csv(tmp_path / "a.csv", sep=";")
    file = tmp_path / f"firms{ending}"
    write = {".csv": frame.to_csv, ".xlsx": frame.to_excel, ".parquet": frame.to_parquet}
    write[ending](file, index=False)
    told = guess(tc.DataFile(file))
    text = told.job(tmp_path)
    assert "no dimension: a dimension has a total" in " ".join(text.split())
    (tmp_path / "job.toml").write_text(text)
    job = read_job(tmp_path / "job.toml")
    assert list(job.dimensions) == ["region"]
    table = load_problem(job).table
    cells = table.to_frame()
    totals = cells[cells["region"] == "Total"].set_index("variable").iloc[:, -1]
    assert dict(totals) == {"2022": 1850.8, "2023": 1850.8}
    assert set(table.keys["variable"]) == {"2022", "2023"}


@pytest.mark.parametrize("name", ["birth_year", "age"])
def test_years_that_are_no_periods_stay_dimensions(tmp_path, name):
    (tmp_path / "a.csv").write_text(panel(90, ["1990", "1991"]).replace("period", name))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert told.years == () and list(told.dimensions) == [name, "region"]


def test_years_of_a_file_without_other_codes_are_its_dimension(tmp_path):
    rows = [f"f{n};{2020 + n % 3};{n / 8}" for n in range(600)]
    (tmp_path / "a.csv").write_text("\n".join(["firm;year;sold", *rows, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.years, list(told.dimensions)) == ((), ["year"])


def test_a_job_for_weighted_firms_in_holdings_can_be_read(tmp_path):
    lines = firms_in_holdings("group", 0.5).splitlines()
    text = "\n".join(
        [f"{lines[0]};weight", *(f"{line};{1 + n % 3}" for n, line in enumerate(lines[1:])), ""]
    )
    (tmp_path / "a.csv").write_text(text)
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.holding, told.weight) == ("group", "weight")
    (tmp_path / "job.toml").write_text(told.job(tmp_path))
    rules = {rule.name: rule for rule in read_job(tmp_path / "job.toml").rules}
    assert rules["p-percent"].level == "contributor"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_letters_of_two_bytes_are_told_by_their_mark(tmp_path, encoding):
    text = panel(60, ["a", "b"]).replace("period", "größe")
    mark = "\ufeff" * encoding.endswith("le")
    (tmp_path / "a.csv").write_bytes((mark + text).encode(encoding))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.contributor, told.value) == ("enterprise_id", "turnover")
    assert list(told.dimensions) == ["größe", "region"]
    (tmp_path / "job.toml").write_text(told.job(tmp_path), "utf-8")
    assert load_problem(read_job(tmp_path / "job.toml")).table.n_cells == 12


@pytest.mark.parametrize(
    ("number", "odd"), [("-", "-"), ("1 234,50", "1 234,50"), ("n/a *", "n/a *")]
)
def test_numbers_with_an_entry_that_is_none_are_left_out_with_that_entry(tmp_path, number, odd):
    text = panel(60, ["a", "b"]).replace("\nenter", "")
    first, *rest = text.splitlines()
    rest[3] = rest[3].rpartition(";")[0] + f";{number}"
    (tmp_path / "a.csv").write_text("\n".join([first, *rest, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert told.value == "" and f"numbers, but also {odd!r}" in told.others["turnover"]
    done = RUN.invoke(app, ["init", str(tmp_path / "a.csv"), "-o", str(tmp_path / "job.toml")])
    assert f"'turnover': numbers, but also {odd!r}" in " ".join(done.output.split())


def test_names_of_columns_below_a_title_are_told_and_the_job_says_their_row(tmp_path):
    text = panel(60, ["a", "b"]).replace(".", ",")
    (tmp_path / "a.csv").write_text(f"Firms 2023, confidential\n\n{text}")
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert told.file.signs == {"decimal": ",", "header": 3}
    assert (told.contributor, told.value) == ("enterprise_id", "turnover")
    (tmp_path / "job.toml").write_text(told.job(tmp_path))
    assert load_problem(read_job(tmp_path / "job.toml")).table.n_cells == 12


def test_no_other_column_takes_the_place_of_a_value_with_a_mistyped_number(tmp_path):
    first, *rest = panel(60, ["a", "b"]).replace(".", ",").splitlines()
    rest[3] = rest[3].rpartition(";")[0] + ";12,3o"
    lines = [f"{line};{n % 9}" for n, line in enumerate(rest)]
    (tmp_path / "a.csv").write_text("\n".join([f"{first};staff", *lines, ""]))
    told = guess(tc.DataFile(tmp_path / "a.csv"))
    assert (told.value, told.mistyped, told.file.decimal) == ("", "turnover", ",")
    assert "'12,3o' in line 5" in told.others["turnover"]
