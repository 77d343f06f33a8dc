"""The tables on which tools are compared: made-up enterprises, and published tables where present.

Who attacks knows of each cell that it lies between 0 and one and a half times the largest value,
and not that a hidden cell is no zero: bounds that differ from cell to cell cannot be told to all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

import tablecloak as tc
from drawn_tables import SIZES, drawn_table
from enterprises import RULES, SHAPES, enterprises
from single_children import single_child_problem

Make = Callable[[], tc.ProtectionProblem]


@dataclass(frozen=True)
class Case:
    """A table, and who is asked to protect it."""

    name: str
    about: str
    make: Make
    is_one_table: bool = True
    limits: tuple[float, ...] = (1.0, 3.0, 10.0, 60.0)
    """Seconds of the processor for ours; all others have a minute."""


def made(shape: dict[str, tuple[int, int]], firms: int, seed: int) -> tc.ProtectionProblem:
    """All dimensions of made-up enterprises in one table: p% 10 and frequency 3."""
    frame, trees = enterprises(shape, firms, seed)
    frame["firm"] = frame.index.astype(str)
    table = tc.tabulate(frame, trees, "v", contributor="firm", decimals=0)
    return table.protect(*RULES, zeros_published=False)


def linked(seed: int) -> tc.ProtectionProblem:
    """Two tables over the same enterprises that share a hierarchy."""
    frame, trees = enterprises({"a": (4, 5), "b": (4, 4), "c": (3, 5)}, 2_000, seed)
    frame["firm"] = frame.index.astype(str)
    tables = [
        tc.tabulate(
            frame, {name: trees[name] for name in names}, "v", contributor="firm", decimals=0
        )
        for names in ("ab", "ac")
    ]
    return tc.link(*tables).protect(*RULES, zeros_published=False)


def published(
    folder: Path, names: tuple[str, ...], *, zeros_published: bool = False
) -> tc.ProtectionProblem:
    """Linked turnover tables of INSEE, dominance (1, 85) and frequency 3."""
    tables = [_turnover(folder, *name.split(" x ")) for name in names]
    return tc.link(*tables).protect(
        tc.Dominance(1, 85), tc.MinimumFrequency(3), zeros_published=zeros_published
    )


CODES = {
    "ACTIVITY": "activity_corr_table.csv.gz",
    "NUTS": "nuts23_fr_corr_table.csv.gz",
}
"""Files with the hierarchies that are no plain lists."""


def _tree(folder: Path, column: str, codes: set[str]) -> tc.Hierarchy:
    tree: dict = {code: {} for code in sorted(codes)}
    if column in CODES:
        tree = {}
        table = pd.read_csv(folder / CODES[column], dtype=str)
        for path in table.itertuples(index=False):
            at = tree
            for code in dict.fromkeys(path):
                at = at.setdefault(code, {})
    return tc.Hierarchy.from_dict(tree, total="Total")


def _turnover(folder: Path, rows: str, columns: str) -> tc.Table:
    name = f"turnover_{'act' if rows == 'ACTIVITY' else 'nuts'}_{columns.lower()}.csv.gz"
    frame = pd.read_csv(folder / name, dtype={rows: str, columns: str})
    trees = {
        column: _tree(folder, column, set(frame[column]) - {"Total"}) for column in (rows, columns)
    }
    return tc.Table.from_frame(
        frame, trees, "TOT", frequency="N_OBS", largest=["MAX"], tolerance=1e-3
    )


DRAWN = (3.0, 10.0, 30.0, 60.0)
"""Limits on tables of up to 100,000 cells."""

ACTIVITIES = ("ACTIVITY x SIZE", "ACTIVITY x CJ")
FOUR = (*ACTIVITIES, "NUTS x SIZE", "NUTS x CJ")
THREE_WAY = {"a": (4, 4), "b": (4, 4), "c": (3, 4)}


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield the tables in the order of the report; those of INSEE only where a folder is given."""
    about = "two dimensions, two levels each"
    for seed in (1, 2, 3):
        yield Case(f"two-way {seed}", about, partial(made, SHAPES["two-way"][0], 4_000, seed))
    about = "two tables of two dimensions that share one"
    yield Case("linked", about, partial(linked, 11), is_one_table=False)
    if folder is not None:
        about = "INSEE: turnover by activity and size, and by activity and legal form"
        yield Case("activities", about, partial(published, folder, ACTIVITIES), is_one_table=False)
        about = "INSEE: the same, and by region and size, and by region and legal form"
        make = partial(published, folder, FOUR)
        yield Case("four tables", about, make, is_one_table=False, limits=(1.0, 5.0, 10.0, 60.0))
    about = "three dimensions, two levels each"
    yield Case("three-way", about, partial(made, THREE_WAY, 4_000, 1))
    for seed in (1, 2):
        for removed in (False, True):
            yield Case(
                f"single children {seed}{', removed' if removed else ''}",
                "three dimensions; a third of the regions have one child"
                + (", these levels taken out" if removed else ""),
                partial(single_child_problem, removed=removed, seed=seed, zeros_published=False),
            )
    about = "three dimensions, two levels each, 30,000 enterprises"
    make = partial(made, SHAPES["three-way"][0], 30_000, 1)
    yield Case("three-way large", about, make, limits=(15.0, 30.0, 60.0, 120.0))
    for number, size in enumerate(SIZES):
        about = f"drawn: dimensions, hierarchies, skewness and rule, for about {size:,} cells"
        yield Case(f"drawn {number + 1}", about, partial(drawn_table, number), limits=DRAWN)
