"""Counts of combinations that no table shows, where tables of the same records form a cycle.

Tables by region and sex, sex and age, and region and age must all be margins of one table of
region, sex and age, whose counts are whole and not negative. That says more than that each table
adds up and that common margins agree. Where tables form no cycle it says nothing more: they can be
glued together along their common margins, one by one (Vorob'ev 1962, Consistent families of
measures and their extensions; for whole counts by transportation problems, which have whole
solutions).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.tables.hierarchy import Hierarchy

__all__ = ["cycle_of", "joint_relations"]


def cycle_of(tables: Iterable[Iterable[str]]) -> list[frozenset[str]]:
    """Return what is left of tables where they form a cycle; nothing if they do not.

    Parameters
    ----------
    tables : iterable of iterable of str
        Dimensions of each table.

    Returns
    -------
    list of frozenset of str
        Dimensions of the margins that form the cycle.

    Notes
    -----
    A dimension of one table only is dropped, and so is a table whose dimensions all lie in another,
    until neither is left: the reduction of Graham, and of Yu and Ozsoyoglu (1979).
    """
    left = [frozenset(names) for names in tables]
    while True:
        times = Counter(itertools.chain.from_iterable(left))
        shared = [frozenset(name for name in names if times[name] > 1) for names in left]
        kept = [
            names
            for number, names in enumerate(shared)
            if names
            and not any(
                names < other or (names == other and number > place)
                for place, other in enumerate(shared)
            )
        ]
        if kept == left:
            return kept
        left = kept


def joint_relations(
    cells: pd.DataFrame,
    margins: Iterable[Iterable[str]],
    trees: Mapping[str, Hierarchy],
    largest: int,
) -> csr_array | None:
    """Say of which combinations of all dimensions of a cycle each cell of its margins is the sum.

    Parameters
    ----------
    cells : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    margins : iterable of iterable of str
        From `cycle_of`.
    trees : mapping of str to Hierarchy
    largest : int
        Largest number of combinations.

    Returns
    -------
    scipy.sparse.csr_array, shape (n_relations, n_cells + n_combinations), or None
        Rows whose sum is 0; None if there are too many combinations.
    """
    margins = [set(margin) for margin in margins]
    names = [str(name) for name in cells.columns if any(name in margin for margin in margins)]
    sizes = [len(trees[name].leaves) for name in names]
    n_joint = math.prod(sizes)
    if n_joint > largest:
        return None
    number = pd.Series(np.arange(len(cells)), index=pd.MultiIndex.from_frame(cells))
    places = dict(zip(names, np.unravel_index(np.arange(n_joint), sizes), strict=True))
    rows, columns, signs, n_rows = [], [], [], 0
    for margin in margins:
        own = [name for name in names if name in margin]
        widths = [len(trees[name].leaves) for name in own]
        axes = [
            trees[str(name)].leaves if name in margin else [trees[str(name)].total]
            for name in cells.columns
        ]
        totals = number.loc[pd.MultiIndex.from_product(axes)].to_numpy()
        # The margin lists its dimensions in the order of `cells`, as `names` does.
        part = np.ravel_multi_index([places[name] for name in own], widths)
        rows += [n_rows + np.arange(len(totals)), n_rows + part]
        columns += [totals, len(cells) + np.arange(n_joint)]
        signs += [np.full(len(totals), -1.0), np.ones(n_joint)]
        n_rows += len(totals)
    return csr_array(
        (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n_rows, len(cells) + n_joint),
    )
