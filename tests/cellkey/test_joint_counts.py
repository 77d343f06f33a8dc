"""Tables that form a cycle, and the combinations that they leave out."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from tablecloak.cellkey.attack import cycle_of, joint_relations
from tablecloak.tables.hierarchy import Hierarchy

TREES = {
    "a": Hierarchy.flat(["x", "y"]),
    "b": Hierarchy.flat(["p", "q", "r"]),
    "c": Hierarchy.flat(["m", "n"]),
}


@pytest.mark.parametrize(
    ("tables", "cycle"),
    [
        (["ab"], []),
        (["ab", "c"], []),
        (["ab", "bc"], []),
        (["ab", "bc", "cd", "ce"], []),
        (["ab", "bc", "ac"], ["ab", "bc", "ac"]),
        (["abc", "ab", "bc", "ac"], []),
        (["abd", "bce", "acf"], ["ab", "bc", "ac"]),
        (["ab", "bc", "cd", "da", "ef"], ["ab", "bc", "cd", "da"]),
        (["ab", "ab", "bc", "ac"], ["ab", "bc", "ac"]),
    ],
)
def test_a_cycle_is_what_is_left_without_dimensions_of_one_table_and_parts_of_others(tables, cycle):
    assert sorted(map(sorted, cycle_of(tables))) == sorted(map(sorted, cycle))


def test_each_cell_of_a_margin_is_the_sum_of_its_combinations():
    codes = [TREES[name].codes for name in "abc"]
    cells = pd.DataFrame(list(itertools.product(*codes)), columns=list("abc"), dtype=object)
    cells = cells.sample(frac=1, random_state=1).reset_index(drop=True)
    counts = dict(
        zip(
            itertools.product(*(TREES[name].leaves for name in "abc")),
            np.random.default_rng(3).integers(0, 9, 12).tolist(),
            strict=True,
        )
    )
    shown = [
        sum(
            count
            for leaf, count in counts.items()
            if all(code in ("Total", own) for code, own in zip(cell, leaf, strict=True))
        )
        for cell in cells.itertuples(index=False, name=None)
    ]
    relations = joint_relations(cells, ["ab", "bc", "ac"], TREES, 12)
    assert relations.shape == (6 + 6 + 4, len(cells) + 12)
    assert not (relations @ np.array([*shown, *counts.values()])).any()
    assert joint_relations(cells, ["ab", "bc", "ac"], TREES, 11) is None
