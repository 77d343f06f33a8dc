"""A job with several variables gives one release in which their equations reveal nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem

MICRODATA = """
[data]
file = "pay.csv"
contributor = "firm"

[dimensions.region]
[dimensions.size]

[variables.wages]
value = "wages"
unit = "EUR"

[variables.bonuses]
value = "bonuses"
unit = "EUR"
rules = [{rule = "dominance", n = 1, k = 70}]
protection = {floor = 5}

[variables.salaries]
value = "salaries"
unit = "EUR"

[variables.firms]
dimensions = ["region"]
rules = [{rule = "minimum-frequency", minimum = 3}]

[[equations]]
equation = "salaries = wages + bonuses"

[[rules]]
rule = "p-percent"
p = 10

[suppression]
time_limit = 1000
"""


def pay() -> pd.DataFrame:
    random = np.random.default_rng(5)
    n = 40
    frame = pd.DataFrame(
        {
            "firm": [f"{number:03}" for number in range(n)],
            "region": random.choice(["01", "02"], n),
            "size": random.choice(["big", "small"], n),
            "wages": np.where(np.arange(n) == 0, 9000, np.ceil(random.lognormal(4, 1, n))),
            "bonuses": np.where(np.arange(n) == 1, 900, np.ceil(random.lognormal(2, 1, n))),
        }
    )
    return frame.assign(salaries=frame.wages + frame.bonuses)


def written(folder: Path, text: str = MICRODATA, name: str = "job.toml") -> Path:
    pay().to_csv(folder / "pay.csv", index=False)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_each_variable_has_its_own_column_rules_and_dimensions(tmp_path):
    problem = load_problem(read_job(written(tmp_path)))
    table = problem.table
    assert list(table.keys.columns) == ["variable", "region", "size"]
    assert list(table.keys.variable.unique()) == ["wages", "bonuses", "salaries", "firms"]
    reasons = problem.to_frame().groupby("variable").reasons.unique()
    assert set(reasons["bonuses"]) <= {"", "dominance"}
    assert set(reasons["wages"]) | set(reasons["salaries"]) <= {"", "p-percent"}
    assert problem.upper_protection[problem.reasons == "dominance"].min() >= 5
    firms = table.keys[table.keys.variable == "firms"]
    assert set(firms["size"]) == {"Total"}
    assert table.values[table.cell(variable="firms", region="Total", size="Total")] == 40
    # The three in EUR share a unit; the number of firms has another one.
    assert table.unit == "wages: EUR, bonuses: EUR, salaries: EUR"


def test_the_example_gives_one_release_with_a_column_of_variables_and_a_proof(tmp_path):
    tc.examples.write("demography", tmp_path)
    job = read_job(tmp_path / "demography.toml")
    assert job.suppression is not None
    job.suppression.method, job.suppression.hold, job.output.report = "sequential", "off", False
    result = tc.run_job(job, tmp_path / "out")
    assert result.is_safe
    result.pattern.verify()
    released = pd.read_csv(tmp_path / "out" / "release" / "suppression" / "table.csv")
    assert list(released.columns) == ["variable", "region", "industry", "count", "status"]
    # In the order of the job, not of the alphabet.
    assert list(released.variable.unique()) == ["births", "survivors", "active"]
    again = tc.read_problem(tmp_path / "out" / "internal" / "problem.jj")
    assert again.n_sensitive == result.problem.n_sensitive > 0


def test_ready_tables_may_be_columns_of_one_file_or_files_of_their_own(tmp_path):
    one = pd.DataFrame({"region": ["a", "b", "Total"], "gas": [1.0, 4, 5], "heat": [8.0, 2, 10]})
    one = one.assign(energy=2 * one.gas + one.heat)
    one.to_csv(tmp_path / "all.csv", index=False)
    for name in ("gas", "heat", "energy"):
        one[["region", name]].rename(columns={name: "value"}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    rest = """
        [dimensions.region]
        [[equations]]
        equation = "energy = 2*gas + heat"
        where = {region = ["a", "Total"]}
        [[rules]]
        rule = "manual"
        cells = [{region = "a"}]
        [suppression]
    """
    together = '[data]\nfile = "all.csv"\nkind = "table"\n' + "".join(
        f"[variables.{name}]\n" for name in ("gas", "heat", "energy")
    )
    apart = '[data]\nkind = "table"\n' + "".join(
        f'[variables.{name}]\nfile = "{name}.csv"\n' for name in ("gas", "heat", "energy")
    )
    found = [
        load_problem(read_job(written(tmp_path, text + rest, "tables.toml")))
        for text in (together, apart)
    ]
    for problem in found:
        assert problem.n_sensitive == 3
        # One sum of each variable, and the equation at two codes.
        assert problem.table.n_relations == 5
    assert np.array_equal(found[0].table.values, found[1].table.values)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("salaries = wages + bonuses", "salaries = wages +", "line 27: equations: Equation"),
        ("salaries = wages + bonuses", "salaries = wage + bonuses", "Did you mean 'wages'"),
        (
            'value = "bonuses"',
            'valeu = "bonuses"',
            "unknown key 'valeu' in variables.bonuses",
        ),
        ('dimensions = ["region"]', 'dimensions = ["regoin"]', "there is no dimension 'regoin'"),
        ('contributor = "firm"', 'contributor = "firm"\nvalue = "wages"', "[data] value: each of"),
        ("time_limit = 1000", 'cost = "wages"', "[suppression] cost: a cost is a column of one"),
    ],
)
def test_a_faulty_job_is_refused_with_file_section_and_key(tmp_path, old, new, fault):
    with pytest.raises(tc.InputError) as refused:
        read_job(written(tmp_path, MICRODATA.replace(old, new)))
    assert str(tmp_path / "job.toml") in str(refused.value)
    assert fault in str(refused.value)


def test_faults_of_the_data_name_the_variable(tmp_path):
    path = written(tmp_path, MICRODATA.replace('value = "bonuses"', 'value = "bonsues"'))
    with pytest.raises(tc.InputError, match=r"\[variables.bonuses\]: .*pay.csv.*bonsues"):
        load_problem(read_job(path))
    only = MICRODATA.replace('value = "bonuses"', 'value = "bonuses"\nonly = {size = "bg"}')
    with pytest.raises(tc.InputError, match="never holds 'bg'. Did you mean 'big'"):
        load_problem(read_job(written(tmp_path, only)))


def test_equations_without_variables_are_refused(tmp_path):
    text = MICRODATA[: MICRODATA.index("[variables.wages]")].replace(
        "[data]", '[data]\nvalue="wages"'
    )
    text += MICRODATA[MICRODATA.index("[[eq") :]
    with pytest.raises(tc.InputError, match=r"\[\[equations\]\] need variables"):
        read_job(written(tmp_path, text))


def test_sums_over_variables_are_judged_where_all_share_their_rules(tmp_path):
    own = 'rules = [{rule = "dominance", n = 1, k = 70}]\nprotection = {floor = 5}\n'
    few = 'rules = [{rule = "minimum-frequency", minimum = 3}]'
    shared = MICRODATA.replace(own, "").replace(few, "")
    assert [rule.name for rule in read_job(written(tmp_path, shared)).group_rules] == ["p-percent"]
    assert not read_job(written(tmp_path)).group_rules
    with pytest.raises(tc.InputError, match="needs rules that all variables share"):
        read_job(written(tmp_path, MICRODATA + "[audit]\ngroups = true\n"))


def test_what_is_lost_is_said_of_each_variable_since_euros_and_firms_do_not_add_up(tmp_path):
    rounded = MICRODATA.replace(
        "[suppression]", "[rounding]\nbase = 10\ntime_limit = 10\n[suppression]"
    )
    result = tc.run_job(written(tmp_path, rounded), tmp_path / "out")
    table, hidden = result.problem.table, result.pattern.suppressed
    depth = table.depths()
    lost = {}
    for name in table.variables.names:
        own = (table.keys.variable == name).to_numpy()
        cells = own & (depth == depth[own].max())
        values = table.values[cells]
        share = values[hidden[: table.n_cells][cells]].sum() / values.sum()
        lost[name] = f"{name} {100 * share:.1f} %"
    extent = next(line for line in result.pattern.verdict().splitlines() if "Hidden:" in line)
    assert extent.endswith(f"in its most detailed cells: {', '.join(lost.values())}.")
    assert "bound" in result.pattern.summary()
    assert "(average cells of each variable)" in result.pattern.summary()
    changed = result.release("rounding").verdict().splitlines()[1]
    assert changed.startswith("Changed:") and all(f"{name} " in changed for name in lost)
    page = (tmp_path / "out" / "internal" / "report.html").read_text("utf-8")
    assert page.count("<caption>The suppression by variable</caption>") == 1
    row = page.split("<caption>The suppression by variable</caption>")[1].split("</table>")[0]
    assert [name for name in lost if f'<th scope="row">{name}</th>' in row] == list(lost)
    assert "<td>EUR</td>" in row
