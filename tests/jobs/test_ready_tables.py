"""Jobs over several tables that are ready, each in a file of its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from instances import Instances
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem

HEAD = """
[data]
kind = "table"
value = "TOT"
frequency = "N_OBS"
largest = ["MAX"]
tolerance = 1.0

[[rules]]
rule = "dominance"
n = 1
k = 85

[[rules]]
rule = "minimum-frequency"
minimum = 3

[suppression]
time_limit = 1000
"""

FOUR = {
    "turnover_act_size": ["ACTIVITY", "SIZE"],
    "turnover_act_cj": ["ACTIVITY", "CJ"],
    "turnover_nuts_size": ["NUTS", "SIZE"],
    "turnover_nuts_cj": ["NUTS", "CJ"],
}

TREES = {"ACTIVITY": "activity_corr_table", "NUTS": "nuts23_fr_corr_table"}


def insee(head: str = HEAD) -> str:
    """A job over the four tables of turnover of INSEE."""
    folder = Instances() / "rtauargus/turnover_act_cj.csv.gz"
    parts = [head]
    for name in ("ACTIVITY", "NUTS", "SIZE", "CJ"):
        parts.append(f"[dimensions.{name}]")
        if name in TREES:
            parts.append(f'hierarchy = "{folder.with_name(TREES[name] + ".csv.gz")}"')
    for name, dimensions in FOUR.items():
        file = folder.with_name(name + ".csv.gz")
        parts.append(f'[[tables]]\nfile = "{file}"\ndimensions = {dimensions}')
    return "\n".join(parts)


def test_four_files_of_turnover_are_one_problem_with_all_sensitive_cells(tmp_path):
    (tmp_path / "job.toml").write_text(insee())
    problem = load_problem(read_job(tmp_path / "job.toml"))
    keys = set(problem.table.keys.itertuples(index=False, name=None))
    every, sensitive = set(), set()
    for name, dimensions in FOUR.items():
        frame = pd.read_csv(
            Instances() / f"rtauargus/{name}.csv.gz", dtype=dict.fromkeys(dimensions, str)
        )
        full = frame.assign(**{d: "Total" for d in problem.table.keys if d not in frame})
        cells = list(full[list(problem.table.keys)].itertuples(index=False, name=None))
        unsafe = frame.N_OBS.isin([1, 2]) | (frame.MAX > 0.85 * frame.TOT)
        every |= set(cells)
        sensitive |= {cell for cell, bad in zip(cells, unsafe, strict=True) if bad}
    assert keys == every
    found = problem.table.keys[problem.sensitive].itertuples(index=False, name=None)
    assert set(found) == sensitive
    assert np.abs(problem.table.relations @ problem.table.values).max() < 1.0


def small(tmp_path, second: str, head: str = HEAD) -> str:
    (tmp_path / "one.csv").write_text("a,b,TOT,N_OBS,MAX\n" + "\n".join(
        f"{a},{b},{v},{n},{v / n}" for a, b, v, n in
        [("x", "p", 10, 5), ("x", "q", 20, 5), ("x", "Total", 30, 10),
         ("Total", "p", 10, 5), ("Total", "q", 20, 5), ("Total", "Total", 30, 10)]))  # fmt: skip
    (tmp_path / "two.csv").write_text(second)
    return (
        head
        + """
[dimensions.a]
[dimensions.b]
[dimensions.c]
[[tables]]
file = "one.csv"
dimensions = ["a", "b"]
[[tables]]
file = "two.csv"
dimensions = ["c"]
columns = {c = "code"}
"""
    )


TWO = "code,TOT,N_OBS,MAX\ny,11,5,3\nz,19,5,4\nTotal,30,10,4\n"


def test_a_table_may_have_its_codes_in_a_column_of_another_name(tmp_path):
    (tmp_path / "job.toml").write_text(small(tmp_path, TWO.replace("30,10,4", "30,10,3")))
    problem = load_problem(read_job(tmp_path / "job.toml"))
    assert problem.table.n_cells == 6 + 3 - 1
    assert list(problem.table.keys) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("30,10", "31,10", "Linking .*one.csv, .*two.csv: .*31"),
        ("y,11", "y,oh", "two.csv, line 2: column 'TOT' must hold numbers"),
        ("code", "kode", "two.csv: .*'c'"),
    ],
)
def test_a_fault_names_the_file(tmp_path, old, new, message):
    (tmp_path / "job.toml").write_text(small(tmp_path, TWO.replace(old, new)))
    with pytest.raises(tc.InputError, match=message):
        load_problem(read_job(tmp_path / "job.toml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'file = "two.csv"\ndimensions = ["c"]\ncolumns = {c = "code"}',
            'dimensions = ["c"]',
            "give each its",
        ),
        ('kind = "table"', 'kind = "microdata"', "has no frequency"),
        ('columns = {c = "code"}', 'columns = {d = "code"}', "'d' is none of its dimensions"),
        ('["c"]\ncolumns = {c = "code"}', '["e"]', "A table names 'e'"),
    ],
)
def test_a_faulty_list_of_ready_tables_is_refused(tmp_path, old, new, message):
    (tmp_path / "job.toml").write_text(small(tmp_path, TWO).replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        load_problem(read_job(tmp_path / "job.toml"))


def test_changing_any_of_the_files_changes_the_fingerprint(tmp_path):
    (tmp_path / "job.toml").write_text(small(tmp_path, TWO))
    before = read_job(tmp_path / "job.toml").fingerprint()
    (tmp_path / "two.csv").write_text(TWO + "\n")
    assert read_job(tmp_path / "job.toml").fingerprint() != before


FLAGGED = """
[data]
kind = "table"
value = "TOT"
flags = "secret"
flags_range = 30
[suppression]
"""


def flagged(tmp_path, entry: str = "U", rules: str = "") -> tc.ProtectionProblem:
    """The two small tables with a column of flags; (x, q) is flagged in one, y in the other."""
    text = small(tmp_path, TWO.replace("30,10,4", "30,10,3"), FLAGGED) + rules
    for name, flags in (("one.csv", ["s", entry, "FALSE", "S", "0", "no"]), ("two.csv", [1, 0, 0])):
        frame = pd.read_csv(tmp_path / name).assign(secret=flags)
        frame.to_csv(tmp_path / name, index=False)
    (tmp_path / "job.toml").write_text(text)
    return load_problem(read_job(tmp_path / "job.toml"))


def test_primary_flags_of_ready_tables_make_cells_sensitive(tmp_path):
    problem = flagged(tmp_path)
    cells = problem.table.keys[problem.sensitive].apply(tuple, axis=1).tolist()
    assert cells == [("Total", "Total", "y"), ("x", "q", "Total")]
    # 30 per cent of 11 and of 20.
    assert problem.upper_protection[problem.sensitive].tolist() == pytest.approx([3.3, 6.0])


def test_unreliable_estimates_are_hidden_and_not_protected(tmp_path):
    rule = '[[rules]]\nrule = "manual"\ncells = [{a = "x", b = "q", c = "Total"}]\n'
    flagged(tmp_path, rules=rule)
    job = tmp_path / "job.toml"
    job.write_text(job.read_text().replace('flags = "secret"', 'unreliable = "secret"'))
    problem = load_problem(read_job(job))
    labels = problem.table.keys.apply(tuple, axis=1)
    assert labels[problem.forced].tolist() == [("Total", "Total", "y")]
    assert labels[problem.sensitive].tolist() == [("x", "q", "Total")]


def test_estimates_above_a_limit_are_unreliable_and_one_without_a_number_is_refused(tmp_path):
    flagged(tmp_path)
    job, table = tmp_path / "job.toml", tmp_path / "one.csv"
    job.write_text(
        job.read_text().replace('flags = "secret"', 'unreliable = "cv"\nunreliable_above = 30')
        + '[[rules]]\nrule = "manual"\ncells = []\n'
    )
    frame = pd.read_csv(table).assign(cv=30.0)
    frame.loc[1, "cv"] = 30.5
    frame.to_csv(table, index=False)
    other = tmp_path / "two.csv"
    pd.read_csv(other).assign(cv=0).to_csv(other, index=False)
    problem = load_problem(read_job(job))
    assert problem.table.values[problem.forced].tolist() == [frame["TOT"][1]]
    frame.assign(cv=frame["cv"].where(frame.index != 2)).to_csv(table, index=False)
    with pytest.raises(tc.InputError, match=r"line 4: column 'cv' must be a number, but is ''"):
        load_problem(read_job(job))


def test_a_rule_says_more_of_a_cell_than_its_flag(tmp_path):
    rule = '[[rules]]\nrule = "manual"\ncells = [{a = "x", b = "q", c = "Total"}]\nrange = 60\n'
    problem = flagged(tmp_path, rules=rule)
    assert problem.upper_protection[problem.sensitive].tolist() == pytest.approx([3.3, 12.0])


def test_a_flag_that_is_neither_yes_nor_no_is_told_with_its_row(tmp_path):
    with pytest.raises(
        tc.InputError, match="one.csv, line 3: column 'secret' must be true or false"
    ):
        flagged(tmp_path, "perhaps")


@pytest.mark.parametrize("missing", ["", None])
def test_a_missing_flag_is_refused_since_the_cell_might_be_sensitive(tmp_path, missing):
    with pytest.raises(tc.InputError, match="one.csv, line 3: column 'secret' is empty"):
        flagged(tmp_path, missing)
    (tmp_path / "job.toml").write_text(
        (tmp_path / "job.toml").read_text().replace('"secret"', '"sekret"')
    )
    with pytest.raises(tc.InputError, match="no column 'sekret'. Did you mean 'secret'"):
        load_problem(read_job(tmp_path / "job.toml"))
