"""What several earlier releases tell together."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc


def by(dimension: str, **cells: float) -> tc.ProtectionProblem:
    """A table of one dimension whose first cell is sensitive."""
    frame = pd.DataFrame(
        {dimension: ["Total", *cells], "value": [sum(cells.values()), *cells.values()]}
    )
    table = tc.Table.from_frame(frame, [dimension])
    return table.protect(tc.Manual([{dimension: next(iter(cells))}], range=20))


@pytest.mark.filterwarnings("ignore:.*say suppressed but show a value")
def test_two_earlier_releases_are_compared_where_the_new_one_has_no_cell():
    """One hides N and S, the other N and W: each is safe, and N follows from both."""
    regions = by("region", N=10, S=30, W=25)
    told = {}
    for name, other in (("spring", "S"), ("autumn", "W")):
        release = regions.table.to_frame().assign(
            status=["suppressed" if code in ("N", other) else "published"
                    for code in regions.table.keys["region"]]
        )  # fmt: skip
        assert tc.audit(regions, release).is_safe
        told[name] = tc.read_published(release, regions)
    sizes = by("size", small=15, large=28, huge=22)
    assert not tc.suppress(sizes, published=told["spring"]).before.disclosed
    pattern = tc.suppress(sizes, published=told)
    disclosed = pattern.before.disclosed
    assert {(cell.lower, cell.upper) for cell in disclosed} == {(10, 10)}
    assert len(disclosed) == len(told)


def year_of(values: list[float], sensitive: list[int]) -> tc.ProtectionProblem:
    """Sales of a year by region and industry, with all sums."""
    codes = [(region, industry) for region in "NSW" for industry in "AB"]
    records = pd.DataFrame(codes, columns=["region", "industry"]).assign(sales=values)
    table = tc.tabulate(records, ["region", "industry"], "sales")
    cells = [{"region": codes[n][0], "industry": codes[n][1]} for n in sensitive]
    return table.protect(tc.Manual(cells, range=20))


THEN = [100.0, 250, 300, 420, 510, 600]
NOW = [100.0, 260, 310, 400, 530, 590]


def test_equal_values_of_two_years_are_no_common_cell():
    """100 was published last year; the 100 of this year is sensitive."""
    last_year, this_year = tc.suppress(year_of(THEN, [])), year_of(NOW, [0])
    assert not last_year.suppressed.any()
    taken_for_one = tc.suppress(this_year, published={"2024": last_year})
    assert len(taken_for_one.before.to_frame()) == 1
    growth = tc.Growth("sales", since="2024", decimals=0, where={"region": ["S"]})
    problem = tc.with_derived(this_year, [growth], published={"2024": last_year})
    pattern = tc.suppress(problem)
    assert tc.audit(problem, pattern).is_safe
    periods = tc.Published({"2024": last_year}, periods={"2024": "2024"})
    alone = tc.suppress(this_year, published=periods)
    assert alone.before.to_frame().empty
    assert alone.suppressed[:12].sum() == tc.suppress(this_year).suppressed.sum()


def test_a_release_that_a_later_one_holds_is_found_in_it_and_is_the_same_if_given_twice():
    first = tc.suppress(year_of(THEN, []))
    growth = tc.Growth("sales", since="2023", decimals=0)
    second = tc.suppress(tc.with_derived(year_of(NOW, []), [growth], published={"2023": first}))
    third = year_of([value + 5 for value in NOW], [])
    index = tc.Index("sales", base="2023")
    problem = tc.with_derived(third, [index], published={"2024": second})
    assert len(tc.released_figures(tc.suppress(problem))) == 12
    periods = {"2023": "2023", "2024": "2024"}
    twice = tc.Published({"2024": second, "2023": first}, periods=periods).beside(third).problem
    once = tc.Published({"2024": second}, periods=periods).beside(third).problem
    more = twice.table.n_relations - once.table.n_relations
    assert more == first.problem.table.n_relations + first.problem.table.n_cells
