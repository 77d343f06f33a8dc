"""Subsets of the cells of a table, as callers name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags
from tablecloak.errors import InputError, suggestion
from tablecloak.tables.problem import ProtectionProblem

Subset = str | Mapping[str, Any] | npt.ArrayLike
"""``"sensitive"``, ``"all"``, ``"detailed"`` (cells without parts), codes such as
``{"region": "North"}``, a mask, or cell indices."""


def _detailed(problem: ProtectionProblem) -> Flags:
    """Return which cells have no parts on any dimension."""
    table = problem.table
    is_detailed = np.ones(table.n_cells, dtype=bool)
    for name, tree in table.hierarchies.items():
        is_detailed &= table.keys[name].isin(tree.leaves).to_numpy(bool)
    if not table.hierarchies:
        relations = table.relations.tocoo()
        is_detailed[relations.coords[1][relations.data < 0]] = False
    return is_detailed


def select(problem: ProtectionProblem, subset: Subset) -> Flags:
    """Return the mask of a subset.

    Raises
    ------
    InputError
        If the subset is empty or not understood.
    """
    n = problem.table.n_cells
    if isinstance(subset, str):
        named = {
            "sensitive": problem.sensitive,
            "all": np.ones(n, dtype=bool),
            "detailed": _detailed(problem),
        }
        if subset not in named:
            raise InputError(f"`subset` is {subset!r}.{suggestion(subset, named)}")
        mask = named[subset]
    elif isinstance(subset, Mapping):
        mask = np.ones(n, dtype=bool)
        for name, codes in subset.items():
            if name not in problem.table.keys.columns:
                columns = map(str, problem.table.keys.columns)
                raise InputError(f"`subset` names {name!r}.{suggestion(str(name), columns)}")
            wanted = [codes] if isinstance(codes, str) else list(codes)
            mask &= problem.table.keys[name].isin(wanted).to_numpy()
    else:
        array = np.asarray(subset)
        mask = np.zeros(n, dtype=bool)
        mask[array] = True
    if not np.any(mask):
        raise InputError(
            f"The subset {subset!r} has no cell of the table. Check the codes, or leave the "
            "statistic of this subset out."
        )
    return mask
