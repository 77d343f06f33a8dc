"""Small tables with all their margins, added up in fractions: a database takes far longer.

For tests of what is done with a table. That `tablecloak.tabulate` gives the same is a test of its
own.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

import tablecloak as tc


def with_margins(
    frame: pd.DataFrame,
    dimensions: Mapping[str, object] | Sequence[str],
    value: str,
    *,
    digits: int | None = None,
    decimals: int | None = None,
) -> tc.Table:
    """Table of the sums of a column over all codes, in the order of the hierarchies.

    Parameters
    ----------
    frame : pandas.DataFrame
        Most detailed codes and values.
    dimensions : mapping of str to Hierarchy or dict, or sequence of str
    value : str
    digits : int, optional
        Values are meant to be decimal numbers with so many digits; by default the doubles that
        they are.
    decimals : int, optional
        What the table declares.
    """
    given = dimensions if isinstance(dimensions, Mapping) else dict.fromkeys(dimensions)
    trees = {name: tree_of(tree, frame[name]) for name, tree in given.items()}
    above = [_codes_above(tree) for tree in trees.values()]
    sums: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
    for *codes, number in zip(*(frame[name] for name in trees), frame[value], strict=True):
        exact = Fraction(float(number))
        if digits is not None:
            exact = Fraction(round(exact * 10**digits), 10**digits)
        for key in itertools.product(*(up[str(c)] for up, c in zip(above, codes, strict=True))):
            sums[key] += exact
    position = [{code: at for at, code in enumerate(tree.codes)} for tree in trees.values()]
    keys = sorted(sums, key=lambda key: [at[c] for at, c in zip(position, key, strict=True)])
    cells = pd.DataFrame(keys, columns=list(trees), dtype=object)
    cells[value] = [float(sums[key]) for key in keys]
    return tc.Table.from_frame(cells, trees, value, decimals=decimals)


def tree_of(given: object, codes: pd.Series) -> tc.Hierarchy:
    """Hierarchy of a dimension; None stands for its codes below a total."""
    if given is None:
        return tc.Hierarchy.from_dict({code: [] for code in sorted(set(codes.astype(str)))})
    return given if isinstance(given, tc.Hierarchy) else tc.Hierarchy.from_dict(given)


def _codes_above(tree: tc.Hierarchy) -> dict[str, list[str]]:
    """Each leaf with the codes it counts towards, itself among them."""
    counts = tree.closure().tocoo()
    found: dict[str, list[str]] = defaultdict(list)
    for row, column in zip(counts.row.tolist(), counts.col.tolist(), strict=True):
        found[tree.leaves[column]].append(tree.codes[row])
    return found


def with_levels(table: tc.Table, level: np.ndarray) -> tc.ProtectionProblem:
    """Problem with the same level on both sides; cells without one may be published."""
    return tc.ProtectionProblem(
        table=table,
        status=np.where(level > 0, "u", "s"),
        lower_protection=level,
        upper_protection=level,
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 2 * table.values.max()),
        weights=table.values,
    )
