"""Variables of one job that add up the same records: nothing hidden in one stands in another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from naive_programs import Reach
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem

HEAD = """
[data]
file = "firms.csv"
contributor = "firm"
[dimensions.region]
[dimensions.industry]
[dimensions.size]
"""
RULES = """
[[rules]]
rule = "p-percent"
p = 10
[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
method = "sequential"
hold = "off"
[output]
report = false
"""
SMALL = """
[variables.sales]
value = "sales"
tables = [{dimensions = ["region", "size"]}]
[variables.small]
value = "sales"
only = {size = "5-9"}
tables = [{dimensions = ["region", "industry"]}]
"""


def firms() -> pd.DataFrame:
    random = np.random.default_rng(3)
    n = 160
    return pd.DataFrame({
        "firm": [f"f{number}" for number in range(n)],
        "region": random.choice([f"R{number}" for number in range(8)], n),
        "industry": random.choice(list("CDE"), n),
        "size": random.choice(["0-4", "5-9", "10-49", "50+"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "sales": np.ceil(random.lognormal(4, 1.5, n)),
        "staff": random.integers(1, 90, n),
    })  # fmt: skip


def job(folder: Path, variables: str, rules: str = RULES) -> Path:
    firms().to_csv(folder / "firms.csv", index=False)
    path = folder / "job.toml"
    path.write_text(HEAD + variables + rules, encoding="utf-8")
    return path


def reached(folder: Path, path: Path) -> pd.DataFrame:
    """Sales by region and size as far as the release tells them, from its file alone."""
    assert tc.run_job(path, folder / "out").is_safe
    shown = pd.read_csv(folder / "out" / "release" / "suppression" / "table.csv")
    sales = shown[shown.variable == "sales"].set_index(["region", "size"]).value
    small = shown[(shown.variable == "small") & (shown.industry == "Total")]
    small = small.set_index("region").value.dropna()
    told = pd.Series(small.to_numpy(), [(region, "5-9") for region in small.index])
    sales = sales.fillna(told.reindex(sales.index))
    number = {key: place for place, key in enumerate(sales.index)}
    rows = []
    for axis in (0, 1):
        for key in sales.index[[key[axis] == "Total" for key in sales.index]]:
            row = np.zeros(len(sales))
            for other, place in number.items():
                if other[1 - axis] == key[1 - axis]:
                    row[place] = -1.0 if other == key else 1.0
            rows.append(row)
    reach = Reach(np.array(rows), sales.fillna(0.0), sales.fillna(np.inf))
    return pd.DataFrame(
        {"lower": [-reach.farthest(cell, -1) for cell in range(len(sales))],
         "upper": [reach.farthest(cell, 1) for cell in range(len(sales))]}, sales.index,
    )  # fmt: skip


def test_what_one_variable_hides_does_not_stand_in_the_one_of_some_of_its_records(tmp_path):
    path = job(tmp_path, SMALL)
    problem = load_problem(read_job(path))
    interval = reached(tmp_path, path)
    keys = problem.table.keys
    checked = 0
    for cell in np.flatnonzero(problem.sensitive & (keys.variable == "sales")).tolist():
        lower, upper = interval.loc[(keys.region[cell], keys["size"][cell])]
        value = problem.table.values[cell]
        assert lower <= value - problem.lower_protection[cell] * 0.999
        assert upper >= value + problem.upper_protection[cell] * 0.999
        checked += 1
    assert checked > 3


@pytest.mark.parametrize(
    ("only", "shown"),
    [
        ('size = "5-9"', 'tables = [{dimensions = ["region", "size"]}]'),
        ('size = ["5-9", "10-49"]', 'tables = [{dimensions = ["region", "size"]}]'),
        ('size = ["5-9", "10-49"], industry = "C"', 'dimensions = ["region", "size", "industry"]'),
        ('size = ["0-4", "5-9", "10-49", "50+"]', 'tables = [{dimensions = ["region"]}]'),
    ],
)
def test_a_variable_of_some_records_is_the_sum_of_the_cells_of_these(tmp_path, only, shown):
    text = f"""
[variables.sales]
value = "sales"
{shown}
[variables.part]
value = "sales"
only = {{{only}}}
tables = [{{dimensions = ["region"]}}]
"""
    table = load_problem(read_job(job(tmp_path, text))).table
    cells = np.flatnonzero(table.keys.variable == "part")
    relation = np.flatnonzero(
        [len(set(table.keys.variable[table.relations[[row], :].indices])) == 2
         for row in range(table.n_relations)]
    )  # fmt: skip
    assert len(relation) == len(cells) == 9
    assert np.allclose(table.relations @ table.values, table.right_hand_side)
    assert np.allclose(table.right_hand_side, 0)


def test_two_variables_without_any_limit_share_their_totals(tmp_path):
    text = """
[variables.one]
value = "sales"
tables = [{dimensions = ["region", "size"]}]
[variables.other]
value = "sales"
tables = [{dimensions = ["region", "industry"]}]
[variables.staff]
value = "staff"
tables = [{dimensions = ["region"]}]
"""
    table = load_problem(read_job(job(tmp_path, text))).table
    across = [
        set(table.keys.variable[table.relations[[row], :].indices])
        for row in range(table.n_relations)
    ]
    assert across.count({"one", "other"}) == 9
    assert not any("staff" in names and len(names) > 1 for names in across)


def test_a_difference_that_no_table_has_is_refused_with_both_names(tmp_path):
    text = """
[variables.all]
value = "sales"
dimensions = ["region", "industry"]
[variables.small]
value = "sales"
only = {size = "5-9"}
dimensions = ["region", "industry"]
"""
    with pytest.raises(tc.InputError, match=r"(?s)'small' and 'all'.*size.*protects.*equation"):
        load_problem(read_job(job(tmp_path, text)))
    # Two parts that have no record in common tell nothing of each other.
    apart = text.replace("[variables.all]\n", '[variables.all]\nonly = {size = "0-4"}\n')
    load_problem(read_job(job(tmp_path, apart)))
    # With a variable of the others and an equation, all three are protected together.
    rest = """
[variables.others]
value = "sales"
only = {size = ["0-4", "10-49", "50+"]}
dimensions = ["region", "industry"]
"""
    equation = '[[equations]]\nequation = "all = small + others"\n'
    load_problem(read_job(job(tmp_path, text + rest + equation)))
    elsewhere = equation + 'where = {region = ["R1"]}\n'
    with pytest.raises(tc.InputError, match="no table has"):
        load_problem(read_job(job(tmp_path, text + rest + elsewhere)))
