"""What several earlier releases tell together."""

from __future__ import annotations

import pandas as pd

import tablecloak as tc


def by(dimension: str, **cells: float) -> tc.ProtectionProblem:
    """A table of one dimension whose first cell is sensitive."""
    frame = pd.DataFrame(
        {dimension: ["Total", *cells], "value": [sum(cells.values()), *cells.values()]}
    )
    table = tc.Table.from_frame(frame, [dimension])
    return table.protect(tc.Manual([{dimension: next(iter(cells))}], range=20))


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
