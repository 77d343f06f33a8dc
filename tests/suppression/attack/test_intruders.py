"""What insiders are credited with, against attacks written from the definition."""

from __future__ import annotations

import itertools
import time
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from contributors import with_contributors
from naive_programs import Reach
from tablecloak import budget as budget_module
from tablecloak.suppression.attack import part as part_module
from tablecloak.suppression.attack.intruder import insiders_of
from tablecloak.suppression.attack.intruders.contributors import Contributors

KINDS = ["contributors", "pairs", "all-pairs", "holdings"]


def tabulated(frame: pd.DataFrame, **options) -> tc.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        return tc.tabulate(
            frame, ["r", "b"], "v", contributor="firm", n_largest=len(frame), **options
        )


def knowledge(problem: tc.ProtectionProblem, name: str, **codes: str) -> tuple[float, float]:
    """Bounds of one contributor on one cell; the external ones if it knows no more."""
    cell = problem.table.cell(**codes)
    for known in Contributors().members(problem, np.ones(problem.table.n_cells, dtype=bool)):
        if known.name == name and cell in known.cells:
            at = known.cells.tolist().index(cell)
            return float(known.lower[at]), float(known.upper[at])
    return float(problem.lower_bound[cell]), float(problem.upper_bound[cell])


def protected(table: tc.Table, **options) -> tc.ProtectionProblem:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        return table.protect(tc.MinimumFrequency(3, range=20), **options)


TWO_A_CELL = [
    (r, b, f"{r}{b}{number}", value)
    for r, b in itertools.product("AB", "xy")
    for number, value in enumerate((40.0, 25.0))
]


def problem_of(rows: list[tuple[str, str, str, float]], **options) -> tc.ProtectionProblem:
    return protected(tabulated(pd.DataFrame(rows, columns=["r", "b", "firm", "v"])), **options)


def test_a_firm_in_no_holding_is_one_insider_who_knows_what_both_levels_tell():
    rows = [
        ("A", "x", firm, value)
        for firm, value in zip("abcd", (40.0, 30.0, 20.0, 10.0), strict=True)
    ]
    rows += [(r, b, f"{r}{b}", 50.0) for r, b in ("Ay", "Bx", "By")]
    frame = pd.DataFrame(rows, columns=["r", "b", "firm", "v"])
    frame["group"] = ["G", "G", "", "", "", "", ""]
    # The table names the two largest: of A, x the contributors a and b, the holdings G and c.
    table = tc.tabulate(frame, ["r", "b"], "v", contributor="firm", holding="group", n_largest=2)
    problem, hidden = protected(table), np.ones(table.n_cells, dtype=bool)
    kinds = [Contributors(), Contributors(level="holding")]
    alone = {kind.name_of_kind: insiders_of([kind], problem, hidden) for kind in kinds}
    assert [one.name for _, one in alone["holdings"]] != [
        one.name for _, one in alone["contributors"]
    ]
    for order in (kinds, kinds[::-1]):
        insiders = insiders_of(order, problem, hidden)
        assert sorted((kind, one.name) for kind, one in insiders) == [
            *(("contributors", name) for name in ("Ay", "Bx", "By", "a", "b", "c")),
            ("holdings", "G"),
        ]
    (c,) = (one for _, one in insiders if one.name == "c")
    cell = table.cell(r="A", b="x")
    assert c.lower[c.cells == cell] == 20


@pytest.mark.parametrize(
    ("firms", "groups", "n_insiders"),
    [
        # Each firm is named as its own holding.
        ("abcd", "abcd", 4),
        ("1234", "1234", 4),
        # The mother a of the holding a knows what its daughter b contributes.
        ("abcd", "aacd", 4),
        ("1234", "1134", 4),
        # Firm 1 of one list is not holding 1 of another, which knows other cells.
        ("1234", "2134", 6),
    ],
)
def test_a_holding_with_the_name_of_a_contributor_is_one_insider(firms, groups, n_insiders):
    frame = pd.DataFrame(
        {"r": [*"AABB"], "b": [*"xyxy"], "firm": [*firms], "v": [40.0, 30.0, 20.0, 10.0]}
    )
    frame["group"] = [*groups]
    table = tc.tabulate(frame, ["r", "b"], "v", contributor="firm", holding="group")
    problem, hidden = protected(table), np.ones(table.n_cells, dtype=bool)
    kinds = [Contributors(), Contributors(level="holding")]
    for order in (kinds, kinds[::-1]):
        insiders = insiders_of(order, problem, hidden)
        assert len(insiders) == n_insiders
        assert len({(kind, one.name) for kind, one in insiders}) == n_insiders
    (first,) = (one for kind, one in insiders if (kind, one.name) == ("contributors", firms[0]))
    knows_both = groups[:2] == 2 * firms[0]
    assert (table.cell(r="A", b="y") in first.cells) == knows_both


def test_contribution_to_a_negative_cell_says_nothing_of_the_cell():
    rows = [(r, b, firm, -value) for r, b, firm, value in TWO_A_CELL]
    problem = problem_of(rows)
    everybody = 1.5 * problem.table.values.min()
    assert knowledge(problem, "Ax0", r="A", b="x") == (everybody, 0.0)


def test_contribution_says_nothing_where_others_may_take_away():
    # Nothing in cell A,x is negative, and no cell is; but a contribution elsewhere is.
    problem = problem_of([*TWO_A_CELL, ("B", "y", "odd", -5.0)])
    assert np.all(problem.lower_bound >= 0)
    low, _ = knowledge(problem, "Ax0", r="A", b="x")
    assert low == problem.lower_bound[problem.table.cell(r="A", b="x")] == 1


def test_contribution_says_nothing_where_everybody_holds_negative_values_possible():
    problem = problem_of(TWO_A_CELL, external_bounds=(-1000, 1000))
    assert knowledge(problem, "Ax0", r="A", b="x") == (-1000, 1000)


def test_contribution_is_known_where_nothing_is_negative():
    problem = problem_of(TWO_A_CELL)
    low, _ = knowledge(problem, "Ax0", r="A", b="x")
    assert low == 40.0


def test_weight_below_one_lowers_what_is_known():
    frame = pd.DataFrame(TWO_A_CELL, columns=["r", "b", "firm", "v"]).assign(w=0.25)
    problem = protected(tabulated(frame, weight="w"))
    low, _ = knowledge(problem, "Ax0", r="A", b="x")
    assert low == 10.0


def test_weight_above_one_raises_what_is_known():
    frame = pd.DataFrame(TWO_A_CELL, columns=["r", "b", "firm", "v"]).assign(w=3.0)
    problem = protected(tabulated(frame, weight="w"))
    low, _ = knowledge(problem, "Ax0", r="A", b="x")
    assert low == 120.0


def test_rounding_of_each_part_is_taken_off_what_is_known():
    rows = [(r, b, firm, value + 0.4) for r, b, firm, value in TWO_A_CELL]
    frame = pd.DataFrame(rows, columns=["r", "b", "firm", "v"])
    problem = protected(tabulated(frame, decimals=0))
    low, _ = knowledge(problem, "Ax0", r="A", b="x")
    assert low == pytest.approx(39.9)
    # The margin adds up two rounded cells.
    low, _ = knowledge(problem, "Ax0", r="A", b="Total")
    assert low == pytest.approx(39.4)


def test_another_ranked_variable_says_nothing_even_if_its_totals_are_the_same():
    frame = pd.DataFrame(TWO_A_CELL, columns=["r", "b", "firm", "v"])
    frame["s"] = [25.0, 40.0] * 4
    problem = protected(tabulated(frame, shadow="s"))
    low, _ = knowledge(problem, "Ax0", r="A", b="x")
    assert low == problem.lower_bound[problem.table.cell(r="A", b="x")] == 1


@pytest.mark.parametrize("kind", ["contributors", "pairs"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_cell_with_negative_contributions_is_not_computed_by_who_knows_its_partner(kind, sign):
    """K gives to A,x, which asks to be hidden downwards, and is alone in A,y, its cheap partner."""
    rows = [
        (r, b, f"{r}{b}{number}", value)
        for r, b in itertools.product("ABC", "xyz")
        for number, value in enumerate((40.0, 25.0, 20.0))
        if (r, b) != ("A", "y")
    ]
    rows += [("A", "x", "K", 200.0), ("A", "y", "K", 3.0), ("A", "x", "minus", -150.0)]
    frame = pd.DataFrame(rows, columns=["r", "b", "firm", "v"])
    frame.loc[(frame.r == "A") & (frame.b == "x"), "v"] *= sign
    table = tabulated(frame)
    p = table.cell(r="A", b="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        problem = table.protect(tc.Manual([p], range=(20.0, 0.0)), floor=0.0)
    square = np.zeros(table.n_cells, dtype=bool)
    square[[table.cell(r=r, b=b) for r, b in itertools.product("AB", "xy")]] = True
    found = tc.audit(problem, square, intruders=kind)
    assert found.verdicts == [tc.Verdict.PROTECTED]
    assert {finding.cell for finding in found.findings} == {p}
    pattern = tc.suppress(problem, protect_against=kind, time_limit=10)
    for low, high in members(problem, frame, pattern.suppressed, kind):
        assert withstands(problem, pattern.suppressed, low, high)[p]


# -- random tables -------------------------------------------------------------------------


@cache
def random_table(seed: int) -> tuple[tc.Table, pd.DataFrame]:
    """Few firms; negative contributions, weights and links by turns."""
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 18))
    firm = random.integers(0, max(4, n // 2), n)
    frame = pd.DataFrame(
        {
            "r": random.choice(list("ABC"), n),
            "b": random.choice(list("xy"), n),
            "c": random.choice(list("12"), n),
            "firm": [f"f{number}" for number in firm],
            "group": [f"g{number % 3}" for number in firm],
            "v": random.integers(1, 60, n).astype(float),
        }
    )
    if seed % 3:
        # One or many negative ones, in cells that may stay positive.
        share = random.choice([0.1, 0.4])
        frame["v"] *= np.where(random.random(n) < share, -1, 1)
    weight = None
    if seed % 4 == 1:
        weight = "w"
        of_group = random.choice([0.25, 0.5, 1.0, 2.0], 3)
        frame["w"] = of_group[firm % 3]
    links = [["r", "b"], ["r", "c"]] if seed % 5 == 0 else [["r", "b"]]
    table = with_contributors(
        frame,
        list(dict.fromkeys(itertools.chain(*links))),
        "v",
        contributor="firm",
        holding="group",
        weight=weight,
        tables=links,
        n_largest=n,
    )
    return table, frame


def random_problem(table: tc.Table, random: np.random.Generator) -> tc.ProtectionProblem:
    """Levels by turns low and high; sometimes everybody holds negative values possible."""
    size = np.abs(table.values).max()
    bounds = None if random.random() < 0.8 else (-2 * size - 10, 2 * size + 10)
    level = float(random.choice([5, 30, 60]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        return table.protect(tc.MinimumFrequency(3, range=level), external_bounds=bounds)


def records_of(table: tc.Table, frame: pd.DataFrame) -> list[np.ndarray]:
    """Which records belong to each cell."""
    codes = {name: frame[name].to_numpy() for name in table.keys.columns}
    return [
        np.logical_and.reduce([(codes[d] == code) | (code == "Total") for d, code in key.items()])
        for key in table.keys.to_dict("records")
    ]


def members(
    problem: tc.ProtectionProblem,
    frame: pd.DataFrame,
    hidden: np.ndarray,
    kind: str,
    inside: list[np.ndarray] | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Bounds of every insider, from the records: what it gives, and who else gives."""
    table, column = problem.table, "group" if kind == "holdings" else "firm"
    inside = inside or records_of(table, frame)
    own, who_gives = (frame.v * frame.get("w", 1.0)).to_numpy(), frame[column].to_numpy()
    given_by = {
        who: np.array([own[rows & (who_gives == who)].sum() for rows in inside])
        for who in set(who_gives)
    }
    present = [set(who_gives[rows]) for rows in inside]
    everybody = sorted(set(frame[column]))
    groups = [{who} for who in everybody]
    if "pairs" in kind:
        groups = [set(pair) for pair in itertools.combinations(everybody, 2)]
    if kind == "pairs":
        relations = table.relations.toarray() != 0
        alone = {w: np.flatnonzero(hidden & [p == {w} for p in present]) for w in everybody}
        groups = [
            group
            for group in groups
            if any(hidden[i] and group <= present[i] for i in range(table.n_cells))
            or any(all(row[alone[who]].any() for who in group) for row in relations)
        ]
    # Nobody takes away from a cell, and everybody knows it.
    is_sum = bool(np.all(frame.v >= 0) and np.all(problem.lower_bound >= 0))
    found = []
    for group in groups:
        low, high = problem.lower_bound.copy(), problem.upper_bound.copy()
        for cell in range(table.n_cells):
            if present[cell] <= group:
                low[cell] = high[cell] = table.values[cell]
            elif is_sum:
                low[cell] = max(low[cell], sum(given_by[who][cell] for who in group))
        found.append((low, high))
    return found


def withstands(
    problem: tc.ProtectionProblem, hidden: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Which sensitive cells keep the interval they need against an intruder with these bounds."""
    a, cells = problem.table.values, np.flatnonzero(hidden)
    room = low[cells] - a[cells], high[cells] - a[cells]
    programs = Reach(problem.table.relations[:, cells], *room)
    found = np.zeros(problem.table.n_cells, dtype=bool)
    for p in np.flatnonzero(problem.sensitive).tolist():
        column = int(np.searchsorted(cells, p))
        up = min(problem.upper_protection[p], high[p] - a[p])
        down = min(problem.lower_protection[p], a[p] - low[p])
        found[p] = programs.farthest(column, 1) >= up - 1e-6
        found[p] &= programs.farthest(column, -1) >= down - 1e-6
    return found


def is_news(
    problem: tc.ProtectionProblem, hidden: np.ndarray, low: np.ndarray, high: np.ndarray
) -> bool:
    return bool(
        np.any(low[hidden] > problem.lower_bound[hidden])
        or np.any(high[hidden] < problem.upper_bound[hidden])
    )


def check_verdicts(
    problem: tc.ProtectionProblem,
    frame: pd.DataFrame,
    inside: list[np.ndarray],
    kind: str,
    random: np.random.Generator,
) -> tuple[int, int]:
    """Compare one problem; return how many cells were compared and how many attacked."""
    share = random.choice([0.4, 0.8])
    free = ~problem.frozen & (random.random(problem.table.n_cells) < share)
    hidden = problem.sensitive | free
    alone = withstands(problem, hidden, problem.lower_bound, problem.upper_bound)
    cells = np.flatnonzero(alone & problem.sensitive).tolist()
    found = tc.audit(problem, hidden, intruders=kind)
    ours = {finding.cell for finding in found.findings}
    assert found.count(tc.Verdict.PROTECTED) == len(cells)
    assert all(finding.verdict is tc.Verdict.ATTACKABLE for finding in found.findings)
    attacked = 0
    known = members(problem, frame, hidden, kind, inside)
    known = [bounds for bounds in known if is_news(problem, hidden, *bounds)]
    safe = [withstands(problem, hidden, *bounds) for bounds in known]
    for p in cells:
        fell = not all(each[p] for each in safe)
        assert fell == (p in ours), problem.table.label(p)
        attacked += fell
    return len(cells), attacked


@pytest.mark.parametrize("block", range(2))
def test_verdicts_against_insiders_equal_naive_attacks(block):
    """Random problems, with two kinds of insiders for each table in turn."""
    compared = attacked = 0
    for seed in range(10 * block, 10 * block + 10):
        table, frame = random_table(seed)
        random = np.random.default_rng([seed, 1])
        inside = records_of(table, frame)
        for kind in KINDS[seed % 2 :: 2]:
            problem = random_problem(table, random)
            found = check_verdicts(problem, frame, inside, kind, random)
            compared, attacked = compared + found[0], attacked + found[1]
    assert compared > 25
    assert attacked > 1


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_that_suppress_returns_withstand_naive_attacks_of_insiders(kind):
    checked = 0
    for seed in range(4):
        table, frame = random_table(seed)
        problem = random_problem(table, np.random.default_rng([seed, 2]))
        try:
            pattern = tc.suppress(problem, protect_against=kind, time_limit=10)
        except tc.ModelError:
            # Somebody can tell whatever is suppressed; nothing is claimed.
            continue
        for low, high in members(problem, frame, pattern.suppressed, kind):
            assert np.all(withstands(problem, pattern.suppressed, low, high)[problem.sensitive])
            checked += problem.n_sensitive
    assert checked > 10


# -- time ----------------------------------------------------------------------------------


class Clock:
    """A clock that can be put forward."""

    def __init__(self) -> None:
        self.offset = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.offset


def ends_after_the_external_intruder(monkeypatch, problem: tc.ProtectionProblem) -> list[str]:
    """Let time end when the external intruder is done; return a list of who is asked later."""
    clock, later = Clock(), []
    prove, against = part_module.prove, part_module.WitnessPool.against

    def proved(*given, **options):
        found = prove(*given, **options)
        clock.offset = 1e6
        return found

    def asked(pool, system):
        later.append("insider")
        return against(pool, system)

    monkeypatch.setattr(budget_module, "time", clock)
    monkeypatch.setattr(part_module, "prove", proved)
    monkeypatch.setattr(part_module.WitnessPool, "against", asked)
    return later


def problem_with_insiders() -> tuple[tc.ProtectionProblem, np.ndarray]:
    problem = problem_of(list(TWO_A_CELL))
    return problem, np.ones(problem.table.n_cells, dtype=bool)


def test_insiders_who_did_not_come_to_attack_in_time_are_not_judged(monkeypatch):
    problem, hidden = problem_with_insiders()
    kinds = ["contributors", "pairs"]
    attackable = {finding.cell for finding in tc.audit(problem, hidden, intruders=kinds).attacks}
    later = ends_after_the_external_intruder(monkeypatch, problem)
    found = tc.audit(problem, hidden, intruders=kinds, time_limit=1000)
    assert later == []
    assert not found.is_safe
    proved = found.count(tc.Verdict.PROTECTED)
    # Cells that strangers cannot attack, once for each kind, unless witnesses withstand the kind.
    assert 0 < found.n_not_judged == len(found.findings) <= 2 * proved
    assert attackable <= {finding.cell for finding in found.findings}
    assert all(f.verdict is tc.Verdict.UNDECIDED for f in found.findings)
    assert "not judged in time" in found.findings[0].intruder
    assert " not judged" in found.summary()
    undecided = found.to_frame().query("verdict == 'undecided'")
    assert len(undecided) == found.n_not_judged


def test_pattern_that_was_not_judged_against_insiders_in_time_is_not_returned(monkeypatch):
    problem, _ = problem_with_insiders()
    ends_after_the_external_intruder(monkeypatch, problem)
    with pytest.raises(tc.SolverError, match="not judged"):
        tc.suppress(problem, protect_against="contributors", time_limit=1000)


def test_no_program_starts_after_the_time_limit():
    problem, hidden = problem_with_insiders()
    found = tc.audit(problem, hidden, intruders=["contributors"], time_limit=0)
    assert found.programs == 0
    assert found.count(tc.Verdict.PROTECTED) == 0
    assert not found.is_safe
