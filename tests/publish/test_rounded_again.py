"""The same table with other digits, or in another unit, is no revision of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from joint_attack import exposed_together, seen
from tablecloak.publish.register import Entry, Register
from tablecloak.tables.changes.earlier_releases import EarlierRelease, detail_cells

CODES = {"a": list("pqrstu"), "b": list("vwxy")}
TREES = {name: {"Total": codes} for name, codes in CODES.items()}


def problems(seed: int, decimals: int = 0) -> list[tc.ProtectionProblem]:
    """One table of euros and cents, as the records have them and rounded, and other weights."""
    rng = np.random.default_rng(seed)
    frame = pd.MultiIndex.from_product(CODES.values(), names=CODES).to_frame(index=False)
    frame["v"] = rng.uniform(1, 900, len(frame)).round(2)
    cells = [{"a": code, "b": rng.choice(CODES["b"])} for code in "pq"]
    rule = tc.Manual(cells, range=25)
    return [
        tc.tabulate(frame, ["a", "b"], "v").protect(rule),
        tc.tabulate(frame, ["a", "b"], "v", decimals=decimals).protect(rule, weights="unit"),
    ]


def exposed(fine, hidden_fine, coarse, hidden_coarse):
    """An attack on the cells with all digits: a rounded one tells them up to its rounding."""
    one, two = seen(fine, hidden_fine), seen(fine, True)
    room = np.where(hidden_coarse, np.inf, 0.5 * detail_cells(coarse.table))
    two = two.assign(low=coarse.table.values - room, high=coarse.table.values + room, down=0, up=0)
    return exposed_together([one, two], TREES)


def entered(folder, problem, hidden) -> Register:
    release = folder / "release.csv"
    release.write_text("x")
    register = Register(folder / "register")
    register.enter(Entry(kind="release"), problem, problem.ends(hidden), [release])
    return register


@pytest.mark.parametrize("first", ["fine", "coarse"])
@pytest.mark.parametrize("way", ["register", "published"])
def test_rounded_values_beside_those_with_all_digits_expose_nothing(tmp_path, first, way):
    apart, together = 0, 0
    for seed in range(3):
        fine, coarse = problems(seed)
        one, two = (fine, coarse) if first == "fine" else (coarse, fine)
        before = tc.suppress(one, time_limit=5).suppressed
        alone = tc.suppress(two, time_limit=5).suppressed
        if way == "register":
            (tmp_path / str(seed)).mkdir()
            earlier = entered(tmp_path / str(seed), one, before).published(two, "")
        else:
            earlier = {"first": EarlierRelease(one, *one.ends(before))}
        both = tc.suppress(two, published=earlier, time_limit=5).suppressed[: two.table.n_cells]
        for hidden, counts in ((alone, "apart"), (both, "together")):
            pair = (before, hidden) if first == "fine" else (hidden, before)
            n_exposed = len(exposed(fine, pair[0], coarse, pair[1]))
            apart += n_exposed * (counts == "apart")
            together += n_exposed * (counts == "together")
    assert apart > 0
    assert together == 0


def test_rounding_counts_as_no_revision_and_a_revision_is_counted(tmp_path):
    fine, coarse = problems(1)
    register = entered(tmp_path, fine, fine.sensitive)
    (overlap,) = register.overlaps(coarse, "")
    assert (overlap.shared, overlap.revised) == (35, 0)
    _, other = problems(2)
    (overlap,) = register.overlaps(other, "")
    assert (overlap.shared, overlap.revised) == (35, 35)
    entry = register.enter(Entry(kind="release"), other, other.ends(other.sensitive), [])
    assert entry.revised == {1: (35, 35)}
    _, sentence = entry.statements()
    assert "Of 35 cells that it shares with 1, 35 count as revised" in sentence
    assert "in one unit?" in sentence


def test_values_in_another_unit_are_refused():
    fine, _ = problems(1)
    table = fine.table
    thousands = tc.Table(
        table.keys, table.values / 1000, table.relations, table.right_hand_side
    ).protect(tc.Manual([]))
    earlier = {"first": EarlierRelease(thousands, *thousands.ends(thousands.sensitive))}
    with pytest.raises(tc.InputError, match=r"'first' are 0\.001 times those of the new table"):
        tc.suppress(fine, published=earlier)


def test_a_sum_of_rounded_cells_is_off_by_as_much_as_all_of_them():
    fine, _ = problems(1)
    counts = detail_cells(fine.table)
    totals = (fine.table.keys == "Total").sum(axis=1)
    assert counts[totals == 0].tolist() == [1] * 24
    assert sorted(counts[totals == 1].tolist()) == [4] * 6 + [6] * 4
    assert counts[totals == 2].tolist() == [24]
