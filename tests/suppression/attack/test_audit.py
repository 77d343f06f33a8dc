"""The audit against naive versions: two scipy programs for each cell and each intruder."""

from __future__ import annotations

import itertools
from functools import cache

import highspy
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

import tablecloak as tc
from contributors import with_contributors
from tablecloak.suppression.attack.intruders.contributors import Contributors

KINDS = ["external", "zeros", "contributors", "pairs", "all-pairs", "holdings"]


@cache
def microdata_problem(seed: int) -> tuple[tc.ProtectionProblem, pd.DataFrame]:
    """Few firms, so that many cells have one or two contributors; some firms in two cells."""
    random = np.random.default_rng(seed)
    n = int(random.integers(14, 30))
    frame = pd.DataFrame(
        {
            "r": random.choice(list("ABCD"), n),
            "b": random.choice(list("xyz"), n),
            "firm": [f"f{number}" for number in random.integers(0, n, n)],
            "v": random.integers(1, 60, n).astype(float) * (random.random(n) > 0.1),
        }
    )
    frame["group"] = frame["firm"].str[:2]
    nested = {"N": ["A", "B"], "S": ["C", "D"]} if seed % 3 == 0 else None
    if nested:
        frame = pd.concat(
            [
                frame,
                pd.DataFrame({"r": list("ABCD"), "b": "x", "firm": "g", "v": 9.0, "group": "g"}),
            ]
        )
    table = with_contributors(
        frame, {"r": nested, "b": None}, "v", contributor="firm", holding="group", n_largest=40
    )
    return table.protect(tc.PPercent(20), tc.MinimumFrequency(3)), frame


def random_pattern(problem: tc.ProtectionProblem, seed: int) -> np.ndarray:
    random = np.random.default_rng([seed, 1])
    share = random.choice([0.2, 0.5, 0.8])
    return problem.sensitive | (~problem.frozen & (random.random(problem.table.n_cells) < share))


def contents(table: tc.Table, frame: pd.DataFrame, column: str) -> list[dict[str, float]]:
    """For every cell what each firm (or group) contributes."""
    above = {"A": "N", "B": "N", "C": "S", "D": "S"}
    sums: dict[tuple[str, str], dict[str, float]] = {}
    for r, b, who, value in zip(frame.r, frame.b, frame[column], frame.v, strict=True):
        for cell in itertools.product((r, above[r], "Total"), (b, "Total")):
            inside = sums.setdefault(cell, {})
            inside[who] = inside.get(who, 0.0) + value
    return [sums.get((r, b), {}) for r, b in zip(table.keys.r, table.keys.b, strict=True)]


def naive_members(problem, frame, hidden, kind) -> list[tuple[np.ndarray, np.ndarray]]:
    """Bounds of every intruder of a kind."""
    a, lower, upper = problem.table.values, problem.lower_bound, problem.upper_bound
    if kind == "external":
        return [(lower, upper)]
    if kind == "zeros":
        return [(np.where(a == 0, 0, lower), np.where(a == 0, 0, upper))]
    column = "group" if kind == "holdings" else "firm"
    inside = contents(problem.table, frame, column)
    everybody = sorted(frame[column].unique())
    sets = [{who} for who in everybody]
    if kind == "all-pairs":
        sets = [set(pair) for pair in itertools.combinations(everybody, 2)]
    if kind == "pairs":
        relations = problem.table.relations.toarray() != 0
        alone = {who: hidden & np.array([set(c) == {who} for c in inside]) for who in everybody}
        related = {who: (relations & alone[who]).any(axis=1) for who in everybody}
        sets = [
            {one, other}
            for one, other in itertools.combinations(everybody, 2)
            if np.any(hidden & np.array([{one, other} <= set(c) for c in inside]))
            or np.any(related[one] & related[other])
        ]
    found = []
    for who in sets:
        exact = np.array([set(cell) <= who for cell in inside])
        sums = np.array([sum(cell.get(one, 0.0) for one in who) for cell in inside])
        found.append((np.where(exact, a, np.clip(sums, lower, a)), np.where(exact, a, upper)))
    return found


def interval(problem, hidden, low, high, p, whole=False) -> tuple[float, float]:
    a, relations = problem.table.values, problem.table.relations
    low, high = np.where(hidden, low, a), np.where(hidden, high, a)
    ends = []
    for sign in (1, -1):
        cost = np.zeros(len(a))
        cost[p] = sign
        if whole:
            constraint = LinearConstraint(relations, relations @ a, relations @ a)
            bounds = Bounds(np.ceil(low), np.floor(high))
            found = milp(cost, constraints=constraint, bounds=bounds, integrality=np.ones(len(a)))
        else:
            bounds = np.column_stack([low, high])
            found = linprog(cost, A_eq=relations, b_eq=relations @ a, bounds=bounds)
        assert found.status == 0
        ends.append(sign * found.fun)
    return ends[0], ends[1]


def is_protected(problem, hidden, low, high, p, whole=False) -> bool:
    """Needs are cut at what the intruder knows of the cell beforehand."""
    a = problem.table.values
    lowest, highest = interval(problem, hidden, low, high, p, whole)
    slack = 1e-6 * max(1.0, problem.upper_protection[p])
    return (
        highest >= min(a[p] + problem.upper_protection[p], high[p]) - slack
        and lowest <= max(a[p] - problem.lower_protection[p], low[p]) + slack
    )


def verdicts(found, kind: str) -> dict[int, bool]:
    """Cells and whether they hold against all intruders of a kind, as our audit says."""
    safe = {
        int(cell): verdict is tc.Verdict.PROTECTED
        for cell, verdict in zip(found.needs.cells, found.verdicts, strict=True)
    }
    if kind != "external":
        for finding in found.findings:
            assert finding.verdict is tc.Verdict.ATTACKABLE
            safe[finding.cell] = False
    return safe


class TwoPrograms:
    """The usual attack: two hot-started programs over all hidden cells, in a unit."""

    def __init__(self, problem: tc.ProtectionProblem, hidden: np.ndarray) -> None:
        self.problem, self.unit = problem, problem.unit
        self.cells = np.flatnonzero(hidden)
        matrix = csr_array(problem.table.relations[:, self.cells])
        n, m = len(self.cells), matrix.shape[0]
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = n, m
        program.col_cost_ = np.zeros(n)
        program.col_lower_, program.col_upper_ = np.zeros(n), np.zeros(n)
        program.row_lower_ = program.row_upper_ = np.zeros(m)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        program.a_matrix_.index_ = matrix.indices.astype(np.int32)
        program.a_matrix_.value_ = matrix.data.astype(float)
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.highs.passModel(program)

    def interval(self, low: np.ndarray, high: np.ndarray, p: int) -> tuple[float, float]:
        """How far the cell moves down and up within these bounds of all cells."""
        a = self.problem.table.values[self.cells]
        n, at = len(self.cells), int(np.searchsorted(self.cells, p))
        self.highs.changeColsBounds(
            n,
            np.arange(n, dtype=np.int32),
            (low[self.cells] - a) / self.unit,
            (high[self.cells] - a) / self.unit,
        )
        ends = []
        for sign in (1.0, -1.0):
            self.highs.changeColCost(at, sign)
            self.highs.run()
            assert self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
            ends.append(sign * self.highs.getInfo().objective_function_value * self.unit)
        self.highs.changeColCost(at, 0.0)
        return ends[0], ends[1]

    def protects(self, low: np.ndarray, high: np.ndarray, p: int) -> bool:
        """Needs are cut at what the intruder knows of the cell beforehand."""
        problem, a = self.problem, self.problem.table.values
        lowest, highest = self.interval(low, high, p)
        slack = 1e-6 * max(self.unit, problem.upper_protection[p])
        return (
            highest >= min(problem.upper_protection[p], high[p] - a[p]) - slack
            and lowest <= max(-problem.lower_protection[p], low[p] - a[p]) + slack
        )


@pytest.mark.parametrize("block", range(2))
def test_verdicts_equal_two_programs_for_each_cell_and_intruder(block):
    """12 patterns of 6 small tables with few contributors."""
    attacked = dict.fromkeys(KINDS, 0)
    for seed in range(6 * block, 6 * block + 6):
        problem, frame = microdata_problem(seed // 2)
        hidden = random_pattern(problem, seed)
        naive = TwoPrograms(problem, hidden)
        # All pairs are many: a quarter of the problems.
        for kind in KINDS if seed % 4 == 0 else [kind for kind in KINDS if kind != "all-pairs"]:
            found = tc.audit(problem, hidden, intruders=["external", kind])
            assert found.count(tc.Verdict.UNDECIDED) == 0
            members = naive_members(problem, frame, hidden, kind)
            ours, external = verdicts(found, kind), verdicts(found, "external")
            for p in np.flatnonzero(problem.sensitive):
                can_hide = external[p] or kind == "external"
                expected = can_hide and all(naive.protects(*bounds, p) for bounds in members)
                assert ours[p] == expected, (seed, kind, problem.table.label(p))
                attacked[kind] += can_hide and not expected
        ours = verdicts(tc.audit(problem, hidden, intruders="integers"), "integers")
        bounds = problem.lower_bound, problem.upper_bound
        for p in np.flatnonzero(problem.sensitive):
            expected = external[p] and is_protected(problem, hidden, *bounds, p, whole=True)
            assert ours[p] == expected, (seed, problem.table.label(p))
    assert attacked["external"]
    assert attacked["contributors"]
    assert attacked["pairs"]


def test_whole_numbers_can_reveal_what_fractions_hide():
    """The cell can grow by 0.6, enough in fractions, too little for a whole number."""
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("01234")}),
        values=np.array([1.0, 1, 1, 1, 1]),
        relations=np.array([[2.0, -1, -1, 0, 0], [0, 1, -1, 2, -2]]),
        right_hand_side=np.array([0.0, 0]),
    )
    problem = tc.ProtectionProblem(
        table=table,
        status=np.array(["u", "s", "s", "s", "s"]),
        lower_protection=np.array([0.5, 0, 0, 0, 0]),
        upper_protection=np.array([0.5, 0, 0, 0, 0]),
        sliding_protection=np.zeros(5),
        lower_bound=np.zeros(5),
        upper_bound=np.array([1.6, 2, 2, 2, 2]),
        weights=np.ones(5),
    )
    hidden = np.ones(5, dtype=bool)
    assert tc.audit(problem, hidden).is_safe
    found = tc.audit(problem, hidden, intruders="integers")
    assert not found.is_safe
    assert found.findings[0].verdict is tc.Verdict.ATTACKABLE


@pytest.mark.parametrize("seed", range(6))
def test_intervals_equal_two_programs_and_failures_carry_valid_multipliers(seed):
    problem, _ = microdata_problem(seed)
    hidden = random_pattern(problem, seed)
    found = tc.audit(problem, hidden, detail="intervals")
    a, bounds = problem.table.values, (problem.lower_bound, problem.upper_bound)
    for index, p in enumerate(found.needs.cells):
        lowest, highest = interval(problem, hidden, *bounds, p)
        assert a[p] + found.above[index] == pytest.approx(highest, abs=1e-5)
        assert a[p] - found.below[index] == pytest.approx(lowest, abs=1e-5)
    assert found.count(tc.Verdict.ATTACKABLE) == 0 or found.proofs
    for proof in found.proofs:
        gamma = np.zeros(problem.table.n_relations)
        gamma[proof.relations] = proof.multipliers
        reduced = -(problem.table.relations.T @ gamma)
        reduced[proof.cell] += proof.sign
        low, high = bounds[0] - a, bounds[1] - a
        limit = np.sum(np.maximum(reduced * low, reduced * high)[hidden])
        assert limit <= proof.limit + 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_certificates_against_insiders_verify_exactly_if_the_pattern_is_safe(seed):
    problem, _ = microdata_problem(seed)
    problem = problem.with_changes(
        lower_protection=problem.lower_protection * 0.2,
        upper_protection=problem.upper_protection * 0.2,
    )
    everything = ~problem.frozen
    for hidden in (everything, random_pattern(problem, seed)):
        found = tc.audit(problem, hidden, intruders=["contributors", "pairs", "zeros"])
        if found.is_safe:
            found.certificate().verify()
        else:
            with pytest.raises(tc.VerificationError):
                found.certificate().verify()


@pytest.mark.parametrize("detail", ["verdict", "intervals"])
def test_a_cell_that_is_attacked_on_one_side_is_shown_with_both_ends(detail):
    """10 and 1 are hidden below 11, neither is 0: 10 is the most, and 1 is possible as well."""
    cells = pd.DataFrame({"code": ["a", "b", "Total"], "v": [10.0, 1.0, 11.0]})
    rule = tc.Manual([{"code": "a"}], range=50)
    problem = tc.Table.from_frame(cells, ["code"], "v").protect(rule)
    hidden = (problem.table.keys["code"] != "Total").to_numpy()
    row = tc.audit(problem, hidden, detail=detail).to_frame().iloc[0]
    assert row["verdict"] == "attackable"
    assert (row["reached_lower"], row["reached_upper"]) == pytest.approx((1, 10))


def test_two_singletons_in_a_row_protect_each_other_only_against_strangers():
    """Two firms, each alone in its cell of region A, and likewise in B: each knows one cell."""
    rows = [("A", "x", "f1", 50), ("A", "y", "f2", 40), ("B", "x", "f3", 60), ("B", "y", "f4", 30)]
    rows += [(r, "z", f"f{number}", 20 + number) for number, r in enumerate("AABBB", start=5)]
    frame = pd.DataFrame(rows, columns=["r", "b", "firm", "v"])
    table = tc.tabulate(frame, ["r", "b"], "v", contributor="firm")
    problem = table.protect(tc.MinimumFrequency(2, range=10))
    hidden = problem.sensitive
    assert tc.audit(problem, hidden).is_safe
    found = tc.audit(problem, hidden, intruders="contributors")
    # f1 knows its cell; x then gives B,x, and A gives A,y: nothing is left to guess.
    assert {finding.intruder for finding in found.findings} == {
        f"contributors: {firm}" for firm in ("f1", "f2", "f3", "f4")
    }
    assert not found.is_safe
    assert len(tc.audit(problem, hidden, groups=[tc.PPercent(10)]).groups) == 4


def test_attacks_of_insiders_carry_multipliers_that_hold_with_their_bounds():
    checked = 0
    for seed in range(6):
        problem, _ = microdata_problem(seed)
        hidden = random_pattern(problem, seed)
        intruder = Contributors()
        found = tc.audit(problem, hidden, intruders=intruder)
        known = {f"contributors: {k.name}": k for k in intruder.members(problem, hidden)}
        for finding in found.findings:
            for proof in finding.proofs:
                low = problem.lower_bound - problem.table.values
                high = problem.upper_bound - problem.table.values
                cells = known[finding.intruder].cells
                low[cells] = known[finding.intruder].lower - problem.table.values[cells]
                high[cells] = known[finding.intruder].upper - problem.table.values[cells]
                gamma = np.zeros(problem.table.n_relations)
                gamma[proof.relations] = proof.multipliers
                reduced = -(problem.table.relations.T @ gamma)
                reduced[proof.cell] += proof.sign
                limit = np.sum(np.maximum(reduced * low, reduced * high)[hidden])
                assert limit <= proof.limit + 1e-6
                checked += 1
    assert checked > 4


def test_group_with_enough_contributors_is_not_sensitive():
    rows = [("A", "x", "f1", 50.0), ("A", "y", "f2", 40.0)]
    rows += [("A", "y", f"g{k}", 39.0) for k in range(3)]
    rows += [(r, b, f"{r}{b}{k}", 10.0 + k) for r in "BC" for b in "xyz" for k in range(4)]
    frame = pd.DataFrame(rows, columns=["r", "b", "firm", "v"])
    problem = tc.tabulate(frame, ["r", "b"], "v", contributor="firm").protect(tc.PPercent(10))
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[[problem.table.cell(r="A", b="x"), problem.table.cell(r="A", b="y")]] = True
    assert tc.audit(problem, hidden, groups=[tc.PPercent(10)]).groups == []
    # 50, 40 and 3 x 39: with a coalition of four the remainder after five is nothing.
    (group,) = tc.audit(problem, hidden, groups=[tc.Dominance(3, 60)]).groups
    assert group.cells.tolist() == sorted(np.flatnonzero(hidden))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_result_does_not_depend_on_the_number_of_threads(threads):
    random = np.random.default_rng(0)
    # 60 separate tables of 3 x 3 as one problem: many components.
    frame = pd.DataFrame(
        [(f"{t}", f"{t}r{r}", f"{t}c{c}", float(random.integers(1, 99)))
         for t in range(60) for r in range(3) for c in range(3)],
        columns=["t", "r", "c", "v"],
    )  # fmt: skip
    table = tc.tabulate(frame, {"r": ["t", "r"], "c": None}, "v")
    sensitive = (table.keys["c"] != "Total") & table.keys["r"].str.contains("r")
    level = np.where(sensitive, table.values * 0.1, 0)
    problem = tc.ProtectionProblem(
        table, np.where(sensitive, "u", "s"), level, level, 0 * level, 0 * level,
        np.full(len(level), 1e5), table.values,
    )  # fmt: skip
    one = tc.audit(problem, sensitive.to_numpy(), threads=1, detail="intervals")
    other = tc.audit(problem, sensitive.to_numpy(), threads=threads, detail="intervals")
    assert np.array_equal(one.above, other.above)
    assert np.array_equal(
        one.certificate().deviations.toarray(), other.certificate().deviations.toarray()
    )


def test_an_interrupted_audit_says_what_is_proved_so_far(monkeypatch):
    problem, _ = microdata_problem(1)
    hidden = ~problem.frozen

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    found = tc.audit(problem, hidden, progress=interrupt)
    assert found.interrupted
    assert not found.is_safe
    assert "interrupted" in found.summary()
    proved = found.count(tc.Verdict.PROTECTED)
    assert proved + found.count(tc.Verdict.UNDECIDED) + found.count(tc.Verdict.ATTACKABLE) == len(
        found.verdicts
    )


def test_unknown_intruder_is_suggested():
    problem, _ = microdata_problem(1)
    with pytest.raises(tc.InputError, match="Did you mean 'contributors'"):
        tc.audit(problem, problem.sensitive, intruders="contributers")


def test_intruders_without_microdata_are_refused():
    problem = tc.examples.cox_rounded()
    with pytest.raises(tc.InputError, match="who contributed what"):
        tc.audit(problem, problem.sensitive, intruders="contributors")


def test_plot_shows_all_cells(tmp_path):
    problem, _ = microdata_problem(2)
    found = tc.audit(problem, random_pattern(problem, 2))
    found.plot(tmp_path / "audit.png")
    assert (tmp_path / "audit.png").read_bytes()[:4] == b"\x89PNG"


def test_bounds_that_differ_in_a_late_digit_break_no_witness():
    """Mirror images of a vertex then miss the other bound by more than the check accepts."""
    frame = pd.DataFrame(itertools.product("ABCD", "wxyz"), columns=["r", "c"]).assign(v=200.0)
    table = tc.tabulate(frame, {"r": None, "c": None}, "v")
    inner = ((table.keys.r != "Total") & (table.keys.c != "Total")).to_numpy()
    sensitive = table.keys.r.map(dict(zip("ABCD", "wxyz", strict=True))).eq(table.keys.c)
    level = np.where(sensitive, 0.5, 0.0)
    level[np.flatnonzero(sensitive)[0]] = 100.0
    problem = tc.ProtectionProblem(
        table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=1.5 * level,
        upper_protection=1.9 * level,
        sliding_protection=0 * level,
        lower_bound=table.values - 190 + 1e-5,
        upper_bound=table.values + 190,
        weights=table.values,
    )
    assert tc.audit(problem, inner).is_safe


def first_pattern(problem: tc.ProtectionProblem) -> tc.Suppression:
    """Return what a search finds first, however quick the machine is."""

    def stop(stage: str, loss: float, *_: object) -> None:
        if stage != "protecting" and np.isfinite(loss):
            raise KeyboardInterrupt

    return tc.suppress(problem, method="sequential", progress=stop, time_limit=1e6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["targus", "table8", "osorio", "table7", "hier13"],
)
def test_first_patterns_of_castros_tables_pass_and_fail_without_one_needed_cell(instances, name):
    """One table of each kind; the larger ones of a kind are attacked below."""
    problem = tc.read_jj(instances / f"castro-cta-jj/{name}.jj.gz")
    pattern = first_pattern(problem)
    found = assert_verdicts_equal_two_programs(problem, pattern.suppressed)
    assert all(verdicts(found, "external").values())
    # Where few cells of a relation are hidden, each of them is likely to be needed.
    present = abs(problem.table.relations).astype(bool).astype(int)
    together = present @ pattern.suppressed.astype(int)
    fewest = np.full(problem.table.n_cells, problem.table.n_cells)
    entries = present.tocoo()
    np.minimum.at(fewest, entries.col, together[entries.row])
    secondary = np.flatnonzero(pattern.secondary)
    for cell in secondary[np.argsort(fewest[secondary], kind="stable")]:
        hidden = pattern.suppressed.copy()
        hidden[cell] = False
        found = assert_verdicts_equal_two_programs(problem, hidden)
        # A first pattern may hold cells that are not needed: on to the first that is.
        if not all(verdicts(found, "external").values()):
            break
    assert not all(verdicts(found, "external").values())
    naive, proof = TwoPrograms(problem, hidden), found.proofs[0]
    lowest, highest = naive.interval(problem.lower_bound, problem.upper_bound, proof.cell)
    reach = highest if proof.sign > 0 else -lowest
    assert reach <= proof.limit + 1e-6 * problem.unit


SMALL = ["targus", "table8", "table7", "hier13x7x7d", "table1", "hier13", "hier13x13x13e", "hier16"]
LARGE = ["osorio", "dale", "two5in6", "nine12", "nine5d"]
"""Castro's tables below and above 5,000 cells, of each kind one or two."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "share"),
    [*zip(SMALL, itertools.cycle([0.2, 0.6])), *((name, 0.2) for name in LARGE)],
)
def test_verdicts_on_castros_tables_equal_two_programs(instances, name, share):
    problem = tc.read_jj(instances / f"castro-cta-jj/{name}.jj.gz")
    random = np.random.default_rng(1)
    hidden = problem.sensitive | (~problem.frozen & (random.random(problem.table.n_cells) < share))
    assert_verdicts_equal_two_programs(problem, hidden)


def assert_verdicts_equal_two_programs(problem, hidden) -> tc.Audit:
    """On six cells; with known zeros, and with whole numbers where that is quick."""
    kinds = ["external", "zeros"]
    small = problem.table.n_cells < 1000
    if small and problem.table.integer:
        kinds.append("integers")
    found = tc.audit(problem, hidden, intruders=kinds)
    assert found.count(tc.Verdict.UNDECIDED) == 0
    naive = TwoPrograms(problem, hidden)
    a, (low, high) = problem.table.values, (problem.lower_bound, problem.upper_bound)
    sensitive = np.flatnonzero(problem.sensitive)
    rank = np.random.default_rng(1).permutation(len(sensitive))
    external = verdicts(found, "external")
    for kind in kinds:
        ours = verdicts(found, kind)
        for p in sensitive[rank][:6].tolist():
            if kind == "integers":
                expected = external[p] and is_protected(problem, hidden, low, high, p, whole=True)
            else:
                zero = (a == 0) & (kind == "zeros")
                bounds = np.where(zero, 0, low), np.where(zero, 0, high)
                expected = naive.protects(*bounds, p)
            assert ours[p] == expected
    return found
