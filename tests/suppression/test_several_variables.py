"""Variables protected together withstand who uses their equations; protected apart they do not.

Run as a program, with ``tests`` on the path, it attacks all 50 systems.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import naive_attacks
import readme
import tablecloak as tc
from equation_systems import energy, exposed, random_system
from margins import with_margins

SEEDS = 50
IN_THE_SUITE = (2, 3)


def attacked(seed: int) -> tuple[int, int, int]:
    """Number of sensitive cells, of those exposed by separate releases, and by the joint one."""
    system = random_system(seed)
    apart = exposed(system, system.hidden_apart())
    problem = system.joined()
    try:
        pattern = tc.suppress(problem, time_limit=1000)
    except tc.ModelError:
        # Where zeros leave no room, the attack succeeds even if everything else is hidden.
        assert exposed(system, {name: ~p.frozen for name, p in system.problems.items()})
        return int(problem.sensitive.sum()), len(apart), 0
    assert pattern.is_optimal
    assert tc.audit(problem, pattern).is_safe
    together = exposed(system, system.hidden_together(pattern))
    return int(problem.sensitive.sum()), len(apart), len(together)


@pytest.mark.parametrize("seed", IN_THE_SUITE)
def test_an_attack_with_the_equations_finds_nothing_in_the_joint_release(seed):
    assert attacked(seed)[2] == 0


def test_births_follow_from_survivors_unless_all_are_protected_as_one_problem():
    page = Path(__file__).parents[2] / "docs" / "several-variables.md"
    programs = [step.text for step in readme.steps(page.read_text("utf-8")) if step.is_python]
    said: dict[str, Any] = {}
    for program in programs:
        exec(compile(program, str(page), "exec", dont_inherit=True), said)
    problem, apart = said["problem"], np.concatenate(said["apart"])
    # An attack that shares no code with the package, apart from the relations.
    assert naive_attacks.exposed(problem, *naive_attacks.intervals_of(problem, apart))
    together = said["pattern"].suppressed
    assert not naive_attacks.exposed(problem, *naive_attacks.intervals_of(problem, together))


def test_who_knows_its_own_birth_learns_survivors_from_the_published_sum():
    records = pd.DataFrame(
        [("a", "A", 50, 0), ("a", "B", 0, 70), ("b", "C", 60, 0), ("b", "D", 0, 90)],
        columns=["region", "firm", "births", "survivors"],
    )
    records = records.assign(active=records.births + records.survivors)
    rule = tc.Manual([{"region": "a"}], range=10)
    problems = {
        name: tc.tabulate(records[records[name] > 0], ["region"], name, contributor="firm").protect(
            rule if name == "survivors" else tc.MinimumFrequency(1)
        )
        for name in ("births", "survivors", "active")
    }
    problem = tc.join(problems, ["active = births + survivors"])
    keys = problem.table.keys
    hidden = ((keys.region != "Total") & (keys.variable != "active")).to_numpy()
    assert tc.audit(problem, hidden).is_safe
    told = tc.audit(problem, hidden, intruders="contributors")
    # With their own birth, A knows the survivors of a, and C those of b, hence those of a.
    insiders = {finding.intruder for finding in told.attacks}
    assert insiders == {"contributors: A", "contributors: C", "contributors: D"}
    # Apart, who was born has no part in survivors.
    alone = tc.audit(problems["survivors"], [False, True, True], intruders="contributors")
    assert {finding.intruder for finding in alone.attacks} == {"contributors: D"}


def test_sums_of_hidden_cells_are_protected_also_where_variables_are_joined():
    # In region a, one firm pays nearly all wages, and the same one nearly all bonuses.
    records = pd.DataFrame(
        [(r, f"{r}{i}", *pay) for r in "abcd" for i, pay in enumerate([(40, 9), (50, 8), (30, 7)])],
        columns=["region", "firm", "wages", "bonuses"],
    )
    records.loc[0, ["wages", "bonuses"]] = 2000, 300
    records = records.assign(salaries=records.wages + records.bonuses)
    rules = [tc.PPercent(10)]
    problems = {
        name: tc.tabulate(records, ["region"], name, contributor="firm").protect(rule)
        for name, rule in {
            "wages": rules[0], "bonuses": rules[0], "salaries": tc.MinimumFrequency(1)
        }.items()
    }  # fmt: skip
    problem = tc.join(problems, ["salaries = wages + bonuses"])
    careless = tc.suppress(problem, method="sequential")
    # Sums of hidden cells still tell the part of that firm to within 10 per cent.
    assert tc.audit(problem, careless, groups=rules).groups
    pattern = tc.suppress(problem, groups=rules, method="sequential")
    assert not tc.audit(problem, pattern, groups=rules).groups


def test_one_rounded_equation_for_each_cell_is_proved_whatever_its_share():
    """Shares differ from cell to cell, so that no small factor makes what follows whole."""
    random = np.random.default_rng(0)
    codes = [(f"r{row}", f"c{column}") for row in range(5) for column in range(5)]
    leaves = pd.DataFrame(codes, columns=["row", "column"])
    given = np.round(random.lognormal(4, 1, 25), 2)
    share = np.round(random.uniform(0.1, 2, 25), 1)
    values = {"given": given, "made": np.round(share * given, 1)}
    sensitive = {"given": ["c1", "c2"], "made": ["c0", "c4"]}
    problems = {
        name: with_margins(
            leaves.assign(value=values[name]), ["row", "column"], "value", digits=2
        ).protect(tc.Manual([{"row": "r2", "column": code} for code in sensitive[name]], range=15))
        for name in values
    }
    equations = [
        tc.Equation(f"made = {size!r}*given", {"row": row, "column": column}, tolerance=1.0)
        for size, (row, column) in zip(share.tolist(), codes, strict=True)
    ]
    problem = tc.join(problems, equations)
    pattern = tc.suppress(problem, method="sequential", time_limit=1)
    assert pattern.certificate.verify().checked == problem.n_sensitive
    assert tc.audit(problem, pattern).is_safe


def test_units_that_differ_by_a_million_lose_neither_a_cell_nor_the_proof():
    # Sales in EUR of gas in GWh: total sales = 2,000,000 * gas + heat, and each part by region.
    system = energy()
    problem = system.joined()
    pattern = tc.suppress(problem, time_limit=1000)
    assert pattern.is_optimal
    pattern.verify()
    assert tc.audit(problem, pattern).is_safe
    assert not exposed(system, system.hidden_together(pattern))
    # The sensitive GWh can be computed from the sales if these are protected apart.
    apart = system.hidden_apart()
    assert {name for name, *_ in exposed(system, apart)} >= {"gas"}
    assert tc.audit(problem, np.concatenate(list(apart.values()))).count(tc.Verdict.ATTACKABLE)


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:] or (0, SEEDS))
    found = np.array([attacked(seed) for seed in range(first, last)])
    print("sensitive, exposed apart, exposed together:", *found.sum(axis=0))
    print("systems with cells exposed apart, together:", *np.sum(found[:, 1:] > 0, axis=0))
