"""Sums of hidden cells: none that an outsider can estimate too well violates the rule.

The check is written from the records: contributions by pandas, intervals by one program each. As
a script it runs on 100 tables and prints what the protection of sums costs.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).parents[1]))

import tablecloak as tc
from contributors import with_contributors
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import RefusedError, compare, read, verify
from tablecloak.suppression.proof import TRUTH
from tablecloak.tables.keys import are_sums

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


def excess(records: pd.DataFrame) -> float:
    """By how much the second largest firm can estimate the largest too well; below 0 if safe."""
    sizes = records.groupby("firm")["value"].sum().nlargest(2).to_numpy()
    return P / 100 * sizes[0] - (records["value"].sum() - sizes.sum())


class Reader:
    """Somebody who knows the published cells, and that no value is negative."""

    def __init__(self, problem: tc.ProtectionProblem, hidden: np.ndarray) -> None:
        self.n = problem.table.n_cells
        self.values = problem.table.values
        self.relations = problem.table.relations
        self.bounds = [(0, None) if h else (v, v) for h, v in zip(hidden, self.values, strict=True)]

    def interval(self, cells: list[int]) -> tuple[float, float]:
        cost = np.zeros(self.n)
        cost[cells] = 1
        right = np.zeros(self.relations.shape[0])
        ends = []
        for sign in (1, -1):
            found = linprog(
                sign * cost, A_eq=self.relations.toarray(), b_eq=right, bounds=self.bounds
            )
            ends.append(-np.inf * sign if found.status == 3 else float(cost @ found.x))
        return ends[0], ends[1]


def leaking_sums(records: pd.DataFrame, problem: tc.ProtectionProblem, hidden: np.ndarray) -> list:
    """Sums of up to all hidden cells of a row or column that violate the rule, and are estimated.

    Every set of hidden cells of one row or column of the inner table is looked at, single cells and
    margins included.
    """
    keys, reader, found = problem.table.keys, Reader(problem, hidden), []
    for axis, other in (("region", "trade"), ("trade", "region")):
        for code in keys[axis].unique():
            line = np.flatnonzero((keys[axis] == code) & (keys[other] != "Total") & hidden)
            line = [int(cell) for cell in line]
            within = records if code == "Total" else records[records[axis] == code]
            for size in range(1, len(line) + 1):
                for cells in combinations(line, size):
                    inside = within[within[other].isin(keys[other].iloc[list(cells)])]
                    too_much = excess(inside)
                    if too_much <= 1e-9:
                        continue
                    low, high = reader.interval(list(cells))
                    value = problem.table.values[list(cells)].sum()
                    if low > max(value - too_much, 0) + 1e-6 or high < value + too_much - 1e-6:
                        found.append((code, cells))
    return found


def compared(seed: int, shape: tuple[int, int]) -> tuple[float, float, int, int]:
    """Return loss without and with groups, and leaking sums of both patterns."""
    records = random_records(seed, shape)
    problem = protected(records)
    n = problem.table.n_cells
    without = tc.suppress(problem, time_limit=1000)
    careful = tc.suppress(problem, groups=RULE, time_limit=1000)
    leaks = [leaking_sums(records, problem, each.suppressed[:n]) for each in (without, careful)]
    return without.loss, careful.loss, len(leaks[0]), len(leaks[1])


@pytest.mark.parametrize("seed", [2, 7])
def test_no_sum_of_hidden_cells_of_a_relation_violates_the_rule(seed):
    before, after, leaks_before, leaks = compared(seed, (4, 4))
    assert (leaks_before > 0, leaks) == (True, 0)
    assert after >= before


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


def test_two_singletons_in_one_row_do_not_stay_alone():
    records = two_singletons()
    problem = protected(records)
    careless = tc.suppress(problem, time_limit=1000)
    assert len(tc.audit(problem, careless, groups=[RULE]).groups) == 4
    assert len(leaking_sums(records, problem, careless.suppressed)) == 4
    careful = tc.suppress(problem, groups=[RULE], time_limit=1000)
    assert tc.audit(problem, careful, groups=[RULE]).is_safe
    assert leaking_sums(records, problem, careful.suppressed[: problem.table.n_cells]) == []
    assert "4 sensitive sums of hidden cells" in careful.summary()


def test_the_verifier_takes_sums_for_definitions_alone(tmp_path):
    problem = protected(two_singletons())
    tc.write_jj(problem, tmp_path / "problem.jj")
    careful = tc.suppress(problem, groups=[RULE], time_limit=1000)
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


def test_the_verifier_demands_a_witness_of_each_sum(tmp_path):
    careful = tc.suppress(protected(two_singletons()), groups=[RULE], time_limit=1000)
    proof, sensitive = careful.certificate, np.flatnonzero(careful.problem.sensitive)
    last = len(sensitive) - 1
    assert are_sums(careful.problem.table.keys)[sensitive[last]]
    write_certificate(careful, tmp_path / "all.npz")
    verify(read(tmp_path / "all.npz"))
    still = np.where(np.arange(len(sensitive)) == last, TRUTH, proof.upper_witness)
    forged = replace(careful, certificate=replace(proof, upper_witness=still))
    with pytest.raises(RefusedError):
        verify(stored(tmp_path, arrays_of(forged.certificates, forged.problem)))


if __name__ == "__main__":
    figures = []
    for number in range(100):
        figures.append(compared(number, (4, 4)))
        print(number, *figures[-1], flush=True)
    before, after, leaks, left = np.array(figures).sum(axis=0)
    print(f"loss {before:g} -> {after:g}, leaking sums {leaks:g} -> {left:g}")
