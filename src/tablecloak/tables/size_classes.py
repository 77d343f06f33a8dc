"""Dimensions whose codes are ranges of the very variable that a table adds up.

Everybody knows that a firm of the class 50-99 has 50 to 99 employees, and so that the employees of
three firms of the class are 150 to 297. No rule looks at that.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd

from tablecloak.errors import TablecloakWarning, listed
from tablecloak.tables.number_ranges import range_of
from tablecloak.tables.table import Table

LEAST_RANGES = 2
"""Ranges from which codes are taken for classes: one alone may be the name of something. See
docs/decisions, "Classes of the variable itself"."""


def classes_of_amounts(table: Table) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the dimensions whose classes bound the contributions to the table itself.

    Those whose most detailed codes are all ranges of numbers, where the contributions to each
    of the most detailed cells lie in the range of its code, as far as the table holds them:
    its largest ones, and the mean of all.

    Returns
    -------
    dict of str to dict of str to (float, float)
        For each dimension the range of each code.
    """
    given = table.contributions
    if given is None or table.name == "count":
        return {}
    detailed = np.ones(table.n_cells, dtype=bool)
    for name, tree in table.hierarchies.items():
        detailed &= table.keys[name].isin(tree.leaves).to_numpy()
    detailed &= given.count > 0
    classes = {}
    for name, tree in table.hierarchies.items():
        ranges = _ranges(tree.leaves)
        if ranges is None:
            continue
        ends = table.keys[name][detailed].map(ranges)
        low, high = (pd.Series([end[side] for end in ends]).to_numpy() for side in (0, 1))
        largest, count = given.largest[detailed], given.weighted_count[detailed]
        is_held = np.arange(largest.shape[1]) < given.count[detailed][:, None]
        inside = (largest >= low[:, None]) & (largest <= high[:, None])
        values = table.values[detailed]
        if (inside | ~is_held).all() and ((values >= low * count) & (values <= high * count)).all():
            classes[name] = ranges
    return classes


def warn_classes_of_amounts(table: Table) -> None:
    """Warn where a table is by classes of the variable that it adds up."""
    for name, ranges in classes_of_amounts(table).items():
        code = max(ranges, key=lambda code: ranges[code][0])
        warnings.warn(
            f"The codes of {name!r} are ranges, such as {listed(list(ranges), 3)}, and all that is "
            f"added up lies in the range of its code: everybody knows of a cell of n contributors "
            f"in {code!r} that it is {ranges[code][0]:g} n or more, which no rule looks at. Leave "
            f"{name!r} out of this table, or give `external_bounds` by cell; see 'Classes of the "
            f"variable itself' in docs/choosing.md.",
            TablecloakWarning,
            stacklevel=3,
        )


def _ranges(codes: Iterable[str]) -> dict[str, tuple[float, float]] | None:
    """Return the range of each code; None if a code is none, or too few are more than a number."""
    ranges = {code: range_of(code) for code in codes}
    known_ends = {code: ends for code, ends in ranges.items() if ends is not None}
    wide = sum(low < high for low, high in known_ends.values())
    return known_ends if len(known_ends) == len(ranges) and wide >= LEAST_RANGES else None
