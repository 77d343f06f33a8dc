"""Sums of hidden cells: none that an outsider can estimate too well violates the rule.

The check is written from the records: contributions by pandas, intervals by one program each. As
a script it runs on 100 tables and prints what the protection of sums costs.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

sys.path.insert(0, str(Path(__file__).parents[1]))

import tablecloak as tc
from contributors import with_contributors
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import RefusedError, compare, read, verify
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.proof.refuted import TRUTH
from tablecloak.tables.keys import are_sums
from tablecloak.tables.rules.rule import RULES
from tablecloak.tables.sums import find_sums

P = 10
RULE = tc.PPercent(P)


def random_records(seed: int, shape: tuple[int, int]) -> pd.DataFrame:
    """Records of firms, some of which contribute to several cells, and some of which dominate."""
    random = np.random.default_rng(seed)
    rows = []
    for region, trade in product(range(shape[0]), range(shape[1])):
        n = int(random.choice([1, 2, 3, 4, 6], p=[0.2, 0.1, 0.2, 0.2, 0.3]))
        for number in range(n):
            firm = f"shared{random.integers(4)}" if random.random() < 0.2 else None
            size = int(random.lognormal(3, 1)) + 1
            rows.append((f"r{region}", f"t{trade}", firm or f"f{region}.{trade}.{number}", size))
    return pd.DataFrame(rows, columns=["region", "trade", "firm", "value"])


def protected(records: pd.DataFrame, n_largest: int = 3) -> tc.ProtectionProblem:
    table = with_contributors(
        records, ["region", "trade"], "value", contributor="firm", n_largest=n_largest
    )
    return table.protect(RULE)


def test_a_floor_of_sums_far_above_their_levels_is_named_as_that_of_cells_is():
    records = random_records(3, (3, 3)).assign(value=lambda frame: frame["value"] * 1e-6)
    table = with_contributors(records, ["region", "trade"], "value", contributor="firm")
    problem = table.protect(RULE, floor=1e-6)
    assert problem.n_sensitive
    told = "`floor` = 1 is the smallest protection level"
    with pytest.warns(tc.TablecloakWarning, match=told), pytest.raises(tc.ModelError):
        tc.suppress(problem, groups=[RULE], time_limit=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tc.TablecloakWarning)
        tc.suppress(problem, groups=tc.Groups([RULE], floor=1e-6), time_limit=5)


Sum = tuple[tuple[int, ...], float]
"""Cells of one row or column, and by how much their sum must be able to move."""


def sensitive_sums(records: pd.DataFrame, problem: tc.ProtectionProblem) -> list[Sum]:
    """All sets of cells of one row or column, margins included, whose sum violates the rule."""
    keys = problem.table.keys
    given = records.pivot_table("value", ["region", "trade"], "firm", "sum", fill_value=0)
    of_cells = []
    for _, cell in keys.iterrows():
        inside = [
            all(cell[name] in ("Total", code) for name, code in zip(keys, codes, strict=True))
            for codes in given.index
        ]
        of_cells.append(given.to_numpy()[inside].sum(axis=0))
    found = []
    for axis, other in (("region", "trade"), ("trade", "region")):
        for code in keys[axis].unique():
            line = np.flatnonzero((keys[axis] == code) & (keys[other] != "Total")).tolist()
            for size in range(1, len(line) + 1):
                for cells in combinations(line, size):
                    firms = np.sort(sum(of_cells[cell] for cell in cells))
                    excess = P / 100 * firms[-1] - firms[:-2].sum()
                    if excess > 1e-9:
                        found.append((cells, max(excess, 1.0)))
    return found


class Reader:
    """Somebody who knows the published cells and the external bounds."""

    def __init__(self, problem: tc.ProtectionProblem, hidden: np.ndarray) -> None:
        self.n = problem.table.n_cells
        self.values = problem.table.values
        self.sums = LinearConstraint(problem.table.relations.toarray(), 0, 0)
        known = np.where(hidden, [problem.lower_bound, problem.upper_bound], self.values)
        self.bounds = Bounds(*known)

    def interval(self, cells: list[int]) -> tuple[float, float]:
        cost = np.zeros(self.n)
        cost[cells] = 1
        ends = []
        for sign in (1, -1):
            found = milp(sign * cost, constraints=self.sums, bounds=self.bounds)
            assert found.status == 0
            ends.append(float(cost @ found.x))
        return ends[0], ends[1]


def leaking_sums(
    sums: list[Sum], problem: tc.ProtectionProblem, hidden: np.ndarray, most: float = np.inf
) -> list[Sum]:
    """Sums of hidden cells that are estimated too well; at most as many as are asked for."""
    reader, found = Reader(problem, hidden), []
    for cells, level in sums:
        some = list(cells)
        if len(found) == most or not np.all(hidden[some]):
            continue
        value = problem.table.values[some].sum()
        least = max(value - level, problem.lower_bound[some].sum())
        low, high = reader.interval(some)
        if low > least + 1e-6 or high < value + level - 1e-6:
            found.append((cells, level))
    return found


def compared(seed: int, shape: tuple[int, int]) -> tuple[float, float, int, int]:
    """Return loss without and with groups, and leaking sums of both patterns."""
    records = random_records(seed, shape)
    problem = protected(records)
    n, sums = problem.table.n_cells, sensitive_sums(records, problem)
    without = tc.suppress(problem, time_limit=1000)
    careful = tc.suppress(problem, groups=RULE, time_limit=1000)
    leaks = [leaking_sums(sums, problem, each.suppressed[:n]) for each in (without, careful)]
    return without.loss, careful.loss, len(leaks[0]), len(leaks[1])


def test_no_sum_of_hidden_cells_of_a_relation_violates_the_rule():
    before, after, leaks_before, leaks = compared(9, (3, 3))
    assert (leaks_before > 0, leaks) == (True, 0)
    assert after >= before


def least_loss(records: pd.DataFrame, problem: tc.ProtectionProblem) -> float:
    """The least loss over all patterns without a leaking sum, of one or more cells."""
    sums = sensitive_sums(records, problem)
    free = np.flatnonzero(~problem.sensitive & ~problem.frozen)
    patterns = np.array(list(product([False, True], repeat=len(free))))
    losses = patterns @ problem.weights[free]
    for number in np.argsort(losses, kind="stable"):
        hidden = problem.sensitive.copy()
        hidden[free] = patterns[number]
        if not leaking_sums(sums, problem, hidden, most=1):
            return float(losses[number] + problem.weights[problem.sensitive].sum())
    return np.inf


def exact_and_least(seed: int, shape: tuple[int, int]) -> tuple[float, float, float]:
    """Return the loss without sums, that of the exact method, and the least one."""
    records = random_records(seed, shape)
    problem = protected(records)
    losses = []
    for groups in ((), RULE):
        try:
            found = tc.suppress(problem, method="exact", groups=groups, time_limit=1000)
        except tc.ModelError:
            losses.append(np.inf)
        else:
            assert found.is_optimal
            losses.append(found.loss)
    return losses[0], losses[1], least_loss(records, problem)


def test_the_exact_method_loses_least_of_all_patterns_that_protect_sums():
    before, exact, least = exact_and_least(4, (2, 3))
    assert before < exact == least < np.inf


def two_singletons() -> pd.DataFrame:
    """A table in which the hidden cells of four relations have one contributor each."""
    rows = [
        (f"r{region}", f"t{trade}", f"f{region}.{trade}.{number}", 25 + 7 * number + region + trade)
        for region, trade in product(range(4), range(4))
        if region > 1 or trade > 1
        for number in range(4)
    ]
    alone = [("r0", "t0", "A", 100), ("r0", "t1", "B", 90)]
    alone += [("r1", "t0", "C", 80), ("r1", "t1", "D", 95)]
    return pd.DataFrame(rows + alone, columns=["region", "trade", "firm", "value"])


@pytest.fixture(scope="module")
def careful() -> tc.SuppressionPattern:
    """The pattern of that table in which nobody stays alone."""
    return tc.suppress(protected(two_singletons()), groups=[RULE], time_limit=1000)


def test_two_singletons_in_one_row_do_not_stay_alone(careful):
    records = two_singletons()
    problem = protected(records)
    sums = sensitive_sums(records, problem)
    careless = problem.sensitive
    assert tc.audit(problem, careless).is_safe
    assert len(tc.audit(problem, careless, groups=[RULE]).groups) == 4
    assert len(leaking_sums(sums, problem, careless)) == 4
    assert tc.audit(problem, careful, groups=[RULE]).is_safe
    assert leaking_sums(sums, problem, careful.suppressed[: problem.table.n_cells]) == []
    assert "4 sensitive sums of hidden cells" in careful.summary()


def test_a_problem_that_has_its_sums_gets_none_of_them_twice(careful):
    again = tc.suppress(careful.problem, groups=RULE, time_limit=1000)
    assert (again.loss, len(again.suppressed)) == (careful.loss, len(careful.suppressed))


JUDGES_OF_CELLS = [
    tc.MinimumFrequency(3),
    tc.Manual([0]),
    tc.Request(10),
    tc.ZeroUnsafe(1),
    tc.KDisclosure(1),
    tc.AttributeDisclosure(),
]


def test_every_rule_says_whether_it_applies_to_sums():
    names = {rule.name for rule in RULES if not rule.applies_to_sums}
    assert names == {rule.name for rule in JUDGES_OF_CELLS}
    for rule in (RULE, tc.PriorPosterior(20, 50), tc.Dominance(1, 75)):
        assert tc.Groups([rule]).rules == [rule]


@pytest.mark.parametrize("rule", JUDGES_OF_CELLS, ids=lambda rule: rule.name)
def test_rules_that_judge_cells_alone_are_refused_for_sums_at_every_door(rule):
    problem = protected(two_singletons())
    hidden, values = problem.sensitive, problem.table.values
    told = f"rule '{rule.name}' judges single cells.* dominance, p-percent or prior-posterior"
    for ask in (
        lambda groups: tc.suppress(problem, groups=groups),
        lambda groups: tc.audit(problem, hidden, groups=groups),
        lambda groups: tc.audit(problem, values, groups=groups),
        lambda groups: audit_pattern(problem, hidden, groups=groups),
    ):
        for groups in (rule, [RULE, rule]):
            with pytest.raises(tc.InputError, match=told):
                ask(groups)


def test_an_audit_judges_the_same_groups_as_the_search():
    problem = protected(two_singletons())
    for groups in (RULE, [RULE], tc.Groups([RULE])):
        assert len(tc.audit(problem, problem.sensitive, groups=groups).groups) == 4


def test_no_sum_is_found_where_no_two_cells_are_hidden_in_a_problem_with_sums(careful):
    nothing = np.zeros(careful.problem.table.n_cells, dtype=bool)
    assert len(find_sums(careful.problem, nothing, tc.Groups([RULE]))) == 0


@pytest.mark.parametrize("seed", [0, 3])
def test_sums_are_protected_beside_an_earlier_release(seed):
    earlier = tc.suppress(protected(random_records(seed, (2, 3))), time_limit=1000)
    problem = protected(random_records(100 + seed, (2, 3)))
    found = tc.suppress(problem, published=earlier, groups=RULE, time_limit=1000)
    assert found.certificate.verify().exact
    hidden = found.suppressed[: problem.table.n_cells]
    assert tc.audit(problem, hidden, groups=RULE, published=earlier).is_safe


def test_sums_stay_what_they_are_if_no_others_are_found():
    problem = protected(two_singletons())
    found = find_sums(problem, problem.sensitive, tc.Groups([RULE]))
    none = find_sums(problem, np.zeros(problem.table.n_cells, dtype=bool), tc.Groups([RULE]))
    assert (len(found), len(none), len(found.joined(none)), len(none.joined(found))) == (4, 0, 4, 4)


def test_the_verifier_takes_sums_for_definitions_alone(careful, tmp_path):
    tc.write_jj(protected(two_singletons()), tmp_path / "problem.jj")
    arrays = arrays_of(careful.certificates, careful.problem)
    said = " ".join(verify(stored(tmp_path, arrays), tmp_path / "problem.jj"))
    assert "4 sums of cells of the problem file are protected as well" in said
    # A relation between cells of the problem is no definition of a further cell.
    arrays["relation_data"][-1] = 1
    with pytest.raises(RefusedError, match="no sum of cells"):
        compare(stored(tmp_path, arrays), tmp_path / "problem.jj")


def stored(folder: Path, arrays: dict) -> dict:
    np.savez(folder / "certificate.npz", **arrays)
    return read(folder / "certificate.npz")


def test_the_verifier_demands_a_witness_of_each_sum(careful, tmp_path):
    proof, sensitive = careful.certificate, np.flatnonzero(careful.problem.sensitive)
    last = len(sensitive) - 1
    assert are_sums(careful.problem.table.keys)[sensitive[last]]
    still = np.where(np.arange(len(sensitive)) == last, TRUTH, proof.upper_witness)
    forged = replace(careful, certificate=replace(proof, upper_witness=still))
    with pytest.raises(RefusedError):
        verify(stored(tmp_path, arrays_of(forged.certificates, forged.problem)))


if __name__ == "__main__":
    for number in range(60):
        size = (2, 3) if number < 40 else (3, 3)
        cells_alone, exact, least = exact_and_least(number, size)
        print(*size, number, cells_alone, exact, least, "" if exact == least else "DIFFERS")
    figures = []
    for number in range(100):
        figures.append(compared(number, (4, 4)))
        print(number, *figures[-1], flush=True)
    before, after, leaks, left = np.array(figures).sum(axis=0)
    print(f"loss {before:g} -> {after:g}, leaking sums {leaks:g} -> {left:g}")
