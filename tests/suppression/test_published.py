"""Releases one after the other: what they tell together, by programs that share no code."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, vstack

import tablecloak as tc
from naive_programs import Reach

LEVEL = 0.15
"""Protection level of sensitive cells, as a share of the value."""


def leaves(random: np.random.Generator, **sizes: int) -> pd.DataFrame:
    """Cells of a table without totals, with whole values from 1 to 99."""
    codes = [[f"{name}{n}" for n in range(size)] for name, size in sizes.items()]
    frame = pd.DataFrame(itertools.product(*codes), columns=list(sizes))
    return frame.assign(value=random.integers(1, 100, len(frame)).astype(float))


def table_of(frame: pd.DataFrame, dimensions: list[str]) -> tc.Table:
    """The table over some dimensions, with all totals."""
    parts = []
    for kept in itertools.product([False, True], repeat=len(dimensions)):
        totals = {n: "Total" for n, k in zip(dimensions, kept, strict=True) if not k}
        parts.append(frame.assign(**totals).groupby(dimensions, as_index=False)["value"].sum())
    return tc.Table.from_frame(pd.concat(parts), dimensions)


def problem_of(table: tc.Table, random: np.random.Generator, share: float) -> tc.ProtectionProblem:
    """Some of the inner cells are sensitive."""
    inner = (table.keys != "Total").all(axis=1).to_numpy()
    asked = inner & (random.random(table.n_cells) < share)
    asked[np.flatnonzero(inner)[random.integers(inner.sum())]] = True
    level = np.where(asked, LEVEL * table.values, 0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(asked, "u", "s"),
        lower_protection=level,
        upper_protection=level,
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 10.0 * table.values.max()),
        weights=np.abs(table.values),
    )


def revised(random):
    """Provisional and final: some values are revised, and with them their totals."""
    frame = leaves(random, r=3, b=4)
    final = frame.copy()
    changed = random.random(len(frame)) < 0.3
    final.loc[changed, "value"] += random.integers(1, 9, changed.sum())
    return frame, final, ["r", "b"], ["r", "b"]


def finer(random):
    """The same table, broken down further."""
    frame = leaves(random, r=3, b=3, s=2)
    return frame, frame, ["r", "b"], ["r", "b", "s"]


def overlapping(random):
    """Another user asks for another table of the same records."""
    frame = leaves(random, r=3, b=3, s=3)
    return frame, frame, ["r", "b"], ["r", "s"]


def coarser(random):
    """A table that was part of a larger one."""
    frame = leaves(random, r=3, b=2, s=2)
    return frame, frame, ["r", "b", "s"], ["s", "b"]


CASES = (revised, finer, overlapping, coarser)


def pair_of(case, seed: int) -> tuple[tc.ProtectionProblem, tc.ProtectionProblem]:
    """The problems of the first and of the second release."""
    random = np.random.default_rng([CASES.index(case), seed])
    before, now, first, second = case(random)
    one = problem_of(table_of(before, first), random, 0.2)
    return one, problem_of(table_of(now, second), random, 0.15)


class Attack:
    """Intervals from what several releases tell, by two programs for each cell."""

    def __init__(
        self, releases: list[tuple[tc.ProtectionProblem, np.ndarray]], *, equal: bool = True
    ) -> None:
        sizes = [problem.table.n_cells for problem, _ in releases]
        starts = np.cumsum([0, *sizes])
        rows, sides, self.low, self.high = [], [], [], []
        for (problem, hidden), start in zip(releases, starts, strict=False):
            block = problem.table.relations.tocoo()
            where = (block.row, start + block.col)
            rows.append(csr_array((block.data, where), (block.shape[0], starts[-1])))
            sides.append(np.zeros(block.shape[0]))
            values = problem.table.values
            self.low += np.where(hidden, problem.lower_bound, values).tolist()
            self.high += np.where(hidden, problem.upper_bound, values).tolist()
        known: dict[tuple, tuple[int, float]] = {}
        pairs = []
        for (problem, _), start in zip(releases, starts, strict=False):
            for cell, codes in enumerate(problem.table.keys.to_dict("records")):
                name = tuple(sorted(each for each in codes.items() if each[1] != "Total"))
                value = problem.table.values[cell]
                other = known.setdefault(name, (start + cell, value))
                if other[0] != start + cell and other[1] == value:
                    pairs.append((other[0], start + cell))
        if pairs and equal:
            pairs = np.array(pairs)
            n = np.arange(len(pairs))
            entries = np.repeat([1.0, -1.0], len(pairs))
            where = (np.tile(n, 2), pairs.T.reshape(-1))
            rows.append(csr_array((entries, where), (len(pairs), starts[-1])))
            sides.append(np.zeros(len(pairs)))
        self.rows, self.sides = vstack(rows), np.concatenate(sides)
        self.starts, self.programs = starts, None

    def reach(self, cell: int) -> tuple[float, float]:
        if self.programs is None:
            ends = np.array(self.low), np.array(self.high)
            self.programs = Reach(csr_array(self.rows), *ends, side=self.sides)
        return -self.programs.farthest(cell, -1), self.programs.farthest(cell, 1)

    def disclosed(self, release: int, problem: tc.ProtectionProblem) -> set[int]:
        """Sensitive cells of one of the releases that come out closer than their levels."""
        found = set()
        for cell in np.flatnonzero(problem.sensitive).tolist():
            low, high = self.reach(int(self.starts[release]) + cell)
            value, level = problem.table.values[cell], problem.upper_protection[cell]
            if high < value + level - 1e-4 or low > value - level + 1e-4:
                found.add(cell)
        return found


def outcome(case, seed: int) -> tuple[int, int]:
    """Cells disclosed by separate releases together, and cells disclosed before."""
    one, two = pair_of(case, seed)
    first = tc.suppress(one, time_limit=1000, method="sequential")
    alone = Attack([(one, first.suppressed)]).disclosed(0, one)
    assert not alone
    apart = tc.suppress(two, time_limit=1000, method="sequential")
    both = Attack([(one, first.suppressed), (two, apart.suppressed)])
    fell = both.disclosed(0, one) | both.disclosed(1, two)
    together = tc.suppress(two, published=[first], time_limit=1000, method="sequential")
    together.verify()
    n = two.table.n_cells
    assert np.array_equal(together.problem.table.values[:n], two.table.values)
    assert np.all(together.suppressed[:n] | ~two.sensitive)
    attack = Attack([(one, first.suppressed), (two, together.suppressed[:n])])
    # What the first release leaves of the new sensitive cells if all that may be hidden is hidden.
    nothing = Attack([(one, first.suppressed), (two, np.ones(n, dtype=bool))])
    told_before = nothing.disclosed(1, two)
    assert not attack.disclosed(0, one), (case.__name__, seed)
    assert attack.disclosed(1, two) <= told_before, (case.__name__, seed)
    named = {each.cell for each in together.before.disclosed}
    assert {cell for cell in named if cell < n} == told_before, (case.__name__, seed)
    safe = tc.audit(two, together, published=[first]).is_safe
    assert safe == (not told_before), (case.__name__, seed)
    return len(fell), len(told_before)


@pytest.mark.parametrize("case", CASES)
def test_releases_together_disclose_nothing_that_the_first_alone_did_not(case):
    fell = sum(outcome(case, seed)[0] for seed in range(2))
    # Protected separately, some of these releases disclose cells together.
    assert fell or case in (overlapping, coarser)


def quarters(seed: int) -> tuple[int, int]:
    """Two halves of a year, then the year: cells that it adds if apart, and those told before."""
    random = np.random.default_rng([9, seed])
    halves = [leaves(random, r=3, b=3) for _ in range(2)]
    year = halves[0].assign(value=halves[0]["value"] + halves[1]["value"])
    problems = [problem_of(table_of(each, ["r", "b"]), random, 0.2) for each in halves]
    whole = problem_of(table_of(year, ["r", "b"]), random, 0.1)
    # Who is sensitive in a half is so in the year.
    asked = problems[0].sensitive | problems[1].sensitive | whole.sensitive
    level = np.where(asked, LEVEL * whole.table.values, 0)
    whole = whole.with_changes(
        status=np.where(asked, "u", "s"), lower_protection=level, upper_protection=level
    )
    options = {"time_limit": 1000, "method": "sequential"}
    first = [tc.suppress(each, **options) for each in problems]
    published = tc.Published(dict(zip("ab", first, strict=True)), ["now = a + b"])
    apart = tc.suppress(whole, **options)
    together = tc.suppress(whole, published=published, **options)
    together.verify()
    n, fell = whole.table.n_cells, []
    for hidden in (apart.suppressed, together.suppressed[:n], np.ones(n, dtype=bool)):
        releases = [(p, f.suppressed) for p, f in zip(problems, first, strict=True)]
        attack = Attack([*releases, (whole, hidden)], equal=False)
        sums = csr_array(np.hstack([np.eye(n), np.eye(n), -np.eye(n)]))
        attack.rows, attack.sides = vstack([attack.rows, sums]), np.append(attack.sides, [0] * n)
        told = [attack.disclosed(i, each) for i, each in enumerate([*problems, whole])]
        fell.append(sum(map(len, told)))
    # The halves alone may tell something of the year, whatever it hides.
    assert fell[1] == fell[2] == len(together.before.disclosed), seed
    assert tc.audit(whole, together, published=published).is_safe == (not fell[2])
    return fell[0] - fell[2], fell[2]


def test_a_year_discloses_nothing_beside_its_halves():
    assert sum(quarters(seed)[0] for seed in range(2))


def test_a_release_after_two_others_protects_together_with_both():
    random = np.random.default_rng(3)
    frame = leaves(random, r=3, b=3, s=2)
    problems = [
        problem_of(table_of(frame, names), random, 0.15)
        for names in (["r", "b"], ["r", "s"], ["b", "s"])
    ]
    patterns: list = []
    for problem in problems:
        published = {f"request {n + 1}": each for n, each in enumerate(patterns)}
        patterns.append(tc.suppress(problem, published=published, method="sequential"))
    last = patterns[-1]
    assert last.before.names == ("request 1", "request 2")
    # The second brings the first along, and is there with it.
    assert last.problem.table.n_cells > sum(each.table.n_cells for each in problems)
    attack = Attack(
        [
            (p, found.suppressed[: p.table.n_cells])
            for p, found in zip(problems, patterns, strict=True)
        ]
    )
    told = {each.label for each in last.before.disclosed}
    for number, problem in enumerate(problems[:2]):
        assert not attack.disclosed(number, problem)
    assert len(attack.disclosed(2, problems[2])) <= len(told)


def test_a_cell_published_before_is_named_with_its_value_and_the_rest_is_protected():
    problem = tc.examples.cox_rounded()
    cell = int(np.flatnonzero(problem.sensitive)[0])
    careless = problem.with_changes(
        status=np.where(np.arange(problem.table.n_cells) == cell, "s", problem.status)
    )
    hidden = tc.suppress(careless).suppressed.copy()
    hidden[cell] = False
    release = careless.table.to_frame().assign(status=np.where(hidden, "suppressed", "published"))
    release.loc[hidden, careless.table.name] = np.nan
    earlier = tc.read_published(release, careless)
    value = problem.table.values[cell]
    pattern = tc.suppress(problem, published=[earlier])
    (told,) = (each for each in pattern.before.disclosed if each.cell == cell)
    assert told.lower == pytest.approx(value) and told.upper == pytest.approx(value)
    assert problem.table.label(cell) in str(told)
    assert told.how == "its value in an earlier release"
    assert "disclosed by these before" in pattern.summary()
    assert not tc.audit(problem, pattern, published=[earlier]).is_safe


def test_how_a_cell_is_disclosed_is_said_as_a_sum():
    frame = pd.DataFrame({"r": ["a", "b", "c"], "value": [10.0, 20.0, 30.0]})
    table = table_of(frame, ["r"])
    safe = tc.ProtectionProblem(
        table, np.array(["s"] * 4), *(np.zeros(4),) * 4, np.full(4, 99.0), np.ones(4)
    )
    first = tc.read_published(
        table.to_frame().assign(status=["published", "suppressed", "published", "published"],
                                value=[table.values[0], np.nan, *table.values[2:]]), safe
    )  # fmt: skip
    status = np.where(table.keys["r"] == "a", "u", "s")
    level = (status == "u") * 2.0
    now = safe.with_changes(status=status, lower_protection=level, upper_protection=level)
    (told,) = tc.suppress(now, published=[first]).before.disclosed
    assert (told.lower, told.upper) == (10, 10)
    assert "(r=~earlier~release 1: Total) = " in told.how
    assert "(r=~earlier~release 1: a) + (r=~earlier~release 1: b)" in told.how


def test_published_intervals_and_rounded_tables_are_knowledge_too():
    problem = tc.examples.cox_rounded()
    first = tc.publish_intervals(problem, seed=1, blur=0)
    pattern = tc.suppress(problem, published=[first])
    assert not pattern.before.disclosed
    low, high = first.lower, first.upper
    bounds = pattern.problem.lower_bound, pattern.problem.upper_bound
    hidden = np.flatnonzero(high > low) + problem.table.n_cells
    assert np.all(bounds[0][hidden] >= low[high > low] - 1e-9)
    assert np.all(bounds[1][hidden] <= high[high > low] + 1e-9)
    # Values within 4 of the truth tell more than levels of 20 % allow of small cells.
    rounded = tc.controlled_rounding(problem, base=5)
    assert tc.suppress(problem, published=[rounded]).before.disclosed


def test_an_adjustment_keeps_what_was_published_before():
    one, two = pair_of(finer, 0)
    first = tc.suppress(one, method="sequential")
    adjusted = tc.adjust(two, published=[first])
    adjusted.verify()
    assert len(adjusted.release()) == two.table.n_cells
    now = two.table.to_frame().assign(adjusted=adjusted.values[: two.table.n_cells])
    then = one.table.to_frame().assign(hidden=first.suppressed, s="Total")
    both = now.merge(then, on=["r", "b", "s"])
    assert len(both) == one.table.n_cells
    shown = ~both["hidden"]
    assert (both["adjusted"] == both["value_x"])[shown].all()
    assert (both["adjusted"] != both["value_x"])[~shown].any()


def test_a_release_does_not_show_the_cells_of_earlier_ones(tmp_path):
    one, two = pair_of(finer, 1)
    pattern = tc.suppress(two, published={"first": tc.suppress(one)})
    release = pattern.release()
    assert len(release) == two.table.n_cells
    assert not release.astype(str).apply(lambda c: c.str.contains("earlier")).any(axis=None)
    assert pattern.n_suppressed == int(release["value"].isna().sum())


@pytest.mark.parametrize(
    ("published", "said"),
    [
        ("first.csv", "read files with `tc.read_published`"),
        ([3], "read files with `tc.read_published`"),
        ({"now": None}, "must hold earlier releases"),
    ],
)
def test_what_is_no_release_is_refused(published, said):
    with pytest.raises(tc.InputError, match=said):
        tc.suppress(tc.examples.cox_rounded(), published=published)


def test_a_release_cannot_be_called_now_and_equations_name_known_ones():
    problem = tc.examples.cox_rounded()
    first = tc.suppress(problem)
    with pytest.raises(tc.InputError, match="cannot be called 'now'"):
        tc.Published({"now": first})
    with pytest.raises(tc.InputError, match="no variable 'frist'.*'first'"):
        tc.suppress(problem, published=tc.Published({"first": first}, ["now = frist"]))


def test_hidden_values_that_were_revised_need_the_table_of_that_time():
    one, two = pair_of(revised, 0)
    release = tc.suppress(one).release()
    with pytest.raises(tc.InputError, match="do not add up.*Give the true table of that release"):
        tc.read_published(release, two, revised=True)
    found = tc.read_published(release, one)
    assert found.is_shown.sum() == release["value"].notna().sum()


def main() -> None:
    apart = np.array([quarters(seed) for seed in range(50)])
    print(f"halves and year: {np.sum(apart[:, 0] > 0)} of 50 disclose {apart[:, 0].sum()} cells "
          f"if protected separately, none together")  # fmt: skip
    for case in CASES:
        found = np.array([outcome(case, seed) for seed in range(50)])
        print(
            f"{case.__name__}: 50 pairs, {np.sum(found[:, 0] > 0)} disclose {found[:, 0].sum()} "
            f"cells if protected separately, none together; {found[:, 1].sum()} cells were "
            f"disclosed by the first release"
        )


if __name__ == "__main__":
    sys.exit(main())


def test_a_pattern_knows_which_of_its_cells_are_those_of_the_given_table():
    before, now = pair_of(revised, 1)
    first = tc.suppress(before, time_limit=5)
    second = tc.suppress(now, published=first, time_limit=5)
    n = now.table.n_cells
    assert second.problem.table.n_cells == n + before.table.n_cells
    assert second.change.given is now
    assert second.given_cells.tolist() == list(range(n))
    # Its cells of the earlier release take no part where it is the pattern of last period.
    again = tc.suppress(now, previous=second, time_limit=5)
    hidden = second.suppressed[:n]
    expected = now.weights * np.where(hidden, 0.5, 1.0)
    assert again.problem.weights.tolist() == expected.tolist()


@pytest.mark.parametrize("sliver", [1e-12, 1e-9, 1e-7, 1e-3])
def test_no_more_is_asked_than_the_digits_of_a_value_can_express(sliver):
    """An earlier interval begins just below the true value: nothing is left of the lower level."""
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("abcd")}),
        values=np.array([100.1, 50.3, 70.2, 220.6]),
        relations=csr_array([[1.0, 1.0, 1.0, -1.0]]),
        right_hand_side=np.zeros(1),
        name="value",
        tolerance=1e-9,
    )
    level = np.array([10.0, 0, 0, 0])
    problem = tc.ProtectionProblem(
        table,
        np.array(list("usss")),
        lower_bound=np.zeros(4),
        upper_bound=np.full(4, 500.0),
        lower_protection=level,
        upper_protection=level,
    )
    ends = {"lower": [100.1 - sliver, 50.3, 0, 220.6], "upper": [150, 50.3, 500, 220.6]}
    earlier = tc.read_published(pd.DataFrame({"cell": list("abcd"), **ends}), problem)
    pattern = tc.suppress(problem, published=earlier)
    pattern.verify()
    assert pattern.problem.upper_protection[0] == 10
    assert pattern.problem.lower_protection[0] <= sliver
    assert [cell.label for cell in pattern.before.disclosed] == ["cell=a"]


def test_a_release_has_one_name_in_all_that_were_protected_beside_it():
    # Under two names it would be two tables, and what both tell of its hidden cells be lost.
    problem = tc.examples.cox_rounded()
    first = tc.suppress(problem, method="sequential", time_limit=1)
    held = tc.Published({"2023": first}, periods={"2023": "2023"})
    second = tc.suppress(problem, published=held, method="sequential", time_limit=1)
    periods = {"2024": "2024", "2023": "2023", "a year": "2023"}
    given = {"2024": second, "2023": first}
    assert tc.Published(given, periods=periods).beside(problem).problem.table.n_cells > 0
    with pytest.raises(tc.InputError, match="Call it '2023' here as well"):
        tc.Published({"2024": second, "a year": first}, periods=periods).beside(problem)
