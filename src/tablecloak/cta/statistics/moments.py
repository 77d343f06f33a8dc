"""Subsets of the cells of a table, as callers name them, and their moments before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError, require_known, suggestion
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import DUST


@dataclass(frozen=True)
class ValueMoments:
    """How an adjusted set of values compares with the original.

    Parameters
    ----------
    mean_shift : float
        Mean of the changes.
    slope : float
        Slope of adjusted on original values, 1 + L(z).
    correlation : float
        Between original and adjusted values.
    variance_ratio : float
        Variance of the adjusted values over that of the original ones.
    distribution_distance : float
        Kolmogorov-Smirnov distance between the two empirical distributions.
    """

    mean_shift: float
    slope: float
    correlation: float
    variance_ratio: float
    distribution_distance: float


def centred(values: Floats) -> Floats:
    """Return distances from the mean, which of large numbers close to one another is rounded.

    Differences from the first number are taken before, so that none of their digits is lost.
    """
    far: Floats = values - values[0]
    distances: Floats = far - far.mean()
    return distances


def moments(original: Floats, adjusted: Floats) -> ValueMoments:
    """Compare two sets of values; NaN where the original values are all equal."""
    if len(original) == 0:
        return ValueMoments(0.0, np.nan, np.nan, np.nan, np.nan)
    a, x = centred(original), centred(adjusted)
    var_a, var_x, cov = float(np.mean(a * a)), float(np.mean(x * x)), float(np.mean(a * x))
    shift = float(np.mean(adjusted - original))
    # Changes that cancel leave what their last binary digits are off.
    shift = shift if abs(shift) > DUST * float(np.max(np.abs(original))) else 0.0
    both = np.sort(np.concatenate([original, adjusted]))
    below = [np.searchsorted(np.sort(part), both, side="right") for part in (original, adjusted)]
    distance = float(np.max(np.abs(below[0] - below[1]))) / len(original)
    if var_a == 0:
        return ValueMoments(shift, np.nan, np.nan, np.nan, distance)
    correlation = cov / np.sqrt(var_a * var_x) if var_x > 0 else np.nan
    return ValueMoments(shift, cov / var_a, float(correlation), var_x / var_a, distance)


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
        require_known(subset, named, f"`subset` is {subset!r}.")
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
